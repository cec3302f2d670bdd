"""Running plans from Python: blocks of memory, the sweep over the steps, and what Python does at stops.

A block belongs to one call at a time; those that are not in use are kept for the next calls.
"""

from __future__ import annotations

import ctypes
import struct
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...base.rooms import opened
from ...base.tensor import Tensor
from ...jit.emission.task import WORKSPACE
from ...jit.machine.frames import KERNEL, Pool, address_of, fit, fits
from ...jit.machine.regions import ALIGN, BLOCK, DATA, REFUSED, WORK
from ..recorded.raising import note_errors, noting
from .guarding import GuardStep
from .in_python import as_of_numpy
from .ownership import separate, suspects
from .plan import Plan, plan_of
from .plan_steps.plan_places import CANARY, UNIT, Place, PlanValue, array_at
from .prepared import aligned
from .replay import Replay
from .stops import PythonStep, Raw, Result, SharedKernel, SharedRounds
from .threads import share

SWEEP = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
MOST_BLOCKS = 4
"""So many blocks are kept for threads that call the same program at once."""
UNTOUCHED = 0xA5
"""What is in the bytes that nobody may write to."""


class PlanBlock:
    """The memory of one call of a plan, linked.

    Attributes:
        address: where it begins.
        regions: its first words, where the regions are.
        memory: the whole as bytes.
    """

    def __init__(self, plan: Plan):
        whole = np.empty(plan.nbytes + ALIGN, dtype=np.uint8)
        start = -whole.ctypes.data % ALIGN
        self.plan, self.memory = plan, whole[start : start + plan.nbytes]
        self.address, self.buffer = self.memory.ctypes.data, memoryview(self.memory)  # type: ignore[arg-type]
        self.regions = (ctypes.c_int64 * plan.first).from_buffer(self.buffer)
        words = self.memory[: plan.data].view(np.int64)
        words[: plan.first] = 0
        data = self.address + plan.data
        words[BLOCK], words[DATA] = self.address, data
        words[WORK] = -(-(data + plan.memory.nbytes) // ALIGN) * ALIGN
        words[plan.first :] = plan.words
        at, region, offset = plan.own.T
        words[plan.first + at] = words[region] + offset
        self.words = words
        for start, values in plan.initial:
            self.memory[plan.data + start :][: values.nbytes] = values.view(np.uint8)
        self._canaries = [self.memory[plan.data + at :][:CANARY] for at in plan.memory.canaries]
        for canary in self._canaries:
            canary[:] = UNTOUCHED
        self.views: dict[PlanValue, Any] = {}

    def check(self) -> None:
        """Raise if a step wrote where it must not.

        Raises:
            MemoryError: saying where.
        """
        for at, canary in zip(self.plan.memory.canaries, self._canaries):
            if (canary != UNTOUCHED).any():
                raise MemoryError(f"a step of a plan wrote behind the memory that ends at byte {at} of its data")


class Sweeper:
    """Runs the plan of a replay, for several threads at once if need be."""

    def __init__(self, replay: Replay):
        self.plan = plan = plan_of(replay)
        _, address = opened("tape.jit.emission.sweep_steps").sweep()
        self.sweep = SWEEP(address)
        self.steps = address_of(plan.steps)
        self.constants = dict(replay.constants)
        self.numbers = list(packed(plan))
        self.suspects = suspects(replay.listing, plan.stopped)
        self.pools = [(region, Pool(spec)) for region, spec in plan.given]
        self._blocks: list[PlanBlock] = []

    def block(self) -> PlanBlock:
        """Memory that nobody else uses."""
        try:
            return self._blocks.pop()
        except IndexError:
            return PlanBlock(self.plan)

    def __call__(self, inputs: Sequence[Any], expecting: bool = False) -> list[Any]:
        """The outputs for these inputs."""
        block = self.block()
        try:
            return PlanRun(self, block, inputs, expecting).results()
        finally:
            if len(self._blocks) < MOST_BLOCKS:
                self._blocks.append(block)


def packed(plan: Plan) -> Iterator[tuple[list[int], Any, int]]:
    """The inputs that are plain numbers, those side by side together: their sources, how to pack them, and where."""
    runs: list[tuple[list[int], list[str], int, int]] = []
    for source, place, spec in plan.numbers:
        letter, offset = "d" if spec.dtype.itemsize == 8 else "f", plan.data + place.offset
        form = f"{letter}{UNIT - spec.dtype.itemsize}x"  # up to the end of the number's own memory
        if runs and runs[-1][3] == offset and not plan.memory.checked:
            sources, forms, begin, _ = runs[-1]
            sources.append(source)
            forms.append(form)
            runs[-1] = sources, forms, begin, offset + UNIT
        else:
            runs.append(([source], [form], offset, offset + UNIT))
    for sources, forms, begin, _ in runs:
        yield sources, struct.Struct(f"={''.join(forms)}").pack_into, begin


class PlanRun:
    """One call of a plan."""

    def __init__(self, sweeper: Sweeper, block: PlanBlock, inputs: Sequence[Any], expecting: bool = False):
        self.expecting = expecting
        self.sweeper, self.plan, self.block, self.inputs = sweeper, sweeper.plan, block, inputs
        self.arrays: dict[int, np.ndarray] = {}
        self.things: dict[int, Any] = {}
        regions = block.regions
        for source, region, spec in self.plan.brought:
            array = self.raw(source)
            if not fits(array, spec):
                array = fit(array, spec)
            self.arrays[region] = array
            regions[region] = address_of(array)
        for sources, pack, offset in sweeper.numbers:
            pack(block.buffer, offset, *map(inputs.__getitem__, sources))
        for region, pool in sweeper.pools:
            array = self.arrays[region] = pool.take()
            regions[region] = address_of(array)

    def raw(self, source: int) -> Any:
        """An input or constant as it is."""
        if source >= 0:
            return self.inputs[source]
        constant = self.sweeper.constants[-1 - source]
        return constant._data if isinstance(constant, Tensor) else constant

    def results(self) -> list[Any]:
        """Sweep over all steps; what the outputs are then."""
        plan, block, sweeper = self.plan, self.block, self.sweeper
        k = sweeper.sweep(block.address, sweeper.steps, 0, plan.count)
        while k < plan.count:
            block.regions[REFUSED] = 0
            stop = plan.stops[k]
            note_errors()
            with noting():
                self.stop(stop)
            k = sweeper.sweep(block.address, sweeper.steps, stop.following, plan.count)
        note_errors()
        if plan.memory.checked:
            block.check()
        results = [self.result(x) for x in plan.results]
        if sweeper.suspects:
            captured = [c._data if isinstance(c, Tensor) else c for c, _ in plan.captured]
            separate(results, sweeper.suspects, [*self.inputs, *captured])
        return results

    def result(self, x: Any) -> Any:
        """A result as the caller gets it."""
        if type(x) is Result:
            array = self.arrays[self.plan.given[x.array][0]]
            if array.shape == x.spec.shape and x.spec.size == array.size:
                return array
            return array[x.start : x.start + x.spec.size].reshape(x.spec.shape) if x.spec.ndim else array[x.start]
        if type(x) is not Raw:
            return self.arrays[x]
        return self.raw(x.source) if x.source >= 0 else as_of_numpy(self.raw(x.source))

    # Stops.

    def stop(self, stop: PythonStep) -> None:
        """Do what has no kernel, and say where the results are."""
        if isinstance(stop.run, SharedKernel):
            self.shared(stop.run)
            return
        if isinstance(stop.run, SharedRounds):
            self.rounds(stop.run)
            return
        if isinstance(stop.run, GuardStep):
            for index, value in stop.run.values:
                self.plan.guards.verify(index, self.view(value), self.expecting)
            return
        try:
            found = stop.run({k: self.operand(k, x) for k, x in stop.operands.items()})
        except Exception:
            for index, value in stop.told:
                self.plan.guards.verify(index, self.view(value), self.expecting)
            raise
        for i, place in stop.into:  # a step refused what NumPy takes
            self.view(place)[...] = found[0] if i < 0 else found[0][i]
        for k, (spec, region), z in zip(stop.makes, stop.wanted, found):
            if spec is None:
                self.things[k] = z
                continue
            array = z if fits(z, spec) else fit(z, spec)
            if array.base is not None and np.may_share_memory(array, self.block.memory):
                array = array.copy()
            self.arrays[region] = array
            self.block.regions[region] = address_of(array)

    def operand(self, k: int, x: Any) -> Any:
        """A value as NumPy takes it."""
        if x is None:
            return self.things[k]
        if type(x) is Raw:
            return self.raw(x.source)
        found = self.view(x)
        return found if x.spec.ndim else found[()]

    def view(self, value: PlanValue) -> np.ndarray:
        """An array that looks at a value."""
        place, spec = value.place, value.spec
        if isinstance(place, int):
            return array_at(*self.plan.pinned_at(place), spec, value.strides)
        if place.region == DATA:
            found = self.block.views.get(value)
            if found is None:
                start = self.plan.data + place.offset
                found = self.block.views[value] = array_at(self.block.memory, start, spec, value.strides)
            return found
        array = self.arrays[place.region]
        if array.shape == spec.shape and array.dtype == spec.dtype and value.contiguous and not place.offset:
            return array  # a part of one complex number has its shape, and is another
        return array_at(array.reshape(-1).view(np.uint8), place.offset, spec, value.strides)

    def shared(self, shared: SharedKernel) -> None:
        """Let several threads take one piece of a kernel after the other; their sums are added in this order."""
        step, layout = shared.step, shared.step.layout
        assert step.shares is not None
        threads, pieces = step.shares
        length = step.kernel.header + layout.addresses
        first = self.plan.first + shared.table
        table = self.block.words[first : first + length]
        single = step.kernel.header + layout.block
        sums = np.empty((len(pieces), len(layout.single)), layout.dtype)
        left = deque(zip(pieces, map(address_of, sums)) if len(layout.single) else ((p, 0) for p in pieces))
        call = KERNEL(step.kernel.address)

        def work(own: np.ndarray) -> None:
            _alive, own[WORKSPACE] = aligned(step.kernel.workspace_bytes)
            frame = np.array([0, address_of(own)], dtype=np.int64)
            while True:
                try:
                    bounds, address = left.popleft()
                except IndexError:
                    return
                for place, bound in bounds.items():
                    own[place] = bound
                own[single] = address
                call(address_of(frame))

        share(work, [table.copy() for _ in range(threads)])
        if len(layout.single):
            assert isinstance(shared.single, Place)
            start = self.plan.data + shared.single.offset
            np.add.reduce(sums, axis=0, out=self.block.memory[start : start + sums[0].nbytes].view(layout.dtype))

    def rounds(self, shared: SharedRounds) -> None:
        """Let several threads take one piece of a loop after the other."""
        block, sweeper, left = self.block, self.sweeper, deque(shared.pieces)

        def work(_: int) -> None:
            while True:
                try:
                    first, end = left.popleft()
                except IndexError:
                    return
                sweeper.sweep(block.address, sweeper.steps, first, end)

        share(work, range(min(shared.threads, len(left))))
