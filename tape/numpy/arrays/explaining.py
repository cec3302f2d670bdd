"""What NumPy itself says of arguments: its own errors, where a recorded array meets one of another kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.errors import AsItIs, note
from ...base.hearing import unheard
from ...base.spec import Spec
from ...base.tensor import Face, Narrow, Tensor
from ...base.tree import leaves_of, transform
from ...recording.inference import InferenceTensor
from ...recording.level import Layer, components, live
from ...recording.views import materialise
from .array_text import lanes, numbers_of, without_layers


def rehearsed(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Let NumPy's function run on arrays that have only the shapes and dtypes of recorded ones, for what it raises."""
    try:
        _run(function, args, kwargs)
    except Exception as error:
        vars(error)[RAISED_BY_NUMPY] = True  # whatever it makes of other numbers or another layout
        raise


RAISED_BY_NUMPY = "_raised_by_numpy"


def outlined(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What NumPy's function gives of arrays that have only the shapes and dtypes of recorded ones, or NotImplemented.

    What it raises of other numbers alone, or of its own warnings, says nothing.

    Raises:
        Exception: what NumPy raises of the arrays themselves.
    """
    try:
        return _run(
            function, *transform(_copy, (tuple(args), dict(kwargs)))
        )  # what it writes into is written once only
    except Warning:
        pass
    except Exception:
        for lane in lanes_of([args, kwargs]) or (None,):
            theirs = numpys_error(function, args, kwargs, lane)
            if theirs is not None:
                raise theirs from None
    return NotImplemented


def _run(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What it gives: of truth values, which may choose places, of those that are known."""
    tensors = [x._tensor for x in leaves_of([list(args), dict(kwargs)]) if isinstance(x, Face)]
    values = {id(t): seen(t) if t._spec.dtype.kind == "b" else _stand_in(t._spec) for t in tensors}
    with np.errstate(all="ignore"), unheard():
        return function(*numbers_in(tuple(args), values), **numbers_in(dict(kwargs), values))


def numbers_in(x: Any, values: dict[int, Any]) -> Any:
    if isinstance(x, Face):
        value = values[id(x._tensor)]
        return np.asarray(value) if isinstance(x, np.ndarray) else np.asarray(value)[()]
    if isinstance(x, (tuple, list)):
        return type(x)([numbers_in(part, values) for part in x])
    return {name: numbers_in(part, values) for name, part in x.items()} if type(x) is dict else x


def _stand_in(spec: Spec) -> np.ndarray:
    """Numbers that do as places, the first ones; or as a matrix that can be inverted."""
    if spec.dtype.kind in "iu":
        return np.zeros(spec.shape, spec.dtype)
    made = np.ones(spec.shape, spec.dtype)
    if spec.inexact and len(spec.shape) > 1:
        made += np.eye(*spec.shape[-2:], dtype=spec.dtype)
    return made


def explained(error: Exception, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Raise what NumPy raises of such arguments if it does, else the error that was met.

    The latter is a refusal of ours where NumPy raises in no lane, but for what the user makes of NumPy's warnings.

    Raises:
        Exception: always.
    """
    if isinstance(error, AsItIs):
        raise error
    theirs = numpys_error(function, args, kwargs)
    is_theirs = theirs is not None or RAISED_BY_NUMPY in vars(error)
    if not is_theirs and not isinstance(error, (FloatingPointError, Warning)):
        in_lanes = [numpys_error(function, args, kwargs, lane) for lane in lanes_of([args, kwargs])]
        error = error if any(in_lanes) else note(error)
    if theirs is None or type(theirs) in type(error).__mro__:
        raise error
    raise theirs from error


def has_lanes(x: Any) -> bool:
    """Whether something is a recorded array whose numbers may differ from lane to lane."""
    return isinstance(x, Face) and bool(lanes(x._tensor))


def lanes_of(given: Any) -> range:
    """The numbers of the lanes that recorded arrays have."""
    recorded = [x for x in leaves_of(given) if isinstance(x, Face)]
    return range(max([len(numbers_of(x)) for x in recorded if lanes(x._tensor)], default=0))


def numpys_error(function: Callable[..., Any], args: Any, kwargs: Any, lane: int | None = None) -> Exception | None:
    """What NumPy raises of plain arrays in the place of recorded ones."""
    found = numpys_answer(function, args, kwargs, lane)
    return found.error if isinstance(found, Raised) else None


class Raised:
    """What NumPy's function raised in the place of a result."""

    def __init__(self, error: Exception):
        self.error = error


def numpys_answer(function: Callable[..., Any], args: Any, kwargs: Any, lane: int | None = None) -> Any:
    """What NumPy gives, or `Raised`, of plain arrays in the place of recorded ones; NotImplemented without these."""
    try:
        tensors = [x._tensor for x in leaves_of([list(args), dict(kwargs)]) if isinstance(x, Face)]
        values = {id(t): seen(t, lane) for t in tensors}
        args, kwargs = transform(_copy, (tuple(args), dict(kwargs)))  # what it writes into is written once only
        given, named = numbers_in(args, values), numbers_in(kwargs, values)
    except Exception:
        return NotImplemented
    try:
        with np.errstate(all="ignore"), unheard():
            return function(*given, **named)
    except Exception as error:
        return Raised(error)


def tell_errors(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Let NumPy tell of the floating-point errors that its function makes, which is called on copies for that alone."""
    tensors = [x._tensor for x in leaves_of([list(args), dict(kwargs)]) if isinstance(x, Face)]
    for lane in lanes_of([args, kwargs]) or (None,):
        values = {id(t): seen(t, lane) for t in tensors}
        given, named = transform(_copy, (tuple(args), dict(kwargs)))
        function(*numbers_in(given, values), **numbers_in(named, values))


def have_numbers(given: Any) -> bool:
    """Whether the recorded arrays among some arguments are of numbers that NumPy can be shown.

    Those with lanes have several, and those of a compiled function others in each call.
    """
    tensors = [x._tensor for x in leaves_of(given) if isinstance(x, Face)]
    return not any(lanes(t) or any(type(part) not in PLAIN for part in components(t)) for t in tensors)


PLAIN = frozenset({Tensor, Narrow, InferenceTensor})
"""The classes of tensors that stand for nothing but their numbers."""


def _copy(x: Any) -> Any:
    return x.copy() if type(x) is np.ndarray else x


def seen(tensor: Tensor, lane: int | None = None) -> Any:
    """The numbers of a tensor for the library's own eyes; those of one with lanes are ones, or those in one of them."""
    tensor = live(tensor)
    axes = lanes(tensor)
    if axes > 1 or (axes and lane is None):
        return np.ones(tensor._spec.shape, tensor._spec.dtype)
    below = without_layers(tensor) if isinstance(tensor, Layer) else tensor
    value = below.value if hasattr(below, "value") else materialise(below)
    return np.array(value[lane] if axes else value)[()]
