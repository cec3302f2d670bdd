"""Records as the steps that their ops declare (`Hints.steps`); elementwise ones as the loops of ufuncs.

Those along one axis are here as well: order, extremes and where they are, recurrences, searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops.core.loops import ufunc_of

from ....base.spec import Spec, spec
from ....jit.machine.regions import REFUSED
from ...recorded.indexmaps import CopyAxis, axes_of
from .contracting import ContractSteps
from .linear_steps import SystemSteps
from .pick_steps import PickSteps
from .plan_places import SUFFIXES, Place, PlanValue
from .step_memory import NoStep, StepMemory, axes, view

MOST = 1 << 20
"""Records with more numbers are left to NumPy, whose memory is given back."""
MOST_IN_ORDER = 1 << 16
"""So are those with more that are put in order, or gone through for extremes: NumPy's ways are quicker there."""
SOME, DRAWERS = 16, 4
"""An array of so many numbers or more gets so many drawers for each, if as many keys are looked for in it."""
ROOM = "ordering"
EACH_ALONE = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
"""Whether NumPy looks for each key by itself; in an array in no order it finds other places than before, then."""


class OrderSteps(StepMemory):
    """What goes along an axis.

    Attributes:
        large: whether the record has so many numbers that NumPy puts them in order more quickly.
        wanted: the specs of its results, as far as they are wanted.
    """

    large = False
    wanted: Sequence[Spec] = ()

    def order(
        self, x: PlanValue, axis: int, descending: bool = False, unique: bool = False, alike: bool = False
    ) -> PlanValue:
        """The positions of the elements in their order along an axis, equal ones as they stand.

        With `unique` the step refuses equal elements: NumPy's order of those is its own.  With `alike` it refuses
        those that can be told apart, zeros of both signs.
        """
        kernel, at = self._kernel("order_down" if descending else "order", x), self._axis(x, axis)
        z = self.new(spec(x.spec.shape, np.dtype(np.int64)))
        memory = self.new(spec((2 * x.spec.shape[at],), np.dtype(np.int64)))
        refuses = unique or alike
        step = self._along(kernel, z, x, at, memory.place, Place(REFUSED, 0) if refuses else 0, int(alike))
        if refuses:
            self.check(step)
        return z

    def place_of_extreme(self, x: PlanValue, axis: int | None, greatest: bool, keepdims: bool) -> PlanValue:
        """The position of the first greatest or least element along an axis, or of the flat array."""
        shape = x.spec.shape
        flat = self.flat(x) if axis is None else x
        at = self._axis(flat, 0 if axis is None else axis)
        kept = [(1, 0) if k == at else (n, 0) for k, (n, _) in enumerate(axes(flat))]
        made = self.new(spec(tuple(n for n, _ in kept), np.dtype(np.int64)))
        self._along(self._kernel("greatest" if greatest else "least", flat), self._spread(made, flat, at), flat, at)
        if keepdims:
            return made if axis is not None else view(made, [(1, 0)] * len(shape))
        return view(made, [a for k, a in enumerate(axes(made)) if k != at])

    def places_so_far(self, x: PlanValue, axis: int, greatest: bool) -> PlanValue:
        """For each element the position of the extreme so far, the last one where several are equal."""
        at = self._axis(x, axis)
        z = self.new(spec(x.spec.shape, np.dtype(np.int64)))
        self._along(self._kernel(f"{'greatest' if greatest else 'least'}_so_far", x), z, x, at)
        return z

    def recurrence(self, x: PlanValue, y: PlanValue, axis: int) -> PlanValue:
        """z[k] = y[k] + x[k] z[k − 1] along an axis."""
        dtype = np.result_type(x.spec.dtype, y.spec.dtype)
        if x.spec.shape != y.spec.shape or dtype not in SUFFIXES or self.large:
            raise NoStep("recurrence")
        x, y = self.convert(x, dtype), self.convert(y, dtype)
        z, at = self.copy(y), self._axis(x, axis)
        self._along(f"recurrence_{SUFFIXES[x.spec.dtype]}", z, x, at)
        return z

    def search(self, x: PlanValue, y: PlanValue, after: bool) -> PlanValue:
        """Where numbers y belong in an array x in order."""
        if x.spec.dtype != np.float64 or y.spec.dtype != np.float64 or x.spec.ndim != 1:
            raise NoStep("search")
        array, keys, z = self.flat(x), self.flat(y), self.new(spec(y.spec.shape, np.dtype(np.int64)))
        n, m = x.spec.size, y.spec.size
        drawers = DRAWERS * n if SOME <= n <= m else 0
        memory = self.new(spec((drawers + 1,), np.dtype(np.uint32)))
        words = [n, array.place, m, z.place, keys.place, int(after), int(EACH_ALONE), drawers, memory.place]
        self.plan.call(self.plan.jit(ROOM, "search"), words)
        return z

    def truths(self, x: PlanValue) -> PlanValue:
        """The places of what is true, a row for each axis: as many as there were, which a guard counts."""
        if not self.wanted:
            raise NoStep("truths")
        room, whole = self.wanted[0].shape[0], np.dtype(np.int64)
        given, z = self.flat(self.cast(x, np.dtype(np.bool_))), self.new(spec((x.spec.ndim, room), whole))
        words = [x.spec.size, given.place, room, z.place, x.spec.ndim, *x.spec.shape]
        self.plan.call(self.plan.jit(ROOM, "truths"), words)
        return z

    def each(self, x: PlanValue) -> tuple[PlanValue, ...]:
        """What there is along the first axis, one by one."""
        return tuple([view(x, axes(x)[1:], k * x.strides[0]) for k in range(x.spec.shape[0])])

    def bins(self, x: PlanValue, edges: PlanValue, right: bool) -> PlanValue:
        """Between which edges numbers are, of some that are known, and in order."""
        known = self.known(edges)
        if known is None or not (known[1:] >= known[:-1]).all():
            raise NoStep("bins")
        return self.search(self.convert(edges, np.dtype(np.float64)), x, not right)

    def first(self, x: PlanValue, axis: int, begin: int, end: int) -> PlanValue:
        """The elements along an axis from `begin` to `end`."""
        at, n = self._axis(x, axis), x.spec.shape[axis]
        if not 0 <= begin <= end <= n:
            raise NoStep("first")
        return view(x, [(end - begin if k == at else m, s) for k, (m, s) in enumerate(axes(x))], begin * x.strides[at])

    def squeezed(self, x: PlanValue, axis: int) -> PlanValue:
        """Without an axis of length 1."""
        at = self._axis(x, axis)
        return view(x, [a for k, a in enumerate(axes(x)) if k != at])

    def _kernel(self, name: str, x: PlanValue) -> str:
        if self.large or x.spec.dtype not in (np.float64, np.float32):
            raise NoStep(name)
        return f"{name}_f{8 * x.spec.dtype.itemsize}"

    @staticmethod
    def _axis(x: PlanValue, axis: int) -> int:
        if not -x.spec.ndim <= axis < x.spec.ndim:
            raise NoStep("axis")
        return axis % x.spec.ndim

    @staticmethod
    def _spread(z: PlanValue, x: PlanValue, at: int) -> PlanValue:
        """A result of length 1 along an axis as one of x's length, which stays in its place there."""
        return view(z, [(n, 0 if k == at else s) for k, (n, s) in enumerate(zip(x.spec.shape, z.strides))])

    def _along(self, kernel: str, z: PlanValue, x: PlanValue, at: int, memory: Any = 0, *more: Any) -> int:
        """A step along an axis; the others are gone through around it."""
        along = CopyAxis(x.spec.shape[at], z.strides[at], x.strides[at])
        others = [a for k, a in enumerate(zip(x.spec.shape, z.strides, x.strides)) if k != at and a[0] != 1]
        around = axes_of(*map(list, zip(*others))) if others else []  # type: ignore[arg-type]
        found: int = self.plan.strided(kernel, memory, z.place, x.place, [along, *around], ROOM, *more)
        return found


class RecordSteps(ContractSteps, SystemSteps, PickSteps, OrderSteps):
    """What a declaration may call: ``s`` in its `Hints.steps`."""


def step(plan: Any, record: Any) -> bool:
    """Let a record be the steps that its op declares; whether it can be."""
    specs = [plan.listing.spec_of(k) for k in record.needs]
    rows = plan.rows_of(record)
    s = RecordSteps(plan)
    s.wanted = [plan.spec(k) for found in rows.values() for k in found]
    size = max(sum(x.size for x in specs), *(x.size for x in s.wanted), 0)
    s.large, s.needs, s.result = size > MOST_IN_ORDER, record.needs, record.result
    s.numbers = [plan.number_of(k) for k in record.needs]
    if (size > MOST and not record.op.hints.large) or not all(x.size for x in specs) or not s.room.holds():
        return False
    try:
        made = _made(s, plan, record)
        fits = made is not None and s.take(rows, (made,) if isinstance(made, PlanValue) else made)
    except NoStep:
        fits = False
    s.end()
    if fits and s.checks:
        plan.refusals(s.checks, record, rows)
    return fits


def _made(s: RecordSteps, plan: Any, record: Any) -> Any:
    """The results of a record, None if there are no steps for it."""
    if record.op.hints.steps is None and (record.params or not record.op.broadcasts):
        return None
    s.operands = [plan.value(k) for k in record.needs]
    if record.op.hints.steps is not None:
        return record.op.steps(s, record.params, s.operands)
    return s.ufunc(ufunc_of(record.op), s.operands)
