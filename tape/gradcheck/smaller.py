"""Making failing inputs smaller, element by element, where Hypothesis has left off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .derivatives.subject import Array

SIMPLE = 0.0, 1.0, -1.0, 2.0, 3.0
ELEMENTS = 64
"""Arrays with more elements are simplified as a whole only."""


def smaller(point: Sequence[Array], fails: Callable[[list[Array]], bool]) -> list[Array]:
    """The point with as many elements as can be replaced by simple numbers, so that it still fails.

    >>> [x] = smaller([np.array([7.3, 8.1])], lambda point: point[0][1] > 1.5)
    >>> x
    array([0., 2.])
    """
    found = [np.array(x) for x in point]
    for k, x in enumerate(found):
        for value in SIMPLE:
            if np.any(x != value) and fails(_with(found, k, np.full_like(x, value))):
                found[k] = np.full_like(x, value)
                break
    for k, x in enumerate(found):
        for e in range(x.size if x.size <= ELEMENTS else 0):
            _simplify(found, k, e, fails)
    return found


def _simplify(found: list[Array], k: int, e: int, fails: Callable[[list[Array]], bool]) -> None:
    """One element replaced by the first of the simple numbers, or of itself in fewer digits, that still fails."""
    here = found[k].flat[e]
    shorter = [type(here)(f"{here:.{digits}g}") for digits in (1, 2, 3)] if np.isrealobj(here) else []
    for value in (*SIMPLE, *shorter):
        if value == here:
            return
        changed = np.array(found[k])
        changed.flat[e] = value
        if fails(_with(found, k, changed)):
            found[k] = changed
            return


def _with(point: Sequence[Array], k: int, x: Array) -> list[Array]:
    return [x if j == k else y for j, y in enumerate(point)]
