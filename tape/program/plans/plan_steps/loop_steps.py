"""Steps that call the loops which NumPy and SciPy have compiled for their ufuncs.

What a loop cannot do as it is (other dtypes, strides that are not regular) is done on copies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from ....base.rooms import opened
from ....base.spec import spec
from ....jit.machine.regions import REFUSED
from .plan_places import Place, PlanValue
from .step_memory import NoStep, StepMemory, axes, real_of, view

KINDS = "biufc"


class LoopSteps(StepMemory):
    """Calls of loops."""

    def linalg(self, name: str, *operands: PlanValue, checked: bool = True, **sizes: int) -> Any:
        """A function behind `numpy.linalg`, which computes in double precision.

        Args:
            name: the name of the generalised ufunc.
            operands: matrices or vectors, stacked.
            checked: whether NumPy raises an error where the loop says that it failed.
            sizes: those that the names in its signature stand for, where the operands do not tell.
        """
        ufunc = self.room.linear_algebra(name)
        dtype = np.dtype(np.complex128 if any(x.spec.dtype.kind == "c" for x in operands) else np.float64)
        types = [t for t in getattr(ufunc, "types", ()) if t.startswith(dtype.char * len(operands) + "->")]
        if not types:
            raise NoStep(name)
        return self.call(ufunc, types[0], [self.convert(x, dtype) for x in operands], sizes, checked)

    def upper(self, x: PlanValue, rows: int) -> PlanValue:
        """The upper triangle of the first rows of matrices, with zeros below."""
        columns, item = axes(x)[-1]
        z = self.zeros((*x.spec.shape[:-2], rows, columns), x.spec.dtype)
        for k in range(min(rows, columns)):
            z_row, x_row = (view(v, [*axes(v)[:-2], (columns - k, item)], k * (v.strides[-2] + item)) for v in (z, x))
            self.plan.place(z_row, x_row)
        return z

    def fourier(self, name: str, x: PlanValue, axis: int, n: int, factor: float) -> PlanValue:
        """A transform of `numpy.fft` along an axis: n numbers, times a factor."""
        ufunc, ndim = self.room.fourier(name), x.spec.ndim
        if ufunc is None or not ndim:
            raise NoStep(name)
        number = int if factor == 1 else real_of(x.spec.dtype)  # as NumPy gives it to the ufunc
        try:
            types = "".join(d.char for d in ufunc.resolve_dtypes((x.spec.dtype, number, None)))
        except TypeError:
            raise NoStep(name) from None
        types = f"{types[:2]}->{types[2]}"
        order = list(range(ndim))
        order.append(order.pop(axis))
        x_spec, x = x.spec, self.convert(x, np.dtype(types[0]))
        (length,) = re.findall(r"->\((\w+)\)", ufunc.signature)
        turned, factors = view(x, [axes(x)[k] for k in order]), self.number(factor, np.dtype(types[1]))
        z = self.call(ufunc, types, [turned, factors], {length: n}, False)
        if real_of(x_spec.dtype) == np.float32:  # NumPy may compute in double precision even so
            z = self.convert(z, np.dtype(types[-1].replace("D", "F").replace("d", "f")))
        return view(z, [axes(z)[order.index(k)] for k in range(ndim)])

    def ufunc(self, ufunc: Any, values: Sequence[PlanValue], kinds: Sequence[Any] = ()) -> PlanValue:
        """A ufunc of some values.

        Args:
            ufunc: a ufunc with one result, None if there is none.
            values: its operands.
            kinds: for each int, float or complex if it is a number of Python's, which takes the dtype of what it meets.
        """
        if ufunc is None or ufunc.nout != 1 or ufunc.nin != len(values):
            raise NoStep("ufunc")
        if any(x.spec.dtype.kind not in KINDS for x in values):
            raise NoStep(ufunc.__name__)
        known = [k if k in (int, float, complex) else x.spec.dtype for k, x in zip_longest(kinds, values)]
        try:
            dtypes = ufunc.resolve_dtypes((*known, None))
        except TypeError:
            raise NoStep(ufunc.__name__) from None
        types = "".join(d.char for d in dtypes[:-1]) + "->" + dtypes[-1].char
        found: PlanValue = self.call(ufunc, types, [self.convert(x, d) for x, d in zip(values, dtypes)], {}, False)
        return found

    def call(self, ufunc: Any, types: str, operands: Sequence[PlanValue], sizes: dict[str, int], checked: bool) -> Any:
        """A step that calls the loop of a ufunc; what it gives, one value or a tuple.

        The signature of a generalised ufunc names the inner axes; the others are broadcast.
        """
        loop, flags = self.room.loop_of(ufunc, types), self.room.flags() if checked else None
        if loop is None or (checked and flags is None):
            raise NoStep(types)
        given, results = core(ufunc.signature, ufunc.nin, ufunc.nout)
        known = dict(sizes)
        for x, names in zip(operands, given):
            known |= zip(names, x.spec.shape[x.spec.ndim - len(names) :])
        stack = np.broadcast_shapes(*[x.spec.shape[: x.spec.ndim - len(n)] for x, n in zip(operands, given)])
        made = [
            self.new(spec((*stack, *(known[n] for n in names)), np.dtype(c)))
            for names, c in zip(results, types.split("->")[1])
        ]
        every = [*zip(operands, given), *zip(made, results)]
        regular = [self._regular(x, stack, len(names)) for x, names in every]
        inner = [s for (x, _), (_, names) in zip(regular, every) for s in x.strides[len(x.strides) - len(names) :]]
        lengths = [known[n] for n in dict.fromkeys(n for _, names in every for n in names)]
        words: list[Any] = [loop.function, loop.data, self.words([math.prod(stack), *lengths])]
        words.append(self.words([*(stride for _, stride in regular), *inner]))
        if flags is not None:
            words += [*flags, Place(REFUSED, 0)]
        kernel = opened("tape.jit.sweeps.sweep_steps").loop(len(every), checked)
        at = self.plan.call(kernel, [*words, *(x.place for x, _ in regular)])
        if checked:
            self.check(at)
        return made[0] if len(made) == 1 else tuple(made)

    def _regular(self, x: PlanValue, stack: tuple[int, ...], inner: int) -> tuple[PlanValue, int]:
        """A value whose stack of matrices, broadcast, is gone through by one stride; a copy if it was none."""
        outer, rest = axes(x)[: x.spec.ndim - inner], axes(x)[x.spec.ndim - inner :]
        steps = (0,) * (len(stack) - len(outer)) + tuple(0 if n == 1 else s for n, s in outer)
        stride = one_stride(stack, steps)
        if stride is not None:
            return x, stride
        made = self.copy(view(x, [*zip(stack, steps), *rest]))
        return made, math.prod(n for n, _ in rest) * x.spec.dtype.itemsize


def one_stride(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """By how many bytes one gets from each element to the next in row-major order; None if that differs."""
    moving = [(n, s) for n, s in zip(shape, strides) if n != 1]
    for (_, far), (n, near) in pairwise(moving):
        if far != n * near:
            return None
    return moving[-1][1] if moving else 0


@cache
def core(signature: str | None, nin: int, nout: int) -> tuple[list[list[str]], list[list[str]]]:
    """The names of the inner axes of each operand and each result of a ufunc."""
    if signature is None:
        return [[]] * nin, [[]] * nout
    parts = [re.findall(r"\w+", part) for part in re.findall(r"\(([^)]*)\)", signature)]
    return parts[:nin], parts[nin:]
