"""Large arrays of a function that is being recorded: they are computed when somebody looks at one, which is rare.

A recorded list is run right after it was recorded, so what its large arrays hold is computed there, in kernels
that keep none of the arrays in between.  While it is recorded, it is enough to know shapes and dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import Op
from ops.shapes.index import is_basic

from ...base.spec import Spec, spec, spec_of

LARGE = 1 << 18
"""Bytes from which on an array is computed later."""
REDUCTIONS = {"spread", "average"}
"""How the adjoints of sums and means move."""


class Later:
    """A large array; NumPy does not take it.

    Attributes:
        value: the array, if it is known.
    """

    __slots__ = ("spec", "value")
    __array_ufunc__ = None

    def __init__(self, spec: Spec, value: Any = None):
        self.spec, self.value = spec, value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @property
    def dtype(self) -> Any:
        return self.spec.dtype


def later(value: Any) -> Any:
    """A value of a list: large arrays of floating-point numbers or truth values as such."""
    if type(value) is not np.ndarray or value.nbytes < LARGE or value.dtype.kind not in "fcb":
        return value
    return Later(spec_of(value), value)


def value_of(value: Any) -> Any:
    """A value of a list; None if it is computed later and was not yet."""
    return value.value if type(value) is Later else value


def foreseen(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Later | None:
    """What an op gives of values of which some are computed later; None if that cannot be told, or is no such array.

    Raises:
        ValueError: if the shapes do not fit.
    """
    with np.errstate(all="ignore"):
        if op.broadcasts:
            found = op.forward(*map(_one, values), **params)
            shape = np.broadcast_shapes(*map(np.shape, values))
        elif op.is_view(params) or op.hints.motion in REDUCTIONS:
            found = op.forward(*map(_repeated, values), **params)
            shape = getattr(found, "shape", ())
        elif op.kind == "linear" and "shape" in op.params and all(hasattr(v, "dtype") for v in values):
            return Later(spec(tuple(params["shape"]), np.result_type(*(v.dtype for v in values))))
        else:
            return _written(op, values, params)
    if not isinstance(found, (np.ndarray, np.generic)) or found.dtype.kind not in "fcb":
        return None
    return Later(spec(shape, found.dtype))


def _written(op: Op, values: Sequence[Any], params: dict[str, Any]) -> Later | None:
    """The array that something is put into, if it fits there and the place is made of integers and slices."""
    indices = op.part_of(params) if op.arity == 2 else None
    if indices is None or type(values[0]) is not Later or values[0].dtype.kind not in "fc":
        return None
    place = _repeated(Later(values[0].spec))
    for index in indices:
        place = place[index] if is_basic(index) else None
        if not isinstance(place, (np.ndarray, np.generic)):
            return None
    y = values[1]
    known = np.can_cast(getattr(y, "dtype", type(y)), values[0].dtype, "same_kind")
    fits = known and np.broadcast_shapes(np.shape(y), place.shape) == place.shape
    return Later(values[0].spec) if fits else None


def _one(value: Any) -> Any:
    """A value with as many axes as another, and one element."""
    shape = np.shape(value)
    return np.ones((1,) * len(shape), value.dtype)[()] if shape or type(value) is Later else value


def _repeated(value: Any) -> Any:
    """An array of ones, or a value that is known; it takes no memory."""
    if type(value) is not Later:
        return value
    return np.broadcast_to(np.ones((), value.dtype), value.shape)
