"""Slopes from the left and from the right, which tell a kink or a vertical tangent from a wrong gradient.

At a smooth point both tend to the derivative; at a kink each tends to its own number, and every
number between is a subgradient (Clarke, *Optimization and Nonsmooth Analysis*, 1983); at a vertical
tangent, as of ∛x at 0, both grow as the step shrinks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .numeric import RATIO, Line, Vector

STEPS = 12
GROWTH = 1.1
"""By how much a slope without bound must grow from each step to the next, RATIO times shorter one; √x has 2."""


def slopes(line: Line, x: Any, scale: float) -> tuple[Vector, Vector, Vector]:
    """The steps, and per step and output the slopes (f(x) − f(x−h))/h and (f(x+h) − f(x))/h.

    The longest step is a thousandth of the element's size, or of its array's where it is 0.  A slope is nan where the
    step is lost to rounding.
    """
    kind, here = type(x), line(x)
    steps = 1e-3 * (abs(float(x)) or scale) * RATIO ** -np.arange(STEPS)
    left, right, taken = [], [], []
    with np.errstate(all="ignore"):
        for h in steps:
            above, below = kind(x + h), kind(x - h)
            up, down = float(above) - float(x), float(x) - float(below)
            right.append((line(above) - here) / (up or np.nan))
            left.append((here - line(below)) / (down or np.nan))
            taken.append(up)
    return np.array(taken), np.array(left), np.array(right)


def vertical(line: Line, x: Any, scale: float) -> Vector:
    """Per output, the sign of the slopes on both sides if they grow without bound as the step shrinks, else 0."""
    _, left, right = slopes(line, x, scale)
    sides = np.array([left, right])
    with np.errstate(all="ignore"):
        grows = np.all(np.abs(sides[:, 1:]) > GROWTH * np.abs(sides[:, :-1]), axis=(0, 1))
    signs = np.sign(sides)
    same = np.all(signs == signs[:1, :1], axis=(0, 1))
    vertical: Vector = np.where(grows & same, signs[0, 0], 0.0)
    return vertical
