"""The guards of a plan: each is verified by a step as soon as its value is there, so that a replay ends early.

Truth values that kernels make for guards lie side by side, and are compared eight at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...base.spec import Spec
from ...jit.machine.regions import REFUSED
from ..recorded.guards import Guard, GuardMissed, near
from .plan_steps.plan_places import Place, PlanValue, place_in

BYTES, DOUBLE, SINGLE = range(3)
"""How the step compares numbers (see `tape.jit.sweeps.verified`)."""


class GuardedRow(NamedTuple):
    """A guard, by its number, and the record whose value it is about."""

    guard: int
    row: int


class GuardTable:
    """The guards of a program as its replays verify them.

    Attributes:
        guards: all of them, in order.
        steps: those that steps verify; `others`: those whose value is a result, which Python compares.
        seen: by number, what a guard was told, in memory that the steps compare with.
    """

    def __init__(self, guards: list[Guard], rows: Iterable[int], spec_of: Any):
        self.guards = guards
        self.steps: list[GuardedRow] = []
        self.others: list[GuardedRow] = []
        self.seen: dict[int, np.ndarray] = {}
        for i, (guard, row) in enumerate(zip(guards, rows, strict=True)):
            seen, spec = np.array(guard.seen, order="C"), spec_of(row)
            fits = (
                spec is not None
                and (seen.shape, seen.dtype) == (spec.shape, spec.dtype)
                and _how(seen.dtype) is not None
            )
            (self.steps if fits else self.others).append(GuardedRow(i, row))
            if fits:
                self.seen[i] = seen
        self.of_row: dict[int, list[int]] = {}
        for i, row in self.steps:
            self.of_row.setdefault(row, []).append(i)

    def verify(self, index: int, value: Any, expecting: bool) -> None:
        """Raise unless a guard holds; where that is `expecting`, it holds from now on for what differs by rounding.

        Raises:
            GuardMissed: with the guard, and the value.
        """
        guard = self.guards[index]
        if guard.holds(value):
            return
        value = np.array(value)[()]
        if not (expecting and near(value, guard.seen)):
            raise GuardMissed(index, guard, value)
        self.guards[index] = guard._replace(seen=value)
        if index in self.seen:
            self.seen[index][...] = value


def _how(dtype: np.dtype[Any]) -> int | None:
    """How numbers are compared; None for those that Python compares."""
    if dtype.kind in "biu":
        return BYTES
    return {"d": DOUBLE, "D": DOUBLE, "f": SINGLE, "F": SINGLE}.get(dtype.char) if dtype.isnative else None


def _is_truth(spec: Spec) -> bool:
    return not spec.shape and spec.dtype.kind == "b"


class GuardStep(NamedTuple):
    """What Python does where a step found a guard that does not hold: it looks at all that the step is about."""

    values: list[tuple[int, PlanValue]]


class Guarding:
    """Puts the steps that verify guards into a plan."""

    def __init__(self, plan: Any, table: GuardTable):
        self.plan, self.table = plan, table
        self._verified: set[int] = set()

    def begin(self, made_in_kernels: set[int]) -> None:
        """Let the truth values that kernels make for guards lie side by side; verify what is there already."""
        plan = self.plan
        truths = [k for k in self.table.of_row if k in made_in_kernels and _is_truth(plan.spec(k))]
        if truths:
            chunk = plan.memory.own(len(truths))
            for i, k in enumerate(truths):
                plan.targets.setdefault(k, PlanValue(place_in(chunk, i), (), plan.spec(k)))
        self.after([k for k in self.table.of_row if plan.listing.code[k] < 0])

    def after(self, rows: Iterable[int]) -> None:
        """A step that verifies the guards on records that were just made."""
        plan, values, blocks = self.plan, [], list[list[Any]]()
        for k in rows:
            found = self.table.of_row.get(k)
            if found is None:
                continue
            value = plan.flat(k)
            self._verified.add(k)
            for i in found:
                values.append((i, value))
                self._add(blocks, value, self.table.seen[i], i)
        if not values:
            return
        words = [word for block in blocks for word in self._words(*block)]
        at = plan.call(plan.jit("verified", "verify"), [Place(REFUSED, 0), len(blocks), *words])
        plan.guard_stop(at, GuardStep(values))

    def finish(self) -> None:
        """Raise if a guard was passed over.

        Raises:
            AssertionError: so that the function runs as it is.
        """
        if self._verified != self.table.of_row.keys():
            raise AssertionError("a plan has no step for one of its guards")

    def _add(self, blocks: list[list[Any]], value: PlanValue, seen: np.ndarray, index: int) -> None:
        """Lengthen the last block by a truth value that lies behind it, or begin another."""
        if blocks and _is_truth(value.spec):
            place, spec, all_seen, indices = blocks[-1]
            if _is_truth(spec) and value.place == PlanValue(place, (), spec).moved(len(indices)):
                all_seen.append(seen)
                indices.append(index)
                return
        blocks.append([value.place, value.spec, [seen], [index]])

    def _words(self, place: Any, spec: Spec, seen: list[np.ndarray], indices: list[int]) -> list[Any]:
        if len(seen) > 1:
            together = np.concatenate([x.reshape(1) for x in seen])
            for i, index in enumerate(indices):
                self.table.seen[index] = together[i : i + 1].reshape(())
            numbers = together
        else:
            numbers = seen[0]
        plan, how = self.plan, _how(spec.dtype)
        assert how is not None
        count = numbers.nbytes // (1, 8, 4)[how]
        plan.pinned.append(numbers)
        which = plan.pin(np.array(indices, dtype=np.int64))
        return [place, numbers.ctypes.data, count, how, which, 1 if len(indices) > 1 else 0]
