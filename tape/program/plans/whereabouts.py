"""Where the values of a plan lie: in its own memory, in regions that each call brings, or in what the caller gets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.spec import Spec, row_major
from ...base.tensor import Tensor
from ..recorded.listing import Listing, is_fixed
from .in_python import NumPyStep
from .plan_steps.plan_places import Place, PlanValue, place_in
from .replay import KernelStep, Replay
from .unmade import Unmade
from .wording import PlanWords

SMALL = 1 << 10
"""Results of at most so many bytes are put together in one array."""


class SpecsAsked(dict[int, "Spec | None"]):
    """The specs of records that were asked for: inside kernels lie many that nobody asks about."""

    def __init__(self, listing: Listing):
        super().__init__()
        self._which, self._specs = listing.spec, [*listing.specs, None]

    def __missing__(self, k: int) -> Spec | None:
        found = self[k] = self._specs[self._which[k]]
        return found


class Whereabouts(PlanWords):
    """A plan's words, and where the value of each record is.

    A value has memory from when it is made until the last step that needs it.  Some begin in regions: inputs and
    captured constants, where each call finds them; results, in arrays that are made for each call.

    Attributes:
        values: by record, where its value is now.
        targets: by record, where its value is to lie once it is made.
        unmade: the values that are not made as long as kernels read them as runs of others.
        brought: the inputs and captured constants that lie in regions, as (source, region, spec).
        numbers: the inputs that are plain numbers, as (source, place, spec).
        given: arrays that are made for each call: what the caller gets.
    """

    def __init__(self, replay: Replay, checked: bool):
        super().__init__(checked)
        self.replay, self.listing = replay, replay.listing
        self._specs = SpecsAsked(self.listing)
        self.values: dict[int, PlanValue] = {}
        self.targets: dict[int, PlanValue] = {}
        self.brought: list[tuple[int, int, Spec]] = []
        self.numbers: list[tuple[int, Place, Spec]] = []
        self.given: list[tuple[int, Spec]] = []
        self._flat: dict[int, PlanValue] = {}
        self._asked: set[int] = set()
        self._inputs = dict(replay.inputs)
        self._constants = dict(replay.constants)
        layouts = [s.layout for s in replay.steps if isinstance(s, KernelStep) and s.kernel is not None]
        self.unmade = Unmade(x.row for layout in layouts for x in layout.arrays if (x.way or 0) > 0)
        self.begin()

    @property
    def taken(self) -> int:
        """Bytes of a replay's own memory: its block, and what the caller gets."""
        return int(self.nbytes) + sum(spec.nbytes for _, spec in self.given)

    def forget(self) -> None:
        """Let go of what only the making of the plan asks for."""
        self._flat.clear()
        self._specs.clear()

    def make_now(self, record: NumPyStep) -> None:
        """Do a record that is no part of a kernel: the plan's to say how."""
        raise NotImplementedError

    def spec(self, k: int) -> Spec:
        """The spec of a record of one result."""
        found = self._specs[k]
        assert found is not None
        return found

    def constant(self, source: int) -> Any:
        """A constant by −1 minus its record."""
        return self._constants[-1 - source]

    def begin(self) -> None:
        """Regions for arrays among the inputs and captured constants, and for what the caller gets."""
        used = {k for step in self.replay.steps for k in step.needs}
        used.update(self.replay.outputs, self.replay.guards.of_row, self.replay.watched)
        for k, number in self._inputs.items():
            spec = self.spec(k)
            if k not in used:
                continue
            if spec.ndim or spec.dtype not in (np.float64, np.float32):
                self._bring(k, number)
            else:
                place = place_in(self.chunk(spec.nbytes))
                self.numbers.append((number, place, spec))
                self.values[k] = PlanValue(place, (), spec)
        for k, constant in self._constants.items():
            if k in used and is_memory(constant):
                self._bring(k, -1 - k)
        kernels = {k for step in self.replay.steps if isinstance(step, KernelStep) for k in step.makes}
        self._asked = {k for k in self.replay.outputs if self.spec(k).nbytes > SMALL}
        for k in dict.fromkeys(self.replay.outputs):
            if k in kernels and k in self._asked:
                self.give(k)

    def _bring(self, k: int, source: int) -> None:
        spec, region = self.spec(k), self.region()
        self.brought.append((source, region, spec))
        self.values[k] = whole(Place(region, 0), spec)

    def give(self, k: int) -> PlanValue:
        """Let a record's value lie in an array that is made for each call."""
        spec, region = self.spec(k), self.region()
        self.given.append((region, spec))
        self.targets[k] = whole(Place(region, 0), spec)
        return self.targets[k]

    def value(self, k: int) -> PlanValue:
        """Where a record's value is; it is made now if only kernels that read it as runs have asked so far."""
        found = self.values.get(k)
        if found is not None:
            return found
        if k in self.unmade.records:
            record = self.unmade.take(k)
            self.make_now(record)
            self._let_go(record)
        else:
            spec = self.spec(k)
            address = self.pin(np.asarray(self._constants[k], dtype=spec.dtype))
            self.values[k] = whole(address, spec)
        return self.values[k]

    def flat(self, k: int) -> PlanValue:
        """Where a record's value is in row-major order: copied if it lies otherwise."""
        found = self.value(k)
        if not found.strides or found.contiguous:
            return found
        made = self._flat.get(k)
        if made is None:
            made = self._flat[k] = self.copied(found, found.spec)
        return made

    def copied(self, value: PlanValue, wanted: Spec) -> PlanValue:
        """A copy in row-major order, broadcast to a spec."""
        made = self._room(wanted)
        strides = np.lib.stride_tricks.as_strided
        if value.spec.shape != wanted.shape:
            axes = np.broadcast_to(strides(np.empty(1, np.int8), value.spec.shape, value.strides), wanted.shape)
            value = value._replace(strides=axes.strides)
        self.place(made, value)
        return made

    def _room(self, spec: Spec) -> PlanValue:
        """Memory of its own for a value in row-major order."""
        chunk = self.chunk(spec.nbytes)
        return PlanValue(place_in(chunk), row_major(spec.shape, spec.dtype.itemsize), spec, chunk)

    def make(self, k: int, view: PlanValue | None = None, again: bool = False) -> PlanValue:
        """Memory for a value that a step makes, or where the view is that it is.

        What is written `again` and again is the plan's own memory, which begins with a line of the cache.
        """
        if view is not None:
            if view.chunk is not None:
                view.chunk.users += 1
            made = view
        elif k in self.targets:
            made = self.targets[k]
        elif k in self._asked and not again:
            made = self.give(k)
        else:
            made = self._room(self.spec(k))
        self.lies(k, made)
        return made

    def lies(self, k: int, value: PlanValue) -> None:
        """Note where a record's value is."""
        self.values[k] = value
        if value.chunk is not None:
            value.chunk.look(k, value)

    def move_out(self, k: int) -> None:
        """Copy a record's value to memory of its own: what is there now is about to be overwritten."""
        value = self.values[k]
        self.lies(k, self.copied(value, value.spec))
        assert value.chunk is not None
        value.chunk.leave(k)
        self.memory.give(value.chunk)

    def _let_go(self, record: Any) -> None:
        """The operands of a value are not kept for it any more."""
        for k in self.unmade.let_go(record):
            self.drop(k)

    def drop(self, k: int) -> None:
        """Nobody needs a value any more."""
        if self.unmade.wanted:
            if not self.unmade.ended(k):
                return
            if k in self.unmade.records:
                self._let_go(self.unmade.take(k))
                return
        for values in (self.values, self._flat) if k in self._flat else (self.values,):
            found = values.get(k)
            if found is not None and found.chunk is not None:
                found.chunk.leave(k)
                self.memory.give(found.chunk)
                del values[k]


def whole(place: Place | int, spec: Spec) -> PlanValue:
    """A value in row-major order."""
    return PlanValue(place, row_major(spec.shape, spec.dtype.itemsize), spec)


def is_memory(constant: Any) -> bool:
    """Whether a constant is somebody's memory, which may change."""
    return isinstance(constant, Tensor) or (isinstance(constant, np.ndarray) and not is_fixed(constant))
