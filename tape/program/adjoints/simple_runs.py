"""The adjoint of long runs of simple records, by the rules as lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from ops import REGISTRY
from ops.core.registry import OPS

from ...base.rooms import opened
from ...base.spec import Spec, spec
from ...jit.machine.frames import KERNEL
from ...recording.recorder import forward_of
from ..recorded.large.foreseen import foreseen
from ..recorded.large.later import Later
from ..recorded.listing import Listing
from ..recorded.reach import Window, consumed, leading
from ..recorded.rule_lists import rules
from ..recorded.stretches import RECORDS
from ..recorded.trace import CONSTANT, NUMBERS, Trace
from ..recorded.trace_records import Block

MANY = 512
"""A run of fewer records is gone through one by one."""
LEAST = min(MANY, RECORDS)
"""Among fewer records neither runs nor loops are looked for."""
APART = 1 << 40
"""What is added to the number of a record that a run refers to and that has no place in its window."""


class Runs:
    """Which records of a trace lead to a target, and which of them can be gone through at once.

    Attributes:
        window: the trace from the first target on, so far.
        first: the number of the first target.
        leads: by place in the window, whether a record leads to a target.
        simple: by place, whether its rules are lists and all its values have `spec`.
        leading: the records that lead to a target.
    """

    def __init__(self, trace: Trace, targets: set[int]):
        self.trace, self.targets = trace, targets
        self.jitted: Any = opened("tape.jit.column_passes.rule_rows")
        self.rules = rules(len(OPS))
        self.window, self.first = Window(trace, min(targets)), min(targets)
        self.list: Listing = self.window.list
        self.leads = leading(self.list, self.window.places(targets))
        self.leading: set[int] = set(self.window.rows(self.leads).tolist())
        self.simple = np.zeros(len(self.list), dtype=np.bool_)
        self.spec = self._commonest()
        if self.spec is not None and len(self.list) >= LEAST:
            self._find_simple()

    def _commonest(self) -> Spec | None:
        """The spec of most of the leading records, if it is a floating-point one."""
        found = self.list.spec[self.leads & (self.list.spec >= 0)]
        if not len(found):
            return None
        commonest = self.list.specs[int(np.bincount(found).argmax())]
        return commonest if commonest.dtype in (np.float64, np.float32) else None

    def _find_simple(self) -> None:
        listing, this = self.list, self.spec
        assert this is not None
        number = np.zeros(len(listing), dtype=np.bool_)
        for k in np.flatnonzero(listing.code == CONSTANT).tolist():
            number[k] = type(listing.constant(k)) in NUMBERS
        truth = spec(this.shape, np.dtype(np.bool_))
        places = {id(s): i for i, s in enumerate(listing.specs)}
        self.jitted.find_simple(
            listing.code, listing.first, listing.args, listing.spec, number, self.rules.simple, places[id(this)],
            places.get(id(truth), -2), self.simple,
        )  # fmt: skip
        for numbers in (self.trace.stopped, self.trace.hooks):
            self.simple[self.window.among(numbers)] = False

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """The long runs as half-open intervals, last first: within them every leading record is simple."""
        if len(self.list) <= MANY or self.spec is None:
            return
        breaks = np.flatnonzero(self.leads & ~self.simple & (self.list.code >= 0) & ~self._reads_block())
        edges = np.concatenate([[len(self.list) - self.window.count - 1], breaks, [len(self.list)]])
        shift = self.first + self.window.count - len(self.list)
        for k in np.flatnonzero(np.diff(edges) > MANY)[::-1].tolist():
            yield int(edges[k]) + 1 + shift, int(edges[k + 1]) + shift

    def consumed(self, roots: Iterable[int]) -> list[int]:
        """The records whose rules run in a sweep from the roots to what they lead to."""
        return self.window.rows(consumed(self.list, self.leads, self.window.places(roots))).tolist()

    def _reads_block(self) -> np.ndarray:
        """The records that read one number out of an array: a run stops at them, and goes on after them."""
        return np.isin(self.list.code, _blocks(len(OPS))) & (self.list.spec == self._place())

    def _place(self) -> int:
        return next((i for i, s in enumerate(self.list.specs) if s is self.spec), -2)

    def append(self, start: int, stop: int, given: dict[int, int]) -> list[tuple[int, int, bool]]:
        """Append the adjoint of a run, of which some are `given`: what it leaves to do, a record, its adjoint, and
        whether its rules were run.

        These are the records before the run, targets, and those whose rules are no lists.
        """
        trace, r, listing, n = self.trace, self.rules, self.list, len(self.list)
        first, last = self.window.places((start, stop))
        bars = np.full(n, -1, dtype=np.int64)
        bars[self.window.places(given)] = [APART + bar for bar in given.values()]
        constants = np.array([APART + trace.number(c) for c in r.constants], dtype=np.int64)
        here = listing.code[first:last][self.simple[first:last] & self.leads[first:last]]
        room = int((np.maximum(r.length.reshape(-1, 3)[here], 0) + 1).sum())
        words = np.empty((room, 4), dtype=np.int64)
        origin = np.empty(room, dtype=np.int64)
        count = self.jitted.reverse(
            first, last, listing.code, listing.first, listing.args, self.simple, self.leads, bars,
            REGISTRY["add"].code, r.first, r.length, r.result, r.table, constants, n, words.reshape(-1), origin,
        )  # fmt: skip
        assert self.spec is not None
        kinds = self.spec, spec(self.spec.shape, np.dtype(np.bool_))
        words, end = words[:count], len(trace)
        words[:, 1:] = self._numbers(words[:, 1:], end)
        block = Block(words, r.truth[words[:, 0]], kinds, self.window.rows(origin[:count]))
        trace.append_block(block, evaluated(trace, block))
        awaited = ~self.simple
        awaited[:first] = awaited[self.window.places(self.targets)] = True
        found = np.flatnonzero((bars[:last] >= 0) & self.leads[:last] & awaited[:last])
        done = self.simple[found].tolist()
        return list(zip(self.window.rows(found).tolist(), self._numbers(bars[found], end).tolist(), done))

    def _numbers(self, found: np.ndarray, end: int) -> np.ndarray:
        """The numbers of records that a run refers to: those at its places, new ones from `end` on, and others."""
        n = len(self.list)
        inside = self.window.rows(np.clip(found, 0, n - 1))
        late = np.where(found >= APART, found - APART, found - n + end)
        return np.where(found < 0, found, np.where(found < n, inside, late))


@cache
def _blocks(count: int) -> list[int]:
    """The opcodes of the ops that read a block."""
    return [op.code for op in OPS[:count] if op.hints.motion == "block"]


def evaluated(trace: Trace, block: Block) -> list[Any]:
    """The values of the records of a block, which is about to be appended."""
    interpreter = opened("tape.jit.emission.interpreter")
    instructions = interpreter.numbering(len(OPS))[block.words[:, 0]]
    if not block.kinds[0].shape and len(block) and instructions.min() >= 0:
        return _interpreted(trace, block, interpreter, instructions)
    values: list[Any] = []
    first = len(trace)
    for code, *operands in block.words.tolist():
        xs = [values[k - first] if k >= first else trace.values[k] for k in operands if k >= 0]
        op = OPS[code]
        values.append((foreseen(op, xs, {}) if any(type(x) is Later for x in xs) else None) or forward_of(op)(*xs))
    return values


def _interpreted(trace: Trace, block: Block, interpreter: Any, instructions: np.ndarray) -> list[Any]:
    """The same by the interpreter, for numbers."""
    first, n, dtype = len(trace), len(block), block.kinds[0].dtype
    operands = block.words[:, 1:]
    needed = np.zeros(first + n, dtype=np.bool_)
    needed[operands[operands >= 0]] = True
    given = np.flatnonzero(needed[:first])
    known = [trace.values[k] for k in given.tolist()]
    if Later in map(type, known):
        return [Later(block.kinds[truth]) for truth in block.truth.tolist()]
    values = np.zeros(first + n, dtype=dtype)
    values[given] = known
    code = np.zeros((n + 1, interpreter.INSTRUCTION), dtype=np.int32)
    code[:n, 0] = instructions
    code[:n, 1] = np.arange(first, first + n)
    code[:n, 2:] = np.maximum(operands, 0)
    code[n, 0] = interpreter.END
    table = np.array([code.ctypes.data, values.ctypes.data], dtype=np.int64)
    _, address = interpreter.interpreter(8 * dtype.itemsize, len(OPS))
    step = np.array([address, table.ctypes.data], dtype=np.int64)
    KERNEL(address)(step.ctypes.data)
    found = list(values[first:])
    for k in np.flatnonzero(block.truth).tolist():
        found[k] = np.bool_(found[k] != 0)
    return found
