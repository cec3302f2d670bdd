"""The gradient under check against differences, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .numeric import COMPLEX_ERROR, central, plain_step, settle
from .report import RIGHT, UNSETTLED, WRONG, Comparison
from .subject import Array, Subject

CONFIDENCE = 8.0
"""How many times its own estimated error a numerical derivative is allowed to be off."""

LONGER = 32.0
PATIENCE = 12
"""After so many wrong elements of one input, further doubts are no longer looked into."""


@dataclass(frozen=True)
class Tolerances:
    """Tolerances of a check; None means that they follow from the dtype and are chosen per element.

    The default relative tolerance is 10⁻⁶ for float64 and 2·10⁻⁵ for float32.  The default
    absolute tolerance has no fixed size, since inputs of 10⁻⁸ and 10⁸ share one check: it is what
    rounding leaves of the gradient itself, and the error of the difference at this element.
    """

    eps: float | None = None
    atol: float | None = None
    rtol: float | None = None

    def relative(self, precision: float) -> float:
        """The relative tolerance where numbers have that precision."""
        return max(1e-6, 170 * precision) if self.rtol is None else self.rtol


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
    subject: Subject,
    point: Sequence[Array],
    blocks: Sequence[Array],
    precision: Array,
    noise: Callable[[], tuple[Array, Sequence[Array]]],
    tolerances: Tolerances,
    progress: Callable[[int], object] = lambda done: None,
) -> Iterator[Comparison]:
    """Compare the blocks of a Jacobian with differences of the function.

    Args:
        point: values of the checked inputs, in the precision that differences are taken in.
        blocks: per input, the derivatives (output elements, input elements).
        precision: per output element, the precision of the gradient.
        noise: gives what rounding alone does to the outputs, and per input to the gradient under check.
        progress: called with the number of elements done.
    """
    rough = np.array([np.finfo(d).eps for s, d in zip(subject.shapes, subject.dtypes) for _ in range(int(np.prod(s)))])
    rough = np.maximum(rough, max((np.finfo(x.dtype).eps for x in point), default=0.0))
    done = 0
    for k, (x, block) in enumerate(zip(point, blocks)):
        columns, failures = [], 0
        for e in range(x.size):
            allowed = _Allowance(tolerances, precision, noise, k, e)
            line = _Element(subject, point, k, e)
            column = _examine(line, block[:, e], rough, allowed, failures < PATIENCE)
            failures += bool(column.examined and np.any(column.ratio > 1))
            columns.append(column)
            done += 1
            progress(done)
        yield from _summaries(subject, k, x, block, columns)


class _Element:
    """The function along one element of one input, the others held still."""

    def __init__(self, subject: Subject, point: Sequence[Array], k: int, e: int):
        self.subject, self.point, self.k, self.e = subject, list(point), k, e
        self.x = point[k].reshape(-1)[e]
        self.size = sum(int(np.prod(s)) for s in subject.shapes)
        size = np.max(np.abs(point[k]))
        self.scale = float(size) if np.isfinite(size) and size > 0 else 1.0

    def moved(self, value: object, dtype: np.dtype[Any] | None = None) -> list[Array]:
        point = list(self.point)
        point[self.k] = x = np.array(point[self.k], dtype=dtype)
        x.reshape(-1)[self.e] = value
        return point

    def __call__(self, value: object) -> Array:
        """The outputs, nan where the function raises: a step may leave its domain, or its patience."""
        try:
            with np.errstate(all="ignore"):
                found = self.subject.flat(self.moved(value))
        except Exception:
            found = np.full(self.size, np.nan)
        return found if len(found) == self.size else np.full(self.size, np.nan)

    def at_complex(self, value: object) -> Array:
        return self.subject.complex_flat(self.moved(value, np.dtype(np.complex128)))


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
            return (self.tolerances.atol or 0.0) + relative * np.abs(numeric)

    def last(self, numeric: Array, uncertainty: Array) -> Array:
        """What a settled derivative must agree within: the errors of both sides are allowed for."""
        return self.first(numeric) + CONFIDENCE * (uncertainty + self.noise()[1][self.k][:, self.e])


def _examine(line: _Element, analytic: Array, rough: Array, allowed: _Allowance, patient: bool) -> Settled:
    """Compare along one input element: by plain differences first, and closely where they disagree."""
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


def _plainly(line: _Element, analytic: Array, rough: Array, allowed: _Allowance, h: float) -> Settled:
    """Compare with the plain central difference."""
    found = central(line, line.x, h, rough)
    with np.errstate(all="ignore"):
        error, tolerance = np.abs(analytic - found.value), allowed.first(found.value)
    n = len(analytic)
    method = np.full(n, "central", dtype=object)
    return Settled(error, tolerance, found.rounding, found.value, np.full(n, found.step), method)


def _longer(line: _Element, analytic: Array, rough: Array, allowed: _Allowance, h: float) -> Settled:
    """The same with a longer step: where rounding was the trouble, two calls more settle it."""
    return _plainly(line, analytic, rough, allowed, LONGER * h)


def _settle(line: _Element, analytic: Array, rough: Array, allowed: _Allowance, _: float) -> Settled:
    """Compare with the best that differences can do, or with the complex step where they cannot tell."""
    found = settle(line, line.x, line.scale, rough, line.at_complex, allowed.noise()[0])
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


def _summaries(subject: Subject, k: int, x: Array, block: Array, columns: list[Settled]) -> Iterator[Comparison]:
    """One comparison per output, from the columns of one input."""
    start = 0
    for name, shape in zip(subject.output_names, subject.shapes):
        size = int(np.prod(shape))
        rows = slice(start, start + size)
        start += size
        yield _summary(subject.names[subject.wrt[k]], name, x.shape, shape, block[rows], columns, rows)


def _summary(
    input: str, output: str, input_shape: tuple[int, ...], output_shape: tuple[int, ...],
    block: Array, columns: list[Settled], rows: slice,
) -> Comparison:  # fmt: skip
    if block.size == 0:
        nothing = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        return Comparison(input, output, input_shape, output_shape, 0, 0, None, None, *nothing, "central", RIGHT)
    ratios = np.array([c.ratio[rows] if c.examined else np.full(len(block), -1.0) for c in columns])
    e, o = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
    column = columns[e]
    numeric, error, tolerance, uncertainty, step = (
        float(field[rows][o])
        for field in (column.numeric, column.error, column.tolerance, column.uncertainty, column.step)
    )
    verdict = RIGHT if ratios[e, o] <= 1 else UNSETTLED if np.isnan(numeric) else WRONG
    return Comparison(
        input, output, input_shape, output_shape, block.size, int(np.sum(ratios > 1)),
        _index(int(e), input_shape), _index(int(o), output_shape),
        float(block[o, e]), numeric, error, tolerance, uncertainty, step,
        str(column.method[rows][o]), verdict, all(c.examined for c in columns),
    )  # fmt: skip


def _index(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(position, shape)) if shape else ()
