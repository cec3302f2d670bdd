"""Comparing both Jacobians, in each mode; in fast mode, what is in doubt is looked at element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from .derivatives.along import Along
from .derivatives.analytic import Jacobian
from .derivatives.compare import Tolerances, compare, precision_of, precisions
from .derivatives.curve import Curve, curves_of
from .derivatives.line import Grid
from .derivatives.modes import derivative
from .derivatives.report import RIGHT, Comparison, Report
from .derivatives.rounding import Derivative, output_spread, spread, wide_dtype
from .derivatives.subject import Array, Subject

MANY = 1 << 14
"""So many numbers of inputs and outputs are too many to look at one by one, where fast mode was asked for."""


class Comparing:
    """The comparisons of one check.

    Args:
        subject, point: what is checked, and where.
        tolerances: how closely.
        report: takes the comparisons.
        fast: whether along random directions.
        seed: of those.
    """

    def __init__(
        self, subject: Subject, point: Sequence[Array], tolerances: Tolerances, report: Report, fast: bool, seed: int
    ):
        self.subject, self.point, self.tolerances, self.report = subject, list(point), tolerances, report
        self.elements = Grid(subject, point)
        self.grid = Along.random(subject, point, np.random.default_rng(seed)) if fast else self.elements
        self.wide = _widened(subject, self.point)
        self.tick: Callable[[], object] = lambda: None

    def watch(self, progress: Callable[[int, int], object] | None, modes: int) -> None:
        """Tell `progress` how many numbers of the inputs are done, in so many modes."""
        if progress is not None:
            total, done = modes * sum(axis.size for axis in self.grid.inputs), 0

            def tick() -> None:
                nonlocal done
                done += 1
                progress(min(done, total), total)

            self.tick = tick

    def derivative(self, mode: str) -> Derivative:
        """What computes the Jacobian in a mode."""
        return derivative(mode, self.grid)

    def mode(self, mode: str) -> Jacobian:
        """Compare in one mode; gives the Jacobian that was compared."""
        jacobian = self.derivative(mode)(self.subject, self.point)
        found = self._compare(self.grid, jacobian, mode)
        self.report.comparisons += self._looked_into(found, jacobian, mode) if self.grid is not self.elements else found
        return jacobian

    def curves(self, comparisons: Sequence[Comparison]) -> list[Curve | None]:
        """The error over the step at the worst element of each comparison, in float64 where the function allows it."""
        elements = self.elements.at(*self.wide)
        return curves_of(self.grid.at(*self.wide), elements, comparisons)

    def _compare(self, grid: Grid, jacobian: Jacobian, mode: str) -> list[Comparison]:
        """Compare with differences, taken in float64 where the function allows it."""
        coarse = max(precision_of(x.dtype) for x in self.point)
        precision = np.maximum(precisions(grid.outputs), coarse)
        wide = grid.at(*self.wide)

        @cache
        def noise() -> tuple[Array, list[Array]]:
            return output_spread(wide), self._noise(grid, mode, precision)

        return list(compare(wide, jacobian.blocks, precision, noise, self.tolerances, mode, self.tick))

    def _noise(self, grid: Grid, mode: str, precision: Array) -> list[Array]:
        """Per input, what rounding may do to the gradient under check."""
        floor = precision[:, None] * grid.magnitudes(self.subject.flat(self.point))[:, None]
        wide = [x.astype(wide_dtype(x.dtype)) for x in self.point]
        way = derivative(mode, grid.at(self.subject, wide))
        rounding = spread(self.subject, self.point, float(np.max(precision, initial=0.0)), way)
        return [r + floor / size for r, size in zip(rounding, grid.sizes())]

    def _looked_into(self, found: list[Comparison], jacobian: Jacobian, mode: str) -> list[Comparison]:
        """Comparisons along directions; those in doubt are decided by, and followed by, those of the elements.

        What is wrong along a direction and right in every element is a kink, or a difference that
        cancels, if the elements add up to it; and if they do not, a gradient that is not linear.
        """
        size = sum(axis.size for axis in (*self.elements.inputs, *self.elements.outputs))
        if all(c.ok for c in found) or size > MANY:
            return found
        full = derivative(mode, self.elements)(self.subject, self.point)
        singly = {(c.input, c.output): c for c in self._compare(self.elements, full, mode)}
        adding = self._adding_up(full, jacobian)
        made = []
        for c in found:
            one = singly[c.input, c.output]
            if not c.ok and one.ok and adding[c.input, c.output]:
                made.append(replace(c, verdict=RIGHT, wrong=0, method="elements"))
                continue
            made.append(c)
            if not c.ok and not one.ok:
                made.append(one)
            elif not c.ok:
                self.report.faults.append(
                    f"the gradient of {c.output} for {c.input} is not linear in the "
                    f"{'tangent' if mode == 'forward' else 'adjoint'}: it is right for unit vectors, but for random "
                    "ones it is not the sum of its parts"
                )
        return made

    def _adding_up(self, full: Jacobian, along: Jacobian) -> dict[tuple[str, str], bool]:
        """Per input and output, whether uᵀJv, out of the elements of J, is what was found along directions."""
        assert isinstance(self.grid, Along)
        sums = self.grid.reduce(full.blocks)
        sizes = self.grid.bounds(full.blocks)
        eps = 1e3 * max(precision_of(axis.dtype) for axis in (*self.grid.inputs, *self.grid.outputs))
        return {
            (x.name, z.name): bool(abs(a[j, 0] - b[j, 0]) <= eps * s[j, 0] + self.tolerances.noise)
            for x, a, b, s in zip(self.grid.inputs, sums, along.blocks, sizes)
            for j, z in enumerate(self.grid.outputs)
        }


def _widened(subject: Subject, point: list[Array]) -> tuple[Subject, list[Array]]:
    """Subject and point in float64 if the function accepts it and computes the same thing there."""
    wide = [x.astype(wide_dtype(x.dtype)) if x.dtype.itemsize < wide_dtype(x.dtype).itemsize else x for x in point]
    if all(x.dtype == y.dtype for x, y in zip(wide, point)):
        return subject, point
    other = subject.like()
    try:
        here, there = subject.flat(point), other.flat(wide)
    except Exception:  # a function may insist on its dtype; then its own precision is what there is
        return subject, point
    coarse = max(precision_of(x.dtype) for x in point)
    same = here.shape == there.shape and np.allclose(here, there, rtol=1e4 * coarse, atol=1e4 * coarse)
    return (other, wide) if same else (subject, point)
