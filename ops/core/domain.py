"""What the property tests sample, declared beside the op: where it is smooth, and cases of operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Interval:
    """Numbers in [low, high] that keep `margin` away from the points in `avoid`."""

    low: float = -3.0
    high: float = 3.0
    avoid: tuple[float, ...] = field(default=())
    margin: float = 0.05

    def fit(self, values: np.ndarray) -> np.ndarray:
        """Map numbers from [0, 1] into the interval, moved away from `avoid`."""
        x = self.low + np.asarray(values) * (self.high - self.low)
        for point in self.avoid:
            near = np.abs(x - point) < self.margin
            x = np.where(near, point + np.where(x < point, -self.margin, self.margin), x)
        return x


@dataclass(frozen=True)
class Truth:
    """True and false, for the operands that choose."""

    def fit(self, values: np.ndarray) -> np.ndarray:
        """Numbers above one half are true."""
        return np.asarray(values) > 0.5


REAL = Interval()
TRUTH = Truth()
POSITIVE = Interval(0.1, 4.0)
NONZERO = Interval(avoid=(0.0,), margin=0.1)
UNIT = Interval(-0.95, 0.95)


Case = tuple[tuple[Any, ...], dict[str, Any]]


def cases_of(*shapes_and_params: tuple[Any, dict[str, Any]]) -> Callable[[np.random.Generator], Iterator[Case]]:
    """Cases of an op: the shape of its operand, or a list of the shapes of several, and the parameters."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for given, params in shapes_and_params:
            shapes = given if isinstance(given, list) else [given]
            yield tuple(np.asarray(rng.standard_normal(shape)) for shape in shapes), params

    return cases
