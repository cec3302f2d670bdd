"""Where the rows of a kernel are cut, and what goes from one piece to another.

The time that LLVM takes grows faster than the length of a function, so a long run of rows is cut.
Where the rows repeat themselves (`tape.jit.column_passes.repeats`) a piece is a loop, and only one iteration of
it is compiled.  A value that is needed in another piece, or in another iteration, goes through a
*slot* of the workspace.  The slots that an iteration writes follow one another, and so do the
iterations; so an iteration finds what it reads at equal distances.  An iteration that does not,
as the first one that reads what was there before the loop, is a piece of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..column_passes import repeats

ROWS = 400
"""Rows of a function that is no loop."""
WORTH = 256
"""Among fewer rows no loops are looked for."""
WINDOWS = 512, 128, 32


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


def loops_of(
    code: np.ndarray, operands: np.ndarray, kinds: np.ndarray, given: int, wanted: Sequence[int]
) -> list[Loop]:
    """The loops among the rows, in order; `wanted` are the values that the kernel writes."""
    if len(code) < WORTH:
        return []
    found = repeats.loops(code, operands, kinds, given, WINDOWS)
    loops = [Loop(start, period, n, unit, 0, n) for start, period, n, unit in found]
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
        pieces = list(stretches(n, loops))
        lengths = np.array([s.period for s in pieces for _ in range(s.times)], dtype=np.int64)
        begin = np.repeat(np.cumsum(lengths) - lengths, lengths)
        made = self.operands - given
        crossing = np.zeros(n, dtype=np.bool_)
        crossing[made[(made >= 0) & (made < begin[:, None])]] = True
        inside = np.zeros(n, dtype=np.bool_)
        for loop in loops:
            inside[loop.start : loop.end] = True
        kept = np.array([value - given for value in wanted if value >= given], dtype=np.int64)
        crossing[kept[inside[kept]]] = True
        self.slot, self.count = np.full(n, -1, dtype=np.int64), 0
        for piece in pieces:
            each = crossing[piece.start : piece.end].reshape(-1, piece.unit)
            each[:] = each.any(axis=0)
            here = piece.start + np.flatnonzero(each)
            self.slot[here] = self.count + np.arange(len(here))
            self.count += len(here)

    def columns(self, loop: Loop) -> tuple[np.ndarray, np.ndarray]:
        """What iterations read that they have not made: which column by row and operand, and the columns' values."""
        read = self.operands[loop.start : loop.end].reshape(loop.times, -1)
        middle = loop.times // 2
        outside = (read[middle] >= 0) & (read[middle] < self.given + loop.start + middle * loop.period)
        columns, which = different(read[:, outside])
        reads = np.full(3 * loop.period, -1)
        reads[outside] = which
        return reads.reshape(-1, 3), columns

    def regular(self, loop: Loop) -> tuple[int, int]:
        """The longest stretch of iterations in which each column is of given values, or of slots at equal distances."""
        _, columns = self.columns(loop)
        given = columns < self.given
        slot = np.where(given, 0, self.slot[np.maximum(columns - self.given, 0)])
        steps = np.diff(slot, axis=0)
        middle = len(steps) // 2
        usual = np.partition(steps, middle, axis=0)[middle]
        even = ((steps == usual) & ~given[1:] & ~given[:-1]) | (given[1:] & given[:-1])
        ends = np.flatnonzero(np.concatenate([[True], ~even.all(axis=1), [True]]))
        k = int(np.argmax(np.diff(ends)))
        return int(ends[k]), int(ends[k + 1])


def different(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns that differ, each once, and for each column which of them it is."""
    keys = _factors(len(columns)) @ columns
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    found: np.ndarray = columns[:, first]
    if (found[:, which] != columns).any():  # two that differ have one key
        found, which = np.unique(columns, axis=1, return_inverse=True)
    return found, which.reshape(-1)


@lru_cache(maxsize=16)
def _factors(count: int) -> np.ndarray:
    """So many numbers by which the rows of columns are multiplied and added up to tell the columns apart."""
    return np.random.default_rng(0).integers(1, 1 << 62, count)


def stretches(n: int, loops: Sequence[Loop]) -> Iterator[Loop]:
    """The loops, and what is between them in pieces, which are loops of one iteration."""
    done = 0
    for loop in loops:
        yield from (Loop(r.start, len(r), 1, len(r), 0, 1) for r in _pieces(range(done, loop.start)))
        yield loop
        done = loop.end
    yield from (Loop(r.start, len(r), 1, len(r), 0, 1) for r in _pieces(range(done, n)))


def _pieces(rows: range) -> Iterator[range]:
    return (range(k, min(k + ROWS, rows.stop)) for k in range(rows.start, rows.stop, ROWS))
