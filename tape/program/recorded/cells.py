"""Arrays of a recording that are written one cell at a time, as ``y[i] = …`` in a loop does.

Each such write would make a new array.  So it is remembered by cell, and ``y[i]`` is what was written there, until
somebody looks at the whole: then all go into the array at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ops import REGISTRY

if TYPE_CHECKING:
    from .traced_inplace import TracedMemory

STACK, INDEX_PUT, RESHAPE = (REGISTRY[name] for name in ("stack", "index_put", "reshape"))
EVERYTHING = slice(None)


class CellPlace(NamedTuple):
    """A cell of an array: the axes that cells are numbered along, and its number on each.

    There is one axis, or they are the first ones.
    """

    axes: tuple[int, ...]
    cell: tuple[int, ...]

    def inside(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a cell of an array."""
        return tuple(n for k, n in enumerate(shape) if k not in self.axes)


_NUMBERS = {int}


def _cell_of(index: tuple[int, ...], shape: tuple[int, ...]) -> CellPlace | None:
    """The cell that has a number on each axis."""
    cell = []
    for k, n in zip(index, shape):
        if not -n <= k < n:
            return None
        cell.append(k % n)
    return CellPlace(tuple(range(len(cell))), tuple(cell))


def place_of(index: Any, shape: tuple[int, ...]) -> CellPlace | None:
    """The cell that an index with plain integers stands for; None if it is another index, or out of range."""
    parts: list[Any]
    if type(index) is tuple and len(index) == len(shape) and set(map(type, index)) == _NUMBERS:
        return _cell_of(index, shape)
    parts = [int(p) if isinstance(p, np.integer) else p for p in (index if type(index) is tuple else (index,))]
    kinds = [type(p) for p in parts]
    if kinds.count(type(...)) == 1:
        at = kinds.index(type(...))
        parts[at : at + 1] = [EVERYTHING] * (len(shape) - len(parts) + 1)
    if len(parts) > len(shape) or not all(type(p) is int or (type(p) is slice and p == EVERYTHING) for p in parts):
        return None
    axes = tuple(k for k, p in enumerate(parts) if type(p) is int)
    if not axes or (len(axes) > 1 and axes != tuple(range(len(axes)))):
        return None
    if not all(-shape[k] <= parts[k] < shape[k] for k in axes):
        return None
    return CellPlace(axes, tuple(parts[k] % shape[k] for k in axes))


class Cells:
    """What was written into an array since it was last looked at as a whole.

    Attributes:
        axes: those that the cells are numbered along.
        written: by cell, the record of its value.
    """

    __slots__ = ("axes", "written")

    def __init__(self, axes: tuple[int, ...]):
        self.axes = axes
        self.written: dict[tuple[int, ...], int] = {}

    def put_into(self, array: TracedMemory) -> TracedMemory:
        """The array with what was written."""
        shape, cells = array._spec.shape, sorted(self.written)
        values = [array._at(self.written[cell]) for cell in cells]
        joined = values[0] if len(cells) == 1 else STACK(*values, axis=self.axes[0])
        if len(cells) == math.prod(shape[k] for k in self.axes):
            return RESHAPE(joined, shape=shape) if joined._spec.shape != shape else joined
        index: list[Any] = [EVERYTHING] * len(shape)
        for k, numbers in zip(self.axes, zip(*cells)):
            index[k] = numbers[0] if len(cells) == 1 else np.array(numbers)
        return INDEX_PUT(array, joined, index=tuple(index))
