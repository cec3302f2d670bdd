"""Parts of an array that an index of integers and slices stands for, and which of many overlap."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

Region = tuple[Any, ...]
"""By axis of an array, the integer or the `range` of those that a part of it is made of."""


_PLAIN = frozenset({int, slice})
"""The kinds of parts of the commonest indices."""


@cache
def everything(shape: tuple[int, ...]) -> Region:
    """All of an array."""
    return tuple(map(range, shape))


def region_of(indices: Iterable[Any], shape: tuple[int, ...]) -> Region | None:
    """The part that indices, one applied after the other, stand for; None for other than integers and slices."""
    region = everything(shape)
    for index in indices:
        part = _indexed(region, index)
        if part is None:
            return None
        region = part
    return region


def _indexed(region: Region, index: Any) -> Region | None:
    if type(index) is int and region and type(region[0]) is range:  # the commonest
        return (region[0][index], *region[1:])
    if type(index) is tuple and len(index) <= len(region) and _PLAIN.issuperset(map(type, index)):
        chosen = [r[part] for r, part in zip(region, index) if type(r) is range]
        if len(chosen) == len(index):
            return (*chosen, *region[len(index) :])
    parts = list(index) if isinstance(index, tuple) else [index]
    open_axes = [a for a, r in enumerate(region) if type(r) is range]
    dots = [k for k, p in enumerate(parts) if p is Ellipsis]
    if dots:
        parts[dots[0] : dots[0] + 1] = [slice(None)] * (len(open_axes) - len(parts) + 1)
    if len(dots) > 1 or len(parts) > len(open_axes):
        return None
    found = list(region)
    for a, part in zip(open_axes, parts):
        if isinstance(part, bool) or not isinstance(part, (int, np.integer, slice)):
            return None
        found[a] = region[a][part]
    return tuple(found)


def nested(region: Region, inner: Region) -> Region:
    """A region of what lies in a region, as one of the whole."""
    left = iter(inner)
    return tuple([_picked(r, next(left)) if type(r) is range else r for r in region])


def _picked(r: range, inner: Any) -> Any:
    return r[inner] if type(inner) is int else r[along(inner)]


def index_of(region: Region) -> Any:
    """The index that a region is."""
    if len(region) == 1 and type(region[0]) is int:
        return region[0]
    return tuple([r if type(r) is int else along(r) for r in region])


def along(r: range) -> slice:
    """A range as an index."""
    return slice(r.start, r.stop if r.stop >= 0 else None, r.step)


def shape_of(region: Region) -> tuple[int, ...]:
    """The shape of a part."""
    return tuple([len(r) for r in region if type(r) is range])


def size_of(region: Region) -> int:
    """How many elements a part has."""
    size = 1
    for r in region:
        if type(r) is range:
            size *= len(r)
    return size


def bounds(r: Any) -> tuple[int, int]:
    """From where to where a part goes along an axis, forwards."""
    return (r, r + 1) if type(r) is int else (r[0], r[-1] + 1) if r else (0, 0)


def box(region: Region) -> Region:
    """The region without gaps around one: its integers stay what they are."""
    return tuple([r if type(r) is int else range(*bounds(r if r.step > 0 else r[::-1])) for r in region])


def hull(regions: Iterable[Region]) -> Region:
    """The smallest box around some parts; an integer that they all have stays one."""
    found: list[Any] = []
    for along_axis in zip(*regions):
        kinds = set(along_axis)
        if len(kinds) == 1 and type(along_axis[0]) is int:
            found.append(along_axis[0])
        else:
            ends = [bounds(r if type(r) is int or r.step > 0 else r[::-1]) for r in kinds]
            found.append(range(min(start for start, _ in ends), max(stop for _, stop in ends)))
    return tuple(found)


def overlap(region: Region, extents: Sequence[tuple[int, int]]) -> bool:
    """Whether a region has an element in a box, which goes from where to where along each axis."""
    for r, (start, stop) in zip(region, extents):
        if type(r) is int:
            if not start <= r < stop:
                return False
        elif r.step == 1:
            if r.start >= stop or r.stop <= start or start == stop or not r:
                return False
        else:
            first, last = within(r, start, stop)
            if first == last:
                return False
    return True


def within(r: Any, start: int, stop: int) -> tuple[int, int]:
    """Which numbers of a range, from where to where, lie in [start, stop)."""
    count = len(r)
    if r.step == 1:
        first, last = start - r.start, stop - r.start
    else:
        first, last = -(-(start - r.start) // r.step), -(-(stop - r.start) // r.step)
    return min(max(first, 0), count), min(max(last, 0), count)


def split(region: Region, other: Region) -> tuple[list[Region], Region]:
    """A region cut along the faces of a box that it overlaps: the parts outside, and the part inside of it."""
    outside = []
    inside = list(region)
    for a, (r, o) in enumerate(zip(region, other)):
        if type(r) is range:
            first, last = within(r, *bounds(o))
            if first:
                outside.append((*inside[:a], r[:first], *region[a + 1 :]))
            if last < len(r):
                outside.append((*inside[:a], r[last:], *region[a + 1 :]))
                inside[a] = r[first:last]
            elif first:
                inside[a] = r[first:]
    return outside, tuple(inside)


class GridCell:
    """Regions that lie in one cell of a grid.

    Attributes:
        start, stop: by axis, from where to where they go, or went when there were more of them.
    """

    __slots__ = ("regions", "start", "stop")

    def __init__(self, ndim: int):
        self.regions: dict[Region, None] = {}
        self.start: list[Any] = [math.inf] * ndim
        self.stop: list[Any] = [-math.inf] * ndim

    def add(self, region: Region, extents: list[tuple[int, int]]) -> None:
        self.regions[region] = None
        first, last = self.start, self.stop
        for axis, (start, stop) in enumerate(extents):
            if start < first[axis]:
                first[axis] = start
            if stop > last[axis]:
                last[axis] = stop

    def reaches(self, extents: list[tuple[int, int]]) -> bool:
        """Whether some region may overlap a box."""
        for (start, stop), first, last in zip(extents, self.start, self.stop):
            if stop <= first or start >= last:
                return False
        return True


class BoxGrid:
    """Regions by where they lie, so that those near another one are found without looking at all."""

    def __init__(self, shape: tuple[int, ...]):
        self._shape = shape
        self._cells: dict[tuple[int, int], dict[int, GridCell]] = {}

    def _places(self, extents: list[tuple[int, int]]) -> tuple[tuple[int, int], range]:
        """The axis along which a region is shortest and how wide cells are there, a power of two; its cells."""
        _, axis = min([((stop - start) / n, a) for a, ((start, stop), n) in enumerate(zip(extents, self._shape))])
        start, stop = extents[axis]
        level = (stop - start - 1).bit_length()
        return (axis, level), range(start >> level, ((stop - 1) >> level) + 1)

    def add(self, region: Region) -> None:
        extents = list(map(bounds, region))
        key, cells = self._places(extents)
        known = self._cells.setdefault(key, {})
        for cell in cells:
            if cell not in known:
                known[cell] = GridCell(len(region))
            known[cell].add(region, extents)

    def remove(self, region: Region) -> None:
        key, cells = self._places(list(map(bounds, region)))
        known = self._cells[key]
        for cell in cells:
            del known[cell].regions[region]
            if not known[cell].regions:
                del known[cell]

    def near(self, region: Region) -> list[Region]:
        """Those that overlap a region."""
        found: dict[Region, None] = {}
        extents = [(r, r + 1) if type(r) is int else bounds(r) for r in region]
        for (axis, level), known in self._cells.items():
            start, stop = extents[axis]
            cells = range(start >> level, ((stop - 1) >> level) + 1)
            for number in cells if len(cells) <= len(known) else list(known):
                cell = known.get(number)
                if cell is not None and cell.reaches(extents):
                    found.update(cell.regions)
        return [other for other in found if overlap(other, extents)]
