"""Faces among arguments: taken off, found, and what else NumPy would make an array of as a tensor."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

import ops

from ...base.dtypes import NUMERIC, kind_of
from ...base.errors import note
from ...base.tensor import Face, Tensor
from ...base.tree import leaves_of
from ...recording.recorder import wrap
from .face_base import FACES


def bare(x: Any) -> Any:
    """An argument with its faces as tensors, in tuples, lists, dicts and slices too."""
    if isinstance(x, Face):
        return x._tensor
    kind = type(x)
    if kind is tuple or kind is list:
        return kind([bare(part) for part in x])
    if kind is dict:
        return {name: bare(part) for name, part in x.items()}
    if kind is slice:
        return slice(bare(x.start), bare(x.stop), bare(x.step))
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return kind(*[bare(part) for part in x])
    return x


def bare_noting(x: Any, noted: list[Any]) -> Any:
    """The same, noting the tensors and arrays in it."""
    kind = type(x)
    if kind in FACES:
        noted.append(x._tensor)
        return x._tensor
    if kind is tuple or kind is list:
        return kind([bare_noting(part, noted) for part in x])
    if kind is dict:
        return {name: bare_noting(part, noted) for name, part in x.items()}
    if kind not in NUMBERS:
        noted += [part for part in leaves_of(bare(x)) if isinstance(part, (Tensor, np.ndarray))]
        return bare(x)
    return x


NUMBERS = frozenset({float, int, bool, complex, str, type(None)})
"""What is plain, whatever it is."""


SEQUENCES = (list, tuple, deque)
"""What NumPy makes an array of by going through it."""


def is_of_objects(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype.hasobject


def has_tensor(x: Any) -> bool:
    """Whether there is a tensor among the arguments, beside the faces: a mixture counts as tensors."""
    if type(x) in FACES:
        return False
    if isinstance(x, (tuple, list)):
        return any(map(has_tensor, x))
    if type(x) is dict:
        return any(map(has_tensor, x.values()))
    return isinstance(x, Tensor)


def holds_face(x: Any) -> bool:
    """Whether something is a recorded value, or there is one in nested sequences."""
    if type(x) in FACES:
        return True
    if isinstance(x, SEQUENCES):
        return any(map(holds_face, x))
    return isinstance(x, Face)


def in_lists(x: Any) -> Any:
    """Arguments with lists in the place of other sequences of recorded values, which NumPy goes through as well."""
    if type(x) in (list, tuple):
        return type(x)([in_lists(part) for part in x])
    if isinstance(x, (str, bytes, dict, np.dtype, np.ndarray, Face, Tensor)) or not hasattr(type(x), "__getitem__"):
        return x
    parts = list(x) if hasattr(type(x), "__len__") else []
    return parts if holds_face(parts) else x


def tensor_of(x: Any) -> Tensor:
    """The tensor of anything that NumPy would make an array of: it shares memory where it can."""
    if isinstance(x, Face):
        return x._tensor
    if isinstance(x, Tensor):
        return x
    return stacked(x) if holds_face(x) else wrap(np.asarray(x))


def stacked(x: Any, dtype: Any = None) -> Tensor:
    """Nested sequences with recorded values in them as one tensor.

    Raises:
        ValueError: if the parts of a sequence differ in shape.
        TypeError: if there is something in them that is no number.
    """
    wanted = np.dtype(common_dtype(x) if dtype is None else dtype)
    if kind_of(wanted) not in NUMERIC:
        what = f"recorded numbers beside others make an array of dtype {wanted}, which cannot be recorded"
        raise note(TypeError(what))
    return _stacked(x, wanted)


def common_dtype(x: Any) -> np.dtype[Any]:
    """The dtype of the array that NumPy would make of something."""
    return np.result_type(*_types(x))


def _types(x: Any) -> list[np.dtype[Any]]:
    if isinstance(x, SEQUENCES):
        return [dtype for part in x for dtype in _types(part)]
    return [x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype]


def _stacked(x: Any, dtype: np.dtype[Any]) -> Tensor:
    if not isinstance(x, SEQUENCES):
        part = tensor_of(x)
        return part if part._spec.dtype == dtype else ops.cast(part, dtype=dtype)
    if not holds_face(x):
        return wrap(np.array(x, dtype))
    parts = [_stacked(part, dtype) for part in x]
    shapes = {part._spec.shape for part in parts}
    if len(shapes) > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous shape: parts of it "
            f"have the shapes {sorted(shapes)}."
        )
    return ops.stack(*parts, axis=0)
