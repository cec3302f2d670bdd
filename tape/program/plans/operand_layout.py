"""Where the values of a group of records come from and go to."""

from __future__ import annotations

import math
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from ...base.spec import Spec, spec
from ..recorded.listing import Listing
from .groups import Group, GroupInput
from .shifted import ROWS, Shifts

SMALL = 1 << 10
"""Results of at most so many bytes share a block of memory."""


class Small(NamedTuple):
    """A result in the block of the small ones: which target, where, how many numbers."""

    target: int
    start: int
    size: int
    shape: tuple[int, ...]


class Layout:
    """Where a group's values come from and go to.

    The kernel finds them through a table of addresses: of the numbers it reads, which are gathered in one
    block; of each array it reads; of the block that its small results go to; of each other result.

    Attributes:
        numbers: positions of the records whose one number is read.
        arrays: positions of the records whose arrays are read, and what these have to be.
        ways: how each of them is read (see `tape.program.plans.shifted`), None if it lies in row-major order.
        addresses_of: by array, which address is its first.
        block: which address is that of the block of small results.
        inputs: the values that are read: which address, and the offset there (−1: each element).
        lies: how each input lies in the blocks that the kernel goes through; `blocks` is their number.
        constants: the values that are plain numbers.
        place: by the group's number of a value, the number here: inputs, then constants, then rows.
        small, large: the targets in the block, and the others with their specs.
        outputs: by target, which address and where there.
    """

    def __init__(self, listing: Listing, group: Group, shifts: Shifts | None = None):
        self.group, self.listing, self._shifts = group, listing, shifts
        self.dtype = np.dtype(np.float64 if group.bits == 64 else np.float32)
        self.constants: list[Any] = []
        read: list[tuple[int, GroupInput]] = []
        constants = []
        for number, source in enumerate(group.sources):
            if isinstance(source, GroupInput):
                read.append((number, source))
            else:
                self.constants.append(source)
                constants.append(number)
        given = len(group.outside)
        self.place = np.arange(given + len(group.rows), dtype=np.int64)
        self.place[[number for number, _ in read] + constants] = np.arange(given)
        self._place_inputs([source for _, source in read])
        self._place_outputs()

    def _place_inputs(self, sources: list[GroupInput]) -> None:
        self.numbers: list[int] = []
        self.arrays: list[tuple[int, Spec]] = []
        self.ways: list[int | None] = []
        self.addresses_of: list[int] = []
        self.block = 1
        parts = {source.row for source in sources if source.offset >= 0}
        known: dict[int, tuple[int, int]] = {}
        self.inputs = []
        self._array: list[int] = []
        for source in sources:
            if source.row not in known:
                found = self.spec(source.row)
                if found.shape == () and found.dtype == self.dtype:
                    known[source.row] = -1, len(self.numbers)
                    self.numbers.append(source.row)
                else:
                    known[source.row] = len(self.arrays), 0
                    self._add_array(source.row, found, source.row in parts)
            array, offset = known[source.row]
            self._array.append(array)
            self.inputs.append((0, offset) if array < 0 else (self.addresses_of[array], source.offset))
        self.truths = [a >= 0 and self.arrays[a][1].dtype.kind == "b" for a in self._array]
        self.blocks, self.lies = self._lie()

    def _add_array(self, row: int, found: Spec, in_parts: bool) -> None:
        """One more array, with an address, or with two for each run or for its rows."""
        fits = self._shifts is not None and not in_parts and found.shape == self.group.shape
        way = self._shifts.way(row) if fits and found.dtype == self.dtype else None  # type: ignore[union-attr]
        self.arrays.append((row, found))
        self.ways.append(way)
        self.addresses_of.append(self.block)
        self.block += 1 if way is None else 2 * max(way, 1)

    def _place_outputs(self) -> None:
        self.small: list[Small] = []
        self.large: list[tuple[int, Spec]] = []
        self.outputs: list[tuple[int, int]] = []
        self.small_size = 0
        block = self.block
        for t, target in enumerate(self.group.targets):
            found = self.spec(target.row)
            if found.dtype == self.dtype and found.nbytes <= SMALL:
                self.small.append(Small(t, self.small_size, found.size, found.shape))
                self.outputs.append((block, self.small_size))
                self.small_size += found.size
            else:
                self.large.append((t, found))
                self.outputs.append((block + len(self.large), 0))

    def spec(self, row: int) -> Spec:
        """The spec of a record of one result."""
        found = self.listing.spec_of(row)
        assert found is not None
        return found

    def _lie(self) -> tuple[int, list[str]]:
        """How many blocks the group goes through, and how each input lies in them.

        An array that cannot be told by blocks is broadcast before the kernel runs: its spec becomes the group's.
        """
        whole = self.group.shape
        each = {a for a, (_, offset) in zip(self._array, self.inputs) if a >= 0 and offset < 0}
        masks = {a: axes_of(self.arrays[a][1].shape, whole) for a in each if self.arrays[a][1].shape != whole}
        shifted = any(way is not None for way in self.ways)
        blocks = len(whole) - 1 if shifted else blocks_of(set(masks.values()), whole)
        patterns = {}
        for a, mask in masks.items():
            patterns[a] = pattern(mask, blocks, whole)
            if patterns[a] == "every":
                row, found = self.arrays[a]
                self.arrays[a] = row, spec(whole, found.dtype)
        for a, way in enumerate(self.ways):
            if way is not None:
                patterns[a] = "rows" if way == ROWS else f"runs {way}"
        lies = ["one" if offset >= 0 else patterns.get(a, "every") for a, (_, offset) in zip(self._array, self.inputs)]
        return math.prod(whole[:blocks]) if shifted or "tile" in lies or "repeat" in lies else 1, lies

    def moved(self, group: Group) -> Layout:
        """The layout of a group that differs in its records alone (see `key_of`)."""
        made = copy(self)
        made.group = group
        rows = dict.fromkeys([s.row for s in group.sources if type(s) is GroupInput])
        named = [*self.numbers, *(k for k, _ in self.arrays)]
        mine = dict(zip(dict.fromkeys(s.row for s in self.group.sources if type(s) is GroupInput), rows))
        now = [mine[k] for k in named]
        made.numbers = now[: len(self.numbers)]
        made.arrays = [(k, spec) for k, (_, spec) in zip(now[len(self.numbers) :], self.arrays)]
        return made

    @property
    def addresses(self) -> int:
        return 1 + self.block + len(self.large)

    def operands(self) -> np.ndarray:
        """Operands of the rows as numbers of this layout."""
        operands = self.group.operands
        return np.where(operands >= 0, self.place[operands], -1)


def key_of(listing: Listing, group: Group, shifts: Shifts) -> Any:
    """All that a layout and a kernel depend on besides the records that they are about, in something hashable."""
    rows: dict[int, int] = {}
    read = [
        (rows.setdefault(s.row, len(rows)), s.offset, shifts.way(s.row) if s.offset < 0 else None)
        if type(s) is GroupInput
        else (type(s), repr(s))
        for s in group.sources
    ]
    made = [t.row for t in group.targets]
    return (
        group.bits, group.shape, listing.code[group.rows].tobytes(), group.operands.tobytes(), tuple(read),
        listing.spec[[*rows, *made]].tobytes(), tuple([t[1:] for t in group.targets]), tuple(group.loops),
    )  # fmt: skip


def axes_of(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[bool, ...]:
    """Which axes of the whole an array has, rather than being repeated along them."""
    padded = (1,) * (len(whole) - len(shape)) + shape
    return tuple(n == m and m != 1 for n, m in zip(padded, whole))


def blocks_of(masks: set[tuple[bool, ...]], whole: tuple[int, ...]) -> int:
    """How many leading axes count the blocks: as many as let the most arrays be told by blocks."""
    if not masks:
        return 0
    return max(range(len(whole) + 1), key=lambda k: sum(pattern(m, k, whole) != "every" for m in masks))


def pattern(mask: tuple[bool, ...], blocks: int, whole: tuple[int, ...]) -> str:
    """How an array that has those axes lies in blocks; ``every`` if it has to be broadcast first."""
    axes = [(has, n) for has, n in zip(mask, whole) if n != 1]
    skipped = sum(n == 1 for n in whole[:blocks])
    outer, inner = axes[: blocks - skipped], axes[blocks - skipped :]
    if all(has for has, _ in inner) and not any(has for has, _ in outer):
        return "tile"
    if all(has for has, _ in outer) and not any(has for has, _ in inner):
        return "repeat"
    return "every"
