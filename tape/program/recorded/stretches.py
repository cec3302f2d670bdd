"""Where numbers repeat themselves: stretches of a list that are the rounds of a loop."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

LEAST = 8
"""So many rounds are worth it."""


RECORDS = 256
"""So are so many records."""


WINDOWS = (512, 64, 8)
"""A repetition shows in so many equal records; long bodies are looked for first."""


def stretches(like: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Stretches in which numbers repeat themselves: start, period and how often it comes; none overlap."""
    free = np.ones(len(like), dtype=np.bool_)
    for window in WINDOWS:
        if len(like) <= 2 * window:
            continue
        distance = distances(windows(like, window))
        edges = np.flatnonzero(np.diff(distance, prepend=-1, append=-1))
        for first, end in zip(edges[:-1].tolist(), edges[1:].tolist()):
            period = int(distance[first])
            start, stop = first - period, end - 1 + window
            count = (stop - start) // period if period else 0
            if count >= LEAST and count * period >= RECORDS and free[start : start + count * period].all():
                free[start : start + count * period] = False
                yield start, period, count


def windows(like: np.ndarray, window: int) -> np.ndarray:
    """A hash of each stretch of so many numbers."""
    factor = 0x9E3779B97F4A7C15
    inverse = pow(factor, -1, 1 << 64)
    drawn = np.random.default_rng(0).integers(1, 1 << 63, int(like.max()) + 1, dtype=np.uint64)
    powers = np.cumprod(np.full(len(like), factor, dtype=np.uint64))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(drawn[like] * powers)])
    back = np.cumprod(np.full(len(like) - window + 1, inverse, dtype=np.uint64))
    found: np.ndarray = (sums[window:] - sums[:-window]) * back
    return found


def distances(hashes: np.ndarray) -> np.ndarray:
    """How far back each number was last, 0 if it was not."""
    order = np.argsort(hashes, kind="stable")
    again = hashes[order[1:]] == hashes[order[:-1]]
    found = np.zeros(len(hashes), dtype=np.int64)
    found[order[1:][again]] = order[1:][again] - order[:-1][again]
    return found
