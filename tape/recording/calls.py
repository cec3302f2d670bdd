"""What the rooms of irregular calls share: making a function public, reading sizes and dimensions."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import ops

from ..base.rooms import opened
from ..base.signatures import signed
from ..base.tensor import Face, Tensor
from .functions import FUNCTIONS, METHODS

F = TypeVar("F", bound=Callable[..., Any])

TENSORS = frozenset({Tensor})
"""What is no array that is recorded, however many there are of it in a list."""

derived = dict(FUNCTIONS)
"""The derived functions, also of those names that an irregular call has taken since."""


@functools.cache
def facing(function: F) -> F:
    """A public function that takes arrays that are recorded as well as tensors, and then gives such arrays."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any(map(_holds_face, (*args, *kwargs.values()) if kwargs else args)):
            return _on_faces(function, args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def _holds_face(x: Any) -> bool:
    """Whether an argument is an array that is recorded, or a list or tuple with one in it."""
    kind = type(x)
    if kind is list or kind is tuple:
        return not TENSORS.issuperset(map(type, x)) and any(isinstance(part, Face) for part in x)
    return kind is not Tensor and isinstance(x, Face)


def _on_faces(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return opened("tape.numpy.dispatch").called_on_faces(function, args, kwargs)


def adaptor(function: F) -> F:
    """Make a function public, and a method."""
    METHODS[function.__name__] = function
    return function_only(function)


def method(function: F) -> F:
    """Make a function a method, without making it public."""
    METHODS[function.__name__] = function
    function.__qualname__ = f"Tensor.{function.__name__}"
    return function


def function_only(function: F, name: str | None = None) -> F:
    """Make a function public, without a method."""
    FUNCTIONS[name or function.__name__] = function
    return function


def as_derived(register: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """For the short way of a derived function, which it calls in all other cases: it takes its place, and looks so."""

    def give(function: Any) -> Any:
        model = derived[function.__name__]
        function.__doc__ = model.__doc__
        return register(signed(function, lambda: inspect.signature(model)))

    return give


def also(name: str, function: F) -> F:
    """Give a public function and method a second name."""
    FUNCTIONS[name] = METHODS[name] = function
    return function


def sizes_of(sizes: tuple[Any, ...], named: Any = None) -> tuple[int, ...]:
    """``f(2, 3)``, ``f((2, 3))`` and ``f(size=(2, 3))`` alike."""
    if named is not None:
        if sizes:
            raise TypeError(f"sizes are given by position or by name, not both; got {sizes} and {named}")
        sizes = (named,)
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    return tuple(map(operator.index, sizes))


def axis_of(input: Tensor, dim: int) -> int:
    """A dimension number in range(ndim).

    Raises:
        IndexError: if it is out of range.
    """
    n = input.ndim or 1
    if not -n <= dim < n:
        raise IndexError(f"dimension out of range: expected one from {-n} to {n - 1}, got {dim}")
    return dim % n


def counted(input: Tensor, dim: int, index: Any, name: str) -> Any:
    """Indices along a dimension, verified to count from zero, also in every replay.

    Raises:
        IndexError, RuntimeError: both in one, if one of them is negative or too large.
    """
    axis = axis_of(input, dim)
    return ops.within(index, size=input.shape[axis] if input.ndim else 1, name=name)
