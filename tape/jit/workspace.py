"""The memory that a jitted sweep works in, kept from one backward to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor
from . import layout
from .state import (
    ARENA_END, ARENA_NEXT, ARRAY_TYPE, CHUNK, CLASS_BYTES, CLASS_HEAD, COUNT, DROPPED, FLOAT32_DESCR, FLOAT32_TYPE,
    FLOAT64_DESCR, FLOAT64_TYPE, FLOAT_TYPE, FREE_SLOT, INT_TYPE, LEAF_MASK, LEAF_TABLE, LEAVES, MAX_CLASSES, NONE, PENDING, RUNS, SLOT_LIMIT, SLOT_TABLE, SLOT_WORDS, SLOTS,
    SPEC_INDEX, STATE_WORDS, STEP_WORDS, STEPS, STOPPING, TARGETED, TENSOR_SPEC, TENSOR_TYPE, TUPLE_ITEMS, TUPLE_TYPE,
)  # fmt: skip

FIRST_ARENA = 1 << 16
LARGEST_KEPT = 1 << 26
ALIGN = 64

_CONSTANTS = {
    NONE: id(None), TENSOR_TYPE: id(Tensor), INT_TYPE: id(int), TUPLE_TYPE: id(tuple), ARRAY_TYPE: id(np.ndarray),
    FLOAT_TYPE: id(float), FLOAT64_TYPE: id(np.float64), FLOAT32_TYPE: id(np.float32),
    FLOAT64_DESCR: id(np.dtype(np.float64)), FLOAT32_DESCR: id(np.dtype(np.float32)),
    TUPLE_ITEMS: layout.TUPLE_ITEMS, TENSOR_SPEC: layout.TENSOR_SPEC, SPEC_INDEX: layout.SPEC_INDEX,
}  # fmt: skip


class Workspace:
    """State words, steps, slots and arenas of one sweep.

    An arena is a block of bytes that adjoints are placed in one after another.  Addresses that
    were handed out stay good until the sweep ends, so a further arena is added, none is moved.
    """

    def __init__(self) -> None:
        self.state = np.zeros(STATE_WORDS, dtype=np.int64)
        for word, value in _CONSTANTS.items():
            self.state[word] = value
        self.steps = np.zeros((CHUNK, STEP_WORDS), dtype=np.int64)
        self.state[STEPS] = address_of(self.steps)
        self.address = address_of(self.state)
        self.use_slots(np.zeros((64, SLOT_WORDS), dtype=np.int64))
        self.use_leaves(np.zeros((16, 2), dtype=np.int64))
        self.arenas: list[tuple[int, Any]] = []
        self.add_arena(FIRST_ARENA)

    def reset(self) -> None:
        """Forget the last sweep; keep the largest arena unless it is very large."""
        state = self.state
        if state[LEAVES]:
            self.leaves[:] = 0
        state[[SLOTS, LEAVES, PENDING, COUNT, RUNS, TARGETED, STOPPING]] = 0
        state[[FREE_SLOT, DROPPED]] = -1
        state[CLASS_BYTES : CLASS_BYTES + MAX_CLASSES] = -1
        state[CLASS_HEAD : CLASS_HEAD + MAX_CLASSES] = -1
        last = self.arenas[-1]
        if last[1].nbytes > LARGEST_KEPT:
            self.arenas.clear()
            self.add_arena(FIRST_ARENA)
        else:
            self.arenas[:] = [last]
            self.use(last)

    def add_arena(self, nbytes: int) -> None:
        """Add room for at least that many bytes."""
        size = max(nbytes, 2 * self.arenas[-1][1].nbytes if self.arenas else 0) + ALIGN
        block = np.empty(size, dtype=np.uint8)
        self.arenas.append((address_of(block), block))
        self.use(self.arenas[-1])

    def use(self, arena: tuple[int, Any]) -> None:
        start, block = arena
        self.state[ARENA_NEXT] = -(-start // ALIGN) * ALIGN
        self.state[ARENA_END] = start + block.nbytes

    def grow_slots(self) -> None:
        """Double the number of slots."""
        self.use_slots(np.concatenate([self.slots, np.zeros_like(self.slots)]))

    def use_slots(self, slots: np.ndarray) -> None:
        self.slots = slots
        self.state[SLOT_TABLE], self.state[SLOT_LIMIT] = address_of(slots), len(slots)

    def use_leaves(self, leaves: np.ndarray) -> None:
        self.leaves = leaves
        self.state[LEAF_TABLE], self.state[LEAF_MASK] = address_of(leaves), len(leaves) - 1

    def grow_leaves(self) -> None:
        """Double the table of leaves when it is half full."""
        if 2 * (self.state[LEAVES] + 1) > len(self.leaves):
            old = self.leaves[self.leaves[:, 0] != 0]
            self.use_leaves(np.zeros((2 * len(self.leaves), 2), dtype=np.int64))
            mask = len(self.leaves) - 1
            for ref, slot in old.tolist():
                k = (ref >> 4) & mask
                while self.leaves[k, 0]:
                    k = (k + 1) & mask
                self.leaves[k] = ref, slot
        self.state[LEAVES] += 1

    def view(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """The numbers at an address in one of the arenas, as an array."""
        for start, block in reversed(self.arenas):
            if start <= address < start + block.nbytes:
                return np.ndarray(shape, dtype, buffer=block, offset=address - start)
        raise RuntimeError("an adjoint lies outside the arenas: this is a bug in tape, please report it")


def address_of(array: np.ndarray) -> int:
    """Address of an array's first element."""
    return int(array.ctypes.data)
