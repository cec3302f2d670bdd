"""Tiles as steps: one for each piece of the rows, which does what a tile does again and again, further on in its data.

A piece adds up in memory of its own.  If several threads take pieces, each piece has its own copy of the rest as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...jit.machine.regions import BROUGHT
from .plan_steps.plan_places import Place, place_in
from .round_step import TilesStep
from .stamping import BodyPlan, Stamp
from .stops import PythonStep, SharedRounds
from .whereabouts import whole
from .wording import NotByRounds


class TilePlan(BodyPlan):
    """The plan of a tile: its totals are where nothing else ever is, for the next tile adds to them."""

    def _finish(self) -> list[Any]:
        self.ends = []
        for k in self.replay.outputs:
            value, chunk = self.value(k), self.memory.own(self.spec(k).nbytes)
            self.ends.append(whole(place_in(chunk), self.spec(k))._replace(chunk=chunk))
            self.place(self.ends[-1], value)
        return []


class TileStamp(Stamp):
    """The pieces of a `TilesStep`, each of which is a round of its own."""

    step: TilesStep

    def _planned(self) -> BodyPlan:
        found = TilePlan(self.step.body, self.plan.memory.checked)
        if found.stops:
            raise NotByRounds  # nobody could go on from there
        return found

    def _memory(self, copies: int) -> dict[int, np.ndarray]:
        return super()._memory(self.count if self.step.threads else copies)

    def _bring(self) -> None:
        super()._bring()
        assert self.step.loop.moves is not None
        self.offsets = self.offsets + self.step.loop.moves

    def _steps(self, begin: np.ndarray) -> None:
        """What totals begin with is copied, then each piece is a step."""
        plan, loop, threads = self.plan, self.step.loop, self.step.threads
        self._begin_totals()
        self.first = self.end = self.length = 0  # no step of a tile refuses anything
        at = plan._step(0, 0) if threads else len(plan._kernels) - 1
        for first, turns in zip(begin.tolist(), loop.turns.tolist()):  # type: ignore[union-attr]
            self._repeat(first, turns)
        if threads:
            shared = SharedRounds(threads, [(k, k + 1) for k in range(at + 1, len(plan._kernels))])
            plan.stops[at] = PythonStep(shared, {}, [], [], len(plan._kernels))

    def _begin_totals(self) -> None:
        plan, words = self.plan, list[int | Place]()
        for value, k in zip(self.body.ends, self.step.loop.begins.tolist()):  # type: ignore[union-attr]
            source = plan.flat(k).place
            for offset in self._moved(value.place.offset).tolist():  # type: ignore[union-attr]
                words += [value.place._replace(offset=offset), source, value.spec.nbytes]  # type: ignore[union-attr]
        plan.call(plan.jit("linked", "copy"), [len(words) // 3, *words])

    def _repeat(self, begin: int, turns: int) -> None:
        """The step of a piece whose words begin there."""
        plan, body, strides = self.plan, self.body, self.step.loop.strides
        assert strides is not None
        steps = [x for kernel, at in zip(body._kernels, body._offsets) for x in (kernel, plan.word(begin + at))]
        moves = [(at, int(strides[region - BROUGHT])) for at, region, _ in body._references if region >= BROUGHT]
        words = [x for at, stride in moves if stride for x in (plan.word(begin + at), stride)]
        plan.call(plan.jit("linked", "repeat"), [turns, len(steps) // 2, len(words) // 2, *steps, *words])
