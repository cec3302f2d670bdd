"""Reductions and running totals along axes as steps: those of a binary function of NumPy's that ops declare."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from .indexmaps import CopyAxis, axes_of
from .plan_places import PlanValue, row_major

REDUCED = {np.maximum: ("greatest", -np.inf), np.minimum: ("least", np.inf), np.multiply: ("times", 1.0)}
"""By function, the kernel and what a result begins with."""
RUNNING = {np.add: "running_sum", np.multiply: "running_product"}
MOST = 1 << 16
"""Reductions of more elements are left to NumPy."""


def step(plan: Any, record: Any) -> bool:
    """Let a record be steps that go along axes; whether it can be."""
    op, params, result = record.op, record.params, record.result
    if len(record.needs) != 1 or result.dtype not in (np.float64, np.float32) or set(params) - {"axis", "keepdims"}:
        return False
    x = plan.value(record.needs[0])
    if x.spec.dtype != result.dtype or not 0 < x.spec.size <= MOST:
        return False
    if op.hints.reduces in REDUCED:
        return _reduced(plan, record, x, *REDUCED[op.hints.reduces])
    return op.hints.accumulates in RUNNING and _running(plan, record, x, RUNNING[op.hints.accumulates])


def positions(axis: Any, ndim: int) -> list[int]:
    """The axes that are meant, counted from the first."""
    chosen: Sequence[int] = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return [int(a) % ndim for a in chosen]


def _reduced(plan: Any, record: Any, x: PlanValue, kernel: str, begin: float) -> bool:
    """The result is filled, and each element of x joined to its place."""
    item, over = record.result.dtype.itemsize, set(positions(record.params.get("axis"), x.spec.ndim or 1))
    kept = tuple([1 if k in over else n for k, n in enumerate(x.spec.shape)])
    if int(np.prod(kept)) != record.result.size:
        return False
    z = plan.make(record.row)
    plan.fill(z, pattern(begin, item))
    strides = [0 if k in over else s for k, s in enumerate(row_major(kept, item))]
    axes = axes_of(x.spec.shape, strides, x.strides, by_source=True)
    plan.strided(f"{kernel}_f{8 * item}", item, z.place, x.place, axes, room="sweeps.running")
    return True


def _running(plan: Any, record: Any, x: PlanValue, kernel: str) -> bool:
    """Along the axis the total so far; the other axes are gone through around it."""
    axis, item = record.params.get("axis"), record.result.dtype.itemsize
    if axis is None:
        x = plan.flat(record.needs[0])._replace(strides=(item,), spec=record.result)
        axis = 0
    if x.spec.shape != record.result.shape or not x.spec.ndim:
        return False
    z = plan.make(record.row)
    axis %= x.spec.ndim
    along = (x.spec.shape[axis], z.strides[axis], x.strides[axis])
    others = [a for k, a in enumerate(zip(x.spec.shape, z.strides, x.strides)) if k != axis and a[0] != 1]
    around = axes_of(*map(list, zip(*others))) if others else []  # type: ignore[arg-type]
    plan.strided(f"{kernel}_f{8 * item}", item, z.place, x.place, [CopyAxis(*along), *around], room="sweeps.running")
    return True


def pattern(value: float, item: int) -> int:
    """Eight bytes of a number again and again."""
    bits: int = struct.unpack("q", struct.pack("d", value) if item == 8 else struct.pack("ff", value, value))[0]
    return bits
