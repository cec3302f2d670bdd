"""The words and steps of a plan while it is made: memory, regions, references, and steps that move bytes."""

from __future__ import annotations

from array import array
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from ...base.rooms import opened
from ...jit.machine.frames import WORD
from ...jit.machine.regions import ALIGN, BLOCK, BROUGHT, REFUSED
from ..recorded.indexmaps import axes_of
from .plan_steps.plan_places import Chunk, DataRegion, Place, PlanValue, place_in

TOGETHER = 1 << 14
"""So many words are parted at once into numbers and references."""


class NotByRounds(Exception):
    """The rounds of a loop are not for one plan that is stamped: they need Python."""


class PlanWords:
    """What a plan consists of.

    Attributes:
        words: the words of a block, and `own` those of them that are addresses in the block itself.
        steps: two words for each step: its kernel, 0 for a stop, and where its own words begin in the block.
        halts: which steps have no kernel.
        first: where the words begin in the block; `data` is where its data begins, in bytes.
        pinned: what must live as long as the plan.
    """

    first: int
    words: np.ndarray
    own: np.ndarray
    steps: np.ndarray
    halts: set[int]
    count: int
    data: int
    nbytes: int

    def __init__(self, checked: bool):
        self.memory = DataRegion(checked)
        self.pinned: list[Any] = []
        self.workspace = 0
        self._pins: dict[int, int] = {}
        self._memory: list[tuple[int, np.ndarray]] = []
        self._kernels: list[int] = []
        self._offsets: list[int] = []
        self._template = array("q")
        self._said: list[int | Place] = []
        self._references: list[tuple[int, int, int]] = []
        self._stamped: list[np.ndarray] = []
        self._links: list[tuple[int, int]] = []
        self._regions = BROUGHT

    def region(self) -> int:
        """One more region, which is linked from the next step on."""
        self._regions += 1
        self._links.append((self._step(0, 0), self._regions - 1))
        return self._regions - 1

    def chunk(self, nbytes: int) -> Chunk:
        """Some memory, for one value."""
        found = self.memory.take(nbytes)
        found.users = 1
        return found

    def pin(self, fixed: np.ndarray) -> int:
        """The address of an array that nobody changes, which lives as long as the plan."""
        found = self._pins.get(id(fixed))
        if found is None:
            flat = np.ascontiguousarray(fixed)
            self.pinned += [fixed, flat]
            found = self._pins[id(fixed)] = flat.ctypes.data
            insort(self._memory, (found, flat), key=itemgetter(0))
        return found

    def pin_all(self, other: PlanWords) -> None:
        """What another plan's words point to lives as long as this plan."""
        self.pinned += [*other.pinned, other]
        self._memory = sorted([*self._memory, *other._memory], key=itemgetter(0))

    def pinned_at(self, address: int) -> tuple[np.ndarray, int]:
        """The bytes of the pinned array in which an address is, and how far it is from their beginning."""
        for k in range(bisect_right(self._memory, address, key=itemgetter(0)) - 1, -1, -1):
            begin, fixed = self._memory[k]
            if address < begin + max(fixed.nbytes, 1):  # mostly the first, unless arrays lie in one another
                return fixed.reshape(-1).view(np.uint8), address - begin
        raise LookupError("no pinned array is there")

    def say(self, words: Iterable[int | Place]) -> int:
        """Some more words of the block; the first of them, counted from the first of all."""
        said = self._said
        begin = len(self._template) + len(said)
        said += words
        if len(said) > TOGETHER:
            self.settle()
        return begin

    def settle(self) -> None:
        """Part what was said into words and references."""
        begin, said = len(self._template), self._said
        self._references += [(begin + n, *word) for n, word in enumerate(said) if type(word) is Place]
        self._template.fromlist([0 if type(word) is Place else word for word in said])  # type: ignore[misc]
        said.clear()

    def stamp(self, words: np.ndarray, references: Sequence[np.ndarray]) -> None:
        """Many more words of the block, and which of them are addresses: three columns, as of single ones."""
        self.settle()
        self._template.frombytes(words.tobytes())
        self._stamped += references

    @staticmethod
    @cache
    def jit(module: str, function: str) -> tuple[Any, int]:
        """A kernel of `tape.jit`."""
        found: tuple[Any, int] = opened("tape.jit.machine.shipped").kernel(module, function)
        return found

    def _step(self, kernel: int, words: int) -> int:
        self._kernels.append(kernel)
        self._offsets.append(words)
        return len(self._kernels) - 1

    def call(self, kernel: tuple[Any, int], words: Iterable[int | Place]) -> int:
        """One more step: a kernel, and the words that it reads; which step it is."""
        return self._step(kernel[1], self.say(words))

    def place(self, z: PlanValue, x: PlanValue) -> None:
        """A step that copies numbers to where others of their shape are."""
        if not z.spec.size or (z.place == x.place and z.strides == x.strides):
            return
        item = z.spec.dtype.itemsize
        self.strided("place", item, z.place, x.place, axes_of(z.spec.shape, z.strides, x.strides))

    def strided(
        self, kernel: str, item: int | Place, z: Place | int, x: Place | int, axes: Sequence[Any],
        room: str = "strided", *more: int | Place,
    ) -> int:  # fmt: skip
        """A step of `tape.jit.sweeps.strided`, or of another room there whose steps have the same words, and more."""
        rows = 1
        for axis in axes[1:]:
            rows *= axis.n
        words = [item, len(axes), z, x, rows, *(w for axis in axes for w in axis), *(0,) * len(axes), *more]
        return self.call(self.jit(room, kernel), words)

    def copy(self, z: Place | int, x: Place | int, nbytes: int) -> None:
        """A step that copies bytes."""
        self.call(self.jit("linked", "copy"), [1, z, x, nbytes])

    def fill(self, z: PlanValue, pattern: int = 0) -> None:
        """A step that fills memory."""
        self.call(self.jit("strided", "fill"), [z.spec.nbytes, z.place, pattern])

    def scratch(self, nbytes: int, spec: Any = None) -> PlanValue:
        """Memory for the steps of one record, to be given back after them."""
        chunk = self.chunk(nbytes)
        return PlanValue(place_in(chunk), (), spec, chunk)

    def word(self, k: int) -> Place:
        """The address of a word."""
        return Place(BLOCK, WORD * k)

    def close(self) -> None:
        """Fix what is known now: where the words begin, and which of them refer to each region."""
        first, found = self._regions, self._taken_references()
        self._link(first, found)
        found = np.concatenate([found, self._taken_references()])
        refused = found[:, 1] == REFUSED
        found[refused, 1], found[refused, 2] = BLOCK, WORD * (REFUSED - first)
        if (first + len(self._template)) % 2:
            self._template.append(0)  # the data begins at a multiple of 16 bytes
        self.first, self.words = first, np.array(self._template, dtype=np.int64)
        self.own = found[found[:, 1] < BROUGHT]
        self.own[self.own[:, 1] == BLOCK, 2] += WORD * first
        steps = np.array([self._kernels, self._offsets], dtype=np.int64)
        steps[1] = WORD * (first + steps[1])
        self.steps = np.ascontiguousarray(steps.T)
        self.count = len(self._kernels)
        self.halts = set(np.flatnonzero(steps[0] == 0).tolist())
        self.data = WORD * (first + len(self.words))
        self.nbytes = self.data + self.memory.nbytes + ALIGN + self.workspace
        del self._references, self._stamped, self._said, self._template, self._kernels, self._offsets

    def _taken_references(self) -> np.ndarray:
        """The references so far, as three columns; none are left."""
        self.settle()
        said = np.fromiter(chain.from_iterable(self._references), np.int64, 3 * len(self._references))
        found = np.concatenate([said.reshape(-1, 3), *self._stamped])
        self._references, self._stamped = [], []
        return found

    def _link(self, first: int, references: np.ndarray) -> None:
        """Have the steps that link regions tell the words that refer to these."""
        link = self.jit("linked", "link")[1]
        late: dict[int, list[int]] = {}
        for at, region, offset in references[references[:, 1] >= BROUGHT].tolist():
            late.setdefault(region, []).extend((first + at, offset))
        for step, region in self._links:
            self._kernels[step] = link
            pairs = late.get(region, [])
            self._offsets[step] = self.say([len(pairs) // 2, Place(BLOCK, -WORD * first), region, *pairs])
