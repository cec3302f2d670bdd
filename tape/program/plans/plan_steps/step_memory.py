"""Memory and numbers for the steps of one record, on the way from its operands to its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....base.rooms import opened
from ....base.spec import Spec, row_major, spec
from ...recorded.indexmaps import axes_of
from .partial_writes import spread
from .plan_places import Place, PlanValue, array_at


class NoStep(LookupError):
    """There is no step for this."""


class StepMemory:
    """What steps are made with.  Values are `PlanValue`s: where numbers lie, with their shape and dtype as ``.spec``.

    Attributes:
        checks: the steps that may refuse their operands.
        needs: the records that the operands are.
        numbers: for each of them the plain number that it is, if it is one that is known.
        operands: their values.
        result: what the record gives, if it gives one value.
    """

    def __init__(self, plan: Any):
        self.plan = plan
        self.checks: list[int] = []
        self.needs: Sequence[int] = ()
        self.numbers: Sequence[Any] = ()
        self.operands: Sequence[PlanValue] = ()
        self.result: Spec | None = None
        self._chunks: list[Any] = []
        self.room = opened("tape.jit.machine.ufunc_loops")

    def plain_number(self, x: PlanValue) -> Any:
        """The plain number that an operand is, if it is one that is known."""
        return next((number for operand, number in zip(self.operands, self.numbers) if operand is x), None)

    def end(self) -> None:
        """Give back the memory in between."""
        for chunk in self._chunks:
            self.plan.memory.give(chunk)

    def take(self, rows: dict[int, list[int]], made: Sequence[PlanValue]) -> bool:
        """Let records be the results that were made, by number; whether they can be."""
        wanted = {k: self.plan.spec(k) for found in rows.values() for k in found}
        for i, found in rows.items():
            for k in found:
                if made[i].spec.shape != wanted[k].shape or not castable(made[i].spec.dtype, wanted[k].dtype):
                    return False
        for i, found in rows.items():
            for k in found:
                z = self.convert(made[i], wanted[k].dtype)
                self.plan.make(k, z._replace(spec=wanted[k]))
        return True

    def known(self, x: PlanValue) -> np.ndarray | None:
        """The numbers of a value that nobody can change; None if it is none, or empty."""
        if not isinstance(x.place, int) or not x.spec.size:
            return None
        memory, begin = self.plan.pinned_at(x.place)
        return array_at(memory, begin, x.spec, x.strides)

    def new(self, wanted: Spec) -> PlanValue:
        """Memory for something."""
        found: PlanValue = self.plan.scratch(wanted.nbytes, wanted)
        self._chunks.append(found.chunk)
        return found._replace(strides=row_major(wanted.shape, wanted.dtype.itemsize))

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> PlanValue:
        """Memory with zeros in it."""
        found = self.new(spec(shape, dtype))
        self.plan.fill(found)
        return found

    def copy(self, x: PlanValue, dtype: Any = None) -> PlanValue:
        """A copy in row-major order, which a step may overwrite."""
        x = self.convert(x, x.spec.dtype if dtype is None else np.dtype(dtype))
        made = self.new(x.spec)
        self.plan.place(made, x)
        return made

    def flat(self, x: PlanValue) -> PlanValue:
        """The same numbers in row-major order, in one axis."""
        found = x if x.contiguous else self.copy(x)
        return found._replace(spec=spec((x.spec.size,), x.spec.dtype), strides=(x.spec.dtype.itemsize,))

    def convert(self, x: PlanValue, dtype: np.dtype[Any]) -> PlanValue:
        """The same numbers in another dtype."""
        if x.spec.dtype == dtype:
            return x
        if not castable(x.spec.dtype, dtype):
            raise NoStep(f"{x.spec.dtype} to {dtype}")
        return converted(self.plan, self.new(spec(x.spec.shape, dtype)), x)

    def cast(self, x: PlanValue, dtype: np.dtype[Any]) -> PlanValue:
        """The same where the imaginary parts of complex numbers may be left away; their truth is that of both parts."""
        if x.spec.dtype.kind == "c" and dtype.kind == "b":
            raise NoStep("complex to bool")
        return self.convert(self.component(x, False) if x.spec.dtype.kind == "c" != dtype.kind else x, dtype)

    def component(self, x: PlanValue, imaginary: bool) -> PlanValue:
        """The real or imaginary parts of complex numbers, where they lie."""
        if x.spec.dtype.kind != "c":
            raise NoStep("component")
        part = real_of(x.spec.dtype)
        return x._replace(place=x.moved(part.itemsize if imaginary else 0), spec=spec(x.spec.shape, part))

    def joined(self, x: PlanValue, y: PlanValue) -> PlanValue:
        """Complex numbers of real and imaginary parts."""
        assert self.result is not None
        z = self.new(self.result)
        for part, given in ((self.component(z, False), x), (self.component(z, True), y)):
            self.plan.place(part, self.fitted(self.convert(given, part.spec.dtype), part.spec))
        return z

    def over(self, y: PlanValue) -> PlanValue:
        """y in the shape and dtype of what the record gives."""
        assert self.result is not None
        z = self.new(self.result)
        self.plan.place(z, self.fitted(self.cast(y, z.spec.dtype), z.spec))
        return z

    def pairs(self, x: PlanValue) -> PlanValue:
        """Complex numbers as their two parts along a last axis, where they lie."""
        part = self.component(x, False)
        return view(part, [*axes(part), (2, part.spec.dtype.itemsize)])

    def paired(self, x: PlanValue) -> PlanValue:
        """Two parts along the last axis as complex numbers, where they lie if they lie side by side."""
        assert self.result is not None
        item = x.spec.dtype.itemsize
        if x.strides[-1] != item or any(s % item for s in x.strides):
            x = self.copy(x)
        return x._replace(strides=x.strides[:-1], spec=self.result)

    @staticmethod
    def fitted(x: PlanValue, wanted: Spec) -> PlanValue:
        """A value broadcast to a shape."""
        found = spread(x, wanted)
        if found is None:
            raise NoStep("broadcast")
        return found

    def resized(self, x: PlanValue, n: int, axis: int) -> PlanValue:
        """The first n elements along an axis, with zeros after them where there are fewer."""
        at, length = range(x.spec.ndim)[axis], x.spec.shape[axis]
        z = self.zeros(tuple(n if k == at else m for k, m in enumerate(x.spec.shape)), x.spec.dtype)
        kept = [[(min(n, length) if k == at else m, s) for k, (m, s) in enumerate(axes(v))] for v in (z, x)]
        self.plan.place(view(z, kept[0]), view(x, kept[1]))
        return z

    def number(self, value: float, dtype: np.dtype[Any]) -> PlanValue:
        """A number."""
        key = "number", value, dtype
        array = self.plan.found.setdefault(key, np.array(value, dtype))
        return PlanValue(self.plan.pin(array), (), spec((), dtype))

    def words(self, numbers: list[int]) -> Place:
        """Some words, and where they are."""
        place: Place = self.plan.word(self.plan.say(numbers))
        return place

    def check(self, step: int) -> None:
        """Note that a step may refuse its operands."""
        self.checks.append(step)


def view(x: PlanValue, axes: Sequence[tuple[int, int]], offset: int = 0) -> PlanValue:
    """Another look at the memory of a value: by the length and stride of each axis, so many bytes further."""
    shape, strides = tuple(n for n, _ in axes), tuple(s for _, s in axes)
    return PlanValue(x.moved(offset), strides, spec(shape, x.spec.dtype), x.chunk)


def axes(x: PlanValue) -> list[tuple[int, int]]:
    """The length and stride of each axis of a value."""
    return list(zip(x.spec.shape, x.strides))


# Numbers of one dtype as those of another, as NumPy's ``astype`` gives them.

KERNELS = {
    (np.dtype(z), np.dtype(x)): name
    for z, x, name in (
        (np.float64, np.float32, "f64_of_f32"), (np.float32, np.float64, "f32_of_f64"),
        (np.float64, np.int64, "f64_of_int"), (np.float32, np.int64, "f32_of_int"),
        (np.float64, np.int32, "f64_of_short"), (np.float32, np.int32, "f32_of_short"),
        (np.int64, np.int32, "int_of_short"), (np.int64, np.bool_, "int_of_bool"),
        (np.float64, np.bool_, "f64_of_bool"), (np.float32, np.bool_, "f32_of_bool"),
        (np.bool_, np.float64, "bool_of_f64"), (np.bool_, np.float32, "bool_of_f32"),
        (np.bool_, np.int64, "bool_of_int"),
    )
}  # fmt: skip
"""By dtypes of z and x, the kernel of `tape.jit.sweeps.astype`."""


def castable(x: np.dtype[Any], z: np.dtype[Any]) -> bool:
    """Whether there are steps for numbers of dtype x as those of dtype z; the imaginary part is not left away."""
    x_kind, z_kind = x.kind, z.kind
    if x == z:
        return True
    if z_kind == "c":
        part = real_of(z)
        return castable(real_of(x) if x_kind == "c" else x, part)
    return x_kind != "c" and (z, x) in KERNELS


def real_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers."""
    return np.dtype(np.float32 if dtype in (np.complex64, np.float32) else np.float64)


def converted(plan: Any, z: PlanValue, x: PlanValue) -> PlanValue:
    """Steps that put the numbers of x, as those of its own dtype, into z, which has the same shape."""
    if z.spec.dtype.kind != "c":
        _convert(plan, z, x)
        return z
    part = real_of(z.spec.dtype)
    if x.spec.dtype.kind == "c":
        shape, own = (*x.spec.shape, 2), real_of(x.spec.dtype)
        _convert(
            plan,
            z._replace(strides=(*z.strides, part.itemsize), spec=spec(shape, part)),
            x._replace(strides=(*x.strides, own.itemsize), spec=spec(shape, own)),
        )
        return z
    plan.fill(z)
    _convert(plan, z._replace(spec=spec(z.spec.shape, part)), x)
    return z


def _convert(plan: Any, z: PlanValue, x: PlanValue) -> None:
    """The same for real numbers; those of one dtype are copied."""
    if z.spec.dtype == x.spec.dtype:
        plan.place(z, x)
        return
    kernel = KERNELS[z.spec.dtype, x.spec.dtype]
    axes = axes_of(z.spec.shape, z.strides, x.strides)
    plan.strided(kernel, z.spec.dtype.itemsize, z.place, x.place, axes, room="astype")
