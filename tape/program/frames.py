"""Calling a kernel: its table of addresses, and the memory that it works in."""

from __future__ import annotations

import copy
import ctypes
import struct
import sys
from collections import deque
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
        self.pools = [(t, Pool(spec)) for t, spec in layout.large]
        sums = [target for target in layout.group.targets if target.how in ("sum", "mean")]
        divisible = len(sums) == len(layout.small)  # arrays in the block of small results are not worth a thread
        work = layout.group.size * max(len(layout.group.rows), 1)
        self.shares = shares(kernel, work, threads) if divisible else None
        self._frames: list[Frame] = []

    def renamed(self, names: dict[int, int]) -> Caller:
        """The same, but the values are read under other positions."""
        made = copy.copy(self)
        made.numbers = [names[k] for k in self.numbers]
        made.arrays = [(names[k], spec) for k, spec in self.arrays]
        return made

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """What the kernel makes, in the order of the group's targets."""
        frame = self._frame()
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
        if self.shares is None:
            self.call(frame.step)
        else:
            self._share(frame, small)
        self._frames.append(frame)
        for t, start, size, shape in layout.small:
            results[t] = small[start : start + size].reshape(shape) if shape else small[start]
        return results

    def _frame(self) -> Frame:
        """A frame that no other thread uses."""
        try:
            return self._frames.pop()
        except IndexError:
            return Frame(self.kernel, self.layout)

    def _share(self, frame: Frame, small: np.ndarray) -> None:
        """Let several threads take one piece after the other; their sums are added in the order of the pieces."""
        assert self.shares is not None
        threads, pieces = self.shares
        block = self.first + len(self.arrays)
        sums = np.empty((len(pieces), len(small)), small.dtype)
        left = deque(zip(pieces, map(address_of, sums)))

        def work(own: Frame) -> None:
            while True:
                try:
                    bounds, address = left.popleft()
                except IndexError:
                    return
                for place, bound in bounds.items():
                    own.table[place] = bound
                own.table[block] = address
                self.call(own.step)

        frames = [frame, *(self._twin(frame) for _ in range(1, threads))]
        share(work, frames)
        self._frames += frames[1:]
        np.add.reduce(sums, axis=0, out=small)

    def _twin(self, frame: Frame) -> Frame:
        """A frame for another thread, with the same values."""
        twin = self._frame()
        twin.numbers.raw = frame.numbers.raw
        for word in range(self.first, len(frame.table)):
            twin.table[word] = frame.table[word]
        return twin


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
