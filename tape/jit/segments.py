"""How the rows of a kernel are cut into functions, and what goes from one to another.

The time that LLVM takes grows faster than the length of a function, so a long run of rows is cut.
Where the rows repeat themselves (`tape.jit.repeats`) a function is a loop, and only one iteration of
it is compiled.  A value that is needed in another function, or in another iteration, goes through a
*slot* of the workspace.  The slots that an iteration writes follow one another, and so do the
iterations; so an iteration finds what it reads at ``first + step * iteration``.  An iteration that
does not, as the first one that reads what was there before the loop, is written out instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from . import repeats

ROWS = 400
"""Rows of a function that is no loop; also how many values it moves where it has no rows."""
WORTH = 256
"""Among fewer rows no loops are looked for."""
WINDOWS = np.array([512, 128, 32])


class Loop(NamedTuple):
    """Rows that are ``times`` iterations of ``period`` rows; those from ``first`` to ``last`` are compiled once.

    Every ``unit`` rows the same slots are used.
    """

    start: int
    period: int
    times: int
    unit: int
    first: int
    last: int

    @property
    def end(self) -> int:
        return self.start + self.period * self.times

    @property
    def iterations(self) -> int:
        return self.last - self.first

    def split(self) -> tuple[range, range, range]:
        """The rows before those iterations, in them, and after them."""
        a, b = self.start + self.first * self.period, self.start + self.last * self.period
        return range(self.start, a), range(a, b), range(b, self.end)


class Slots(NamedTuple):
    """Slots that iterations read or write: the first one's, and how far it is from one to the next."""

    first: int
    step: int


@dataclass
class Lines:
    """A function of rows that follow one another.

    Attributes:
        fills: given values that it puts into slots, and which.
        outputs: numbers of the outputs that it writes.
    """

    rows: range
    fills: list[tuple[int, int]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)


@dataclass
class Body:
    """A function that is a loop.

    Attributes:
        rows: those of its first iteration.
        iterations: how many there are.
        reads: by row and operand, which of `columns` is read; −1 for a result of the same iteration.
        columns: the value that is read, the same in each iteration; or the slots.
        writes: by row, the slots that its result goes to, where it does.
    """

    rows: range
    iterations: int
    reads: np.ndarray
    columns: list[int | Slots]
    writes: dict[int, Slots]


def loops_of(
    code: np.ndarray, operands: np.ndarray, kinds: np.ndarray, given: int, wanted: Sequence[int]
) -> list[Loop]:
    """The loops among the rows, in order; `wanted` are the values that the kernel writes."""
    if len(code) < WORTH:
        return []
    found = np.empty((len(code) // repeats.BODY + 1, repeats.FIELDS), dtype=np.int64)
    count = repeats.find_loops(code, operands, kinds, given, WINDOWS, found)
    loops = [Loop(start, period, n, unit, 0, n) for start, period, n, unit in sorted(found[:count].tolist())]
    while loops:
        slots = Slotted(operands, given, loops, wanted)
        regular = [loop._replace(first=first, last=last) for loop in loops for first, last in [slots.regular(loop)]]
        lasting = [loop for loop in regular if loop.iterations >= repeats.LEAST]
        if len(lasting) == len(loops):
            return lasting
        loops = lasting
    return loops


class Slotted:
    """Which results go through slots, and through which.

    Attributes:
        slot: by row, −1 for a result that does not.
        count: how many slots there are.
    """

    def __init__(self, operands: np.ndarray, given: int, loops: Sequence[Loop], wanted: Sequence[int]):
        self.operands, self.given, self.loops = operands.reshape(-1, 3), given, loops
        n = len(self.operands)
        stretches = list(_stretches(n, loops))
        lengths = np.array([s.period for s in stretches for _ in range(s.times)], dtype=np.int64)
        home = np.repeat(np.arange(len(lengths)), lengths)
        made = self.operands - given
        crossing = np.zeros(n, dtype=np.bool_)
        crossing[made[(made >= 0) & (home[np.maximum(made, 0)] != home[:, None])]] = True
        inside = np.zeros(n, dtype=np.bool_)
        for loop in loops:
            inside[loop.start : loop.end] = True
        kept = np.array([value - given for value in wanted if value >= given], dtype=np.int64)
        crossing[kept[inside[kept]]] = True
        self.slot, self.count = np.full(n, -1, dtype=np.int64), 0
        for stretch in stretches:
            each = crossing[stretch.start : stretch.end].reshape(-1, stretch.unit)
            each[:] = each.any(axis=0)
            here = stretch.start + np.flatnonzero(each)
            self.slot[here] = self.count + np.arange(len(here))
            self.count += len(here)

    def columns(self, loop: Loop) -> tuple[np.ndarray, np.ndarray]:
        """What iterations read that they have not made: which column by row and operand, and the columns' values."""
        read = self.operands[loop.start : loop.end].reshape(loop.times, -1)
        middle = loop.times // 2
        outside = (read[middle] >= 0) & (read[middle] < self.given + loop.start + middle * loop.period)
        columns, which = np.unique(read[:, outside], axis=1, return_inverse=True)
        reads = np.full(3 * loop.period, -1)
        reads[outside] = which.reshape(-1)
        return reads.reshape(-1, 3), columns

    def regular(self, loop: Loop) -> tuple[int, int]:
        """The longest stretch of iterations in which each column is of given values, or of slots at equal distances."""
        _, columns = self.columns(loop)
        given = columns < self.given
        slot = np.where(given, 0, self.slot[np.maximum(columns - self.given, 0)])
        steps = np.diff(slot, axis=0)
        usual = np.median(steps, axis=0)
        even = ((steps == usual) & ~given[1:] & ~given[:-1]) | (given[1:] & given[:-1])
        ends = np.flatnonzero(np.concatenate([[True], ~even.all(axis=1), [True]]))
        k = int(np.argmax(np.diff(ends)))
        return int(ends[k]), int(ends[k + 1])


class Plan:
    """The functions of a kernel in order, and the slots between them.

    Attributes:
        segments: what is written as one function each.
        slot: the slot of a value that goes through one.
        slots: how many there are.
    """

    def __init__(self, operands: np.ndarray, given: int, loops: Sequence[Loop], wanted: Sequence[int]):
        slotted = Slotted(operands, given, loops, wanted)
        self._slotted, self._given = slotted, given
        made = np.flatnonzero(slotted.slot >= 0)
        self.slot = dict(zip((made + given).tolist(), slotted.slot[made].tolist()))
        self.slots = slotted.count
        self._fills: list[tuple[int, int]] = []
        self.segments = list(self._segments(wanted))

    def _segments(self, wanted: Sequence[int]) -> Iterator[Lines | Body]:
        main: list[Lines | Body] = []
        for stretch in _stretches(len(self._slotted.operands), self._slotted.loops):
            before, inside, after = stretch.split()
            body = self._body(stretch, inside) if stretch.times > 1 else Lines(inside)
            main += [part for part in (Lines(before), body, Lines(after)) if part.rows]
        lines = [s for s in main if isinstance(s, Lines)]
        starts = np.array([s.rows.start for s in lines])
        rest: list[int] = []
        for number, value in enumerate(wanted):
            k = int(np.searchsorted(starts, value - self._given, side="right")) - 1
            home = lines[k] if k >= 0 and value - self._given in lines[k].rows else None
            (rest if home is None else home.outputs).append(number)
        none = range(0)
        yield from (Lines(none, fills=self._fills[k : k + ROWS]) for k in range(0, len(self._fills), ROWS))
        yield from main
        yield from (Lines(none, outputs=rest[k : k + ROWS]) for k in range(0, len(rest), ROWS))

    def _body(self, loop: Loop, rows: range) -> Body:
        slotted = self._slotted
        reads, columns = slotted.columns(loop)
        sources = [self._source(column) for column in columns[loop.first : loop.last].T]
        slot = slotted.slot[rows.start : rows.start + loop.period]
        step = int(np.count_nonzero(slot >= 0))
        writes = {k: Slots(s, step) for k, s in enumerate(slot.tolist()) if s >= 0}
        return Body(range(rows.start, rows.start + loop.period), loop.iterations, reads, sources, writes)

    def _source(self, column: np.ndarray) -> int | Slots:
        """Where a column's values are found; given values that differ are put into slots."""
        if (column == column[0]).all():
            return int(column[0])
        if column[0] < self._given:
            first = self.slots
            self.slots += len(column)
            self._fills += zip(column.tolist(), range(first, self.slots))
            return Slots(first, 1)
        slot = self._slotted.slot[column - self._given]
        steps = np.diff(slot)
        assert (steps == steps[0]).all()
        return Slots(int(slot[0]), int(steps[0]))


def _stretches(n: int, loops: Sequence[Loop]) -> Iterator[Loop]:
    """The loops, and what is between them in pieces, which are loops of one iteration."""
    done = 0
    for loop in loops:
        yield from (Loop(r.start, len(r), 1, len(r), 0, 1) for r in _pieces(range(done, loop.start)))
        yield loop
        done = loop.end
    yield from (Loop(r.start, len(r), 1, len(r), 0, 1) for r in _pieces(range(done, n)))


def _pieces(rows: range) -> Iterator[range]:
    return (range(k, min(k + ROWS, rows.stop)) for k in range(rows.start, rows.stop, ROWS))
