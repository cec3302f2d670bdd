"""Records as the steps that their ops declare (`Hints.steps`); elementwise ones as the loops of ufuncs."""

from __future__ import annotations

from typing import Any

from ops.core.loops import ufunc_of

from .linear_steps import SystemSteps
from .order_steps import OrderSteps
from .pick_steps import PickSteps
from .plan_places import PlanValue
from .step_memory import NoStep

MOST = 1 << 16
"""Records with more numbers are left to NumPy: what a stop costs does not matter there."""


class RecordSteps(SystemSteps, PickSteps, OrderSteps):
    """What a declaration may call: ``s`` in its `Hints.steps`."""


def step(plan: Any, record: Any) -> bool:
    """Let a record be the steps that its op declares; whether it can be."""
    specs = [plan.listing.spec_of(k) for k in record.needs]
    rows = plan.rows_of(record)
    size = max(sum(s.size for s in specs), *(plan.spec(k).size for found in rows.values() for k in found), 0)
    s = RecordSteps(plan)
    if size > MOST or not all(x.size for x in specs) or not s.room.holds():
        return False
    try:
        made = _made(s, plan, record)
        fits = made is not None and s.take(rows, (made,) if isinstance(made, PlanValue) else made)
    except NoStep:
        fits = False
    s.end()
    if fits:
        for at in s.checks:
            plan.refusal(at, record, rows)
    return fits


def _made(s: RecordSteps, plan: Any, record: Any) -> Any:
    """The results of a record, None if there are no steps for it."""
    if record.op.hints.steps is not None:
        return record.op.steps(s, record.params, [plan.value(k) for k in record.needs])
    if record.op.broadcasts and not record.params:
        constants = [type(plan.number_of(k)) for k in record.needs]
        return s.ufunc(ufunc_of(record.op), [plan.value(k) for k in record.needs], constants)
    return None
