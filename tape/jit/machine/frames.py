"""Arrays as kernels read them, and memory that is given out again."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from ...base.spec import Spec
from ...base.untraced import untraced
from . import object_layout as objects

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_int64)
WORD = 8


if objects.CHECKED:
    _word = ctypes.c_int64.from_address

    def address_of(array: np.ndarray) -> int:
        """Address of an array's first element."""
        return _word(id(array) + objects.ARRAY_DATA).value

else:

    def address_of(array: np.ndarray) -> int:
        """Address of an array's first element."""
        return array.ctypes.data


def fits(array: Any, spec: Spec) -> bool:
    """Whether a kernel can read an array as it is."""
    if type(array) is not np.ndarray or array.shape != spec.shape:
        return False
    return array.flags.carray and array.dtype == spec.dtype


def fit(value: Any, spec: Spec) -> np.ndarray:
    """An array that a kernel can read: of that shape and dtype, contiguous, aligned, in native order."""
    array = np.asarray(value)
    if array.shape != spec.shape or array.dtype != spec.dtype:
        array = np.broadcast_to(array.astype(spec.dtype, copy=False), spec.shape)
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned) or not array.dtype.isnative:
        array = np.array(array, dtype=spec.dtype, order="C")
    return array


def _references(arrays: list[Any]) -> int:
    return sys.getrefcount(arrays[0])


_ALONE = untraced(lambda: _references([np.empty(1)]))
"""What `sys.getrefcount` says of an array that only a pool holds."""


class Pool:
    """Large arrays of one spec, given out again when nobody holds them: fresh memory costs more than filling it.

    Those that were given out last are remembered: the ones before are held by somebody, or came back in between.
    """

    __slots__ = ("_kept", "spec")
    MOST = 2

    def __init__(self, spec: Spec):
        self.spec = spec
        self._kept: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        """An array of the pool's spec, with anything in it."""
        spec = self.spec
        if spec.nbytes < LARGE:
            return np.empty(spec.shape, spec.dtype)
        array = self._returned()
        if array is None:
            array = np.empty(spec.shape, spec.dtype)
        self._kept.append(array)
        return array

    def _returned(self) -> np.ndarray | None:
        """An array that came back as it was, out of the pool; where none did, there is room for another."""
        kept = self._kept
        for _ in range(len(kept)):
            try:
                candidate = [kept.pop(0)]
            except IndexError:
                return None  # another thread took it
            if _references(candidate) > _ALONE:
                kept.append(candidate.pop())
            elif fits(candidate[0], self.spec):
                return candidate.pop()
        del kept[: len(kept) - self.MOST + 1]
        return None


LARGE = 1 << 18
