"""Counting in-place changes, per piece of memory, so that views and detached tensors share a count."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .tensor import Tensor

_counts: dict[int, tuple[weakref.ref[np.ndarray], list[int]]] = {}
"""Changed memory by the identity of the array that owns it."""


def owner(array: np.ndarray) -> np.ndarray:
    """The array that a view is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _counter(array: np.ndarray) -> list[int]:
    memory = owner(array)
    known = _counts.get(id(memory))
    if known is None:
        k = id(memory)
        known = _counts[k] = weakref.ref(memory, lambda _: _counts.pop(k, None)), [0]
    return known[1]


def count(tensor: Tensor) -> int:
    """How often a tensor's memory was changed in place."""
    if tensor._versions is not None:
        return tensor._versions[0]
    if not isinstance(tensor._data, np.ndarray):
        return 0
    known = _counts.get(id(owner(tensor._data)))
    return known[1][0] if known else 0


def increment(tensor: Tensor) -> None:
    """Count one in-place change."""
    counter: Any = tensor._versions if tensor._versions is not None else _counter(tensor._data)
    counter[0] += 1


def share_count(tensor: Tensor, twin: Tensor) -> None:
    """Let a twin on the same memory share a tensor's own counter, if it has one."""
    if tensor._versions is not None:
        twin._versions = tensor._versions
