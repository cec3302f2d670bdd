"""Steps that read and write at places given by whole numbers: gathers, scatters, indices with arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ....base.spec import spec
from ....jit.machine.regions import REFUSED
from ...recorded.indexmaps import CopyAxis, axes_of
from .plan_places import SUFFIXES, Place, PlanValue
from .step_memory import NoStep, StepMemory, axes, view

Numbers = tuple[PlanValue, list[int], int, int]
"""Whole numbers, their strides in some shape, how long the axis is that they choose from, and its stride."""


class Chosen(NamedTuple):
    """A choice of elements of an array, in some shape.

    Attributes:
        axes: of the shape, how many elements there are and the bytes from one to the next in the array, which begins at
            `offset`.
        arrays: the numbers that choose, with the strides of that shape.
    """

    axes: list[tuple[int, int]]
    offset: int
    arrays: list[Numbers]


def merged(lengths: Sequence[int], *strides: Sequence[int]) -> list[tuple[int, ...]]:
    """Axes as length and strides: those that all go through as through one are joined, those of length 1 left out."""
    axes: list[tuple[int, ...]] = []
    for n, *steps in zip(lengths, *strides):
        if n == 1:
            continue
        if axes and all(far == n * near for far, near in zip(axes[-1][1:], steps)):
            axes[-1] = (axes[-1][0] * n, *steps)
        else:
            axes.append((n, *steps))
    return axes


class PickSteps(StepMemory):
    """Reads and writes at places."""

    def read(self, x: PlanValue, chosen: Chosen) -> PlanValue:
        """The chosen elements of x, where they lie if they lie at strides."""
        if not chosen.arrays:
            return view(x, chosen.axes, chosen.offset)
        z = self.new(spec(tuple(n for n, _ in chosen.axes), x.spec.dtype))
        source = view(x, chosen.axes, chosen.offset)
        self._at("read", z, source, z.strides, source.strides, chosen)
        return z

    def add(self, z: PlanValue, chosen: Chosen, x: PlanValue) -> PlanValue:
        """z, which may be changed, with x added to the chosen elements, one after the other."""
        if z.spec.dtype not in SUFFIXES:
            raise NoStep("add")
        x = self.convert(x, z.spec.dtype)
        target, strides = view(z, chosen.axes, chosen.offset), self._over(x, chosen)
        self._at(f"add_{SUFFIXES[z.spec.dtype]}", target, x, target.strides, strides, chosen)
        return z

    @staticmethod
    def _over(x: PlanValue, chosen: Chosen) -> tuple[int, ...]:
        """The strides of x broadcast to the chosen elements."""
        shape = tuple(n for n, _ in chosen.axes)
        extra = len(shape) - x.spec.ndim
        if extra < 0 or any(n not in (1, m) for n, m in zip(x.spec.shape, shape[extra:])):
            raise NoStep("shape")
        return (0,) * extra + tuple(0 if n == 1 else s for n, s in axes(x))

    def _plain(self, part: Any) -> list[Any]:
        """A part of an index, its arrays and lists as whole numbers in memory; of a mask one for each axis."""
        if part is None or part is Ellipsis or isinstance(part, (slice, PlanValue)):
            return [part]
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            return [int(part)]
        array = np.asarray(part)
        found = list(array.nonzero()) if array.dtype == np.bool_ and array.ndim else [array]
        if not all(a.dtype.kind in "iu" and a.size for a in found):
            raise NoStep("index")
        made = []
        for a in found:
            whole = np.ascontiguousarray(a, dtype=np.int64)
            made.append(PlanValue(self.plan.pin(whole), whole.strides, spec(whole.shape, whole.dtype)))
        return made

    def _at(
        self,
        kernel: str,
        z: PlanValue,
        x: PlanValue,
        z_strides: Sequence[int],
        x_strides: Sequence[int],
        chosen: Chosen,
    ) -> None:
        lengths = [n for n, _ in chosen.axes]
        if not chosen.arrays:  # it lies at strides, and no number can be out of range
            self._strided(kernel, z, x, axes_of(lengths, z_strides, x_strides))
            return
        walk = merged(lengths, z_strides, x_strides, *(strides for _, strides, _, _ in chosen.arrays))
        words: list[Any] = [
            z.spec.dtype.itemsize, len(walk), len(chosen.arrays), z.place, x.place, math.prod(lengths),
            Place(REFUSED, 0),
        ]  # fmt: skip
        for numbers, _, n, stride in chosen.arrays:
            if numbers.spec.dtype != np.int64:
                raise NoStep("places")
            words += [numbers.place, n, stride, 0]
        for axis in walk:
            words += [0, *axis]
        made = self.plan.call(self.plan.jit("picking", kernel), words)
        if not all(self._in_range(numbers, n) for numbers, _, n, _ in chosen.arrays):
            self.check(made)

    def _in_range(self, numbers: PlanValue, n: int) -> bool:
        """Whether places along an axis of length n are constant, and all there."""
        places = self._constant(numbers)
        return places is not None and bool(-n <= places.min() and places.max() < n)

    def _constant(self, numbers: PlanValue) -> np.ndarray | None:
        """The numbers of some places, if they are constant."""
        return self.known(numbers) if numbers.spec.dtype == np.int64 else None

    def _strided(self, kernel: str, z: PlanValue, x: PlanValue, axes: list[CopyAxis]) -> None:
        """The same where no places are given by numbers."""
        if z.spec.size:
            how = kernel.replace("add", "accumulate") if kernel.startswith("add") else "place"
            self.plan.strided(how, z.spec.dtype.itemsize, z.place, x.place, axes)

    # Choices.

    def along(self, x: PlanValue, indices: PlanValue, axis: int) -> Chosen:
        """One element along an axis at each place of the indices."""
        axis = range(x.spec.ndim)[axis] if x.spec.ndim else 0
        if indices.spec.ndim != x.spec.ndim or not x.spec.ndim:
            raise NoStep("along")
        if any(m > n for k, (m, n) in enumerate(zip(indices.spec.shape, x.spec.shape)) if k != axis):
            raise NoStep("along")
        shape = indices.spec.shape
        moves = [(n, 0 if k == axis else s) for k, (n, s) in enumerate(zip(shape, x.strides))]
        numbers = indices, list(indices.strides), x.spec.shape[axis], x.strides[axis]
        return Chosen(moves, 0, [numbers])

    def put(self, z: PlanValue, chosen: Chosen, x: PlanValue, accumulate: bool = False) -> PlanValue:
        """z, which may be changed, with x at the chosen elements, of which the last stays; or added to them."""
        if accumulate:
            return self.add(z, chosen, x)
        x = self.convert(x, z.spec.dtype)
        target, strides = view(z, chosen.axes, chosen.offset), self._over(x, chosen)
        self._at("write", target, x, target.strides, strides, chosen)
        return z

    def at(self, x: PlanValue, index: Any) -> Chosen:
        """The elements at an index of slices, integers, None, an ellipsis, and whole numbers or masks, which may be in
        memory if they are numbers."""
        index = [p for part in (index if isinstance(index, tuple) else [index]) for p in self._plain(part)]
        named = sum(part is not None and part is not Ellipsis for part in index)
        if named > x.spec.ndim:
            raise NoStep("index")
        every = [slice(None)] * (x.spec.ndim - named)
        if not any(part is Ellipsis for part in index):
            index = [*index, Ellipsis]
        parts = [p for part in index for p in (every if part is Ellipsis else [part])]
        arrays = [p for p in parts if isinstance(p, PlanValue)]
        if any(isinstance(p, PlanValue) and p.spec.dtype.kind == "b" for p in parts):
            raise NoStep("mask")
        shape = np.broadcast_shapes(*[a.spec.shape for a in arrays])
        made: list[tuple[int, int, list[int]]] = []
        chosen: list[Numbers] = []
        where, offset, k = [], 0, 0
        for position, part in enumerate(parts):
            if part is None:
                made.append((1, 0, []))
                continue
            n, stride = x.spec.shape[k], x.strides[k]
            k += 1
            if isinstance(part, slice):
                start, stop, by = part.indices(n)
                made.append((len(range(start, stop, by)), stride * by, []))
                offset += start * stride if range(start, stop, by) else 0
                continue
            where.append((position, len(made)))
            if isinstance(part, PlanValue):
                strides = [0 if m == 1 else s for m, s in axes(part)]
                chosen.append((part, [0] * (len(shape) - len(strides)) + strides, n, stride))
            else:
                offset += range(n)[part] * stride
        side_by_side = bool(where) and where[-1][0] - where[0][0] == len(where) - 1
        before = where[0][1] if side_by_side else 0
        after = len(made) - before
        result = [(n, s) for n, s, _ in made[:before]] + [(n, 0) for n in shape]
        result += [(n, s) for n, s, _ in made[before:]]
        spread = []
        for v, strides, n, stride in chosen:
            steps = self._even(v, n)
            if steps is None:
                spread.append((v, strides, n, stride))
                continue
            offset += steps[0] * stride
            for k, step in enumerate(steps[1:], before + len(shape) - v.spec.ndim):
                result[k] = result[k][0], result[k][1] + step * stride
        if len(spread) > 1:
            begin, spread = self._together(spread, len(shape))
            offset += begin
        return Chosen(result, offset, [(v, [0] * before + s + [0] * after, n, m) for v, s, n, m in spread])

    def _together(self, arrays: Sequence[Numbers], ndim: int) -> tuple[int, list[Numbers]]:
        """Arrays of constant places as one of bytes, and how many bytes its numbers begin after the first element."""
        key = ("together", ndim, *[(v.place, v.spec, v.strides, n, stride) for v, _, n, stride in arrays])
        if key not in self.plan.found:
            known = all(self._in_range(v, n) for v, _, n, _ in arrays)
            self.plan.found[key] = self._bytes(arrays, ndim) if known else (0, list(arrays))
        found: tuple[int, list[Numbers]] = self.plan.found[key]
        return found

    def _bytes(self, arrays: Sequence[Numbers], ndim: int) -> tuple[int, list[Numbers]]:
        """The same, made."""
        places = np.zeros((1,) * ndim, np.int64)
        for v, _, n, stride in arrays:
            numbers = self._constant(v)
            assert numbers is not None
            places = places + np.where(numbers < 0, numbers + n, numbers) * stride
        begin = int(places.min())
        places -= begin
        strides = [0 if m == 1 else s for m, s in zip(places.shape, places.strides)]
        one = PlanValue(self.plan.pin(places), places.strides, spec(places.shape, places.dtype))
        return begin, [(one, strides, int(places.max()) + 1, 1)]

    def _even(self, numbers: PlanValue, n: int) -> list[int] | None:
        """The first of some constant places along an axis of length n, and how far it is from each to the next along
        each axis of theirs, where that is the same everywhere; as in windows that slide over an array."""
        places = self._constant(numbers)
        if places is None:
            return None
        first, length = int(places.flat[0]), places.shape
        steps = [int(np.take(places, 1, axis).flat[0]) - first if m > 1 else 0 for axis, m in enumerate(length)]
        even = np.full((), first)
        for m, step in zip(length, steps):
            even = np.add.outer(even, step * np.arange(m))
        return [first, *steps] if places.min() >= 0 and places.max() < n and (places == even).all() else None

    def slices(self, x: PlanValue, indices: PlanValue, axis: int | None) -> tuple[PlanValue, Chosen]:
        """Whole slices of x along an axis, or elements of the flat x: x as it is read then, and the choice."""
        if axis is None:
            x, axis = self.flat(x), 0
        if not x.spec.ndim:
            raise NoStep("slices")
        return x, self.at(x, (*[slice(None)] * range(x.spec.ndim)[axis], indices))

    def parts(self, x: PlanValue, axis: int, lengths: Sequence[int] | None) -> tuple[PlanValue, ...]:
        """x cut along an axis into parts of these lengths; into slices without the axis, where there are none."""
        at = range(x.spec.ndim)[axis]
        before, (n, stride), after = axes(x)[:at], axes(x)[at], axes(x)[at + 1 :]
        if lengths is None:
            return tuple(view(x, [*before, *after], k * stride) for k in range(n))
        ends = np.cumsum([0, *lengths]).tolist()
        return tuple(view(x, [*before, (m, stride), *after], k * stride) for k, m in zip(ends, lengths))
