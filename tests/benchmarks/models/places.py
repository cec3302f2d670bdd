"""The work of programs that read at two places at once, read whole rows, or contract over pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..recurrences import arrays_of
from ..work import Work, rng


def warped_image(n: int) -> Work:
    """The squared difference between an image moved by a flow, read between its pixels, and another one."""

    def program(xp: Any, image: Any, down: Any, across: Any, rows: Any, columns: Any, i: Any, j: Any, seen: Any) -> Any:
        xp = arrays_of(xp)
        y, x = rows + 0.4 * xp.tanh(down), columns + 0.4 * xp.tanh(across)
        y, x = y - i, x - j
        top = image[i, j] * (1.0 - x) + image[i, j + 1] * x
        bottom = image[i + 1, j] * (1.0 - x) + image[i + 1, j + 1] * x
        error = top * (1.0 - y) + bottom * y - seen
        return xp.sum(error * error)

    draw = rng()
    i, j = draw.integers(n - 1, size=(2, n, n))
    variables = tuple(draw.normal(size=(3, n, n)))
    return Work(program, variables, (i + 0.5, j + 0.5, i, j, draw.normal(size=(n, n))))


def slopes(rows: int, columns: int, groups: int) -> Work:
    """Logistic regression with all slopes of each group its own."""

    def program(xp: Any, base: Any, slope: Any, features: Any, labels: Any, group: Any) -> Any:
        xp = arrays_of(xp)
        score = base[group] + xp.sum(features * slope[group], axis=1)
        return xp.sum(xp.log1p(xp.exp(-labels * score))) + 0.5 * xp.sum(slope * slope)

    draw = rng()
    features, group = draw.normal(size=(rows, columns)), draw.integers(0, groups, rows)
    variables = draw.normal(size=groups), draw.normal(size=(groups, columns))
    return Work(program, variables, (features, np.sign(draw.normal(size=rows)), group))


def attraction(n: int) -> Work:
    """The energy of the forces between bodies, all pairs by `einsum`."""

    def program(xp: Any, x: Any, mass: Any) -> Any:
        xp = arrays_of(xp)
        apart = x[:, None, :] - x[None, :, :]
        distance = xp.einsum("ijk,ijk->ij", apart, apart) + 0.1
        force = xp.einsum("ij,ijk->ik", mass / (distance * xp.sqrt(distance)), apart)
        return xp.einsum("ik,ik->", force, force)

    draw = rng()
    return Work(program, (draw.normal(size=(n, 3)), draw.uniform(0.5, 1.5, n)))
