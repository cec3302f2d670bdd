"""What NumPy itself says of arguments: its own errors, where a recorded array meets one of another kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.tensor import Face, Tensor
from ...base.tree import leaves_of
from ...recording.level import Layer, live
from ...recording.views import materialise


def rehearsed(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """Let NumPy's function run on arrays that have only the shapes and dtypes of recorded ones, for what it raises.

    Of truth values, which may choose places, those that are known.
    """
    tensors = [x._tensor for x in leaves_of([list(args), dict(kwargs)]) if isinstance(x, Face)]
    values = {id(t): seen(t) if t._spec.dtype.kind == "b" else _stand_in(t._spec.shape, t._spec.dtype) for t in tensors}
    with np.errstate(all="ignore"):
        function(*numbers_in(tuple(args), values), **numbers_in(dict(kwargs), values))


def numbers_in(x: Any, values: dict[int, Any]) -> Any:
    if isinstance(x, Face):
        value = values[id(x._tensor)]
        return np.asarray(value) if isinstance(x, np.ndarray) else np.asarray(value)[()]
    if isinstance(x, (tuple, list)):
        return type(x)([numbers_in(part, values) for part in x])
    return {name: numbers_in(part, values) for name, part in x.items()} if type(x) is dict else x


def _stand_in(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers that do as places: the first ones."""
    return np.ones(shape, dtype) if dtype.kind != "i" else np.zeros(shape, dtype)


def explained(error: Exception, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Raise what NumPy raises of such arguments if it does, else the error that was met.

    Raises:
        Exception: always.
    """
    theirs = numpys_error(function, args, kwargs)
    if theirs is None or type(theirs) in type(error).__mro__:
        raise error
    raise theirs from error


def numpys_error(function: Callable[..., Any], args: Any, kwargs: Any) -> Exception | None:
    """What NumPy raises of plain arrays in the place of recorded ones."""
    try:
        tensors = [x._tensor for x in leaves_of([list(args), dict(kwargs)]) if isinstance(x, Face)]
        values = {id(t): seen(t) for t in tensors}
        given, named = numbers_in(tuple(args), values), numbers_in(dict(kwargs), values)
    except Exception:
        return None
    try:
        with np.errstate(all="ignore"):
            function(*given, **named)
    except Exception as error:
        return error
    return None


def seen(tensor: Tensor) -> Any:
    """The numbers of a tensor for the library's own eyes; those of one with lanes are ones."""
    tensor = live(tensor)
    if isinstance(tensor, Layer):
        return np.ones(tensor._spec.shape, tensor._spec.dtype)
    value = tensor.value if hasattr(tensor, "value") else materialise(tensor)
    return np.array(value)[()]
