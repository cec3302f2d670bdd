"""In-place changes: of tensors without history, such as parameters under ``no_grad``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ops import REGISTRY

from . import choosing  # noqa: F401  (its functions take the places of derived ones)
from .creation import array_of
from .functions import FUNCTIONS, is_method
from .guard import GUARDS, before_change
from .indexing import plain_index
from .inference import check_changeable
from .leaf import materialise
from .tensor import Tensor, method
from .version import increment
from .wengert import current


def check(tensor: Tensor, operation: str, *operands: Any) -> bool:
    """Raise if changing a tensor in place would invalidate a history, or lose one.

    True if an operand has made the tensor one of its own kind, whose method is to be called instead.
    """
    for x in operands:
        if type(x) is not Tensor and isinstance(x, Tensor) and hasattr(x, "__adopt__") and x.__adopt__(tensor):
            return True
    if tensor._inference:
        check_changeable(tensor, operation)
    if not tensor.is_leaf:
        raise RuntimeError(
            f"{operation} cannot change this tensor in place: it has a history ({tensor.grad_fn.name()}, recorded at "
            f"{tensor.grad_fn.location}).\nWrite it as a new value, such as y = y + x instead of y += x, or change "
            "y.detach().clone()."
        )
    if not current().recording:
        return False
    if tensor._node is True:
        raise RuntimeError(
            f"{operation} cannot change a leaf that requires grad in place while operations are recorded: its gradient "
            "would be that of another value.\nFor an update, as of an optimiser, do it under `with tape.no_grad():`."
        )
    if any(isinstance(x, Tensor) and x._node is not None for x in operands):
        raise RuntimeError(
            f"{operation} would write a value that requires grad into a tensor without history, and lose its history.\n"
            "Write it as a new value, such as y = y + x, or use x.detach()."
        )
    return False


def write(tensor: Tensor, value: Any, operation: str) -> Tensor:
    """Put a value into a tensor's memory.

    Raises:
        RuntimeError: if the value does not fit the tensor's shape or dtype.
    """
    array = materialise(tensor)
    value = np.asarray(value)
    if not np.can_cast(value.dtype, array.dtype, "same_kind"):
        raise RuntimeError(
            f"{operation} gives {value.dtype}, which cannot be stored in a tensor of {array.dtype}; convert the tensor "
            f"first, with .to({value.dtype})"
        )
    check_writeable(array, operation)
    try:
        np.copyto(array, value, casting="same_kind")
    except ValueError:
        raise RuntimeError(
            f"{operation} gives shape {value.shape}, which does not fit into a tensor of shape {array.shape}"
        ) from None
    del array
    increment(tensor, operation)
    return tensor


def check_writeable(array: np.ndarray, operation: str) -> None:
    """Raise where NumPy would refuse to write; saved values that are guarded are copied first."""
    if not array.flags.writeable:
        raise RuntimeError(
            f"{operation} cannot write into this memory: it is read-only, as of a read-only array given to "
            "from_numpy(), or of an expanded tensor.\nUse .clone() for a copy."
        )
    if GUARDS:
        before_change(array)


def _inplace(name: str, function: Callable[..., Any]) -> Callable[..., Tensor]:
    operation = f"{name}_()"

    def change(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if check(self, operation, *args, *kwargs.values()):
            return getattr(self, change.__name__)(*args, **kwargs)
        wengert = current()
        before, wengert.recording = wengert.recording, False
        try:
            result = function(self, *args, **kwargs)
        finally:
            wengert.recording = before
        return write(self, result._data, operation)

    change.__name__ = f"{name}_"
    change.__doc__ = f"`{name}` in place; returns the tensor itself."
    return change


for _name, _function in FUNCTIONS.items():
    if _name in REGISTRY and REGISTRY[_name].kind in ("elementwise", "plain") and is_method(REGISTRY[_name]):
        method(_inplace(_name, _function))


@method
def copy_(self: Tensor, source: Any) -> Tensor:
    """Copy the numbers of another tensor, broadcast to this one's shape and cast to its dtype."""
    if check(self, "copy_()", source):
        return self.copy_(source)
    return write(self, array_of(source).astype(self.dtype, copy=False), "copy_()")


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to one number."""
    if check(self, "fill_()", value):
        return self.fill_(value)
    return write(self, array_of(value).astype(self.dtype, copy=False), "fill_()")


@method
def zero_(self: Tensor) -> Tensor:
    """Set every element to zero.

    >>> import tape
    >>> tape.ones(2).zero_()
    tensor([0., 0.])
    """
    check(self, "zero_()")
    return write(self, np.zeros((), self.dtype), "zero_()")


@method
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    if check(self, "x[index] = value", value):
        self[index] = value
        return
    array = materialise(self)
    check_writeable(array, "x[index] = value")
    array[plain_index(index)] = array_of(value)
    increment(self, "x[index] = value")


NOT_AUGMENTED = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})

for _op in REGISTRY.values():
    if _op.symbol and _op.arity == 2 and _op.kind in ("elementwise", "plain") and _op.symbol not in NOT_AUGMENTED:
        setattr(Tensor, f"__i{_op.symbol}__", _inplace(_op.name, FUNCTIONS[_op.name]))
