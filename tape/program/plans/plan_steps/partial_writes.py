"""Writes into part of an array as steps: in the array's own memory where nobody reads what it held before.

An op says by its `part` where it puts its second operand.  When its first operand ends there, the result lies where
that lay, and only the part is written.  Values that look at cells which are overwritten, and are read later, move out
of the way first, unless copying the array is cheaper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ....base.spec import spec
from ...recorded.indexmaps import part_of
from .plan_places import Place, PlanValue, array_at

FEW = 8
"""Fewer values that look at an array are compared one by one with what is overwritten."""
TRIES = 1000
"""How long a cell that two values share is looked for; after that, they are taken to share one."""


def step(plan: Any, record: Any) -> bool:
    """Let a record be steps that write part of an array; whether it can be."""
    op, result = record.op, record.result
    if op.kind != "linear" or op.hints.part is None or len(record.needs) != 2 or result.dtype.hasobject:
        return False
    indices = op.part_of(record.params)
    if indices is None:
        return False
    x, y = map(plan.value, record.needs)
    part = _part(indices, x)
    if x.spec is not result or y.spec.dtype != result.dtype or part is None or spread(y, part.spec) is None:
        return False
    if not (_ends(plan, record, x) and _make_way(plan, record, part)):
        whole = plan.make(record.row)
        plan.place(whole, x)
        part = _part(indices, whole)
        assert part is not None
    else:
        plan.make(record.row, x)
    given = spread(plan.value(record.needs[1]), part.spec)
    plan.place(part, given)
    return True


def _part(indices: Sequence[Any], whole: PlanValue) -> PlanValue | None:
    """The part of an array that indices, one applied after the other, stand for; None if it is empty."""
    found = part_of(whole.spec.shape, whole.strides, indices)
    if found is None:
        return None
    view, shape = found
    return PlanValue(whole.moved(view.offset), view.strides, spec(shape, whole.spec.dtype), whole.chunk)


def spread(y: PlanValue, wanted: Any) -> PlanValue | None:
    """A value as NumPy assigns it to an array of another shape; None if it does not fit."""
    shape, strides = y.spec.shape, y.strides
    if y.spec is wanted and 1 not in shape:
        return y
    extra = len(shape) - len(wanted.shape)
    if extra > 0:
        if any(n != 1 for n in shape[:extra]):
            return None
        shape, strides = shape[extra:], strides[extra:]
    missing = len(wanted.shape) - len(shape)
    if any(n not in (1, m) for n, m in zip(shape, wanted.shape[missing:])):
        return None
    steps = (0,) * missing + tuple([0 if n == 1 else s for n, s in zip(shape, strides)])
    return y._replace(strides=steps, spec=wanted)


def _ends(plan: Any, record: Any, x: PlanValue) -> bool:
    """Whether nobody needs an array any more, whose memory is the plan's and has a place for each element."""
    k = record.needs[0]
    if x.chunk is None or k not in record.drops or plan.unmade.holds(k) or x.chunk.users != len(x.chunk.rows):
        return False
    span = x.spec.dtype.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(x.strides, x.spec.shape) if n > 1):
        if stride < span:
            return False
        span += stride * (n - 1)
    return True


def _make_way(plan: Any, record: Any, part: PlanValue) -> bool:
    """Move values that look at a part of an array and are read from now on; False if copying the array is cheaper."""
    assert part.chunk is not None
    going = {k for k in record.drops if not plan.unmade.holds(k)} - {record.needs[1]}
    rows: Iterable[int] = part.chunk.rows
    if len(part.chunk.rows) - sum([k in part.chunk.rows for k in going]) > FEW:
        rows = part.chunk.onlookers(part, going)
    hidden = sorted([k for k in rows if k not in going and share_cells(plan.values[k], part)])
    if sum(plan.values[k].spec.nbytes for k in hidden) >= record.result.nbytes:
        return False
    for k in hidden:
        plan.move_out(k)
    return True


def share_cells(x: PlanValue, y: PlanValue) -> bool:
    """Whether two values in one piece of memory look at the same bytes somewhere."""
    assert isinstance(x.place, Place)
    assert isinstance(y.place, Place)
    assert x.chunk is not None
    memory, first = np.empty(x.chunk.nbytes, np.uint8), x.chunk.offset
    one, other = (array_at(memory, v.place.offset - first, v.spec, v.strides) for v in (x, y))  # type: ignore[union-attr]
    try:
        return np.shares_memory(one, other, max_work=TRIES)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True
