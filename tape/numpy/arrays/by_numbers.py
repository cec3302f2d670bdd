"""What NumPy itself says and gives of the bare numbers of recorded arrays.

A function that gives integers or truth values has no derivative, so it gets the numbers; any other without a rule is
refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ops.core.batching import LanesDiffer

from ...base.errors import note
from ...base.tensor import Face
from ...base.tree import leaves_of
from ...recording.level import Layer, live
from .explaining import numbers_in, tell_errors
from .face import faces
from .face_base import FACES
from .leaving import carries, refusal, still
from .unwrapping import is_of_objects, tensor_of


def of_numbers(function: Callable[..., Any], args: Any, kwargs: Any, name: str) -> Any:
    """What a function without a rule gives of the bare numbers, if it gives integers, truth values or nothing.

    Raises:
        LanesDiffer: if an argument differs from lane to lane of `vmap`.
        TypeError: if what it gives could have a derivative, and an argument carries a gradient.
    """
    tensors = [x._tensor for x in leaves_of([list(args), kwargs]) if isinstance(x, Face)]
    lost = [t for t in tensors if carries(t)]
    if any(isinstance(still(t), Layer) for t in lost):
        raise note(
            LanesDiffer(
                f"vmap: {name} asks for numbers, and these differ from lane to lane.\nCompute it outside of what is "
                "mapped, write it in NumPy's functions that record, or call the function in a loop."
            )
        )
    copies = {id(t): np.array(still(t).numpy(force=True)) for t in tensors}
    result = function(*numbers_in(tuple(args), copies), **numbers_in(kwargs, copies))
    if lost and (result is None or any(np.asarray(x).dtype.kind in "fcO" for x in leaves_of(result))):
        of_objects = any(map(is_of_objects, leaves_of([list(args), kwargs])))
        raise refusal("beside an array of dtype object" if of_objects else "it has no rule", name)
    return faces(_wrapped(result))


def _wrapped(result: Any) -> Any:
    if isinstance(result, (np.ndarray, np.generic)) and result.dtype.kind in "biufc":
        return tensor_of(np.array(result)[()] if not np.ndim(result) else result)
    if isinstance(result, (tuple, list)):
        made = [_wrapped(part) for part in result]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
    return result


def told_by_numpy(function: Any, args: Any, kwargs: Any, find: Callable[[], Any]) -> Any:
    """What a function gives whose op makes other errors of numbers; where there are some, NumPy tells of its own."""
    errors: list[Any] = []
    with np.errstate(divide="call", over="call", invalid="call", call=lambda *error: errors.append(error)):
        found = _without_warnings_of_nothing(find, args, kwargs)
    if errors or not all(map(_is_finite, leaves_of(found))):
        tell_errors(function, args, kwargs)
    return found


def _without_warnings_of_nothing(find: Callable[[], Any], args: Any, kwargs: Any) -> Any:
    """What is found, without warnings of empty slices, of which ops may warn too."""
    if all(x._tensor._spec.size for x in leaves_of([args, kwargs]) if type(x) in FACES):
        return find()
    with warnings.catch_warnings(action="ignore"):
        return find()


def _is_finite(x: Any) -> bool:
    """Whether numbers that are known are all finite."""
    if type(x) in FACES:
        x = live(x._tensor)
        while isinstance(x, Layer):
            x = live(x._primal)
        x = x._data
    return bool(np.isfinite(x).all())
