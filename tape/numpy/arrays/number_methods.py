"""What NumPy's scalars have beside what arrays have: ``x[0].is_integer()``, and methods of arrays that do nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .face import AnyNumber
from .face_base import numpy
from .leaving import plain, value_of


def is_integer(x: AnyNumber) -> bool:
    """Whether it is a whole number."""
    return x.dtype.kind in "iub" or bool(numpy.isfinite(x) and numpy.floor(x) == x)


def _of_value(name: str) -> Callable[..., Any]:
    """A method whose result says exactly what the number is, which has no derivative."""

    def method(x: AnyNumber) -> Any:
        return getattr(value_of(x, f".{name}()")[()], name)()

    return method


def _of_temporary(name: str) -> Callable[..., Any]:
    """A method that changes an array: of a scalar NumPy makes one of it, which is forgotten."""

    def method(x: AnyNumber, *args: Any, **kwargs: Any) -> Any:
        return getattr(np.ones((), x.dtype)[()], name)(*plain(args), **plain(kwargs))

    return method


class OfKind:
    """A method, or an attribute, that only some kinds of scalars have."""

    def __init__(self, name: str, read: Callable[..., Any], is_attribute: bool = False):
        self.name, self.read, self.is_attribute = name, read, is_attribute

    def __get__(self, x: AnyNumber | None, owner: Any = None) -> Any:
        if x is None:
            return self
        kind = x.dtype.type
        if not hasattr(kind, self.name):
            raise AttributeError(f"'numpy.{kind.__name__}' object has no attribute '{self.name}'")
        return self.read(x) if self.is_attribute else self.read.__get__(x)


OWN = {
    "is_integer": OfKind("is_integer", is_integer),
    **{name: OfKind(name, _of_value(name)) for name in ("as_integer_ratio", "hex", "bit_count")},
    "fromhex": OfKind("fromhex", lambda x: x.dtype.type.fromhex, is_attribute=True),
    "from_number": OfKind("from_number", lambda x: x.dtype.type.from_number, is_attribute=True),  # since Python 3.14
    "numerator": OfKind("numerator", lambda x: x, is_attribute=True),
    "denominator": OfKind("denominator", lambda x: 1, is_attribute=True),
    **{name: _of_temporary(name) for name in ("fill", "put", "resize", "setfield", "setflags", "sort")},
}
for _name, _member in OWN.items():
    setattr(AnyNumber, _name, _member)
