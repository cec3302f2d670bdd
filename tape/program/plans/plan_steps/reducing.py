"""Reductions and running totals along axes as steps: those of a binary function of NumPy's that ops declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....base.rooms import opened
from ....base.spec import row_major
from ...recorded.indexmaps import CopyAxis, axes_of
from .plan_places import SUFFIXES, Place, PlanValue
from .step_memory import StepMemory, castable

BEGINS = {np.add: 0, np.multiply: 1, np.logical_and: True, np.logical_or: False}
"""By function, what a result begins with."""
RUNNING = {np.add: "running_sum", np.multiply: "running_product"}
EXTREMES: dict[Any, str] = {np.maximum: "largest", np.minimum: "smallest"}
SHORT = 32
"""Extremes of rows of so few numbers are found without a call for each."""
MOST = 1 << 20
"""Reductions of more elements are left to NumPy."""


def step(plan: Any, record: Any) -> bool:
    """Let a record be steps that go along axes; whether it can be."""
    op, params, result = record.op, record.params, record.result
    if len(record.needs) != 1 or result.dtype.kind not in "fbic" or set(params) - {"axis", "keepdims"}:
        return False
    x, counts = plan.value(record.needs[0]), op.hints.reduces is np.add and result.dtype == np.int64
    if not 0 < x.spec.size <= MOST or not castable(x.spec.dtype, result.dtype):
        return False
    if counts and x.spec.dtype in (np.int64, np.bool_):
        s = StepMemory(plan)
        fits = _reduced(plan, record, s.convert(x, result.dtype), np.add)
        s.end()
        return fits
    if x.spec.dtype != result.dtype:
        return False
    if op.hints.reduces is not np.add and op.hints.reduces in (
        *((np.maximum, np.minimum) if result.dtype.kind != "c" else ()),
        *BEGINS,
    ):
        return _reduced(plan, record, x, op.hints.reduces)
    return op.hints.accumulates in RUNNING and _running(plan, record, x, RUNNING[op.hints.accumulates])


def positions(axis: Any, ndim: int) -> list[int]:
    """The axes that are meant, counted from the first."""
    chosen: Sequence[int] = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return [int(a) % ndim for a in chosen]


def _reduced(plan: Any, record: Any, x: PlanValue, function: np.ufunc) -> bool:
    """The result is filled, and each element of x joined to its place by the function's loop."""
    result, over = record.result, set(positions(record.params.get("axis"), x.spec.ndim or 1))
    kept = tuple([1 if k in over else n for k, n in enumerate(x.spec.shape)])
    loop = loop_of(function, result.dtype)
    if int(np.prod(kept)) != result.size or loop is None:
        return False
    z = plan.make(record.row)
    begin = plan.found.setdefault((function, result.dtype), np.array(begin_of(function, result.dtype), result.dtype))
    plan.place(z, PlanValue(plan.pin(begin), (0,) * result.ndim, result))
    strides = [0 if k in over else s for k, s in enumerate(row_major(kept, result.dtype.itemsize))]
    axes = axes_of(x.spec.shape, strides, x.strides, by_source=True)
    rows = axes[0].n <= SHORT and not axes[0].z and all(axis.z for axis in axes[1:])
    named = rows and function in EXTREMES and result.dtype in SUFFIXES
    kernel = f"{EXTREMES[function]}_{SUFFIXES[result.dtype]}" if named else "fold"
    _fold(plan, kernel, loop, result.dtype.itemsize, z.place, x.place, axes)
    return True


def loop_of(function: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """The loop of a binary function for one dtype, None if it has none."""
    room = opened("tape.jit.machine.ufunc_loops")
    return room.loop_of(function, f"{dtype.char * 2}->{dtype.char}") if room.holds() else None


def fold(plan: Any, loop: Any, item: int, z: Place | int, x: Place | int, axes: Sequence[CopyAxis]) -> None:
    """A step that joins elements of x to places of z by a loop."""
    _fold(plan, "fold", loop, item, z, x, axes)


def _fold(
    plan: Any, kernel: str, loop: Any, item: int, z: Place | int, x: Place | int, axes: Sequence[CopyAxis]
) -> None:
    n, z_step, x_step = axes[0]
    joined = n if kernel == "fold" else n - 1
    plan.strided(kernel, item, z, x, axes, "running", *loop, 0, 0, 0, joined, z_step, x_step, z_step)


def begin_of(function: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """What changes nothing when it is joined to an element."""
    if function in BEGINS:
        return BEGINS[function]
    if dtype.kind == "f":
        return -np.inf if function is np.maximum else np.inf
    if dtype.kind == "b":
        return function is np.minimum
    return np.iinfo(dtype).min if function is np.maximum else np.iinfo(dtype).max


def _running(plan: Any, record: Any, x: PlanValue, kernel: str) -> bool:
    """Along the axis the total so far; the other axes are gone through around it."""
    axis, item = record.params.get("axis"), record.result.dtype.itemsize
    if record.result.dtype not in SUFFIXES:
        return False
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
    plan.strided(
        f"{kernel}_{SUFFIXES[record.result.dtype]}",
        item,
        z.place,
        x.place,
        [CopyAxis(*along), *around],
        room="running",
    )
    return True
