"""Values that a plan has not made: kernels read them out of the operands of their records.

An operand lives as long as such a value.  When a step other than those kernels asks for the value, it is made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from .plan_steps.linear_steps import firsts
from .plan_steps.plan_places import Place, PlanValue


class Unmade:
    """The values that are not made, and which others they need.

    Attributes:
        records: by number, the steps that would make them.
        wanted: the records that kernels read as runs.
    """

    def __init__(self, wanted: Iterable[int]):
        self.records: dict[int, Any] = {}
        self.wanted = set(wanted)
        self._held: Counter[int] = Counter()  # asked by `get`: for each value of a plan, and most are not in it
        self._late: set[int] = set()

    def add(self, record: Any) -> bool:
        """Leave a value for later; whether that can be."""
        if record.row not in self.wanted:
            return False
        self.records[record.row] = record
        self._held.update(record.needs)
        return True

    def holds(self, k: int) -> bool:
        """Whether a value is needed by one that is not made."""
        return self._held.get(k, 0) > 0

    def ended(self, k: int) -> bool:
        """Note that no later step needs a value; whether it can go now."""
        held = self._held.get(k, 0)
        if held:
            self._late.add(k)
        return not held

    def take(self, k: int) -> Any:
        """The step of a value that is to be made, or that nobody needs; its operands stay until `let_go`."""
        return self.records.pop(k)

    def let_go(self, record: Any) -> list[int]:
        """Give up the operands of a value; which of them nobody needs any more."""
        self._held.subtract(record.needs)
        gone = [k for k in set(record.needs) if not self._held[k] and k in self._late]
        self._late.difference_update(gone)
        return gone


def rows_of(plan: Any, k: int, whole: tuple[int, ...]) -> list[Place | int]:
    """Where a kernel of a shape finds the rows of a record's value: its beginning, and how far each row is from there.

    The value may have to be broadcast to that shape, but for its rows themselves.
    """
    value: PlanValue = plan.value(k)
    if value.strides[-1] != value.spec.dtype.itemsize:
        value = plan.flat(k)
    key = "rows", value.spec.shape, value.strides, whole
    if key not in plan.found:
        shape, strides = value.spec.shape[:-1], value.strides[:-1]
        plan.found[key] = np.array(firsts(shape, strides, whole[:-1]), dtype=np.int64)
    return [value.place, plan.pin(plan.found[key])]


def runs_of(plan: Any, k: int, count: int) -> list[Place | int]:
    """Where a kernel finds the runs that the rows of a record's value consist of."""
    if k in plan.unmade.records:
        operands, runs = plan.listing.operands(k), plan.replay.shifts.runs(k)
        return [word for run in runs for word in (plan.flat(operands[run.operand]).place, plan.pin(run.table))]
    value: PlanValue = plan.flat(k)
    key = "run", value.spec
    if key not in plan.found:
        columns = value.spec.shape[-1]
        row = np.arange(value.spec.size // columns) * columns * value.spec.dtype.itemsize
        whole = np.stack([row, 0 * row, 0 * row + columns], axis=1)
        plan.found[key] = whole, np.zeros_like(whole)
    whole, nothing = map(plan.pin, plan.found[key])
    return [value.place, whole, *[value.place, nothing] * (count - 1)]
