"""The gradient under check against differences, element by element, as closely as was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...base.limits import finfo
from .grid import Grid, Line, Remembered, central
from .numeric import COMPLEX_ERROR, settle, vertical
from .report import RIGHT, UNSETTLED, WRONG, Comparison
from .rounding import noise_of
from .subject import Array, Axis

CONFIDENCE = 8.0
"""How many times its own estimated error a numerical derivative is allowed to be off."""

LONGER = 32.0
NOISY = 4.0
"""How many standard deviations of its noise a function may be off."""

PATIENCE = 12
"""After so many wrong elements of one input, further doubts are no longer looked into."""


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of a check; None means that they follow from the dtype and are chosen per element.

    The default relative tolerance is 10⁻⁶ for float64 and 2·10⁻⁵ for float32.  The default
    absolute tolerance has no fixed size, since inputs of 10⁻⁸ and 10⁸ share one check: it is what
    rounding leaves of the gradient itself, and the error of the difference at this element.
    `noise` is by how much two computations of the gradient may differ.
    """

    eps: float | None = None
    atol: float | None = None
    rtol: float | None = None
    noise: float = 0.0

    def relative(self, precision: float) -> float:
        """The relative tolerance where numbers have that precision."""
        return max(1e-6, 170 * precision) if self.rtol is None else self.rtol


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is checked, and how closely.

    Attributes:
        eps: step of the plain difference; chosen per element and dtype if None.
        atol, rtol: tolerances; None means they follow from the dtype and are chosen per element.
        nondet_tol: how much two computations of the same gradient may differ.
        reverse, forward: which modes of differentiation are checked.
        fast: compare uᵀJv along random directions, in place of every element of J.
        batched: gradients of several adjoints at once must be those of one after the other.
        batched_forward: the same for tangents.
        undefined: an adjoint or a tangent that is left out must do the same as one of zeros.
        dtypes: gradients must have the dtype of their input.
        only_differentiable: of the outputs, check those that have a history, if any has; and take a function
            without any output to check as right.  This is what PyTorch does.
        seed: of random directions.
        causes: look for the op at fault where a gradient is wrong.
        curves: note the error over the step at the worst elements, for a picture.
    """

    eps: float | None = None
    atol: float | None = None
    rtol: float | None = None
    nondet_tol: float = 0.0
    reverse: bool = True
    forward: bool = False
    fast: bool = False
    batched: bool = False
    batched_forward: bool = False
    undefined: bool = True
    dtypes: bool = False
    only_differentiable: bool = False
    seed: int = 0
    causes: bool = True
    curves: bool = False

    @property
    def tolerances(self) -> Tolerances:
        return Tolerances(self.eps, self.atol, self.rtol, self.nondet_tol)


@dataclass
class Settled:
    """Per output element along one input element: the two derivatives and the verdict."""

    error: Array
    tolerance: Array
    uncertainty: Array
    numeric: Array
    step: Array
    method: Array
    examined: bool = True

    def take(self, other: Settled, where: Array) -> None:
        """Take over another comparison for some of the outputs."""
        for name in ("error", "tolerance", "uncertainty", "numeric", "step", "method"):
            getattr(self, name)[where] = getattr(other, name)[where]

    @property
    def ratio(self) -> Array:
        """Error over tolerance; just above 1 where there is no difference to compare with."""
        with np.errstate(all="ignore"):
            ratio = np.where(self.error == 0, 0.0, np.where(np.isnan(self.error), np.inf, self.error / self.tolerance))
        return np.where(np.isnan(self.numeric), np.nextafter(1.0, 2.0), ratio)


def compare(
    grid: Grid,
    blocks: Sequence[Array],
    precision: Array,
    noise: Callable[[], tuple[Array, Sequence[Array]]],
    tolerances: Tolerances,
    mode: str,
    progress: Callable[[], object] | None = None,
) -> Iterator[Comparison]:
    """Compare the blocks of a Jacobian with differences of the function.

    Args:
        grid: what is compared, at a point in the precision that differences are taken in.
        blocks: per input, the derivatives (numbers of the outputs, numbers of the input).
        precision: per number of the outputs, the precision of the gradient.
        noise: gives what rounding alone does to the outputs, and per input to the gradient under check.
        mode: how the gradient was computed, for the report.
        progress: called after each number of the inputs.
    """
    rough = precisions(grid.outputs)
    rough = np.maximum(rough, max((precision_of(x.dtype) for x in grid.inputs), default=0.0))
    for k, (axis, block) in enumerate(zip(grid.inputs, blocks)):
        columns, failures = [], 0
        for e in range(axis.size):
            allowed = _Allowance(tolerances, precision, noise, k, e)
            column = _examine(grid.line(k, e), block[:, e], rough, allowed, failures < PATIENCE)
            failures += bool(column.examined and np.any(column.ratio > 1))
            columns.append(column)
            if progress is not None:
                progress()
        yield from _summaries(grid, axis, block, columns, mode)


@cache
def precision_of(dtype: np.dtype[Any]) -> float:
    """The distance of 1 from the next number."""
    return finfo(dtype).eps


def precisions(axes: Sequence[Axis]) -> Array:
    """The precision of each number of some axes."""
    return np.repeat([precision_of(axis.dtype) for axis in axes], [axis.size for axis in axes])


@dataclass(frozen=True)
class _Allowance:
    """The tolerance at one element of one input."""

    tolerances: Tolerances
    precision: Array
    noise: Callable[[], tuple[Array, Sequence[Array]]]
    k: int
    e: int

    def first(self, numeric: Array) -> Array:
        """What the plain difference must agree within to be believed at once."""
        relative = np.array([self.tolerances.relative(p) for p in self.precision.tolist()])
        with np.errstate(all="ignore"):
            return (self.tolerances.atol or 0.0) + self.tolerances.noise + relative * np.abs(numeric)

    def last(self, numeric: Array, uncertainty: Array) -> Array:
        """What a settled derivative must agree within: the errors of both sides are allowed for."""
        return self.first(numeric) + CONFIDENCE * (uncertainty + self.noise()[1][self.k][:, self.e])


def _examine(line: Line, analytic: Array, rough: Array, allowed: _Allowance, patient: bool) -> Settled:
    """Compare along one input element: by plain differences first, and closely where they disagree."""
    if not np.isfinite(line.x):
        return _nowhere(len(analytic))
    h = allowed.tolerances.eps or plain_step(float(line.x), line.scale, float(np.max(rough, initial=0.0)))
    column = _plainly(line, analytic, rough, allowed, h)
    for second_opinion in (_longer, _settle):
        doubtful = ~(column.error <= column.tolerance)
        if not np.any(doubtful):
            return column
        if not patient:
            column.examined = False
            return column
        column.take(second_opinion(line, analytic, rough, allowed, h), doubtful)
    return column


def plain_step(x: float, scale: float, eps: float) -> float:
    """Step of the plain central difference: ε^(1/3) times the size of the element.

    An element far smaller than the rest of its array (`scale`) is moved by its own size all the
    same: a logarithm of it would not forgive more.

    >>> f"{plain_step(2.0, 1.0, 2.0**-52):.2e}"
    '1.21e-05'
    """
    return float(eps ** (1 / 3) * (abs(x) or scale))


def _nowhere(n: int) -> Settled:
    """What is known along an element that is nan or infinite, and so cannot be moved: nothing."""
    error, tolerance, uncertainty, numeric, step = (np.full(n, np.nan) for _ in range(5))
    return Settled(error, tolerance, uncertainty, numeric, step, np.full(n, "none", dtype=object))


def _plainly(line: Line, analytic: Array, rough: Array, allowed: _Allowance, h: float) -> Settled:
    """Compare with the plain central difference."""
    found = central(line, line.x, h, rough)
    found.value[np.isinf(found.value)] = np.nan  # the function is infinite beside this element, not its slope
    if line.unsteady is not None:
        raise line.unsteady.at(line.where(), h)
    with np.errstate(all="ignore"):
        error, tolerance = np.abs(analytic - found.value), allowed.first(found.value)
    n = len(analytic)
    method = np.full(n, "central", dtype=object)
    return Settled(error, tolerance, found.rounding, found.value, np.full(n, found.step), method)


def _longer(line: Line, analytic: Array, rough: Array, allowed: _Allowance, h: float) -> Settled:
    """The same with a longer step: where rounding was the trouble, two calls more settle it."""
    return _plainly(line, analytic, rough, allowed, LONGER * h)


def _settle(line: Line, analytic: Array, rough: Array, allowed: _Allowance, _: float) -> Settled:
    """Compare with the best that differences can do, or with the complex step where they cannot tell.

    A function that is noisier than its precision says (inside of LAPACK, say) is found out where it matters.
    """
    known = Remembered(line)
    closely = _settle_within(known, analytic, rough, allowed, allowed.noise()[0])
    if np.any(closely.ratio > 1):
        noise = NOISY * noise_of(line, line.x, line.scale)
        noisy = (closely.ratio > 1) & (noise > allowed.noise()[0]) & (noise > rough * np.abs(line(line.x)))
        if np.any(noisy):
            closely.take(_settle_within(known, analytic, rough, allowed, np.maximum(noise, allowed.noise()[0])), noisy)
    _accept_vertical(closely, line, analytic)
    return closely


def _settle_within(line: Line, analytic: Array, rough: Array, allowed: _Allowance, noise: Array) -> Settled:
    """The same for outputs that are known to be off by so much."""
    found = settle(line, line.x, line.scale, rough, line.at_complex, noise)
    with np.errstate(all="ignore"):
        outside = np.maximum(np.maximum(found.low - analytic, analytic - found.high), 0.0)
        tolerance = allowed.last(found.value, found.error)
        closely = Settled(outside, tolerance, found.error, found.value, found.step, found.method)
        uncertainty = COMPLEX_ERROR * np.abs(found.other)
        error, tolerance = np.abs(analytic - found.other), allowed.last(found.other, uncertainty)
    saved = (error <= tolerance) & (closely.ratio > 1)
    closely.error[saved], closely.tolerance[saved] = error[saved], tolerance[saved]
    closely.numeric[saved], closely.uncertainty[saved] = found.other[saved], uncertainty[saved]
    closely.method[saved] = "complex step"
    return closely


def _accept_vertical(closely: Settled, line: Line, analytic: Array) -> None:
    """An infinite gradient is right where the slopes on both sides grow without bound, as those of ∛x at 0."""
    infinite = np.isinf(analytic)
    if np.any(infinite):
        found = vertical(line, line.x, line.scale)
        upright = infinite & (found == np.sign(analytic))
        closely.numeric[upright], closely.method[upright] = analytic[upright], "vertical"
        closely.error[upright] = 0.0


def _summaries(grid: Grid, axis: Axis, block: Array, columns: list[Settled], mode: str) -> Iterator[Comparison]:
    """One comparison per output, from the columns of one input."""
    start = 0
    for out in grid.outputs:
        rows = slice(start, start + out.size)
        start += out.size
        yield _summary(axis, out, block[rows], columns, rows, mode)


def _summary(axis: Axis, out: Axis, block: Array, columns: list[Settled], rows: slice, mode: str) -> Comparison:
    facts: dict[str, Any] = {
        "input": axis.name, "output": out.name, "input_shape": axis.shape, "output_shape": out.shape,
        "input_number": axis.number, "output_number": out.number, "mode": mode, "along": axis.whole,
        "checked": block.size,
    }  # fmt: skip
    if block.size == 0:
        return Comparison(**facts)
    ratios = np.array([c.ratio[rows] if c.examined else np.full(len(block), -1.0) for c in columns])
    e, o = _worst(ratios, out)
    column = columns[e]
    numbers: dict[str, Any] = {
        name: float(getattr(column, name)[rows][o]) for name in ("numeric", "error", "tolerance", "uncertainty", "step")
    }
    (input_index, input_part), (output_index, output_part) = axis.place(e), out.place(o)
    verdict = RIGHT if ratios[e, o] <= 1 else UNSETTLED if np.isnan(numbers["numeric"]) else WRONG
    return Comparison(
        **facts, **numbers, wrong=int(np.sum(ratios > 1)),
        kinks=sum(int(np.sum(c.method[rows] == "kink")) for c in columns),
        input_index=input_index, output_index=output_index, input_part=input_part, output_part=output_part,
        analytic=float(block[o, e]), method=str(column.method[rows][o]), verdict=verdict,
        complete=all(c.examined for c in columns),
    )  # fmt: skip


def _worst(ratios: Array, out: Axis) -> tuple[int, int]:
    """The worst pair of numbers; as in PyTorch, one of the imaginary part of a complex output if any is wrong."""
    if out.is_complex and not out.whole and np.any(ratios[:, 1::2] > 1):
        ratios = np.where(np.arange(ratios.shape[1]) % 2, ratios, -2.0)
    e, o = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
    return int(e), int(o)
