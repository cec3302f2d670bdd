"""Objects of SciPy's classes that are made of recorded values.

SciPy's constructors get stand-ins of the same shapes, and raise what they raise; the object is one of their class.
What is computed of the values themselves is kept in the place of SciPy's plain arrays by a subclass: a method that is
not written here meets recorded arrays, and refuses them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.rooms import Room
from ...base.tensor import Face
from ...base.tree import leaves_of, transform
from ..arrays.face_base import numpy
from ..arrays.leaving import carries, plain, refusal
from ..arrays.unwrapping import holds_face
from ..constructors import as_array
from ..mathematics import holds, is_finite

Making = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Makes what stands for a function of SciPy's out of the function."""

interpolate = Room("scipy.interpolate")


def _part(name: str) -> property:
    return property(lambda self: vars(self)[name], lambda self, value: vars(self).__setitem__(name, value))


PARTS = "x", "t", "c", "y", "d", "values"


@functools.cache
def recorded_kind(kind: type) -> type:
    """The subclass that keeps its parts as they are given, by the names that they have in SciPy's versions."""
    parts = {name: _part(f"recorded {name.strip('_')}") for part in PARTS for name in (part, f"_{part}")}
    named = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made = type(kind)(kind.__name__, (kind,), named | parts)
    KINDS.add(made)
    return made


KINDS: set[type] = set()
"""The classes of objects with recorded parts."""


def becomes(self: Any, **parts: Any) -> None:
    """Let an object have recorded parts."""
    if type(self) not in KINDS:
        kind: Any = type(self)
        self.__class__ = recorded_kind(kind)
    for name, value in parts.items():
        setattr(self, name, value)


def another(of: Any, **parts: Any) -> Any:
    """An object as one with recorded parts is, with others."""
    self = object.__new__(type(of))
    for name in ("axis", "extrapolate", "k", "_asarray"):
        if hasattr(of, name):
            setattr(self, name, parts.pop(name, getattr(of, name)))
    becomes(self, **parts)
    return self


def told(x: Any, what: str, name: str) -> Any:
    """An argument that a function of `scipy.interpolate` needs as it is, which must carry no gradient."""
    if any(isinstance(leaf, Face) and carries(leaf._tensor) for leaf in leaves_of(x)):
        raise refusal(what, f"scipy.interpolate.{name}")
    return plain(x)


KNOTS = "x", "t", "xi"


def stand_in(name: str, value: Any) -> Any:
    """Plain numbers of the same shape: zeros, of knots ones that ascend."""
    if name in KNOTS and holds_face(value):
        return np.arange(float(len(as_array(value))))
    return transform(_zeros, value)


def _zeros(leaf: Any) -> Any:
    return np.zeros(leaf._tensor.shape, leaf._tensor.dtype)[()] if isinstance(leaf, Face) else leaf


def constructor(compute: Callable[..., Any], *needed: str, apart: str = "") -> Making:
    """Let a constructor that gets something recorded build its object of stand-ins, and `compute` put in what it has.

    If that gives NotImplemented, SciPy's constructor gets what is recorded, and refuses it.

    Args:
        needed: arguments that it needs as they are, which must carry no gradient.
        apart: an argument of points, of which no two may be the same.
    """

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            if not holds_face(args) and not holds_face(list(kwargs.values())):
                return original(self, *args, **kwargs)
            bound = signature.bind(self, *args, **kwargs)
            named = bound.arguments
            named.update(
                {name: told(named[name], f"its {name}", type(self).__name__) for name in needed if name in named}
            )
            stand_ins = inspect.BoundArguments(signature, {name: stand_in(name, x) for name, x in named.items()})
            if apart and holds_face(named[apart]):
                shape = as_array(named[apart]).shape
                stand_ins.arguments[apart] = np.sin(np.arange(np.prod(shape)) ** 2 + 1.0).reshape(shape)
            original(*stand_ins.args, **stand_ins.kwargs)
            bound.apply_defaults()
            given = dict(list(bound.arguments.items())[1:])
            if compute(self, **given) is NotImplemented:
                original(self, *args, **kwargs)
            return None

        return __init__

    return making


def method(covers: Callable[[Any, tuple[Any, ...]], bool], compute: Callable[..., Any]) -> Making:
    """Lead a method to `compute` where the object or an argument is recorded; NotImplemented leads back."""

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not holds_face(args) and not holds_face(list(kwargs.values())) and not covers(self, args):
                return original(self, *args, **kwargs)
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            found = compute(*bound.args, **bound.kwargs)
            return original(self, *args, **kwargs) if found is NotImplemented else found

        return call

    return making


def refused(name: str) -> Callable[..., Any]:
    """What a method of an object with recorded parts does that has no derivatives."""

    def compute(*_: Any) -> Any:
        raise refusal("what the spline is made of", f"scipy.interpolate.{name}")

    return compute


def has_recorded_parts(self: Any, args: Any) -> bool:
    return type(self) in KINDS


def places(x: Any) -> Any:
    return as_array(x).astype(float, copy=False)


def turned(z: Any, ndim: int, axis: int) -> Any:
    """A result whose first axes are those of the places, with them where the axis of the values was."""
    return numpy.moveaxis(z, range(ndim), range(axis, axis + ndim)) if axis else z


def values_of(y: Any, axis: int, name: str = "y") -> Any:
    """Values with the axis in front, in the precision in which SciPy computes."""
    y = as_array(y)
    y = y.astype(np.result_type(y.dtype, float), copy=False)
    if not is_finite(y):
        raise ValueError(f"`{name}` must contain only finite values.")
    return numpy.moveaxis(y, axis, 0)


def is_closed(y: Any) -> bool:
    """Whether values end as they begin, as exactly as SciPy asks for."""
    return holds(lambda beyond: beyond <= 1e-15, np.abs(y[0] - y[-1]) - 1e-15 * np.abs(y[-1]))
