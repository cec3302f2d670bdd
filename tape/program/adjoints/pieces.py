"""An adjoint that arrives in pieces: each is kept where it belongs, and they are joined when the whole is asked for.

A loop that reads ``x[i]`` adds to one place of the adjoint of x in each round, and one that writes ``y[i] = v`` takes
from one place of the adjoint of y.  With whole arrays each round would cost as much as all of the array.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

import ops

from ..recorded.boxes import BoxGrid, Region, box, everything, hull, index_of, nested, shape_of, size_of, split
from ..recorded.traced_index import part_of

ROOM = 8
"""So many times the size of an array its pieces may take before they are joined."""
MANY = 4
"""More pieces than these are summed into one before what lies in a region of them all is taken out of each."""
SPREAD = 4
"""The box around pieces that are summed into one may have so many times the elements of all but the largest."""
LARGE_PART = 4
"""Of at least the fourth part of an array all of it is asked for: that costs no more than the part does."""

FUSED = 6
"""So many large parts are whole arrays in sums that are fused; more are added one after the other where they belong."""


Cut = tuple[Region, list[Region], Region]
"""The region of a piece that overlaps a box, its parts outside of that, and the part inside."""


class Piece(NamedTuple):
    """What was added to a region: an array of its shape, or the part of a source that `inner` says, by axis."""

    source: Any
    inner: tuple[range, ...] | None = None


class Pieces:
    """The adjoint of an array, in pieces.

    Attributes:
        shape, dtype: those of the array.
        parts: by region, what was added there; regions may overlap.
        elsewhere: index and addend, where the index is not made of integers and slices.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any):
        self.shape, self.dtype = shape, dtype
        self.full = everything(shape)
        self.size = size_of(self.full)
        self.parts: dict[Region, Piece] = {}
        self.elsewhere: list[tuple[Any, Any]] = []
        self._volume = 0
        self._grid: BoxGrid | None = None

    @property
    def volume(self) -> int:
        """How many numbers there are in all pieces."""
        return self._volume

    def with_parts(self, parts: dict[Region, Piece]) -> Pieces:
        """The same with other values in its regions."""
        made = Pieces(self.shape, self.dtype)
        made.parts, made._volume = parts, self._volume
        return made

    def __len__(self) -> int:
        return len(self.parts) + len(self.elsewhere)

    def add(self, region: Region, g: Any) -> None:
        """Add an array of the shape of a region there."""
        if len(region) == 1 and type(region[0]) is int:
            self._insert(region, Piece(g), 1)
            return
        turned = [type(r) is range and r.step < 0 for r in region]
        if any(turned):
            g = ops.getitem(g, index=tuple([slice(None, None, r.step // abs(r.step)) for r in region if _open(r)]))
            region = tuple([r[::-1] if turn else r for r, turn in zip(region, turned)])
        if size_of(region):
            self._insert(region, Piece(g))

    def add_at(self, index: Any, g: Any) -> None:
        """Add an array at an index of any kind."""
        self.elsewhere.append((index, g))
        self._grow(math.prod(g.shape))

    def absorb(self, other: Pieces) -> None:
        """Add all pieces of another one."""
        for index, g in other.elsewhere:
            self.add_at(index, g)
        for region, piece in other.parts.items():
            self._insert(region, piece)

    def within(self, region: Region) -> list[tuple[Region, Any]] | None:
        """The pieces as pieces of an array of which this one is a region; None if they are not all boxes of it."""
        if self.elsewhere:
            return None
        return [(nested(region, part), _value(piece)) for part, piece in self.parts.items()]

    def is_large(self, region: Region) -> bool:
        """Whether a region is so large that all may be asked for."""
        return LARGE_PART * size_of(region) >= self.size

    def take(self, region: Region, wanted: bool, emptied: bool) -> Any:
        """What lies in a region, None if nothing does; nothing remains there if it is to be `emptied`."""
        if self.elsewhere:
            self._join()
        around = box(region)
        near = self._near(around)
        if wanted and self._condense(near):
            near = self._near(around)
        cut = [(part, *split(part, around)) for part in near]
        if around == region:
            found = self._read(region, cut) if wanted else None
            if emptied:
                self._clear(cut)
            return found
        whole = self._read(around, cut)
        if whole is None:
            return None
        index = _place(region, around)
        if emptied:
            self._clear(cut)
            self.add(around, ops.index_put(whole, 0.0, index=index))
        return ops.getitem(whole, index=index)

    def total(self) -> Any:
        """The adjoint as one array; None if nothing was added."""
        rest = dict(self.parts)
        whole = rest.pop(self.full, None)
        found = None if whole is None else _value(whole)
        if not rest and not self.elsewhere:
            return found
        cells = [region[0] for region in rest if type(region[0]) is int and region[1:] == self.full[1:]]
        if len(cells) == len(rest) and not self.elsewhere:
            joined = self._of_cells(cells, list(map(_value, rest.values())))
            if joined is not None:
                return joined if found is None else found + joined
        large = [region for region in rest if self.is_large(region)]
        for region in large if len(large) <= FUSED else ():  # kernels add whole arrays in one go
            g = ops.scatter(_value(rest.pop(region)), index=index_of(region), shape=self.shape)
            found = g if found is None else found + g
        places = [index_of(region) for region in rest] + [index for index, _ in self.elsewhere]
        values = list(map(_value, rest.values())) + [g for _, g in self.elsewhere]
        return _collected(self.shape, found, places, values) if places else found

    def _of_cells(self, cells: list[int], values: list[Any]) -> Any:
        """The adjoint out of blocks along the first axis, if those are many, or numbers."""
        n = self.shape[0]
        if 4 * len(cells) >= n:
            zero = np.zeros(self.shape[1:], self.dtype)[()]
            known = dict(zip(cells, values))
            return ops.stack(*(known.get(i, zero) for i in range(n)), axis=0)
        if len(self.shape) == 1 and len(cells) > 1:
            return ops.scatter(ops.stack(*values, axis=0), index=np.array(cells), shape=self.shape)
        return None

    def _insert(self, region: Region, piece: Piece, size: int | None = None) -> None:
        known = self.parts.get(region)
        if known is not None:
            self.parts[region] = Piece(_value(known) + _value(piece))
            return
        self.parts[region] = piece
        if self._grid is not None:
            self._grid.add(region)
        self._grow(size_of(region) if size is None else size)

    def _grow(self, size: int) -> None:
        self._volume += size
        if self._volume > ROOM * max(self.size, 1):
            self._join()

    def _join(self) -> None:
        found = self.total()
        self.elsewhere, self.parts, self._grid, self._volume = [], {self.full: Piece(found)}, None, self.size

    def _near(self, region: Region) -> list[Region]:
        if self._grid is None:
            self._grid = BoxGrid(self.shape)
            for part in self.parts:
                self._grid.add(part)
        return self._grid.near(region)

    def _condense(self, parts: list[Region]) -> bool:
        """Sum many pieces that lie close to each other into one; whether there were so many.

        A loop over columns that takes from what a loop over rows has added would cut each row once for each column.
        What that costs was paid when the pieces came: a large one is not summed again for the sake of a few small ones.
        """
        parts = sorted(parts, key=size_of)
        while len(parts) > MANY:
            around = hull(parts)
            if size_of(around) <= SPREAD * sum(map(size_of, parts[:-1])):
                self._sum(parts, around)
                return True
            parts.pop()
        return False

    def _sum(self, parts: list[Region], around: Region) -> None:
        """Make one piece of some that lie in a box."""
        places = [... if part == around else _place(part, around) for part in parts]
        values = [_value(self._remove(part)) for part in parts]
        self._insert(around, Piece(_collected(shape_of(around), None, places, values)))

    def _remove(self, part: Region) -> Piece:
        self._volume -= size_of(part)
        if self._grid is not None:
            self._grid.remove(part)
        return self.parts.pop(part)

    def _read(self, region: Region, cut: list[Cut]) -> Any:
        """The sum of what lies in a box, of which some pieces have something."""
        places, values = [], []
        for part, _, inside in cut:
            shown = tuple([r if type(r) is int else p for r, p in zip(region, inside)])
            places.append(... if shown == region else _place(shown, region))
            values.append(_shown(self.parts[part], part, shown))
        if len(values) == 1 and places[0] is ...:
            return values[0]
        return _collected(shape_of(region), None, places, values) if values else None

    def _clear(self, cut: list[Cut]) -> None:
        """Leave of some pieces what lies outside of a box."""
        for part, outside, _ in cut:
            piece = self._remove(part)
            for rest in outside:
                self._insert(rest, Piece(piece.source, _inner(piece, part, rest)))


def _open(r: Any) -> bool:
    return type(r) is range


def _place(region: Region, around: Region) -> Any:
    """The index that a region within a box is, of an array that holds what is in the box."""
    return index_of(tuple([_from(r, o.start) for r, o in zip(region, around) if _open(o)]))


def _from(r: Any, start: int) -> Any:
    return r - start if type(r) is int else range(r.start - start, r.stop - start, r.step)


def _inner(piece: Piece, part: Region, rest: Region) -> tuple[range, ...]:
    """The part of a piece's source that shows a part `rest` of its region."""
    lying = iter(piece.inner or map(range, shape_of(part)))
    found = []
    for r, kept in zip(part, rest):
        if type(r) is range:
            whole, first = next(lying), r.index(kept[0])
            found.append(whole if len(kept) == len(r) else whole[first : first + len(kept)])
    return tuple(found)


def _shown(piece: Piece, part: Region, shown: Region) -> Any:
    """The values of a piece in a part of its region, along fewer axes where that has integers."""
    if shown == part:
        return _value(piece)
    opened = tuple([range(r, r + 1) if type(r) is int else r for r in shown])
    inner = _inner(piece, part, opened)
    index = tuple([i[0] if type(s) is int else i for i, s in zip(inner, [s for s, r in zip(shown, part) if _open(r)])])
    return _got(piece.source, index)


def _value(piece: Piece) -> Any:
    """The values of a piece."""
    return piece.source if piece.inner is None else _got(piece.source, piece.inner)


def _got(source: Any, region: Region) -> Any:
    index = index_of(region)
    found = part_of(source, index, (*shape_of(region), *source.shape[len(region) :]))
    if found is not None:
        return found
    return ops.select(source, index=index) if type(index) is int else ops.getitem(source, index=index)


def _collected(shape: tuple[int, ...], whole: Any, places: list[Any], values: list[Any]) -> Any:
    if whole is not None:
        places, values = [..., *places], [whole, *values]
    if all(place is ... for place in places):  # a sum, which kernels make on the way
        return reduce(add, values)
    if len(values) == 1:
        return ops.scatter(values[0], index=places[0], shape=shape)
    return ops.collect(*values, places=tuple(places), shape=shape)
