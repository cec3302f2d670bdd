"""In-place operations: ``x.mul_(y)``, ``x += y``, and every other function with an underscore.

Each is derived from the function of the same name.  Where a gradient flows it is recorded (`rebase`); else
the value alone is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import ops
from ops import REGISTRY, Op
from ops.core.op import is_complex

from ..base.signatures import like
from ..base.tensor import Face, Tensor, method
from ..recording.creation import array_of, value_of
from ..recording.functions import FUNCTIONS, is_method
from ..recording.inference import check_changeable
from ..recording.level import Layer
from ..recording.wengert import current
from . import choosing  # noqa: F401  (its functions take the places of derived ones)
from .rebase import assign, change, check_free, is_tracked, reread
from .repeated import fill, repeats
from .writing import write

Compute = Callable[..., Any]


def adopted(tensor: Tensor, operation: str, operands: Iterable[Any]) -> bool:
    """Whether an operand has made the tensor one of its own kind, whose method is to be called instead.

    Raises:
        RuntimeError: if the tensor was made in inference mode, and this is outside of it.
    """
    if isinstance(tensor, Layer):
        return False
    for x in operands:
        if type(x) is not Tensor and isinstance(x, Tensor) and hasattr(x, "__adopt__") and x.__adopt__(tensor):
            return True
    if tensor._inference:
        check_changeable(tensor, operation)
    return False


def alter(tensor: Tensor, operation: str, compute: Compute, args: tuple[Any, ...], named: dict[str, Any]) -> Tensor:
    """Put what `compute` makes of a tensor in its place, and record it if a gradient may flow.

    Every method in place comes here by ``tensor.__alter__``: other kinds of tensors have their own.
    """
    if is_tracked(tensor, (*args, *named.values())):
        return change(tensor, operation, lambda x: compute(x, *args, **named))
    wengert = current()
    before, wengert.recording = wengert.recording, False
    try:
        result = compute(tensor, *args, **named)
    finally:
        wengert.recording = before
    write(tensor, result._data, operation)
    reread(tensor)
    return tensor


def put(tensor: Tensor, result: Tensor, operation: str, last: int) -> Tensor:
    """Put a result that was computed after record `last` in the place of a tensor's value and history.

    A layer that is written comes here by ``__assign__``, for what is below it; other kinds of tensors have their own.
    """
    return tensor.copy_(result) if adopted(tensor, operation, (result,)) else assign(tensor, result, operation, last)


Tensor.__alter__ = alter
Tensor.__assign__ = put
Tensor.__check_free__ = check_free


def inplace(name: str, compute: Compute) -> Callable[..., Tensor]:
    """The method that does in place what a function computes."""
    operation = f"{name}_()"

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        args = tuple([x._tensor if isinstance(x, Face) else x for x in args])
        if adopted(self, operation, (*args, *kwargs.values())):
            return getattr(self, change.__name__)(*args, **kwargs)
        return self.__alter__(operation, compute, args, kwargs)

    change.__name__ = f"{name}_"
    change.__doc__ = f"`{name}` in place; returns the tensor itself."
    return like(change, compute, "self", out=False)


KEEP_SHAPE = (
    "addcdiv", "addcmul", "addmm", "clip", "cumprod", "cumsum", "float_power", "index_add", "index_fill", "lerp",
    "tril", "triu",
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

for _name in ORDERED:
    method(inplace(_name, getattr(Tensor, _name)))
for _name, _function in names().items():
    method(inplace(_name, _function))


def _over(op: Op) -> Compute:
    """A function that puts another value in the place of a tensor's, cast to its dtype whatever that loses."""

    def over(tensor: Tensor, source: Any) -> Tensor:
        value = source if isinstance(source, Tensor) else array_of(source, exact=True)
        if value.dtype.kind == "c" and tensor.dtype.kind != "c":
            value = ops.real(value)
        if not np.can_cast(value.dtype, tensor.dtype, "same_kind"):
            value = ops.cast(value, dtype=tensor.dtype)
        return op(tensor, value)

    return over


_copy, _fill = _over(REGISTRY["copy_over"]), _over(REGISTRY["fill"])


@method
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Copy the numbers of another tensor, broadcast to this one's shape and cast to its dtype."""
    src = value_of(src)
    if adopted(self, "copy_()", (src,)):
        return self.copy_(src)
    return self.__alter__("copy_()", _copy, (src,), {})


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to one number, which may have a history."""
    if adopted(self, "fill_()", (value,)):
        return self.fill_(value)
    shape = value._spec.shape if isinstance(value, Tensor) else np.shape(value)
    if shape:
        raise RuntimeError(f"fill_() takes one number; got a value of shape {shape}. Use copy_().")
    if is_complex(value) and not self._spec.complex:
        raise RuntimeError(f"a complex number does not fit into a tensor of {self.dtype}; fill it with the .real part")
    if repeats(self):
        return fill(self, value, "fill_()")
    return self.__alter__("fill_()", _fill, (value,), {})


@method
def zero_(self: Tensor) -> Tensor:
    """Set every element to zero.

    >>> import tape
    >>> tape.ones(2).zero_()
    tensor([0., 0.])
    """
    if adopted(self, "zero_()", ()):
        return self.zero_()
    if repeats(self):
        return fill(self, 0, "zero_()")
    return self.__alter__("zero_()", REGISTRY["zero"], (), {})


NOT_AUGMENTED = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})

for _op in REGISTRY.values():
    if _op.symbol and _op.arity == 2 and _op.kind in ("elementwise", "plain") and _op.symbol not in NOT_AUGMENTED:
        setattr(Tensor, f"__i{_op.symbol}__", inplace(_op.name, FUNCTIONS[_op.name]))
