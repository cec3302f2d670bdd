"""Making tensors: from data, filled, in sequence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ops
from ops.core.axis_order import copied_in, order_of

from ..base.device import check_device, check_layout
from ..base.dtypes import check_dtype, default_for, get_default_dtype, kind_of
from ..base.tensor import Face, Tensor, Theme
from .laying import made_like
from .leaf import leaf
from .recorder import plain_array
from .views import materialise


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A leaf that holds a copy of some data: a number, nested sequences, an array, a tensor.

    Python floats get the default dtype, Python integers int64; arrays keep their dtype.

    Raises:
        TypeError: if the data are not numbers.
        ValueError: if nested sequences have unequal lengths.
        RuntimeError: if gradients are asked of an integer or boolean tensor.

    Warns:
        UserWarning: of tensors in lists that would lose their history, which `as_tensor` keeps.

    >>> tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    """
    is_array = type(data) is np.ndarray
    if not is_array and isinstance(data, (list, tuple)) and carries(data):
        warnings.warn(
            "tensor() makes plain numbers of tensors in a list that require grad, or belong to a transformation, so no "
            "gradient flows through them.\nGather them with tape.as_tensor() or tape.stack(), or say .detach().",
            stacklevel=2,
        )
    value = array_of(data, dtype)
    if value is data or np.may_share_memory(value, data if is_array else np.asarray(_strip(data))):
        value = copied_in(order_of(value.shape, [value.strides]), value)
    return leaf(value if value.ndim else value[()], requires_grad, device)


def array_of(data: Any, dtype: Any = None, exact: bool = False) -> np.ndarray:
    """An array of some data, sharing memory where it can.

    Plain numbers get the default dtype, unless they are to stay `exact` because they go to where there is a dtype.
    """
    dtype = check_dtype(dtype)
    is_array = type(data) is np.ndarray
    values = data if is_array else _strip(data)
    array = data if is_array else plain_array(values)
    if kind_of(array.dtype) not in "biufc":
        raise TypeError(
            f"a tensor needs numbers: a number, nested lists of numbers, or a numeric array; got {type(data).__name__} "
            f"that NumPy reads as dtype {array.dtype}"
        )
    if dtype is None and not exact and not hasattr(values, "dtype"):
        dtype = get_default_dtype() if array.size == 0 else default_for(array.dtype)
    if dtype is not None and dtype.kind in "iu" and not hasattr(values, "dtype"):
        check_numbers(array, dtype)
    return array if dtype is None else array.astype(dtype, copy=False)


LITTLE = 127
"""Whole numbers up to this, of either sign, can be put into every dtype; negative ones are wrapped if it has none."""


def check_numbers(value: Any, dtype: np.dtype[Any], name: str = "") -> None:
    """Raise a RuntimeError if numbers are beyond those of a dtype, or nan where it has none; fractions may be lost.

    Of a tensor that is being recorded, whether its numbers fit is verified by replays.
    """
    if type(value) is int and -LITTLE <= value <= LITTLE:
        return
    if type(value) is not float and isinstance(value, Tensor):
        fits = value._spec.dtype == dtype or _fit(next(value._components()).detach(), dtype)
    else:
        fits = _fit(value if type(value) is np.ndarray else np.asarray(value), dtype)
    if not fits:
        what = f"{name}: value" if name else "value"
        raise RuntimeError(f"{what} cannot be converted to {dtype} without overflow; got {value}")


def _fit(array: Any, dtype: np.dtype[Any]) -> bool:
    """Whether all numbers of an array, or of a tensor, are within those of a dtype."""
    if dtype.kind == "b" or array.dtype == dtype or array.dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        if array.dtype.kind == "c":
            return not array.imag.any() and _fit(array.real, dtype)
        largest = np.iinfo(dtype).max
        least = -largest if dtype.kind == "u" and array.dtype.kind in "iuO" else np.iinfo(dtype).min
        return bool(((array >= least) & (array <= largest)).all())
    with np.errstate(all="ignore"):
        cast = ops.cast(array, dtype=dtype) if isinstance(array, Tensor) else array.astype(dtype)
        return not (np.isfinite(array) & ~np.isfinite(cast)).any()


def _strip(data: Any) -> Any:
    """Tensors within nested sequences as their values."""
    if isinstance(data, Tensor):
        return data._data
    if isinstance(data, (list, tuple)) and any(isinstance(x, (list, tuple, Tensor)) for x in data):
        return [_strip(x) for x in data]
    return data


def carries(data: Any) -> bool:
    """Whether more than numbers would be lost of a tensor, or of one in nested sequences, by reading its numbers."""
    if isinstance(data, Tensor):
        return type(data) is not Tensor or data._node is not None
    return isinstance(data, (list, tuple)) and any(map(carries, data))


def gathered(data: Any) -> Any:
    """Nested sequences of tensors and numbers as one tensor, in which the history of each goes on."""
    return ops.stack(*map(gathered, data)) if isinstance(data, (list, tuple)) else data


def value_of(data: Any) -> Any:
    """What is written into a tensor: another one, or an array of numbers in their own dtype."""
    if isinstance(data, Tensor):
        return data
    return gathered(data) if carries(data) else array_of(data, exact=True)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """The data as a tensor, shared rather than copied where that is possible; what tensors in lists carry goes on.

    >>> x = tensor([1.0])
    >>> as_tensor(x) is x
    True
    >>> w = tensor(2.0, requires_grad=True)
    >>> as_tensor([w, w * w]).sum()
    tensor(6., grad_fn=<SumBackward0>)
    """
    dtype = check_dtype(dtype)
    if not isinstance(data, Tensor) and carries(data):
        data = gathered(data)
    if isinstance(data, Face):
        data = data._tensor
    if isinstance(data, Tensor):
        check_device(device)
        return data if dtype in (None, data.dtype) else data.to(dtype)
    return leaf(array_of(data, dtype), device=device)


asarray = as_tensor


def from_numpy(array: np.ndarray) -> Tensor:
    """A tensor that shares the memory of an array.

    Raises:
        TypeError: if the argument is not a numeric array.

    >>> a = np.zeros(2)
    >>> t = from_numpy(a)
    >>> a[0] = 5.0
    >>> t
    tensor([5., 0.])
    """
    if not isinstance(array, np.ndarray):
        kind = type(array).__name__
        raise TypeError(f"from_numpy() takes a NumPy array; got {kind}. Use tape.tensor() for other data.")
    if kind_of(array.dtype) not in "biufc":
        raise TypeError(f"from_numpy() takes an array of numbers; got dtype {array.dtype}")
    return leaf(plain_array(array))


def _sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """``zeros(2, 3)``, ``zeros((2, 3))`` and ``zeros(shape)`` alike."""
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    return tuple(int(n.__index__()) for n in size)


def beside(input: Tensor, made: Tensor) -> Tensor:
    """A tensor made after the shape of another, with lanes if that has some (see `tape.batch`)."""
    return input._with_lanes(made) if isinstance(input, Tensor) else made


Factory = Callable[..., Tensor]


def factories(name: str, make: Callable[..., np.ndarray], what: str, *, alike: bool = True) -> tuple[Factory, Factory]:
    """A factory of ``*size`` and its ``_like`` form, which if `alike` gives lanes where the model has some."""

    def factory(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        value = make(_sizes(size), check_dtype(dtype) or get_default_dtype())
        return leaf(value if value.ndim else value[()], requires_grad, device)

    def like(
        input: Tensor, *, dtype: Any = None, device: Any = None, memory_format: Any = None, requires_grad: bool = False
    ) -> Tensor:
        check_layout(memory_format)
        check_layout(memory_format)
        made = factory(input._spec.shape, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)
        made = beside(input, made) if alike else made
        return made_like(made, input)

    factory.__doc__ = f"A leaf {what}, of the shape ``size`` and the default dtype unless ``dtype`` says otherwise."
    like.__doc__ = f"A leaf {what}, of the shape and dtype of ``input`` unless ``dtype`` says otherwise."
    for function, known in ((factory, name), (like, f"{name}_like")):
        function.__name__ = function.__qualname__ = known
    return factory, like


zeros, zeros_like = factories("zeros", np.zeros, "of zeros")
ones, ones_like = factories("ones", np.ones, "of ones")
empty, empty_like = factories("empty", np.empty, "of whatever was in memory")


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of that shape, all elements equal to ``fill_value``, whose history, if it has one, goes on.

    >>> full((2,), 7)
    tensor([7, 7])
    """
    shape = _sizes(size if isinstance(size, tuple) else (size,))
    if (wanted := check_dtype(dtype)) is not None and isinstance(fill_value, (Tensor, np.generic)):
        check_numbers(fill_value, wanted, "full()")
    if carries(fill_value):
        z = ops.clone(ops.broadcast_to(as_tensor(fill_value, dtype), shape=shape))
        return z.requires_grad_() if requires_grad and z._node is None else z
    if type(fill_value) is int or type(fill_value) is float:
        check_numbers(fill_value, check_dtype(dtype) or default_for(np.dtype(type(fill_value))), "full()")
    value = array_of(fill_value, dtype)
    return leaf(np.full(shape, value, dtype=value.dtype) if shape else value[()], requires_grad, device)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """`full` of the shape and dtype of ``input``."""
    made = full(input._spec.shape, fill_value, dtype=dtype or input.dtype, device=device, requires_grad=requires_grad)
    return made_like(beside(input, made), input)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The n × m identity matrix (n × n without ``m``)."""
    return leaf(np.eye(n, m, dtype=check_dtype(dtype) or get_default_dtype()), requires_grad, device)


def arange(
    start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers start, start + step, … below ``end``; ``arange(n)`` counts from 0.

    >>> arange(3), arange(1.0, 2.0, 0.5)
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    if end is None:
        start, end = 0, start
    first, by = start, step
    start, end, step = (x.item() if isinstance(x, Tensor) else x for x in (start, end, step))
    value = np.arange(start, end, step)
    if carries(first) or carries(by):
        z = as_tensor(first + by * np.arange(len(value)))
        return z if dtype is None else z.to(check_dtype(dtype))
    return leaf(value.astype(check_dtype(dtype) or default_for(value.dtype), copy=False), requires_grad, device)


def _spaced(z: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """Numbers between two ends, of which one may have a history, that then goes on."""
    dtype = check_dtype(dtype) or default_for(z.dtype if z.dtype.kind == "c" else np.dtype(float))
    if isinstance(z, Face):
        z = z._tensor
    if isinstance(z, Tensor):
        return z if z.dtype == dtype else z.to(dtype)
    return leaf(z.astype(dtype), requires_grad, device)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """``steps`` numbers evenly spaced from ``start`` to ``end``, both included, which may be tensors with a history."""
    return _spaced(np.linspace(start, end, steps), dtype, device, requires_grad)


def logspace(
    start: Any, end: Any, steps: int, base: Any = 10.0, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """``base`` to the powers that `linspace` gives."""
    return _spaced(np.logspace(start, end, steps, base=base), dtype, device, requires_grad)


class CreationMethods(Theme):
    """New tensors after the dtype of one."""

    __slots__ = ()

    def __init__(self, *args: Any, device: Any = None, requires_grad: bool = False) -> None:
        from_args = leaf(construct(get_default_dtype(), args), device=device)
        self.__class__ = from_args.__class__  # type: ignore[assignment]
        self._data, self._node, self._spec = from_args._data, None, from_args._spec
        if requires_grad:
            self.requires_grad_()

    def new_zeros(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        """`tape.zeros`, which takes ``size``, with this tensor's dtype."""
        return beside(self, zeros(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad))

    def new_ones(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        """`tape.ones`, which takes ``size``, with this tensor's dtype."""
        return beside(self, ones(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad))

    def new_empty(self, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        """`tape.empty`, which takes ``size``, with this tensor's dtype."""
        return beside(self, empty(*size, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad))

    def new_full(
        self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
    ) -> Tensor:
        """`tape.full` with this tensor's dtype."""
        made = full(size, fill_value, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)
        return beside(self, made)

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        """`tape.tensor` with this tensor's dtype."""
        return tensor(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


def construct(dtype: np.dtype[Any], args: tuple[Any, ...]) -> np.ndarray:
    """The value of an old-style constructor: sizes or data, in that dtype."""
    if len(args) == 1 and not isinstance(args[0], int):
        data = args[0]
        if isinstance(data, tuple) and hasattr(data, "numel"):
            return np.zeros(data, dtype=dtype)
        return np.array(_strip(data), dtype=dtype)
    return np.zeros(_sizes(args) if args else 0, dtype=dtype)


__all__ = [
    "arange", "as_tensor", "asarray", "empty", "empty_like", "eye", "from_numpy", "full", "full_like", "linspace",
    "logspace", "materialise", "ones", "ones_like", "tensor", "zeros", "zeros_like",
]  # fmt: skip
