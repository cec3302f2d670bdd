"""In-place operations: ``x.mul_(y)``, ``x += y``, and every other function with an underscore.

Each is derived from the function of the same name, and comes through `change`: of whatever kind the tensor is, the
function computes a new value, which is put in the place of the old one (`tape.recording.functionalising`).  Of a plain
tensor that is recorded (`rebase`) where a gradient flows; else the value alone is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import ops
from ops import REGISTRY, Op
from ops.core.op import is_complex

from ..base.dtypes import can_store
from ..base.signatures import like
from ..base.spec import Spec
from ..base.tensor import Face, Tensor, Theme
from ..recording.calls import method
from ..recording.creation import array_of, check_numbers, value_of
from ..recording.functions import FUNCTIONS, METHODS, is_method
from ..recording.inference import check_changeable
from ..recording.level import Layer, live
from ..recording.version import increment, note_refit
from ..recording.views import ViewStep, children, link, look_of, sever
from ..recording.wengert import current
from . import choosing, parting, shaping, storage  # noqa: F401  (their functions take the places of derived ones)
from .rebase import assign, check_free, is_tracked, reread
from .repeated import fill
from .writing import write

Compute = Callable[..., Any]


def change(
    target: Tensor, operation: str, compute: Compute, args: tuple[Any, ...] = (), named: dict[str, Any] | None = None
) -> Tensor:
    """Put ``compute(target, *args, **named)`` in the place of a tensor's value; every method in place comes here.

    Raises:
        RuntimeError: if the tensor must not be changed, or the value does not fit.
    """
    if named:
        adopted(target, operation, (*args, *named.values()))
        return target._alter(operation, compute, args, named)
    adopted(target, operation, args)
    return target._alter(operation, compute, args, {})


def adopted(tensor: Tensor, operation: str, operands: Iterable[Any]) -> bool:
    """Whether an operand has made the tensor one of its own kind, as which it goes on.

    Raises:
        RuntimeError: if the tensor was made in inference mode, and this is outside of it.
    """
    if isinstance(tensor, Layer) and (tensor._level.alive or isinstance(tensor := live(tensor), Layer)):
        return False  # it says itself what becomes of what is written into it (`_assign`)
    for x in operands:
        if type(x) is not Tensor and isinstance(x, Tensor) and x._adopt(tensor):
            return True
    if tensor._inference:
        check_changeable(tensor, operation)
    return False


def overwrite(tensor: Tensor, operation: str, compute: Compute, args: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    """Put what `compute` makes of a plain tensor in its place, where that is not part of a history."""
    wengert = current()
    before, wengert.recording = wengert.recording, False
    try:
        result = compute(tensor, *args, **named)
    finally:
        wengert.recording = before
    write(tensor, result._data, operation)
    reread(tensor)
    return tensor


def put(tensor: Tensor, result: Tensor, operation: str, last: int) -> None:
    """Put a result that was computed after record `last` in the place of a plain tensor's value and history."""
    if type(result) is not Tensor and adopted(tensor, operation, (result,)):
        tensor.copy_(result)
        return
    if tensor._inference:
        check_changeable(tensor, operation)
    assign(tensor, result, operation, last)


def inplace(name: str, compute: Compute) -> Callable[..., Tensor]:
    """The method that does in place what a function computes."""
    operation = f"{name}_()"

    def changing(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return change(self, operation, compute, tuple([x._tensor if isinstance(x, Face) else x for x in args]), kwargs)

    changing.__name__ = f"{name}_"
    changing.__doc__ = f"`{name}` in place; returns the tensor itself."
    return like(changing, compute, "self", out=False)


KEEP_SHAPE = (
    "addcdiv", "addcmul", "addmm", "clip", "cumprod", "cumsum", "float_power", "index_add", "index_fill", "lerp",
)  # fmt: skip
"""The functions, beside those that work element by element, whose result has the shape of their first argument."""


def _by_elements(name: str) -> bool:
    op = REGISTRY.get(name)
    if op is None or not is_method(op):
        return False
    return op.broadcasts and op.outputs == 1


def names() -> dict[str, Compute]:
    """The functions that can be done in place, under all of their names."""
    chosen = [FUNCTIONS[name] for name in FUNCTIONS if name in KEEP_SHAPE or _by_elements(name)]
    same = set(map(id, chosen))
    return {name: function for name, function in FUNCTIONS.items() if id(function) in same and name not in ORDERED}


ORDERED = frozenset({"polygamma"})
"""Functions whose first argument is not the tensor, as it is that of their methods."""

for _op_name in ORDERED:
    method(inplace(_op_name, METHODS[_op_name]))
for _op_name, _function in {
    **names(),
    "equal": FUNCTIONS["eq"],
}.items():  # PyTorch's `equal` compares tensors as a whole
    method(inplace(_op_name, _function))


def _over(op: Op) -> Compute:
    """A function that puts another value in the place of a tensor's, cast to its dtype whatever that loses."""

    def over(tensor: Tensor, source: Any) -> Tensor:
        value = source if isinstance(source, Tensor) else array_of(source, exact=True)
        if value.dtype != (dtype := tensor._spec.dtype):
            if value.dtype.kind == "c" and dtype.kind != "c":
                value = ops.real(value)
            if not can_store(value.dtype, dtype):
                value = ops.cast(value, dtype=dtype)
        return tensor._overwritten(op, value)

    return over


_copy, _fill = _over(REGISTRY["copy_over"]), _over(REGISTRY["fill"])


class FillingMethods(Theme):
    """All elements overwritten at once."""

    __slots__ = ()

    def copy_(self, src: Any, non_blocking: bool = False) -> Tensor:
        """Copy the numbers of another tensor, broadcast to this one's shape and cast to its dtype."""
        return change(self, "copy_()", _copy, (value_of(src),))

    def fill_(self, value: Any) -> Tensor:
        """Set every element to one number, which may have a history."""
        adopted(self, "fill_()", (value,))
        shape = value._spec.shape if isinstance(value, Tensor) else np.shape(value)
        if shape:
            raise RuntimeError(f"fill_() takes one number; got a value of shape {shape}. Use copy_().")
        if is_complex(value) and not self._spec.complex:
            raise RuntimeError(
                f"a complex number does not fit into a tensor of {self.dtype}; fill it with the .real part"
            )
        if isinstance(value, (int, float, np.generic)):
            check_numbers(value, self._spec.dtype, "fill_()")
        if self._repeats():
            return fill(self, value, "fill_()")
        return self._alter("fill_()", _fill, (value,), {})

    def zero_(self) -> Tensor:
        """Set every element to zero.

        >>> import tape
        >>> tape.ones(2).zero_()
        tensor([0., 0.])
        """
        adopted(self, "zero_()", ())
        if self._repeats():
            return fill(self, 0, "zero_()")
        return self._alter("zero_()", REGISTRY["zero"], (), {})


NOT_AUGMENTED = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})

for _op in REGISTRY.values():
    if _op.symbol and _op.arity == 2 and _op.kind in ("elementwise", "plain") and _op.symbol not in NOT_AUGMENTED:
        METHODS[f"__i{_op.symbol}__"] = inplace(_op.name, FUNCTIONS[_op.name])


def _restride(name: str, compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The method that makes of a tensor, itself, the view that a function gives of it."""
    operation = f"{name}_()"

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        self._become(operation, lambda: compute(self, *args, **kwargs))
        return self

    change.__name__ = f"{name}_"
    change.__doc__ = (
        f"`{name}` in place, of the same ``dims`` or sizes: the tensor itself gets that shape, and keeps its memory."
    )
    return like(change, compute, "self", out=False)


def become(tensor: Tensor, operation: str, compute: Callable[[], Tensor]) -> None:
    """Make of a plain tensor the view that a function gives of it, or of the one that it is itself a view of."""
    if tensor._inference:
        check_changeable(tensor, operation)
    if is_tracked(tensor, ()):
        check_free(tensor, operation)
    above, old, (data, node, spec, made) = look_of(tensor), tensor._spec, _parts(tensor, compute)
    bar = None if above is None else above.bar
    if made is not None and children(tensor):
        # The views that are there are made of what this tensor was, and so is the tensor itself from now on.
        past = sever(tensor)
        link(tensor, past if made.parent is tensor else made.parent, made.steps, bar)
    elif made is not None and made.parent is not tensor:
        link(tensor, made.parent, made.steps, bar)
    elif made is not None and above is not None:
        tensor._of = above._replace(steps=(*above.steps, *made.steps))
    if tensor._node is True and spec is not old:
        note_refit(tensor, old)
    tensor._data, tensor._spec = data, spec
    if tensor._node is not True:
        tensor._node = node
    increment(tensor, operation)


def _parts(tensor: Tensor, compute: Callable[[], Tensor]) -> tuple[Any, Any, Spec, ViewStep | None]:
    """What a view is made of, which is then gone.

    A tensor with a history has it recorded under `no_grad` too: that would else be of another shape than the tensor.
    """
    wengert = current()
    before = wengert.recording
    try:
        wengert.recording = before or (tensor._node is not None and not tensor.is_leaf)
        view = compute()
    finally:
        wengert.recording = before
    return view._data, view._node, view._spec, look_of(view)


NAMES = ("as_strided", "t", "transpose", "swapaxes", "swapdims", "squeeze", "unsqueeze")
for _name in NAMES:
    method(_restride(_name, FUNCTIONS[_name]))
