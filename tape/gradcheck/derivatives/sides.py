"""What elements of a Jacobian look like close up: the slopes on both sides, where each is steadiest.

Slopes from the left and from the right tell a kink or a vertical tangent from a wrong gradient.
At a smooth point both tend to the derivative; at a kink each tends to its own number, and every
number between is a subgradient (Clarke, *Optimization and Nonsmooth Analysis*, 1983); at a vertical
tangent, as of ∛x at 0, both grow as the step shrinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .along import Along
from .compare import CONFIDENCE
from .grid import ROUNDING, Grid, Line
from .numeric import slopes
from .report import Comparison
from .rounding import noise_of
from .subject import Array, Subject

SAME, CLOSE = 1e-4, 1e-6
SMALL = 1e-9
"""A derivative is not known to more than this part of the largest one of the same output."""


@dataclass(frozen=True)
class Sides:
    """The slopes of one output on both sides of one element, at the step where they are steadiest.

    Attributes:
        pair: the derivative, as it is written.
        left, right: the slopes.
        analytic: the gradient there.
    """

    pair: str
    left: float
    right: float
    analytic: float

    @property
    def kink(self) -> bool:
        """Whether the slopes differ."""
        return abs(self.left - self.right) > SAME * max(abs(self.left), abs(self.right))

    def __str__(self) -> str:
        slopes = f"{self.left:.6g} from the left and {self.right:.6g} from the right"
        if self.kink:
            return f"the function has a kink here: its slopes are {slopes}, and the gradient is {self.analytic:.6g}"
        return f"no kink: the slopes of {self.pair} are {slopes}, and the gradient is {self.analytic:.6g}"


def sides_of(subject: Subject, comparison: Comparison) -> Sides | None:
    """The slopes at the worst element of a comparison; None where it is of random directions."""
    point = subject.point()
    with np.errstate(all="ignore"):
        subject.call(point)
        if comparison.along or comparison.input_index is None:
            return None
        line, row = line_of(Grid(subject, point), comparison)
        (low, _), (high, _) = steadiest(line)
    return Sides(comparison.pair, float(low[row]), float(high[row]), comparison.analytic)


def steadiest(line: Line) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """From the left and from the right, per output: the slope, and how far it may be off.

    It is taken at the step where the next differs least, and what is known to be noise weighs least.
    """
    steps, left, right = slopes(line, line.x, line.scale)
    with np.errstate(all="ignore"):
        rounding = ROUNDING * np.finfo(type(line.x)).eps * np.abs(line(line.x))
        noise = np.maximum(noise_of(line, line.x, line.scale), rounding) / steps[:-1, None]
    return _steadiest(left, noise), _steadiest(right, noise)


def _steadiest(side: Array, noise: Array) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        errors = np.abs(np.diff(side, axis=0)) + noise
    errors = np.where(np.isfinite(errors), errors, np.inf)
    at = np.argmin(errors, axis=0)
    each = np.arange(side.shape[1])
    return side[at, each], errors[at, each]


def between_slopes(grid: Grid, blocks: Sequence[Array]) -> bool:
    """Whether every element of a Jacobian lies between the slopes on its two sides, as far as these are known."""
    for k, (axis, block) in enumerate(zip(grid.inputs, blocks)):
        for e in range(axis.size):
            (left, left_error), (right, right_error) = steadiest(grid.line(k, e))
            with np.errstate(all="ignore"):
                off = CONFIDENCE * (left_error + right_error) + CLOSE * np.maximum(np.abs(left), np.abs(right))
                off += SMALL * np.max(np.abs(block), axis=1)
                inside = (np.minimum(left, right) - off <= block[:, e]) & (block[:, e] <= np.maximum(left, right) + off)
            if not np.all(inside & np.isfinite(off)):
                return False
    return True


def line_of(grid: Grid, comparison: Comparison) -> tuple[Line, int]:
    """The line along which the worst element of a comparison moves, and the place of its output among all."""
    at = next(k for k, axis in enumerate(grid.inputs) if axis.name == comparison.input)
    start = 0
    for axis in grid.outputs:
        if axis.name == comparison.output:
            break
        start += axis.size
    if isinstance(grid, Along):
        return grid.line(at, 0), start
    e = _position(comparison.input_index, comparison.input_shape, comparison.input_part)
    return grid.line(at, e), start + _position(comparison.output_index, comparison.output_shape, comparison.output_part)


def _position(index: tuple[int, ...] | None, shape: tuple[int, ...], part: str) -> int:
    """The number of an element among the real numbers of an array."""
    flat = int(np.ravel_multi_index(index, shape)) if index else 0
    return 2 * flat + (part == "imag") if part else flat
