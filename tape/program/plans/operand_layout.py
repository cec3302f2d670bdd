"""Where the values of a group of records come from and go to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...base.spec import Spec, spec
from ...jit.emission.task import OF_COLUMNS, OF_ROWS
from ..recorded.listing import Listing
from .groups import Group, GroupInput
from .shifted import MOST_ROWS, ROWS, STRIDED, Shifts

FEW = 4
"""If no more numbers are read out of an array, each of them has an address of its own."""


class ArrayInput(NamedTuple):
    """An array that a kernel reads, or numbers out of it.

    Attributes:
        row: position of the record.
        spec: what the array has to be.
        way: how it is read (see `tape.program.plans.shifted`), None if it lies in row-major order.
        first: the number of the element that the address is of, −1 if the whole array is read.
        alone: whether nothing but that element is read.
    """

    row: int
    spec: Spec
    way: int | None = None
    first: int = -1
    alone: bool = False


class Layout:
    """Where a group's values come from and go to.

    The kernel finds them through a table of addresses: of the numbers it reads, which are gathered in one
    block; of each array it reads, or of the first number that it reads out of one; of the block that results of one
    number go to; of each other result.  So nothing that is said to the compiler depends on how long an array is.

    Attributes:
        numbers: positions of the records whose one number is read.
        arrays: the arrays that are read; one may be there several times, for several of its elements.
        addresses_of: by array, which address is its first.
        block: which address is that of the block of results of one number.
        inputs: the values that are read: which address, and the offset there (−1: each element).
        kinds: by input, the letter of its dtype's kind.
        lies: how each input lies in the blocks that the kernel goes through; `blocks` is their number.
        constants: the values that are plain numbers.
        place: by the group's number of a value, the number here: inputs, then constants, then rows.
        single, large: the targets in the block, and the others with their specs.
        addresses: how many words the table has for all that.
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
        self.arrays: list[ArrayInput] = []
        self.addresses_of: list[int] = []
        self._read: list[tuple[int, int]] = []
        self.block = 1
        parts = parts_of(sources)
        known: dict[tuple[int, int], tuple[int, int]] = {}
        self.inputs = []
        self._array: list[int] = []
        for source in sources:
            key = source.row, first_of(source, parts)
            if key not in known:
                self._read.append(key)
                found = self.spec(source.row)
                if found.shape == () and found.dtype == self.dtype:
                    known[key] = -1, len(self.numbers)
                    self.numbers.append(source.row)
                else:
                    known[key] = len(self.arrays), 0
                    self._add_array(*key, found, parts.get(source.row))
            array, offset = known[key]
            self._array.append(array)
            offset = offset if array < 0 else source.offset - max(key[1], 0)
            self.inputs.append((0 if array < 0 else self.addresses_of[array], offset))
        self.kinds = [self.arrays[a].spec.dtype.kind if a >= 0 else "f" for a in self._array]
        self.blocks, self.lies = self._lie()

    def _add_array(self, row: int, first: int, found: Spec, part: tuple[int, int] | None) -> None:
        """One more array, with an address, or with two for each run or for its rows."""
        fits = self._shifts is not None and part is None and found.shape == self.group.shape
        way = self._shifts.way(row) if fits and found.dtype == self.dtype else None  # type: ignore[union-attr]
        if part is None and self._spread_by_rows(found):
            way = ROWS
        alone = first >= 0 and part is not None and part[1] <= FEW
        self.arrays.append(ArrayInput(row, found, way, first, alone))
        self.addresses_of.append(self.block)
        self.block += 1 if way is None else 2 * max(way, 1)

    def _spread_by_rows(self, found: Spec) -> bool:
        """Whether an array is read row by row, each several times, by a kernel whose blocks are rows in any case."""
        whole = self.group.shape
        if found.shape == whole or found.dtype != self.dtype or not self._by_rows():
            return False
        mask, rows = axes_of(found.shape, whole), math.prod(whole[:-1])
        return mask[-1] and rows <= MOST_ROWS and pattern(mask, len(whole) - 1, whole) == "every"

    def _by_rows(self) -> bool:
        """Whether the kernel's blocks have to be the rows along the last axis."""
        return any(t.how in OF_ROWS or t.how == OF_COLUMNS for t in self.group.targets)

    def _place_outputs(self) -> None:
        self.single: list[int] = []
        self.large: list[tuple[int, Spec]] = []
        self.outputs: list[tuple[int, int]] = []
        block, words = self.block, 0
        for t, target in enumerate(self.group.targets):
            found = self.spec(target.row)
            if found.dtype == self.dtype and found.size == 1:
                self.outputs.append((block, len(self.single)))
                self.single.append(t)
            else:
                self.large.append((t, found))
                self.outputs.append((block + 1 + words, 0))
                words += 2 if target.how == OF_COLUMNS else 1
        self.addresses = 1 + block + words

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
        masks = {a: axes_of(self.arrays[a].spec.shape, whole) for a in each if self.arrays[a].spec.shape != whole}
        by_rows = self._by_rows() or any(x.way not in (None, STRIDED) for x in self.arrays)
        blocks = len(whole) - 1 if by_rows else blocks_of(set(masks.values()), whole)
        patterns = {}
        for a, mask in masks.items():
            patterns[a] = pattern(mask, blocks, whole)
            if patterns[a] == "every" and self.arrays[a].way is None:
                self.arrays[a] = self.arrays[a]._replace(spec=spec(whole, self.arrays[a].spec.dtype))
        for a, x in enumerate(self.arrays):
            if x.way is not None:
                patterns[a] = {ROWS: "rows", STRIDED: "strided"}.get(x.way, f"runs {x.way}")
        lies = ["one" if offset >= 0 else patterns.get(a, "every") for a, (_, offset) in zip(self._array, self.inputs)]
        return math.prod(whole[:blocks]) if by_rows or "tile" in lies or "repeat" in lies else 1, lies

    def moved(self, group: Group, places: list[tuple[int, int]]) -> Layout:
        """The layout of a group that differs in its records alone, and in where it reads numbers (see `Likeness`)."""
        made = twin(self)
        made.group = group
        now = dict(zip(self._read, places))
        made._read = places
        made.numbers = [now[k, 0][0] for k in self.numbers]
        made.arrays = [
            ArrayInput(row, x.spec if first < 0 else self.spec(row), x.way, first, x.alone)
            for x in self.arrays
            for row, first in (now[x.row, x.first],)
        ]
        return made

    def operands(self) -> np.ndarray:
        """Operands of the rows as numbers of this layout."""
        operands = self.group.operands
        return np.where(operands >= 0, self.place[operands], -1)


Made = TypeVar("Made")


def twin(x: Made) -> Made:
    """Another object with the same attributes; `copy.copy` first looks for ways of the class, ten times as long."""
    made = object.__new__(type(x))
    made.__dict__.update(x.__dict__)
    return made


def parts_of(sources: Iterable[Any]) -> dict[int, tuple[int, int]]:
    """By record, the first of the numbers that are read out of its array, and how many they are."""
    found: dict[int, tuple[int, int]] = {}
    for row, offset in {source for source in sources if type(source) is GroupInput and source.offset >= 0}:
        first, count = found.get(row, (offset, 0))
        found[row] = min(first, offset), count + 1
    return found


def first_of(source: GroupInput, parts: dict[int, tuple[int, int]]) -> int:
    """The element that is at the address from which a number is read, −1 where all of an array are."""
    if source.offset < 0:
        return -1
    first, count = parts[source.row]
    return source.offset if count <= FEW else first


class Likeness(NamedTuple):
    """What the layouts and kernels of groups have in common that are alike.

    Attributes:
        key: all that they depend on besides the records that they are about, in something hashable.
        places: what the group reads: records, and the elements that the addresses are of, by first use.
    """

    key: Any
    places: list[tuple[int, int]]


class Kinds:
    """By record of a listing, what a kernel that reads or writes its value depends on.

    Attributes:
        whole: of one that is read as a whole, or written; `part`: of one out of which numbers are read, however long.
    """

    def __init__(self, listing: Listing):
        self.listing, self.whole = listing, listing.spec.tolist()
        self.part = [(spec.dtype.char, spec.dtype.isnative, not spec.shape) for spec in listing.specs]


def likeness_of(kinds: Kinds, group: Group, shifts: Shifts) -> Likeness:
    """What a group has in common with others that are like it, and where it reads."""
    listing, parts = kinds.listing, parts_of(group.sources)
    numbers: dict[tuple[int, int], int] = {}
    rows: dict[int, int] = {}
    looks: dict[int, Any] = {}
    read: list[Any] = []
    for source in group.sources:
        if type(source) is GroupInput:
            k, offset = source
            if offset < 0:
                first, way, looks[k] = -1, shifts.way(k), kinds.whole[k]
            else:
                first, way = first_of(source, parts), None
                looks.setdefault(k, kinds.part[kinds.whole[k]])
            number = numbers.setdefault((k, first), len(numbers))
            read.append((number, rows.setdefault(k, len(rows)), offset - max(first, 0), way))
        else:
            read.append((type(source), repr(source)))
    made = [kinds.whole[t.row] for t in group.targets]
    key = (
        group.bits, group.shape, listing.code[group.rows].tobytes(), group.operands.tobytes(), tuple(read),
        *looks.values(), *made, tuple([t[1:] for t in group.targets]), tuple(group.loops),
    )  # fmt: skip
    return Likeness(key, list(numbers))


class AlikeGroups:
    """Steps of groups, found again for groups that have the same kernel.

    What a kernel depends on is put together when a second group looks like the first: mostly none does.

    Attributes:
        steps: those that were made.
    """

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self._first: dict[Any, Any] = {}
        self._known: dict[Any, Any] = {}
        self._kinds: Kinds | None = None

    def has(self, tier: str | None, listing: Listing, group: Group, shifts: Shifts) -> bool:
        """Whether there is a step of such a group."""
        like = self._likeness(tier, listing, group, shifts)
        return like is not None and (tier, like.key) in self._known

    def step(
        self, tier: str | None, listing: Listing, group: Group, shifts: Shifts, make: Callable[[], Any]
    ) -> Any:  # fmt: skip
        """The step of a group: that of an equal one, which reads at other places, or a new one."""
        like = self._likeness(tier, listing, group, shifts)
        known = None if like is None else self._known.get((tier, like.key))
        if like is not None and known is not None:
            return known.moved(group, like.places)
        made = make()
        self.steps.append(made)
        if like is None:
            self._first[_look(tier, listing, group)] = listing, group, shifts, made
        else:
            self._known[tier, like.key] = made
        return made

    def _likeness(self, tier: str | None, listing: Listing, group: Group, shifts: Shifts) -> Likeness | None:
        """All that the step of a group depends on; None if no group looks like it."""
        look = _look(tier, listing, group)
        if look not in self._first:
            return None
        if self._first[look] is not None:
            *first, made = self._first[look]
            self._known[tier, self._like(*first).key] = made
            self._first[look] = None
        return self._like(listing, group, shifts)

    def _like(self, listing: Listing, group: Group, shifts: Shifts) -> Likeness:
        if self._kinds is None or self._kinds.listing is not listing:
            self._kinds = Kinds(listing)
        return likeness_of(self._kinds, group, shifts)


def _look(tier: str | None, listing: Listing, group: Group) -> Any:
    """What is seen of a group at once."""
    codes = listing.code[group.rows].tobytes()
    return tier, group.bits, group.shape, codes, len(group.sources), len(group.targets)


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
