"""``x[index]`` of arrays: views where NumPy gives views, numbers that no longer change where it gives scalars."""

from __future__ import annotations

from typing import Any

import numpy as np

import ops

from ..level import Layer
from ..tensor import Face, Tensor
from ..views import leave
from .creation import gathered, holds_face
from .face import Array, Number, bare

new = object.__new__


def read(x: Face, index: Any) -> Any:
    """What an array gives for an index."""
    tensor = x._tensor
    if type(index) is not int:
        index = bare(_gathered(index))
        if type(index) is np.int64:
            index = int(index)
    if not tensor._spec.shape and type(index) is not tuple and index is not Ellipsis and index is not None:
        if not isinstance(index, (bool, np.bool_, np.ndarray, Tensor)):
            raise IndexError("too many indices for array: array is 0-dimensional, but 1 were indexed")
    z = tensor[index]
    if z._spec.shape:
        made = new(Array)
        made._tensor = z
        return made
    if has_ellipsis(index):
        made = new(Array)
        made._tensor = z
        return made
    made = new(Number)
    made._tensor = settled(z, tensor)
    return made


def _gathered(index: Any) -> Any:
    if isinstance(index, list) and holds_face(index):
        return gathered(index)
    if type(index) is tuple and any(type(part) is list for part in index):
        return tuple([gathered(part) if type(part) is list else part for part in index])
    return index


def has_ellipsis(index: Any) -> bool:
    """Whether an index has ``...`` in it, so that it gives an array even without axes."""
    return index is Ellipsis or (type(index) is tuple and any(part is Ellipsis for part in index))


def settled(z: Tensor, base: Tensor) -> Tensor:
    """An element as a value of its own, which stays what it is when the array is written."""
    if type(z) is Tensor:
        return leave(z)
    if isinstance(z, Layer):
        return ops.clone(z)
    return z._at(z._row) if hasattr(z, "_at") else z
