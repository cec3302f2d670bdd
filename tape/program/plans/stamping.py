"""The plan of a round, stamped for all rounds of a loop: its words again and again, with other places in them.

The body of a loop is planned as a program of its own, in memory of its own.  Then each place in its words is moved to
where it is in each round: what a round reads, to where that lies; values that others read, to memory that is there for
every round, or for as many as they last; everything else, to memory that all rounds share.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ...jit.machine.frames import WORD
from ...jit.machine.regions import ALIGN, BLOCK, BROUGHT, DATA, WORK
from .plan import Plan
from .plan_steps.plan_places import Chunk, Place, PlanValue
from .round_step import RoundsStep
from .stops import PythonStep
from .whereabouts import whole
from .wording import NotByRounds

NOWHERE = -1
"""The region of what is an address already."""


class BodyPlan(Plan):
    """The plan of a round, whose inputs lie in regions that nobody has yet.

    Attributes:
        carried: by input that lies in memory of the plan's own, the output that is to lie there at the end.
        missed: those whose output came to lie elsewhere.
        ends: where its outputs lie, each in memory of the plan's own.
    """

    def __init__(self, replay: Any, checked: bool, carried: Mapping[int, int] = MappingProxyType({})):
        self.carried = carried
        self._carriers: dict[int, Chunk] = {}
        super().__init__(replay, checked)

    def begin(self) -> None:
        for k, number in self._inputs.items():
            if number in self.carried:
                made = self._room(self.spec(k))
                assert made.chunk is not None
                self._carriers[self.carried[number]] = made.chunk
                self.lies(k, made)
                continue
            self.values[k] = whole(Place(BROUGHT + number, 0), self.spec(k))
        self._regions = BROUGHT + len(self._inputs)

    def region(self) -> int:
        raise NotByRounds

    def stop(self, run: Any, needs: list[int], makes: list[int]) -> None:
        raise NotByRounds

    def _operand(self, k: int) -> PlanValue | None:
        return None if self.listing.spec_of(k) is None else self.value(k)

    def _finish(self) -> list[Any]:
        self.ends: list[PlanValue] = []
        shared = list(self._carriers.values())
        for i, k in enumerate(self.replay.outputs):
            value, carrier = self.flat(k), self._carriers.get(i)
            if value.chunk is None or (value.chunk in shared and value.chunk is not carrier):
                value = self.copied(value, value.spec)
            self.ends.append(value)
        self.missed = {k for k, i in self.carried.items() if self.ends[i].chunk is not self._carriers[i]}
        return []

    def close(self) -> None:
        """Leave all as it is: the plan of the whole has it."""


class PieceForRounds(NamedTuple):
    """Memory of the body's that is there for several rounds: where it was, where it is now, for how many rounds."""

    chunk: Chunk
    offset: int
    slots: int


class Stamp:
    """A body in all its rounds.

    Attributes:
        first, end: the steps of the plan that it has become.
    """

    def __init__(self, plan: Plan, step: RoundsStep):
        self.plan, self.step, self.count = plan, step, len(step.given)
        self.body = body = self._planned()
        self.places = self._memory(1)
        plan.pin_all(body)
        self._keep()
        self._bring()
        self._begin_carried()
        self._stamp()
        self._tell()

    def _planned(self) -> BodyPlan:
        carried = self.step.carried
        while True:
            found = BodyPlan(self.step.body, self.plan.memory.checked, carried)
            if not found.missed:
                return found
            carried = {k: i for k, i in carried.items() if k not in found.missed}

    def _memory(self, copies: int) -> dict[int, np.ndarray]:
        """By region, where each round has what the body has there: in one copy for all, or in one for each."""
        plan, body = self.plan, self.body
        bases = [plan.memory.own(body.memory.nbytes).offset for _ in range(copies)]
        for base in bases:
            plan.memory.canaries += [base + at for at in body.memory.canaries]
            plan.initial += [(base + at, values) for at, values in body.initial]
        workspace = -(-body.workspace // ALIGN) * ALIGN
        plan.workspace = max(plan.workspace, copies * workspace)
        return {DATA: np.resize(bases, self.count), WORK: np.resize(workspace * np.arange(copies), self.count)}

    def _keep(self) -> None:
        """Memory for what others read of the rounds."""
        slots: dict[int, int] = {}
        chunks: dict[int, Chunk] = {}
        carried = set(self.body.carried.values())
        for i, (value, kept) in enumerate(zip(self.body.ends, self.step.kept)):
            assert value.chunk is not None
            at = value.chunk.offset
            chunks[at] = value.chunk
            slots[at] = 1 if i in carried else max(slots.get(at, 1), min(kept or self.count, self.count))
        self.kept = [
            PieceForRounds(chunk, self.plan.memory.own(slots[at] * chunk.nbytes).offset, slots[at])
            for at, chunk in chunks.items()
        ]

    def _moved(self, offset: int) -> np.ndarray:
        """By round, where some of the body's memory is."""
        for piece in self.kept:
            if piece.chunk.offset <= offset < piece.chunk.offset + piece.chunk.nbytes:
                slot = np.arange(self.count) % piece.slots
                return piece.offset + slot * piece.chunk.nbytes + offset - piece.chunk.offset
        found: np.ndarray = self.places[DATA] + offset
        return found

    def _bring(self) -> None:
        """By input of the body and by round, where it is."""
        given, made, plan = self.step.given, self.step.made, self.plan
        known, which = np.unique(given, return_inverse=True)
        regions, offsets = np.full(len(known), NOWHERE), np.zeros(len(known), dtype=np.int64)
        own = np.isin(known, made)
        for i, k in enumerate(known.tolist()):
            if not own[i]:
                place = plan.flat(k).place
                regions[i], offsets[i] = (NOWHERE, place) if isinstance(place, int) else place
        if own.any():
            at = np.stack([self._moved(value.place.offset) for value in self.body.ends], axis=1)  # type: ignore[union-attr]
            order = np.argsort(made, axis=None)
            found = order[np.searchsorted(made.ravel()[order], known[own])]
            regions[own], offsets[own] = DATA, at.ravel()[found]
        which = which.reshape(given.shape)
        self.regions, self.offsets = regions[which], offsets[which]

    def _begin_carried(self) -> None:
        """Arrays that each round writes into begin where they lie in all rounds."""
        for number, i in self.body.carried.items():
            value = self.body.ends[i]
            place = Place(DATA, int(self._moved(value.place.offset)[0]))  # type: ignore[union-attr]
            self.plan.place(value._replace(place=place), self.plan.value(int(self.step.given[0, number])))

    def _stamp(self) -> None:
        """The words and the steps of all rounds."""
        plan, body, n = self.plan, self.body, self.count
        plan.settle()
        body.settle()
        words = np.tile(np.array(body._template, dtype=np.int64), (n, 1))
        width = words.shape[1]
        begin = len(plan._template) + width * np.arange(n)
        found = []
        for at, region, offset in body._references:
            if region >= BROUGHT:
                regions, offsets = self.regions[:, region - BROUGHT], self.offsets[:, region - BROUGHT] + offset
                here = regions == NOWHERE
                words[here, at] = offsets[here]
                found.append(np.stack([begin + at, regions, offsets], axis=1)[~here])
                continue
            offsets = np.full(n, offset)
            if region == BLOCK:
                offsets = WORD * begin + offset
            elif region == DATA:
                offsets = self._moved(offset)
            elif region == WORK:
                offsets = self.places[WORK] + offset
            found.append(np.stack([begin + at, np.full(n, region), offsets], axis=1))
        plan.stamp(words, found)
        self._steps(begin)

    def _steps(self, begin: np.ndarray) -> None:
        """The steps of all rounds, whose words begin there."""
        plan, body = self.plan, self.body
        self.first, self.length = len(plan._kernels), len(body._kernels)
        self.end = self.first + self.count * self.length
        plan._kernels += self.count * body._kernels
        plan._offsets += (begin[:, None] + np.array(body._offsets, dtype=np.int64)).ravel().tolist()

    def _tell(self) -> None:
        """Say where the values are that others read."""
        wanted = set(self.step.makes)
        for i, value in enumerate(self.body.ends):
            offsets = self._moved(value.place.offset).tolist()  # type: ignore[union-attr]
            for k, offset in zip(self.step.made[:, i].tolist(), offsets):
                if k in wanted:
                    self.plan.values[k] = value._replace(place=Place(DATA, offset), chunk=None)

    def stops(self, k: int) -> PythonStep | None:
        """What Python does at a step of the loop that refused its operands."""
        number, at = divmod(k - self.first, self.length)
        stop = self.body.stops.get(at)
        if stop is None:
            return None
        operands: dict[int, Any] = {j: self._value(number, x) for j, x in stop.operands.items()}  # type: ignore[arg-type]
        into: list[Any] = [(i, self._value(number, x)) for i, x in stop.into]
        following = self.first + number * self.length + stop.following
        return stop._replace(operands=operands, following=following, into=into, told=self._told(number))

    def _told(self, number: int) -> list[tuple[int, PlanValue]]:
        """The guards on what was made up to the end of a round.

        What the round makes after the step is what it was in the replay before; if that is taken for a guard that does
        not hold, the function is recorded once more.
        """
        table, values = self.plan.guards.of_row, self.plan.values
        rows = [k for k in self.step.made[: number + 1].ravel().tolist() if k in table]
        return [(i, values[k]) for k in rows for i in table[k]]

    def _value(self, number: int, value: PlanValue | None) -> PlanValue | None:
        """Where a value of the body is in a round."""
        if value is None or isinstance(value.place, int):
            return value
        region, offset = value.place
        if region == DATA:
            return value._replace(place=Place(DATA, int(self._moved(offset)[number])), chunk=None)
        region, start = (int(x[number, region - BROUGHT]) for x in (self.regions, self.offsets))
        place: Place | int = start + offset if region == NOWHERE else Place(region, start + offset)
        return value._replace(place=place)
