"""Results are the caller's own: none shares memory with an argument, with what was captured, or with another result.

The passes may find that a result is an argument (x·1) or the same as another result, and NumPy answers some
ops with a view.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..recorded.listing import Listing


def suspects(listing: Listing, alone: Collection[int]) -> list[int]:
    """Which results may share memory: those that NumPy makes (`alone`), that no op makes, or that are given twice."""
    rows = listing.outputs[: listing.results].tolist()
    first: dict[int, int] = {}
    return [i for i, k in enumerate(rows) if listing.code[k] < 0 or k in alone or first.setdefault(k, i) != i]


def separate(results: list[Any], which: Sequence[int], others: Sequence[Any]) -> None:
    """Copy the suspects that share memory with one of the others or with another result."""
    arrays = [x for x in others if type(x) is np.ndarray]
    for i in which:
        z = results[i]
        if type(z) is not np.ndarray:
            continue
        same = any(z is x for x in arrays) or any(z is x for j, x in enumerate(results) if j != i)
        if same or (z.base is not None and _overlaps(z, arrays, results, i)):
            results[i] = z.copy()


def _overlaps(z: np.ndarray, arrays: Sequence[np.ndarray], results: Sequence[Any], i: int) -> bool:
    if 0 in z.strides and z.size > 1:
        return True  # one number in several places
    if any(np.may_share_memory(z, x) for x in arrays):
        return True
    return any(j != i and type(x) is np.ndarray and np.may_share_memory(z, x) for j, x in enumerate(results))
