"""Entries to programs: one call of machine code from the arguments to the results, guards and surroundings included.

A call from Python of a small program is mostly Python: taking arguments apart, finding the program, making
results.  An entry does the same for one signature and one program, and leaves to the general way what it refuses:
arguments of another type, shape or layout, anything around the function that is another object now, a guard that
misses.  One is made when the program was called so often that it pays.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.jit_door import jitted
from ...base.rooms import opened
from ...base.tree import Structure
from ...jit.machine.frames import WORD, address_of
from ...jit.machine.regions import REFUSED
from ...recording.wengert import current
from ..capture.signature import varying
from ..plans.replay import KernelStep
from ..plans.round_step import RoundsStep
from ..world.surroundings import Surroundings
from .conditions import Conditions, Entry, Unsuited
from .entry_results import EntryResults
from .looked_at import LookedAt

BRIEF = 30_000
"""A program that evaluates fewer records, counted with their elements, is run without letting other threads run.

It takes about as long (9 µs) as the general way, which runs in Python, would keep them waiting by itself.
"""
LONG = 100 * BRIEF
"""Programs of more are left to the general way, beside which they take a hundred times as long."""
MOST_FRESH = 1 << 16
"""Long programs whose results take more bytes are left to the general way, which has memory for them at hand."""


def entry_of(
    program: Any, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings], as_they_lie: bool = False
) -> tuple[Entry | None, Any]:
    """The entry to a program and the regions of its block, None if there is none for it (see `Shortcut.look`)."""
    jit = jitted("emission.entry_code")
    if jit is None or not jit.holds() or program.captures:
        return None, None
    try:
        way = _Way(jit.EntryWriter(), program, as_they_lie)
        return way.entry(key, call, around), way.block.regions
    except Unsuited:
        return None, None


def work_of(step: Any) -> int:
    """About how many records a step evaluates, counted with their elements."""
    if isinstance(step, KernelStep):
        return step.group.size * len(step.group.rows)
    if isinstance(step, RoundsStep):
        return step.times * sum(map(work_of, step.body.steps))
    sizes = [spec.size for k in (*step.needs, *step.makes) if (spec := step.listing.spec_of(k)) is not None]
    if step.op.hints.motion == "matrix":
        return int(np.prod(sizes, dtype=float) ** 0.5) // 4
    return sum(sizes) // 2


class _Way:
    """Writes an entry.

    Attributes:
        block: the memory that the kernels run in.
        busy: of a program that lets other threads run, whether that is in use.
        looked_at, returned: what the entry looks at, and what it gives.
    """

    def __init__(self, writer: Any, program: Any, as_they_lie: bool):
        self.write, self.program, self.replay = writer, program, program.replay
        work = sum(map(work_of, self.replay.steps))
        self.plan = plan = self.replay.sweeper.plan
        if plan.halts or self.replay.guards.others or work >= LONG:
            raise Unsuited
        if work >= BRIEF and sum(spec.nbytes for _, spec in plan.given) > MOST_FRESH:
            raise Unsuited
        self.busy = ctypes.c_int64(0) if work >= BRIEF else None
        self.block = self.replay.sweeper.block()
        self.conditions = Conditions(writer)
        self.looked_at = LookedAt(writer, self.conditions, as_they_lie)
        self.returned = EntryResults(writer, program.results, plan, self.looked_at)
        self.alive: list[Any] = []

    def entry(self, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings]) -> Entry:
        asked = any(some.compares or some.recognises for some in around)
        if asked and (isinstance(key[0], Structure) or (len(varying(key)) > 1 and any(x.compares for x in around))):
            raise Unsuited
        w, counter = self.write, ctypes.addressof(self.program.counter)
        count = w.load(w.known(counter))
        w.require(w.test("slt", count, w.known(self.replay.until)))
        self.conditions.is_quiet()
        if self.program.historic:
            self.conditions.checks.append(records_gradients)
        if self.program.said is not None:
            self.conditions.checks.append(self.program.heed_filters)
        for surroundings in around:
            self.conditions.around(surroundings)
        self.looked_at.arguments(key, call)
        if asked:
            self.looked_at.be_others(around)
        self.looked_at.constants(self.replay)
        self._run()
        w.store(w.add(w.load(w.known(counter)), 1), w.known(counter))
        made = self.returned.build()
        for thing in (*self.looked_at.copies, *self.looked_at.held):
            w.perform("Py_DecRef", thing)
        if self.busy is not None:
            w.store("0", w.known(ctypes.addressof(self.busy)))
        w.give(made)
        return self.conditions.guarded(w.function(*self.alive, self.program, *around))

    def _run(self) -> None:
        """Put numbers, and addresses of arrays, where the steps find them, and sweep over these."""
        w, plan, block = self.write, self.plan, self.block
        self.looked_at.in_rows()
        if self.busy is not None:
            w.require_or_drop(w.test("eq", w.load(w.known(ctypes.addressof(self.busy))), 0), self._own())
        self.returned.memory(block)
        for source, region, wanted in plan.brought:
            w.store(self.looked_at.numbers(source, wanted), w.known(block.address), WORD * region)
        for source, place, wanted in plan.numbers:
            kind = f"i{8 * wanted.dtype.itemsize}"
            value = w.load(self.looked_at.numbers(source, wanted), 0, kind)
            w.store(value, w.known(block.address + plan.data + place.offset), 0, kind)
        w.store("0", w.known(block.address), WORD * REFUSED)
        self.alive += [block, plan, *self.returned.arrays.values()]
        _, address = opened("tape.jit.emission.sweep_steps").sweep()
        steps = w.known(address_of(plan.steps))
        saved = None if self.busy is None else self._let_others_run()
        done = w.call(address, w.known(block.address), steps, "0", str(plan.count))
        finished = w.say(f"and i1 {w.test('eq', done, plan.count)}, {self._without_errors()}")
        if saved is not None:
            self._go_on_alone(saved, finished)
        w.require_or_drop(finished, self._own())

    def _own(self) -> list[str]:
        """What goes away where a call is refused: what was made for its results, copies, and what is held."""
        return [*self.returned.made.values(), *self.looked_at.copies, *self.looked_at.held]

    def _without_errors(self) -> str:
        """Whether no flag of the processor tells of a floating-point error that is heeded."""
        w, flags = self.write, opened("tape.jit.machine.fenv").fenv()
        if flags is None:
            return "true"
        mask = w.load(w.known(ctypes.addressof(self.program.flags)))
        return str(w.test("eq", w.call(flags.addresses[1], mask, gives="i32"), 0, "i32"))

    def _let_others_run(self) -> str:
        """Give back the GIL, while the memory is in use."""
        w = self.write
        assert self.busy is not None
        self.alive.append(self.busy)
        w.store("1", w.known(ctypes.addressof(self.busy)))
        return str(w.python("PyEval_SaveThread"))

    def _go_on_alone(self, saved: str, finished: str) -> None:
        """Take the GIL again; the memory is in use until the results have been read, if there are any."""
        w = self.write
        assert self.busy is not None
        w.perform("PyEval_RestoreThread", saved)
        w.store(w.say(f"zext i1 {finished} to i64"), w.known(ctypes.addressof(self.busy)))


def records_gradients() -> bool:
    """Whether gradients are recorded here."""
    return current().recording
