"""Records that a compiled loop of NumPy's or SciPy's evaluates, as steps that call this loop.

Elementwise ops are ufuncs, or their declarations say which; for others (`ops.core.hints.Hints.loops`) a declaration
says how its forward function calls loops, in terms of `Loops`.  What a loop cannot do as it is (other dtypes, strides
that are not regular) is done on copies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ops.core.loops import ufunc_of

from ...base.rooms import opened
from ...base.spec import Spec, spec
from ...jit.machine.regions import REFUSED
from .casting import castable, converted
from .plan_places import Place, PlanValue, row_major

MOST = 1 << 16
"""Larger records are left to NumPy: what a stop costs does not matter there."""
KINDS = "biufc"


class NoLoop(LookupError):
    """There is no loop for this."""


def step(plan: Any, record: Any) -> bool:
    """Let a record be steps that call loops; whether it can be."""
    op, rows = record.op, plan.rows_of(record)
    room = opened("tape.jit.machine.ufunc_loops")
    specs = [plan.listing.spec_of(k) for k in record.needs]
    if sum(s.size for s in specs) > MOST or not all(s.size for s in specs) or not room.holds():
        return False
    loops, made = Loops(plan), None
    try:
        if op.hints.loops is not None:
            made = op.loops(loops, record.params, [plan.value(k) for k in record.needs])
        elif op.broadcasts and not record.params:
            made = loops.elementwise(ufunc_of(op), record)
        fits = made is not None and loops.take(record, rows, (made,) if isinstance(made, PlanValue) else made)
    except NoLoop:
        fits = False
    loops.end()
    if not fits:
        return False
    for at in loops.checks:
        plan.refusal(at, record, rows)
    return True


class Loops:
    """What declarations tell how their forward functions call loops.

    Values are `PlanValue`s: where numbers lie, with their shape and dtype as ``.spec``.
    """

    def __init__(self, plan: Any):
        self.plan = plan
        self.checks: list[int] = []
        self._chunks: list[Any] = []
        self._room = opened("tape.jit.machine.ufunc_loops")

    def end(self) -> None:
        """Give back the memory in between."""
        for chunk in self._chunks:
            self.plan.memory.give(chunk)

    def take(self, record: Any, rows: dict[int, list[int]], made: Sequence[PlanValue]) -> bool:
        """Let the results of a record be these values; whether they can be."""
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

    # What a declaration may say.

    def linalg(self, name: str, *operands: PlanValue, checked: bool = True, **sizes: int) -> Any:
        """A function behind `numpy.linalg`, which computes in double precision.

        Args:
            name: the name of the generalised ufunc.
            operands: matrices or vectors, stacked.
            checked: whether NumPy raises an error where the loop says that it failed.
            sizes: those that the names in its signature stand for, where the operands do not tell.
        """
        ufunc = self._room.linear_algebra(name)
        dtype = np.dtype(np.complex128 if any(x.spec.dtype.kind == "c" for x in operands) else np.float64)
        types = [t for t in getattr(ufunc, "types", ()) if t.startswith(dtype.char * len(operands) + "->")]
        if not types:
            raise NoLoop(name)
        return self.call(ufunc, types[0], [self.convert(x, dtype) for x in operands], sizes, checked)

    def fourier(self, name: str, x: PlanValue, axis: int, n: int, factor: float) -> PlanValue:
        """A transform of `numpy.fft` along an axis: n numbers, times a factor."""
        ufunc, ndim = self._room.fourier(name), x.spec.ndim
        if ufunc is None or not ndim:
            raise NoLoop(name)
        single = x.spec.dtype in (np.float32, np.complex64)
        first = ("f" if single else "d") if name.startswith("r") else ("F" if single else "D")
        types = next((t for t in ufunc.types if t[0] == first), "")
        if not types:
            raise NoLoop(name)
        last = list(range(ndim))
        last.append(last.pop(axis))
        shape = [x.spec.shape[k] for k in last]
        turned = self.convert(x, np.dtype(first))
        turned = turned._replace(
            strides=tuple(turned.strides[k] for k in last), spec=spec(tuple(shape), turned.spec.dtype)
        )
        number = self.number(factor, np.dtype(types[1]))
        out = re.findall(r"\((\w*)\)", ufunc.signature)[-1]
        z = self.call(ufunc, types, [turned, number], {out: n}, False)
        back = [last.index(k) for k in range(ndim)]
        shape = [z.spec.shape[k] for k in back]
        made: PlanValue = z._replace(strides=tuple(z.strides[k] for k in back), spec=spec(tuple(shape), z.spec.dtype))
        return made

    def upper(self, x: PlanValue, rows: int) -> PlanValue:
        """The upper triangle of the first rows of matrices, with zeros below."""
        shape, item = (*x.spec.shape[:-2], rows, x.spec.shape[-1]), x.spec.dtype.itemsize
        made = self.zeros(spec(shape, x.spec.dtype))
        for k in range(min(rows, shape[-1])):
            row = spec((*shape[:-2], shape[-1] - k), x.spec.dtype)
            z, from_x = (
                v._replace(place=v.moved(k * (v.strides[-2] + item)), strides=(*v.strides[:-2], item), spec=row)
                for v in (made, x)
            )
            self.plan.place(z, from_x)
        return made

    def copy(self, x: PlanValue, dtype: Any = None) -> PlanValue:
        """A copy in row-major order, which a loop may overwrite."""
        x = self.convert(x, x.spec.dtype if dtype is None else np.dtype(dtype))
        made = self.new(x.spec)
        self.plan.place(made, x)
        return made

    def convert(self, x: PlanValue, dtype: np.dtype[Any]) -> PlanValue:
        """The same numbers in another dtype."""
        if x.spec.dtype == dtype:
            return x
        if not castable(x.spec.dtype, dtype):
            raise NoLoop(f"{x.spec.dtype} to {dtype}")
        return converted(self.plan, self.new(spec(x.spec.shape, dtype)), x)

    def number(self, value: float, dtype: np.dtype[Any]) -> PlanValue:
        """A number."""
        key = "number", value, dtype
        array = self.plan.found.setdefault(key, np.array(value, dtype))
        return PlanValue(self.plan.pin(array), (), spec((), dtype))

    def new(self, wanted: Spec) -> PlanValue:
        """Memory for something."""
        found: PlanValue = self.plan.scratch(wanted.nbytes, wanted)
        self._chunks.append(found.chunk)
        return found._replace(strides=row_major(wanted.shape, wanted.dtype.itemsize))

    def zeros(self, wanted: Spec) -> PlanValue:
        """Memory with zeros in it."""
        found = self.new(wanted)
        self.plan.fill(found)
        return found

    def elementwise(self, ufunc: Any, record: Any) -> PlanValue | None:
        """A ufunc of the operands of a record."""
        if ufunc is None or ufunc.nout != 1 or ufunc.nin != len(record.needs):
            return None
        values = [self.plan.value(k) for k in record.needs]
        if any(x.spec.dtype.kind not in KINDS for x in values):
            return None
        constants = [type(self.plan.number_of(k)) for k in record.needs]
        given = [c if c in (int, float, complex) else x.spec.dtype for c, x in zip(constants, values)]
        try:
            dtypes = ufunc.resolve_dtypes((*given, None))
        except TypeError:
            return None
        types = "".join(d.char for d in dtypes[:-1]) + "->" + dtypes[-1].char
        operands = [self.convert(x, d) for x, d in zip(values, dtypes)]
        found: PlanValue = self.call(ufunc, types, operands, {}, False)
        return found

    def call(self, ufunc: Any, types: str, operands: Sequence[PlanValue], sizes: dict[str, int], checked: bool) -> Any:
        """A step that calls the loop of a ufunc; what it gives, one value or a tuple."""
        loop, flags = self._room.loop_of(ufunc, types), self._room.flags() if checked else None
        if loop is None or (checked and flags is None):
            raise NoLoop(types)
        given, results = core(ufunc.signature, ufunc.nin, ufunc.nout)
        sizes = dict(sizes)
        for x, names in zip(operands, given):
            sizes |= zip(names, x.spec.shape[x.spec.ndim - len(names) :])
        stack = np.broadcast_shapes(*[x.spec.shape[: x.spec.ndim - len(n)] for x, n in zip(operands, given)])
        made = [
            self.new(spec((*stack, *(sizes[n] for n in names)), np.dtype(c)))
            for names, c in zip(results, types.split("->")[1])
        ]
        outer, inner, places = [], list[int](), []
        for value, names in zip((*operands, *made), (*given, *results)):
            x, stride = self._regular(value, stack, len(names))
            outer.append(stride)
            inner += x.strides[len(x.strides) - len(names) :]
            places.append(x.place)
        names = dict.fromkeys(n for part in (*given, *results) for n in part)
        dims = self._words([math.prod(stack), *(sizes[n] for n in names)])
        steps = self._words([*outer, *inner])
        words: list[Any] = [loop.function, loop.data, dims, steps]
        if flags is not None:
            words += [*flags, Place(REFUSED, 0)]
        kernel = opened("tape.jit.sweeps.sweep_steps").loop(len(places), checked)
        at = self.plan.call(kernel, [*words, *places])
        if checked:
            self.checks.append(at)
        return made[0] if len(made) == 1 else tuple(made)

    def _words(self, numbers: list[int]) -> Place:
        place: Place = self.plan.word(self.plan.say(numbers))
        return place

    def _regular(self, x: PlanValue, stack: tuple[int, ...], inner: int) -> tuple[PlanValue, int]:
        """A value whose stack of matrices, broadcast, is gone through by one stride; a copy if it was none."""
        ndim = x.spec.ndim - inner
        shape, strides = x.spec.shape[:ndim], x.strides[:ndim]
        steps = (0,) * (len(stack) - ndim) + tuple(0 if n == 1 else s for n, s in zip(shape, strides))
        stride = one_stride(stack, steps)
        if stride is not None:
            return x, stride
        wanted = spec((*stack, *x.spec.shape[ndim:]), x.spec.dtype)
        made = self.new(wanted)
        self.plan.place(made, x._replace(strides=(*steps, *x.strides[ndim:]), spec=wanted))
        return made, math.prod(x.spec.shape[ndim:]) * x.spec.dtype.itemsize


def one_stride(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """By how many bytes one gets from each element to the next in row-major order; None if that differs."""
    axes = [(n, s) for n, s in zip(shape, strides) if n != 1]
    for (_, far), (n, near) in pairwise(axes):
        if far != n * near:
            return None
    return axes[-1][1] if axes else 0


@cache
def core(signature: str | None, nin: int, nout: int) -> tuple[list[list[str]], list[list[str]]]:
    """The names of the inner axes of each operand and each result of a ufunc."""
    if signature is None:
        return [[]] * nin, [[]] * nout
    parts = [re.findall(r"\w+", part) for part in re.findall(r"\(([^)]*)\)", signature)]
    return parts[:nin], parts[nin:]
