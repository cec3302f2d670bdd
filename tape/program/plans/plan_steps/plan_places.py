"""Where the values of a plan lie: regions and offsets, strides, and memory that is used again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ....base.spec import Spec
from ....jit.machine.regions import DATA

UNIT = 16
"""Memory begins at multiples of so many bytes."""
SUFFIXES = {
    np.dtype(np.float64): "f64", np.dtype(np.float32): "f32",
    np.dtype(np.complex128): "c128", np.dtype(np.complex64): "c64",
}  # fmt: skip
"""How the names of kernels end that compute with numbers of a dtype (see `tape.jit.sweeps.numbers`)."""
CANARY = 64
"""Bytes that nobody may write to, behind each piece of memory, where that is checked."""


def is_native(spec: Spec | None) -> bool:
    """Whether steps know how numbers lie in memory: in the machine's order of bytes, and in 64 bits at most."""
    return spec is None or (spec.dtype.isnative and spec.dtype.char not in "gG")


class Place(NamedTuple):
    """Memory: in which region (see `tape.jit.machine.regions`), and how many bytes after its beginning."""

    region: int
    offset: int


class Chunk:
    """A piece of the data region.

    Attributes:
        users: how many values are in it.
        rows: by record, the values that look at it.
        looks: which of these look at each cell, once somebody has asked.
    """

    __slots__ = ("looks", "nbytes", "offset", "rows", "users")

    def __init__(self, offset: int, nbytes: int):
        self.offset, self.nbytes, self.users = offset, nbytes, 0
        self.rows: dict[int, PlanValue] = {}
        self.looks: Looks | None = None

    def look(self, k: int, value: PlanValue) -> None:
        """A record's value looks at this memory."""
        if k in self.rows:
            self.leave(k)
        self.rows[k] = value
        if self.looks is not None:
            self.looks.add(k, value, 1)

    def leave(self, k: int) -> None:
        """A record's value does not look at it any more, if it did."""
        value = self.rows.pop(k, None)
        if value is not None and self.looks is not None:
            self.looks.add(k, value, -1)

    def onlookers(self, part: PlanValue, going: Iterable[int]) -> Iterable[int]:
        """The records, other than those that are `going`, whose values may look at a part of this memory."""
        if self.looks is None:
            self.looks = Looks(self, part.spec.dtype.itemsize)
        leaving = {k: self.rows[k] for k in going if k in self.rows}
        for k, value in leaving.items():
            self.looks.add(k, value, -1)
        found = self.looks.at(part)
        for k, value in leaving.items():
            self.looks.add(k, value, 1)
        return self.rows.keys() - leaving.keys() if found is None else found


class Looks:
    """How many values look at each cell of a piece of memory, and the sum of the numbers of their records.

    So a write need not be compared with each of the thousands of views that a loop over rows and columns leaves.
    """

    def __init__(self, chunk: Chunk, item: int):
        self._offset, self._item, self._size = chunk.offset, item, chunk.nbytes // item
        self._table, self._anywhere = np.zeros((2, self._size), np.int64), set[int]()
        for k, value in chunk.rows.items():
            self.add(k, value, 1)

    def add(self, k: int, value: PlanValue, n: int) -> None:
        """Count the look of a record's value `n` times more."""
        is_most = 2 * value.spec.size > self._size and value.contiguous  # mostly it is the array itself
        cells = None if is_most else self._cells(value)
        if cells is not None:
            cells[0] += n
            cells[1] += n * k
        elif n > 0:
            self._anywhere.add(k)
        else:
            self._anywhere.discard(k)

    def at(self, part: PlanValue) -> set[int] | None:
        """The records whose values may look at a part; None if that would have to be found out one by one."""
        cells = self._cells(part)
        if cells is None:
            return None
        counts, numbers = cells
        most = counts.max(initial=0)
        if most > 1:
            return None
        return self._anywhere | set(numbers[counts > 0].tolist()) if most else set(self._anywhere)

    def _cells(self, value: PlanValue) -> np.ndarray | None:
        """What is known of the cells that a value looks at, each once; None if they are not told by its strides."""
        size = value.spec.size
        if not size:
            return self._table[:, :0]
        start, span = value.place.offset - self._offset, self._item  # type: ignore[union-attr]
        if value.spec.dtype.itemsize != span or start % span:
            return None
        if len(value.strides) == 1 and value.strides[0] >= span and not value.strides[0] % span:
            step = value.strides[0] // span
            return self._table[:, start // span :: step][:, :size]
        if size == 1:
            return self._table[:, start // span :][:, :1]
        axes = sorted([(abs(s), s, n) for s, n in zip(value.strides, value.spec.shape) if n > 1 and s])
        for size, _, n in axes:
            if size < span or size % self._item:
                return None
            span += size * (n - 1)
        shape, strides = [n for _, _, n in axes], [8 * (s // self._item) for _, s, _ in axes]
        lines = 8 * self._size
        return np.ndarray((2, *shape), np.int64, self._table, 8 * (start // self._item), (lines, *strides))


class PlanValue(NamedTuple):
    """Where a record's value is, an address if it is a constant, and how it lies there."""

    place: Place | int
    strides: tuple[int, ...]
    spec: Spec
    chunk: Chunk | None = None

    @property
    def contiguous(self) -> bool:
        """Whether its elements lie one behind the other in row-major order."""
        return self.spec.size <= 1 or contiguous(self.spec.shape, self.strides, self.spec.dtype.itemsize)

    def moved(self, nbytes: int) -> Place | int:
        """So many bytes after its beginning."""
        return moved(self.place, nbytes)

    def element(self, number: int) -> Place | int:
        """The place of an element, by its number in row-major order."""
        nbytes = 0
        for n, stride in zip(reversed(self.spec.shape), reversed(self.strides)):
            number, k = divmod(number, n)
            nbytes += k * stride
        return moved(self.place, nbytes)


def moved(place: Place | int, nbytes: int) -> Place | int:
    """The place so many bytes on."""
    if not nbytes:
        return place
    return place + nbytes if isinstance(place, int) else Place(place.region, place.offset + nbytes)


def contiguous(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Whether so many elements at such strides lie in row-major order."""
    step = itemsize
    for n, stride in zip(reversed(shape), reversed(strides)):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


class DataRegion:
    """The data region while a plan is made: what a value no longer needs is given to another of its size.

    Attributes:
        nbytes: how much there is so far.
        canaries: with `checked`, where bytes are that nobody may write to.
    """

    def __init__(self, checked: bool = False) -> None:
        self.nbytes = 0
        self.checked = checked
        self.canaries: list[int] = []
        self._free: dict[int, list[int]] = {}

    def take(self, nbytes: int) -> Chunk:
        """A piece of memory with anything in it."""
        size = rounded(nbytes)
        free = self._free.get(size)
        return Chunk(free.pop(), size) if free else self.own(size)

    def own(self, nbytes: int) -> Chunk:
        """A piece of memory that nobody else uses, before or after."""
        size = rounded(nbytes)
        chunk = Chunk(self.nbytes, size)
        self.nbytes += size
        if self.checked:
            self.canaries.append(self.nbytes)
            self.nbytes += CANARY
        return chunk

    def give(self, chunk: Chunk) -> None:
        """One value fewer is in a piece; the last gives it back."""
        chunk.users -= 1
        if not chunk.users:
            self._free.setdefault(chunk.nbytes, []).append(chunk.offset)


@lru_cache(1 << 12)
def rounded(nbytes: int) -> int:
    """A size of memory: an eighth more at most, so that few sizes are in use."""
    if nbytes <= UNIT:
        return UNIT
    unit = max(UNIT, 1 << max(int(nbytes).bit_length() - 4, 0))
    return max(-(-nbytes // unit) * unit, UNIT)


def place_in(chunk: Chunk, offset: int = 0) -> Place:
    """A place in a piece of the data region."""
    return Place(DATA, chunk.offset + offset)


def array_at(memory: Any, offset: int, spec: Spec, strides: tuple[int, ...]) -> np.ndarray:
    """An array that looks at memory."""
    return np.ndarray(spec.shape, spec.dtype, memory, offset, strides)
