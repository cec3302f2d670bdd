"""Steps that call the loops which NumPy and SciPy have compiled for their ufuncs.

What a loop cannot do as it is (other dtypes, strides that are not regular) is done on copies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ....base.rooms import opened
from ....base.spec import Spec, row_major, spec
from ....jit.machine.regions import REFUSED
from ...recorded.indexmaps import axes_of
from .plan_places import SUFFIXES, Place, PlanValue
from .step_memory import NoStep, StepMemory, axes, real_of, view

KINDS = "biufc"
POWERS: tuple[Any, ...] = np.power, np.square, np.sqrt, np.reciprocal, np.positive
"""The functions by which NumPy may raise complex arrays to the power of a plain number."""


class LoopCall(NamedTuple):
    """How a loop is called.

    Attributes:
        kernel: of `tape.jit.emission.sweep_steps.loop`, or one whose words are the same.
        words: those before the addresses of the values.
        made: what it gives.
        copied: of the values that are copied first the number, the shape and strides by which they are read.
    """

    kernel: tuple[Any, int]
    words: list[Any]
    made: Sequence[Spec]
    copied: list[tuple[int, tuple[int, ...], tuple[int, ...]]]


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

    def ufunc(self, ufunc: Any, values: Sequence[PlanValue]) -> PlanValue:
        """A ufunc of some values; operands of the record that are Python's numbers take the dtype of what they meet.

        Args:
            ufunc: a ufunc with one result, None if there is none.
            values: its operands.
        """
        if ufunc is None or ufunc.nout != 1 or ufunc.nin != len(values):
            raise NoStep("ufunc")
        if any(x.spec.dtype.kind not in KINDS for x in values):
            raise NoStep(ufunc.__name__)
        kinds = [type(self.plain_number(x)) for x in values]
        known = [k if k in (int, float, complex) else x.spec.dtype for k, x in zip(kinds, values)]
        types = _resolved(ufunc, tuple(known))
        if types is None or (np.dtype(types[-1]).kind in "iu" and all(x.spec.shape == () for x in values)):
            raise NoStep(ufunc.__name__)  # of whole numbers that overflow NumPy tells where they are no arrays
        dtypes = map(np.dtype, types[: len(values)])
        found: PlanValue = self.call(ufunc, types, [self.convert(x, d) for x, d in zip(values, dtypes)], {}, False)
        return found

    def call(self, ufunc: Any, types: str, operands: Sequence[PlanValue], sizes: dict[str, int], checked: bool) -> Any:
        """A step that calls the loop of a ufunc; what it gives, one value or a tuple.

        The signature of a generalised ufunc names the inner axes; the others are broadcast.
        """
        key = (ufunc, types, checked, *sizes.items(), *((x.spec, x.strides) for x in operands))
        way = self.plan.found.get(key)
        if way is None:
            way = self.plan.found[key] = self._way(ufunc, types, operands, sizes, checked)
        made = [self.new(wanted) for wanted in way.made]
        at = self._through(way, [*operands, *made])
        if checked:
            self.check(at)
        return made[0] if len(made) == 1 else tuple(made)

    def _way(
        self, ufunc: Any, types: str, operands: Sequence[PlanValue], sizes: dict[str, int], checked: bool
    ) -> LoopCall:
        """How a loop is called for operands that lie so."""
        loop, flags = self.room.loop_of(ufunc, types), self.room.flags() if checked else None
        if loop is None or (checked and flags is None):
            raise NoStep(types)
        given, results = core(ufunc.signature, ufunc.nin, ufunc.nout)
        known = dict(sizes)
        for x, names in zip(operands, given):
            known |= zip(names, x.spec.shape[x.spec.ndim - len(names) :])
        stack = np.broadcast_shapes(*[x.spec.shape[: x.spec.ndim - len(n)] for x, n in zip(operands, given)])
        made = [
            spec((*stack, *(known[n] for n in names)), np.dtype(c)) for names, c in zip(results, types.split("->")[1])
        ]
        every = [*given, *results]
        lengths = [known[n] for n in dict.fromkeys(n for names in every for n in names)]
        told = [] if flags is None else [*flags, Place(REFUSED, 0)]
        kernel = opened("tape.jit.emission.sweep_steps").loop(len(every), checked)
        lies = [(x.spec, x.strides) for x in operands] + [(z, row_major(z.shape, z.dtype.itemsize)) for z in made]
        return self._loop_call(kernel, loop, made, stack, lies, [len(names) for names in every], lengths, told)

    def _loop_call(
        self,
        kernel: tuple[Any, int],
        loop: Sequence[int],
        made: Sequence[Spec],
        stack: tuple[int, ...],
        lies: Sequence[tuple[Spec, tuple[int, ...]]],
        inner: Sequence[int],
        lengths: Sequence[int] = (),
        told: Sequence[int | Place] = (),
    ) -> LoopCall:
        """A call with values that lie so, each with so many inner axes; one whose stack of matrices, broadcast, is not
        gone through by one stride is copied first."""
        outer: list[int] = []
        steps: list[int] = []
        copied = []
        for i, ((x, strides), n) in enumerate(zip(lies, inner)):
            cut = x.ndim - n
            over = (0,) * (len(stack) - cut) + tuple(0 if m == 1 else s for m, s in zip(x.shape[:cut], strides))
            stride, rest = one_stride(stack, over), strides[cut:]
            if x.ndim and not n and math.prod(stack) == 1:  # NumPy says the same, and its loops ask how elements lie
                stride = x.dtype.itemsize
            if stride is None:
                copied.append((i, (*stack, *x.shape[cut:]), (*over, *rest)))
                rest = row_major(x.shape[cut:], x.dtype.itemsize)
                stride = math.prod(x.shape[cut:]) * x.dtype.itemsize
            outer.append(stride)
            steps += rest
        words = [*loop, self.words([math.prod(stack), *lengths]), self.words([*outer, *steps]), *told]
        return LoopCall(kernel, words, made, copied)

    def _through(self, way: LoopCall, values: list[PlanValue]) -> int:
        """A step that calls a loop; which step it is."""
        for i, shape, strides in way.copied:
            values[i] = self.copy(view(values[i], list(zip(shape, strides))))
        at: int = self.plan.call(way.kernel, [*way.words, *(x.place for x in values)])
        return at

    def choose(self, condition: PlanValue, x: PlanValue, y: PlanValue) -> PlanValue:
        """x where the condition holds, else y, as numbers of the dtype that the record gives."""
        assert self.result is not None
        dtype = self.result.dtype
        operands = [self.convert(v, np.dtype(d)) for v, d in ((condition, np.bool_), (x, dtype), (y, dtype))]
        z = self.new(spec(np.broadcast_shapes(*(v.spec.shape for v in operands)), dtype))
        kernel, values = self.plan.jit("strided", "choose"), [*operands, z]
        lies = [(v.spec, v.strides) for v in values]
        self._through(self._loop_call(kernel, (0, dtype.itemsize), (), z.spec.shape, lies, [0] * 4), values)
        return z

    def power(self, x: PlanValue, y: PlanValue) -> PlanValue:
        """x to the power of y for complex numbers; NumPy has functions of its own for some plain numbers."""
        if "c" not in (x.spec.dtype.kind, y.spec.dtype.kind):
            raise NoStep("power")
        number = self.numbers[1]
        way = _power(type(number).__name__, number) if x.spec.ndim and type(number) in (int, float) else np.power
        if way is None:
            raise NoStep("power")
        return self.ufunc(np.power, [x, y]) if way is np.power else self.ufunc(way, [x])

    def general_power(self, x: PlanValue, y: PlanValue) -> PlanValue:
        """x to the power of y for complex numbers, as `np.power` has it."""
        if "c" not in (x.spec.dtype.kind, y.spec.dtype.kind):
            raise NoStep("power")
        return self.ufunc(np.power, [x, y])

    def angle(self, x: PlanValue) -> PlanValue:
        """The angles of complex numbers, 0 or π of real ones."""
        if x.spec.dtype.kind not in "fc":
            raise NoStep("angle")
        part = real_of(x.spec.dtype)
        a, b = (x, self.number(0.0, part)) if x.spec.dtype == part else (self.component(x, i) for i in (False, True))
        return self.ufunc(np.arctan2, [b, a])

    def chain_product(self, x: PlanValue, y: PlanValue) -> PlanValue:
        """x y, and 0 where x is 0."""
        z = self.ufunc(np.multiply, [x, y])
        if z.spec.dtype not in SUFFIXES:
            raise NoStep("chain")
        zeros = self.fitted(self.convert(x, z.spec.dtype), z.spec)
        ways = axes_of(z.spec.shape, z.strides, zeros.strides)
        self.plan.strided(f"clear_{SUFFIXES[z.spec.dtype]}", z.spec.dtype.itemsize, z.place, zeros.place, ways)
        return z


def one_stride(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """By how many bytes one gets from each element to the next in row-major order; None if that differs."""
    moving = [(n, s) for n, s in zip(shape, strides) if n != 1]
    for (_, far), (n, near) in pairwise(moving):
        if far != n * near:
            return None
    return moving[-1][1] if moving else 0


@lru_cache(1 << 10)
def _resolved(ufunc: Any, operands: tuple[Any, ...]) -> str | None:
    """The dtypes of operands and result of a ufunc of one result as characters, None if it takes no such operands."""
    try:
        dtypes = ufunc.resolve_dtypes((*operands, None))
    except TypeError:
        return None
    return "".join(d.char for d in dtypes[:-1]) + "->" + dtypes[-1].char


@lru_cache(1 << 10)
def _power(kind: str, number: float) -> Any:
    """By which function NumPy raises complex arrays to the power of a plain number: as it does some that tell them
    apart; None if by none that is known.  Versions of NumPy differ, and a float is not raised to as an int is."""
    parts = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
    x = np.zeros((7, 7), np.complex128)
    x.real, x.imag = parts[:, None], parts
    with np.errstate(all="ignore"):
        wanted = _bits(x**number)
        for way in POWERS:
            if _bits(np.power(x, number) if way is np.power else way(x)) == wanted:
                return way
    return None


def _bits(x: np.ndarray) -> bytes:
    """The bits of numbers, those of any nan alike."""
    parts = x.view(np.float64)
    return np.where(np.isnan(parts), np.nan, parts).tobytes()


@cache
def core(signature: str | None, nin: int, nout: int) -> tuple[list[list[str]], list[list[str]]]:
    """The names of the inner axes of each operand and each result of a ufunc."""
    if signature is None:
        return [[]] * nin, [[]] * nout
    parts = [re.findall(r"\w+", part) for part in re.findall(r"\(([^)]*)\)", signature)]
    return parts[:nin], parts[nin:]
