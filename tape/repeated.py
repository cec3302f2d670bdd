"""Writing into views that look at one number several times, such as expanded tensors: each number is written once."""

from __future__ import annotations

from typing import Any

import numpy as np

import ops
from ops.index import is_basic

from .bars import change_error
from .rebase import is_tracked
from .tensor import Tensor
from .views import look_of, path_to
from .writing import overlaps, repeated_error


def repeats(tensor: Tensor) -> bool:
    """Whether several elements of a view of another tensor are one and the same number in memory."""
    if look_of(tensor) is None:
        return False
    array = tensor._data
    return type(array) is np.ndarray and not array.flags.c_contiguous and overlaps(array)


def fill(tensor: Tensor, value: Any, operation: str) -> Tensor:
    """Set all elements of a tensor that repeats numbers to one value."""
    _check(tensor, (value,), operation)
    base, cells = _cells(tensor)
    _assign(base, np.unique(cells), value)
    return tensor


def assign(tensor: Tensor, index: Any, value: Any, operation: str) -> None:
    """``tensor[index] = value`` where the tensor repeats numbers: of several values for one number the last one stays.

    Raises:
        RuntimeError: if the index is made of slices, and the place itself repeats numbers.
    """
    _check(tensor, (value,), operation)
    base, cells = _cells(tensor)
    places = np.asarray(cells[index])
    once, last = np.unique(places.ravel()[::-1], return_index=True)
    if is_basic(index) and len(once) < places.size:
        raise repeated_error(operation)
    if value.ndim:
        value = ops.reshape(ops.broadcast_to(value, shape=places.shape), shape=(-1,))
        value = ops.getitem(value, index=places.size - 1 - last)
    _assign(base, once, value)


def _check(tensor: Tensor, operands: tuple[Any, ...], operation: str) -> None:
    above = look_of(tensor)
    if above is not None and above.bar is not None and is_tracked(tensor, operands):
        raise change_error(tensor, above, operation)


def _cells(tensor: Tensor) -> tuple[Tensor, Any]:
    """The base of a view, and which element of that each of the view's is."""
    base, steps = path_to(tensor)
    return base, ops.overwriting.look(np.arange(base._spec.size).reshape(base._spec.shape), steps)


def _assign(base: Tensor, cells: np.ndarray, value: Any) -> None:
    if base._spec.shape:
        base[np.unravel_index(cells, base._spec.shape)] = value
    elif len(cells):
        base[()] = ops.reshape(value, shape=()) if getattr(value, "ndim", 0) else value
