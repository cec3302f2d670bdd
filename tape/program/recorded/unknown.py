"""What a recorded list cannot tell of a tensor: it stands for calls with others, and has neither nodes nor memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any

from ...base.location import in_library
from ...base.tensor import STATE, Tensor
from ...recording.recorder import getframe
from .trace import Untraceable

UNKNOWN = (
    "_base", "_grad_fn", "_is_view", "_version", "creator", "data_ptr", "grad", "grad_fn", "is_contiguous", "is_leaf",
    "requires_grad", "storage", "storage_offset", "stride", "untyped_storage",
)  # fmt: skip
OWN = frozenset({*STATE, "_flat", "_look", "_row", "_still", "_through", "_trace", *Tensor.__slots__})
"""The names under which this library keeps something in tensors; all others are the user's."""


def told(name: str, read: Callable[[Any], Any], lacks: Callable[[Any], bool]) -> property:
    """An attribute as something reads it; the user is not told of one that the tensor `lacks`."""

    def ask(self: Any) -> Any:
        if lacks(self) and not in_library(getframe(1).f_code.co_filename):
            raise Untraceable(f"{name} was asked for, which every call answers for itself")
        return read(self)

    return property(ask)


def read_as(kind: type[Tensor], name: str) -> Callable[[Any], Any]:
    """Reads an attribute as a kind of tensor has it now, whatever stands in its place later."""
    plain = inspect.getattr_static(kind, name)
    return lambda self: plain.__get__(self, kind)


def attributes_of(x: Tensor) -> dict[str, Any]:
    """The attributes that the user has given to a tensor."""
    return {name: value for name, value in SPACE.__get__(x).items() if name not in OWN}


def put_back(x: Tensor, attributes: dict[str, Any]) -> None:
    """Let the user's attributes of a tensor be these again."""
    space = SPACE.__get__(x)
    for name in attributes_of(x).keys() - attributes.keys():
        del space[name]
    space.update(attributes)


def check_attributes(tensors: Iterable[Any]) -> None:
    """Raise if some of the tensors that a function was given, or returned, got attributes from it.

    Raises:
        Untraceable: if they did.
    """
    if any(isinstance(x, Tensor) and attributes_of(x) for x in tensors):
        raise Untraceable("it gave a tensor an attribute, which every call has to do")


def lacking(self: Any, name: str) -> Any:
    """What `__getattr__` of a tensor does that stands for others: they may have been given such an attribute.

    Raises:
        AttributeError: to this library, and to Python, which asks for names of its own.
        Untraceable: to the user.
    """
    if name[:2] != "__" and name not in OWN and not in_library(getframe(2).f_code.co_filename):
        raise Untraceable(f"a tensor was asked for its attribute {name}, which it may have in another call")
    raise AttributeError(f"'Tensor' object has no attribute {name!r}")


def personal(name: str, method: Callable[..., Any], stands: Callable[[Any], bool]) -> Callable[..., Any]:
    """A method of Python's that tells tensors apart, which the user is not told of one that `stands` for others."""

    def ask(self: Any, *args: Any) -> Any:
        if stands(self) and not in_library(getframe(1).f_code.co_filename):
            raise Untraceable(f"{name} of a tensor was asked for, which every call answers for itself")
        return method(self, *args)

    return ask


CLASS = property(attrgetter("_spec.tensor"), object.__dict__["__class__"].__set__)
"""The class of the tensor that one stands for, which `isinstance` asks for too: without a call of Python's."""
SPACE: Any = Tensor.__dict__["__dict__"]
"""Reads the dict of a tensor's attributes."""
PERSONAL: dict[str, Callable[..., Any]] = {
    "__format__": Tensor.__format__, "__hash__": object.__hash__, "__repr__": Tensor.__repr__,
    "__str__": Tensor.__str__,
}  # fmt: skip
