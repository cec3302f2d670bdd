"""The error of a central difference over its step, at the worst element of a comparison.

From long steps to short the error falls as h², which is truncation, until rounding rises as 1/h;
where the two meet, the difference is as good as it gets.  Against a wrong gradient it does not fall
below the error of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .grid import ROUNDING, Grid, central
from .report import Comparison
from .sides import line_of
from .subject import Array

LONGEST, SHORTEST, PER_DECADE = 1.0, 1e-15, 3
"""Steps, relative to the element."""


@dataclass(frozen=True)
class Curve:
    """Errors of central differences at a ladder of steps, against the gradient under check.

    Attributes:
        steps: h, longest first.
        errors: |difference − gradient|; nan where the function is not finite.
        rounding: the least that rounding of the outputs may do to each difference.
        analytic: the gradient.
    """

    steps: list[float]
    errors: list[float]
    rounding: list[float]
    analytic: float


def curve_of(grid: Grid, comparison: Comparison) -> Curve | None:
    """The curve of a comparison; None where there is nothing to compare, or the element is not finite."""
    if comparison.checked == 0 or (comparison.input_index is None and not comparison.along):
        return None
    line, row = line_of(grid, comparison)
    if not np.isfinite(line.x):
        return None
    size = abs(float(line.x)) or line.scale
    precision = np.full(line.size, np.finfo(type(line.x)).eps)
    decades = np.log10(LONGEST / SHORTEST)
    steps = size * LONGEST * 10.0 ** -np.linspace(0.0, decades, int(decades * PER_DECADE) + 1)
    found = [central(line, line.x, h, precision) for h in steps if type(line.x)(line.x + h) != line.x]
    return Curve(
        [float(d.step) for d in found],
        _floats([abs(d.value[row] - comparison.analytic) for d in found]),
        _floats([d.rounding[row] / ROUNDING for d in found]),
        comparison.analytic,
    )


def curves_of(grid: Grid, elements: Grid, comparisons: Sequence[Comparison]) -> list[Curve | None]:
    """One for each comparison; `elements` is the grid of those that are not along random directions."""
    with np.errstate(all="ignore"):
        return [curve_of(grid if c.along else elements, c) for c in comparisons]


def _floats(values: Sequence[Any] | Array) -> list[float]:
    return [float(v) for v in values]
