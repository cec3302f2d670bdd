"""The smallest programs with one operation on arrays in them, to be called again and again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..recurrences import arrays_of
from ..work import Work, rng

SMALL: dict[str, Callable[[Any, Any], Any]] = {
    "a slice": lambda xp, x: (x[1:] * x[:-1]).sum(),
    "M @ x": lambda xp, x: (MATRIX @ x).sum(),
    "max": lambda xp, x: xp.amax(x * x),
    "prod": lambda xp, x: xp.prod(x),
    "x[idx]": lambda xp, x: (x[PLACES] * x[PLACES]).sum(),
}
"""By name, a program of one vector of five numbers."""
MATRIX = rng().normal(size=(5, 5))
PLACES = np.array([3, 0, 3, 1])


def small_call(name: str, n: int = 5) -> Work:
    """A program of five numbers."""
    program = SMALL[name]
    return Work(lambda xp, x: program(arrays_of(xp), x), (rng().uniform(0.5, 1.5, n),), beside=squares)


def squares(xp: Any, x: Any) -> Any:
    """What a small program is measured by."""
    return (x * x).sum()
