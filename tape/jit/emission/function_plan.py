"""The functions that a kernel is written as: rows one after another, or a loop with what it reads and writes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from .segments import ROWS, Loop, Slotted, stretches


class Slots(NamedTuple):
    """Slots that iterations read or write: the first one's, and how far it is from one to the next."""

    first: int
    step: int


class Strided(NamedTuple):
    """Inputs or outputs of the iterations: the first one's number, and how far it is from one to the next.

    That is the number of its memory, or of the accumulator of a sum, and its offset there.
    """

    number: int
    memory: int
    offset: int


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
        columns: the value that is read, the same in each iteration; or the slots, or the inputs.
        writes: by row, the slots that its result goes to, where it does.
        outputs: by row, the outputs that its result is.
    """

    rows: range
    iterations: int
    reads: np.ndarray
    columns: list[int | Slots | Strided]
    writes: dict[int, Slots]
    outputs: dict[int, list[Strided]]


class FunctionPlan:
    """The functions of a kernel in order, and the slots between them.

    A given value, and an output, is described by three words: its kind, its memory, its offset there.
    Of the same kind are those that are read or written in the same way; a negative kind is no memory.

    Attributes:
        segments: what is written as one function each.
        slot: the slot of a value that goes through one.
        slots: how many there are.
    """

    def __init__(
        self, operands: np.ndarray, loops: Sequence[Loop], sources: np.ndarray, wanted: Sequence[int], sinks: np.ndarray
    ):
        given = len(sources)
        slotted = Slotted(operands, given, loops, wanted)
        self._slotted, self._given, self._sources, self._sinks = slotted, given, sources, sinks
        made = np.flatnonzero(slotted.slot >= 0)
        self.slot = dict(zip((made + given).tolist(), slotted.slot[made].tolist()))
        self.slots = slotted.count
        self._fills: list[tuple[int, int]] = []
        self._wanted: dict[int, list[int]] = defaultdict(list)
        for number, value in enumerate(wanted):
            self._wanted[value].append(number)
        self.segments = list(self._segments())

    def _segments(self) -> Iterator[Lines | Body]:
        main: list[Lines | Body] = []
        for stretch in stretches(len(self._slotted.operands), self._slotted.loops):
            before, inside, after = stretch.split()
            body = self._body(stretch, inside) if stretch.times > 1 else self._lines(inside)
            main += [part for part in (self._lines(before), body, self._lines(after)) if part.rows]
        rest = [number for numbers in self._wanted.values() for number in numbers]
        none = range(0)
        yield from (Lines(none, fills=self._fills[k : k + ROWS]) for k in range(0, len(self._fills), ROWS))
        yield from main
        yield from (Lines(none, outputs=rest[k : k + ROWS]) for k in range(0, len(rest), ROWS))

    def _lines(self, rows: range) -> Lines:
        return Lines(rows, outputs=[number for k in rows for number in self._wanted.pop(self._given + k, ())])

    def _body(self, loop: Loop, rows: range) -> Body:
        slotted = self._slotted
        reads, columns = slotted.columns(loop)
        columns = columns[loop.first : loop.last]
        slot = slotted.slot[rows.start : rows.start + loop.period]
        step = int(np.count_nonzero(slot >= 0))
        writes = {k: Slots(s, step) for k, s in enumerate(slot.tolist()) if s >= 0}
        made = self._given + np.array(rows).reshape(-1, loop.period)
        outputs = {j: found for j in range(loop.period) if (found := self._outputs(made[:, j].tolist()))}
        sources = [self._source(column) for column in columns.T]
        return Body(range(rows.start, rows.start + loop.period), loop.iterations, reads, sources, writes, outputs)

    def _source(self, column: np.ndarray) -> int | Slots | Strided:
        """Where a column's values are found; given values that lie nowhere are put into slots."""
        if (column == column[0]).all():
            return int(column[0])
        if column[0] < self._given:
            return strided(column, self._sources) or self._filled(column)
        slot = self._slotted.slot[column - self._given]
        steps = np.diff(slot)
        assert (steps == steps[0]).all()
        return Slots(int(slot[0]), int(steps[0]))

    def _filled(self, column: np.ndarray) -> Slots:
        """Slots that given values are put into."""
        found = Slots(self.slots, 1)
        self.slots += len(column)
        self._fills += zip(column.tolist(), range(found.first, self.slots))
        return found

    def _outputs(self, values: list[int]) -> list[Strided]:
        """The outputs that the results of a row are, if in each iteration there is one at an equal distance."""
        numbers = [self._wanted.get(value, []) for value in values]
        if not numbers[0] or len(set(map(len, numbers))) > 1:
            return []
        found = [strided(column, self._sinks) for column in np.array(numbers).T]
        if None in found:
            return []
        for value in values:
            del self._wanted[value]
        return [one for one in found if one is not None]


def strided(numbers: np.ndarray, described: np.ndarray) -> Strided | None:
    """Inputs or outputs with these numbers as one, if they are of one kind and lie at equal distances."""
    words = described[numbers]
    steps = np.diff(words, axis=0)
    if words[0, 0] < 0 or (steps[:, 0] != 0).any() or (steps != steps[0]).any():
        return None
    return Strided(int(numbers[0]), int(steps[0, 1]), int(steps[0, 2]))
