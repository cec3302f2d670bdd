"""Calling a kernel: its table of addresses, and the memory that it works in."""

from __future__ import annotations

import copy
import ctypes
import struct
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..jit import layout as objects
from ..spec import Spec
from ..untraced import untraced
from .kernels import Compiled, Interpreted
from .layout import Layout
from .threads import share, shares

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


class Frame:
    """One kernel's table, with the memory that is there for every call.

    Attributes:
        table: the words that the kernel reads.
        step: the address of the step that the kernel is called with.
        numbers: the numbers that it reads.
    """

    __slots__ = ("_head", "_step", "numbers", "step", "table")

    def __init__(self, kernel: Compiled | Interpreted, layout: Layout):
        words, self._head = kernel.head()
        self.table = (ctypes.c_int64 * (len(words) + layout.addresses))(*words)
        self._step = (ctypes.c_int64 * 2)(0, ctypes.addressof(self.table))
        self.step = ctypes.addressof(self._step)
        self.numbers = ctypes.create_string_buffer(layout.dtype.itemsize * max(len(layout.numbers), 1))
        self.table[len(words)] = ctypes.addressof(self.numbers)


class Caller:
    """A kernel to be called with values, by several threads at once if need be.

    Attributes:
        needs: the positions of the values that it reads: numbers, then arrays.
        results: how many values it gives.
    """

    def __init__(self, layout: Layout, kernel: Compiled | Interpreted, threads: int | None):
        self.layout, self.kernel = layout, kernel
        self.call = KERNEL(kernel.address)
        self.numbers = list(layout.numbers)
        self.arrays = list(layout.arrays)
        self.pack = struct.Struct(f"{len(self.numbers)}{'d' if layout.dtype.itemsize == 8 else 'f'}").pack_into
        self.first = kernel.header + 1
        targets = zip(layout.group.targets, layout.outputs)
        self.sums = [place for target, place in targets if target.how in ("sum", "mean")]
        self.pools = [(t, Pool(spec)) for t, spec in layout.large]
        divisible = len(self.sums) == len(layout.small)  # arrays in the block of small results are not worth a thread
        work = layout.group.size * max(len(layout.group.rows), 1)
        self.parts = shares(kernel, work, threads) if divisible else None
        self._frames: list[Frame] = []

    def renamed(self, names: dict[int, int]) -> Caller:
        """The same, but the values are read under other positions."""
        made = copy.copy(self)
        made.numbers = [names[k] for k in self.numbers]
        made.arrays = [(names[k], spec) for k, spec in self.arrays]
        return made

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """What the kernel makes, in the order of the group's targets."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self.kernel, self.layout)
        table, word = frame.table, self.first
        if self.numbers:
            self.pack(frame.numbers, 0, *[values[k] for k in self.numbers])
        alive = []
        for k, spec in self.arrays:
            array = values[k]
            if not fits(array, spec):
                array = fit(array, spec)
            alive.append(array)
            table[word] = address_of(array)
            word += 1
        layout = self.layout
        results: list[Any] = [None] * len(layout.outputs)
        small = np.empty(layout.small_size, layout.dtype)
        table[word] = address_of(small)
        for t, pool in self.pools:
            word += 1
            results[t] = pool.take()
            table[word] = address_of(results[t])
        if self.parts is None:
            self.call(frame.step)
        else:
            self._share(frame, small)
        self._frames.append(frame)
        for t, start, size, shape in layout.small:
            results[t] = small[start : start + size].reshape(shape) if shape else small[start]
        return results

    def _share(self, frame: Frame, small: np.ndarray) -> None:
        """Let several threads run a part each; sums are put together at the end."""
        assert self.parts is not None
        block = self.kernel.header + 1 + len(self.arrays)
        frames: list[Frame] = []
        partial: list[np.ndarray] = []
        for bounds in self.parts:
            own = Frame(self.kernel, self.layout)
            for word in range(self.kernel.header, len(frame.table)):
                own.table[word] = frame.table[word]
            for place, bound in bounds.items():
                own.table[place] = bound
            sums = small if not partial else small.copy()
            own.table[block] = address_of(sums)
            frames.append(own)
            partial.append(sums)
        share(lambda own: self.call(own.step), frames)
        for _, start in self.sums:
            small[start] = sum(p[start] for p in partial)


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
    """Large arrays of one spec, given out again when nobody holds them: fresh memory costs more than filling it."""

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
        for _ in range(len(self._kept)):
            try:
                candidate = [self._kept.pop(0)]
            except IndexError:
                break
            if _references(candidate) <= _ALONE:
                array = candidate.pop()
                self._kept.append(array)
                return array
            self._kept.append(candidate.pop())
        array = np.empty(spec.shape, spec.dtype)
        if len(self._kept) < self.MOST:
            self._kept.append(array)
        return array


LARGE = 1 << 18
