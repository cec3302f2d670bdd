"""How noisy a function is along a line, from its values at a few neighbouring points.

Differences of high order of a smooth function vanish at points so close; what is left of them is
noise: σₖ² = (k!)² / (2k)! · mean((Δᵏf)²) (Hamming's table of differences; Moré & Wild, *Estimating
computational noise*, SIAM J. Sci. Comput. 33, 2011, (2.5)).
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from .numeric import Line, Vector

POINTS = 8
SPACING = 2.0**-40
"""Of the points, relative to the element."""


def noise_of(line: Line, x: Any, scale: float) -> Vector:
    """Per output, the standard deviation of its noise near x; 0 where it is not finite.

    >>> rng = np.random.default_rng(0)
    >>> found = noise_of(lambda x: np.array([x**2 + 1e-10 * rng.standard_normal()]), np.float64(3.0), 1.0)
    >>> bool(2e-11 < found[0] < 5e-10)
    True
    """
    kind, spacing = type(x), (abs(float(x)) or scale) * SPACING
    with np.errstate(all="ignore"):
        differences = np.array([line(kind(x + k * spacing)) for k in range(POINTS)])
        levels = []
        for k in range(1, POINTS - 1):
            differences = np.diff(differences, axis=0)
            levels.append(np.sqrt(factorial(k) ** 2 / factorial(2 * k) * np.mean(differences**2, axis=0)))
        noise: Vector = np.median(levels[len(levels) // 2 :], axis=0)
    return np.where(np.isfinite(noise), noise, 0.0)
