"""Writing into views that look at one number several times, such as expanded tensors: each number is written once."""

from __future__ import annotations

from typing import Any

import numpy as np

import ops
from ops.shapes import overwriting
from ops.shapes.index import is_basic

from ..base.tensor import Tensor
from ..recording.views import look_of, path_to, shell
from .rebase import check_history, is_tracked
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
    memory, cells = _cells(tensor)
    _assign(memory, [np.unique(numbers) for numbers in cells], value)
    return tensor


def assign(tensor: Tensor, index: Any, value: Any, operation: str) -> None:
    """``tensor[index] = value`` where the tensor repeats numbers: of several values for one number the last one stays.

    Raises:
        RuntimeError: if the index is made of slices, and the place itself repeats numbers.
    """
    _check(tensor, (value,), operation)
    memory, cells = _cells(tensor)
    places = [np.asarray(numbers[index]) for numbers in cells]
    shape, backwards = places[0].shape, places[0].ravel()[::-1]
    once, last = np.unique(backwards, return_index=True)
    if is_basic(index) and len(once) < backwards.size:
        raise repeated_error(operation)
    if value.ndim:
        value = ops.reshape(ops.broadcast_to(value, shape=shape), shape=(-1,))
        value = ops.getitem(value, index=backwards.size - 1 - last)
    _assign(memory, [numbers.ravel()[::-1][last] for numbers in places], value)


def _check(tensor: Tensor, operands: tuple[Any, ...], operation: str) -> None:
    if is_tracked(tensor, operands):
        check_history(tensor, operation)


def _cells(tensor: Tensor) -> tuple[Tensor, list[np.ndarray]]:
    """The base of a view, and which element of that each of the view's is.

    Where the view shows real numbers of a complex base, that base as pairs of them; where it shows the complex
    numbers that pairs of a real base make, which element each real part is, and which each imaginary part.
    """
    base, steps = path_to(tensor)
    cells = overwriting.cells(shell(base), steps)
    if base._spec.complex and overwriting.crosses(steps):
        base = ops.view_as_real(base)
    return base, [cells] if cells.shape == tensor._spec.shape else [cells[..., 0], cells[..., 1]]


def _assign(memory: Tensor, cells: list[np.ndarray], value: Any) -> None:
    values = [value] if len(cells) == 1 else [ops.real(value), ops.imag(value)]
    for numbers, part in zip(cells, values):
        if memory._spec.shape:
            memory[np.unravel_index(numbers, memory._spec.shape)] = part
        elif len(numbers):
            memory[()] = ops.reshape(part, shape=()) if getattr(part, "ndim", 0) else part
