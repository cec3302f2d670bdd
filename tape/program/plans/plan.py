"""A program as a plan: its memory laid out beforehand, and its steps as kernels that find their operands there.

`tape.program.plans.sweeping` runs plans; the rooms of `tape.program.plans.plan_steps` say which records are steps.
What has no step is a stop (`tape.program.plans.stops`): Python runs the record by NumPy, into memory of its own, and
the sweep goes on.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ops import REGISTRY

from ...base.rooms import opened
from ...base.spec import Spec, row_major
from ...jit.emission.task import OF_COLUMNS
from ...jit.machine.regions import WORK
from .guarding import Guarding, GuardStep
from .in_python import NumPyStep, OneByOne
from .plan_steps import linear_steps, moving, partial_writes, record_steps, reducing
from .plan_steps.plan_places import Chunk, Place, PlanValue, is_native, moved, place_in
from .prepared import Compiled, Interpreted
from .replay import KernelStep, Replay
from .round_step import RoundsStep, TilesStep
from .shifted import ROWS, STRIDED
from .stops import PythonStep, Raw, Result, SharedKernel, Stops
from .unmade import rows_of, runs_of
from .whereabouts import SMALL, Whereabouts, whole
from .wording import NotByRounds

CHECKED = os.environ.get("TAPE_CANARIES") == "1"
"""Whether each piece of memory is followed by bytes that are looked at after every replay."""


ROOMS = partial_writes, moving, linear_steps, reducing, record_steps
"""Which say how records become steps, by their function ``step``."""
SEVERAL = (record_steps,)
"""The same for records of several results."""
OUTPUT = REGISTRY["output"]


class Plan(Whereabouts):
    """The plan of a replay, and what must live as long as it.

    Attributes:
        stops: by step, what Python does there: it has no kernel, or its kernel refuses its operands.
        guards, captured: those of the replay.
        made_of: the steps, and with them the kernels whose addresses the plan has: the replay lets go of them when it
            compiles better ones, while other threads may still run this plan.
    """

    def __init__(self, replay: Replay, checked: bool = CHECKED):
        super().__init__(replay, checked)
        self.guards, self.captured = replay.guards, replay.captured
        self.initial: list[tuple[int, np.ndarray]] = []
        self.stops = Stops()
        self.stopped: set[int] = set()
        self.found: dict[Any, Any] = {}
        self._picked: dict[int, dict[int, list[int]]] | None = None
        self.made_of = tuple(replay.steps)
        self._native = all(map(is_native, self.listing.specs))
        self.guarding = Guarding(self, replay.guards)
        guarded = bool(replay.guards.of_row)
        if guarded:
            self.guarding.begin({k for step in self.made_of if isinstance(step, KernelStep) for k in step.makes})
        for step in self.made_of:
            if isinstance(step, NumPyStep):
                self._alone(step)
            elif isinstance(step, RoundsStep):
                self.stops.stamps.append(_stamp_of(step)(self, step))
            else:
                self._group(step)
            if guarded:
                self.guarding.after(step.makes)
            for k in step.drops:
                self.drop(k)
        self.guarding.finish()
        self.results = self._finish()
        self.close()
        self.forget()
        self.found.clear()
        del self.replay, self.guarding  # the replay has the plan: nobody else is to have it when that is dropped

    def _alone(self, step: NumPyStep) -> None:
        """A record that is no part of a kernel."""
        if not self.unmade.add(step):
            self.make_now(step)

    def make_now(self, step: NumPyStep) -> None:
        """Such a record as steps, or a stop."""
        if step.row in self.values:
            return  # one of several results of a record that is steps
        if not step.unknown and (self._native or all(map(is_native, self._specs_of(step)))):
            for room in ROOMS if step.result is not None else SEVERAL if step.op.outputs != 1 else ():
                if room.step(self, step):
                    return
        self.stop(step.evaluate, step.needs, step.makes)

    def _specs_of(self, step: NumPyStep) -> list[Spec | None]:
        return [self._specs[k] for k in (*step.needs, *step.makes)]

    def rows_of(self, record: NumPyStep) -> dict[int, list[int]]:
        """The records whose values a record gives, by the number of the result: itself, or those that pick one."""
        if record.op.outputs == 1:
            return {0: [record.row]}
        if self._picked is None:
            self._picked, listing = {}, self.listing
            for k in np.flatnonzero(listing.code == OUTPUT.code).tolist():
                picked = self._picked.setdefault(listing.operands(k)[0], {})
                picked.setdefault(int(listing.parameters(k)["i"]), []).append(k)
        return self._picked.get(record.row, {})

    def stop(self, run: Any, needs: list[int], makes: list[int]) -> None:
        """Python runs something, and brings the results."""
        operands = {k: self._operand(k) for k in needs}  # which may make some of them first
        at, wanted = self._step(0, 0), []
        for k in makes:
            spec = self._specs[k]
            wanted.append((spec, -1 if spec is None else self.region()))
            if spec is not None:
                self.values[k] = whole(Place(wanted[-1][1], 0), spec)
        self.stopped.update(makes)
        self.stops[at] = PythonStep(run, operands, makes, wanted, at + 1)

    def _operand(self, k: int) -> PlanValue | Raw | None:
        """Where a stop finds a value."""
        if k in self._inputs:
            return Raw(self._inputs[k])
        if k in self._constants:
            return Raw(-1 - k)
        return None if self._specs[k] is None else self.value(k)

    def number_of(self, k: int) -> Any:
        """The number that a record is, None if it is none that is known."""
        return self._constants.get(k)

    def refusals(self, steps: list[int], record: Any, rows: dict[int, list[int]]) -> None:
        """Where steps refuse the operands of a record that is done now, Python does it, or raises NumPy's error."""
        operands = {k: self._operand(k) for k in record.needs}
        into = [(i if record.op.outputs != 1 else -1, self.values[k]) for i, found in rows.items() for k in found]
        stop = PythonStep(record.evaluate, operands, [], [], len(self._kernels), into)
        self.stops.update(dict.fromkeys(steps, stop))

    def guard_stop(self, at: int, found: GuardStep) -> None:
        """Where a step finds a guard that does not hold, Python says which."""
        self.stops[at] = PythonStep(found, {}, [], [], at + 1)

    def _group(self, step: KernelStep) -> None:
        if step.kernel is None:
            self.stop(OneByOne(step.layout), step.needs, step.makes)
            return
        layout, kernel = step.layout, step.kernel
        item = layout.dtype.itemsize
        self.pinned.append(kernel)
        scratch: list[Chunk] = []
        numbers: Place | int = 0
        if layout.numbers:
            scratch.append(self.chunk(item * len(layout.numbers)))
            numbers = place_in(scratch[0])
            words: list[int | Place] = [len(layout.numbers)]
            for i, k in enumerate(layout.numbers):
                words += (moved(numbers, i * item), self.value(k).place, item)
            self.call(self.jit("linked", "copy"), words)
        arrays: list[Place | int] = []
        for x in layout.arrays:
            if x.way is not None:
                arrays += self._read_by(x.way, x.row, layout.group.shape)
            elif x.alone:
                arrays.append(self.value(x.row).element(x.first))
            elif x.first >= 0:
                arrays.append(self.flat(x.row).element(x.first))
            elif self.spec(x.row).size == x.spec.size:
                arrays.append(self.flat(x.row).place)
            else:
                found = self.copied(self.value(x.row), x.spec)
                assert found.chunk is not None
                scratch.append(found.chunk)
                arrays.append(found.place)
        single: Place | int = 0
        if layout.single:
            chunk = self.memory.take(item * len(layout.single))
            single = place_in(chunk)
            for start, t in enumerate(layout.single):
                chunk.users += 1
                k = step.makes[t]
                spec = self.spec(k)
                at = moved(single, start * item)
                self.lies(k, PlanValue(at, row_major(spec.shape, item), spec, chunk))
        large = [word for t, _ in layout.large for word in self._written(step, t)]
        table = self.say([*self._head(kernel), numbers, *arrays, single, *large])
        at = self.call((None, kernel.address), [0, self.word(table)])
        if step.shares is not None:
            self._kernels[at] = 0
            self.stops[at] = PythonStep(SharedKernel(step, table, single), {}, [], [], at + 1)
        for chunk in scratch:
            self.memory.give(chunk)

    def _written(self, step: KernelStep, t: int) -> list[Place | int]:
        """The words by which a kernel writes a target."""
        made = self.make(step.makes[t])
        if step.group.targets[t].how != OF_COLUMNS:
            return [made.place]
        self.fill(made)
        return [made.place, made.spec.size // step.group.shape[-1]]

    def _read_by(self, way: int, k: int, whole: tuple[int, ...]) -> list[Place | int]:
        """The words by which a kernel of a shape reads a record's value in a way (see `tape.program.plans.shifted`)."""
        if way == STRIDED:
            return [self.value(k).place, self.value(k).strides[0]]
        return rows_of(self, k, whole) if way == ROWS else runs_of(self, k, way)

    def _head(self, kernel: Compiled | Interpreted) -> list[int | Place]:
        """The first words of a kernel's table."""
        if isinstance(kernel, Interpreted):
            values = self.memory.own(kernel.values.nbytes)
            self.initial.append((values.offset, kernel.values))
            return [kernel.code_at, place_in(values)]
        self.workspace = max(self.workspace, kernel.workspace_bytes)
        return kernel.head(Place(WORK, 0))

    # Results.

    def _finish(self) -> list[Result | Raw | int]:
        """Results go where the caller finds them; those that stops make are in regions of their own (their number)."""
        results: list[Result | Raw | int] = []
        small: dict[Any, list[tuple[int, int]]] = {}
        sizes: dict[Any, int] = {}
        for k in self.replay.outputs:
            spec = self.spec(k)
            if k in self.stopped:
                results.append(self.values[k].place.region)  # type: ignore[union-attr]
            elif k in self._inputs:
                results.append(Raw(self._inputs[k]))
            elif k in self._constants:
                results.append(Raw(-1 - k))
            elif spec.nbytes > SMALL:
                if k not in self.targets:
                    self.give(k)
                target = self.targets[k]
                self.place(target, self.value(k))
                region = target.place.region  # type: ignore[union-attr]
                results.append(Result([r for r, _ in self.given].index(region), 0, spec))
            else:
                start = sizes.get(spec.dtype, 0)
                sizes[spec.dtype] = start + spec.size
                small.setdefault(spec.dtype, []).append((k, start))
                results.append(Result(-1, start, spec))
        for dtype, members in small.items():
            self._together(dtype, members, sizes[dtype], results)
        return results

    def _together(self, dtype: np.dtype[Any], members: list[tuple[int, int]], size: int, results: list[Any]) -> None:
        """Small results of one dtype lie in one array."""
        spec = opened("tape.base.spec").spec((size,), dtype)
        region, number = self.region(), len(self.given)
        self.given.append((region, spec))
        words: list[int | Place] = []
        for k, start in members:
            source = self.flat(k)
            words += [Place(region, start * dtype.itemsize), source.place, source.spec.nbytes]
        self.call(self.jit("linked", "copy"), [len(members), *words])
        for i, found in enumerate(results):
            if isinstance(found, Result) and found.array < 0 and found.spec.dtype == dtype:
                results[i] = found._replace(array=number)


def _stamp_of(step: RoundsStep) -> Any:
    """The class of the steps of a loop."""
    if isinstance(step, TilesStep) and step.loop.turns is not None:
        return opened("tape.program.plans.tiling").TileStamp
    return opened("tape.program.plans.stamping").Stamp


def plan_of(replay: Replay) -> Plan:
    """The plan of a replay, without loops by rounds if one of them cannot be planned so."""
    try:
        return Plan(replay)
    except NotByRounds:
        replay.straighten()
        return Plan(replay)
