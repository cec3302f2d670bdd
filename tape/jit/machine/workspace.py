"""The memory that a jitted sweep works in, kept from one backward to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.tensor import Tensor
from . import object_layout
from .state import (
    ARENA_END, ARENA_NEXT, ARRAY_TYPE, CHUNK, CLASS_BYTES, CUT, DIGIT_SHIFT, DROPPED, FLAG_TABLE, FLOAT32_DESCR,
    FLOAT32_TYPE, FLOAT64_DESCR, FLOAT64_TYPE, FLOAT_TYPE, FREE_SLOT, INT_TYPE, LEAF_MASK, LEAF_TABLE, LEAVES,
    MAX_CLASSES, NONE, RUN_TABLE, SLOT_LIMIT, SLOT_OF, SLOT_TABLE, SLOT_WORDS, SPEC_INDEX, SPEC_SHAPE, STATE_WORDS,
    STEP_WORDS, STEPS, STOPPING, TENSOR_SPEC, TENSOR_TYPE, TUPLE_ITEMS, TUPLE_TYPE,
)  # fmt: skip

FIRST_ARENA = 1 << 16
LARGEST_KEPT = 1 << 26
MOST_ROWS_KEPT = 1 << 20
ALIGN = 64

_CONSTANTS = {
    NONE: id(None), TENSOR_TYPE: id(Tensor), INT_TYPE: id(int), TUPLE_TYPE: id(tuple), ARRAY_TYPE: id(np.ndarray),
    FLOAT_TYPE: id(float), FLOAT64_TYPE: id(np.float64), FLOAT32_TYPE: id(np.float32),
    FLOAT64_DESCR: id(np.dtype(np.float64)), FLOAT32_DESCR: id(np.dtype(np.float32)),
    TUPLE_ITEMS: object_layout.TUPLE_ITEMS, TENSOR_SPEC: object_layout.TENSOR_SPEC,
    SPEC_INDEX: object_layout.SPEC_INDEX, SPEC_SHAPE: object_layout.SPEC_SHAPE,
    DIGIT_SHIFT: object_layout.DIGIT_SHIFT, FREE_SLOT: -1, DROPPED: -1, CUT: -1,
}  # fmt: skip


def constant_state() -> np.ndarray:
    """State words that hold what is the same for every sweep."""
    state = np.zeros(STATE_WORDS, dtype=np.int64)
    state[CLASS_BYTES : CLASS_BYTES + 2 * MAX_CLASSES] = -1
    for word, value in _CONSTANTS.items():
        state[word] = value
    return state


class Workspace:
    """State words, steps, slots and arenas of one sweep.

    An arena is a block of bytes that adjoints are placed in one after another.  Addresses that
    were handed out stay good until the sweep ends, so a further arena is added, none is moved.

    Attributes:
        state: the words that the jitted code shares; `address` is where they are, and `words` gives them as ints.
        clean: the state as a sweep finds it; `reset` copies it over the last one's.
        tables: the tables of others whose addresses the state holds, by word.
        row_slots: for every row its slot plus one, all 0 between sweeps.
        flags: for every row what to mind about it, where a sweep minds anything; none before the first that does.
    """

    def __init__(self) -> None:
        ALL.append(self)
        self.state = constant_state()
        self.words = memoryview(self.state)  # type: ignore[arg-type]  # an array is a buffer before Python 3.12 too
        self.clean = self.state.copy()
        self.address = address_of(self.state)
        self.steps = np.zeros((CHUNK, STEP_WORDS), dtype=np.int64)
        self.clean[STEPS] = address_of(self.steps)
        self.tables: dict[int, np.ndarray] = {}
        self.arenas: list[tuple[int, Any]] = []
        self.use_slots(np.zeros((64, SLOT_WORDS), dtype=np.int64))
        self.use_leaves(np.zeros((16, 2), dtype=np.int64))
        self.use_rows(256)
        self.add_arena(FIRST_ARENA)

    def reset(self, rows: int) -> None:
        """Forget the last sweep and make room for one over that many rows."""
        if self.words[LEAVES]:
            self.leaves[:] = 0
        if not rows <= len(self.row_slots) <= max(4 * rows, MOST_ROWS_KEPT):
            self.use_rows(max(rows, 256))
        self.state[:] = self.clean

    def trim(self) -> None:
        """Keep one arena for the next sweep, unless it is so large that others may want the memory."""
        largest = self.arenas[-1]
        if len(self.arenas) > 1 or largest[1].nbytes > LARGEST_KEPT:
            self.arenas.clear()
            if largest[1].nbytes > LARGEST_KEPT:
                self.add_arena(FIRST_ARENA)
            else:
                self.arenas.append(largest)
                self.use(largest)

    def set(self, word: int, value: int) -> None:
        """Set a word now and for later sweeps."""
        self.state[word] = self.clean[word] = value

    def use_rows(self, rows: int) -> None:
        """Provide what there is one of for each row."""
        self.row_slots = np.zeros(rows + rows // 4, dtype=np.int64)
        self.runs = np.empty((len(self.row_slots) // 2 + 1, 2), dtype=np.int64)
        self.flags, self._flags_at = np.zeros(0, dtype=np.int64), 0
        self.set(SLOT_OF, address_of(self.row_slots))
        self.set(RUN_TABLE, address_of(self.runs))

    def fresh_flags(self, rows: int) -> np.ndarray:
        """Let the sweep mind flags of so many rows, which are none yet."""
        if len(self.flags) < rows:
            self.flags = np.empty(len(self.row_slots), dtype=np.int64)
            self._flags_at = address_of(self.flags)
        self.words[FLAG_TABLE], self.words[STOPPING] = self._flags_at, 1
        flags = self.flags[:rows]
        flags.fill(0)
        return flags

    def use_slots(self, slots: np.ndarray) -> None:
        self.slots = slots
        self.set(SLOT_TABLE, address_of(slots))
        self.set(SLOT_LIMIT, len(slots))

    def grow_slots(self) -> None:
        """Double the number of slots."""
        self.use_slots(np.concatenate([self.slots, np.zeros_like(self.slots)]))

    def use_leaves(self, leaves: np.ndarray) -> None:
        self.leaves = leaves
        self.set(LEAF_TABLE, address_of(leaves))
        self.set(LEAF_MASK, len(leaves) - 1)

    def count_leaf(self) -> None:
        """Make room for one more leaf: the table is doubled when it is half full."""
        self.words[LEAVES] += 1
        if 2 * self.words[LEAVES] > len(self.leaves):
            old = self.leaves[self.leaves[:, 0] != 0]
            self.use_leaves(np.zeros((2 * len(self.leaves), 2), dtype=np.int64))
            mask = len(self.leaves) - 1
            for ref, slot in old.tolist():
                k = (ref >> 4) & mask
                while self.leaves[k, 0]:
                    k = (k + 1) & mask
                self.leaves[k] = ref, slot

    def add_arena(self, nbytes: int) -> None:
        """Add room for at least that many bytes."""
        size = max(nbytes, 2 * self.arenas[-1][1].nbytes if self.arenas else 0) + ALIGN
        block = np.empty(size, dtype=np.uint8)
        self.arenas.append((address_of(block), block))
        self.use(self.arenas[-1])

    def use(self, arena: tuple[int, Any]) -> None:
        start, block = arena
        self.set(ARENA_NEXT, -(-start // ALIGN) * ALIGN)
        self.set(ARENA_END, start + block.nbytes)

    def view(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """The numbers at an address in one of the arenas, as an array."""
        for start, block in reversed(self.arenas):
            if start <= address < start + block.nbytes:
                return np.ndarray(shape, dtype, buffer=block, offset=address - start)
        raise RuntimeError("an adjoint lies outside the arenas: this is a bug in tape, please report it")


ALL: list[Workspace] = []
IDLE: list[Workspace] = []
"""The workspaces that no sweep is using."""


def at_rest() -> bool:
    """Whether no sweep is under way in any thread."""
    return len(IDLE) == len(ALL)


def address_of(array: np.ndarray) -> int:
    """Address of an array's first element."""
    return int(array.ctypes.data)
