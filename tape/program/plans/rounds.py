"""The rounds of a loop, found again in a listing that has array records: stretches whose records repeat themselves.

A round is done by the same steps as every other one; only what it reads from outside, and where its results are,
changes.  So a plan is made for one round, and stamped for the others (see `tape.program.plans.stamping`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..recorded.listing import Listing, is_fixed, narrower
from ..recorded.stretches import LEAST, RECORDS, stretches
from ..recorded.trace import CONSTANT
from .excerpts import Rounds, excerpt
from .round_costs import is_short, pays
from .round_inputs import inputs_of


def rounds_of(listing: Listing) -> list[Rounds]:
    """The loops of a long listing, in order, none of which overlap, that would be several steps in each round."""
    several = np.array([spec.size > 1 for spec in listing.specs] + [False], dtype=np.bool_)
    if several[listing.spec].sum() < RECORDS // 4:
        return []
    counts = np.diff(listing.first)
    facts = ((listing.code + 2) * (len(listing.specs) + 1) + listing.spec + 1) * (counts.max() + 1) + counts
    _, like = np.unique(facts, return_inverse=True)
    found = [_Stretch(listing, like, *where) for where in stretches(like)]
    if not found:
        return []
    readers = Readers(listing, listing.args)
    tried = [(stretch, stretch.rounds(readers)) for stretch in found]
    loops = [(stretch, rounds) for stretch, rounds in tried if rounds is not None and pays(listing, rounds)]
    if not loops:
        return []
    reads = listing.args.copy()
    for stretch, _ in loops:
        reads[stretch.reads] = stretch.inputs.roots
    readers = Readers(listing, reads)
    return sorted([stretch.made(rounds, readers) for stretch, rounds in loops], key=lambda rounds: rounds.start)


class Readers:
    """Which records read which, if the operands of all are these."""

    def __init__(self, listing: Listing, args: np.ndarray):
        order = np.argsort(args)
        self._read = args[order]
        self._reader = np.repeat(np.arange(len(listing)), np.diff(listing.first))[order]

    def between(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """The records between two that are read, each as often as it is, and who reads them."""
        first, last = np.searchsorted(self._read, (start, stop))
        return self._read[first:last], self._reader[first:last]


def longest(holds: np.ndarray) -> tuple[int, int]:
    """The longest run of what holds: where it begins, and its end."""
    ends = np.flatnonzero(np.concatenate([[True], ~holds, [True]]))
    k = int(np.argmax(np.diff(ends)))
    return int(ends[k]), int(ends[k + 1]) - 1


class _Stretch:
    """Rows that look like rounds, until it is known how far they are."""

    def __init__(self, listing: Listing, like: np.ndarray, start: int, period: int, count: int):
        self.listing, self.start, self.period, self.count = listing, start, period, count
        same = like[start : start + count * period].reshape(count, period)
        self._only((same == same[count // 2]).all(axis=1))

    def _only(self, holds: np.ndarray) -> None:
        first, end = longest(holds)
        self.start, self.count = self.start + first * self.period, end - first

    @property
    def enough(self) -> bool:
        return self.count >= LEAST and self.count * self.period >= RECORDS

    def _read(self) -> None:
        """What is at each place, and what the rounds read."""
        listing, stop = self.listing, self.start + self.count * self.period
        self.code = listing.code[self.start : self.start + self.period]
        self.params = listing.param[self.start : stop].reshape(self.count, self.period)
        ends = listing.first[self.start : self.start + self.period + 1]
        self.owner = np.repeat(np.arange(self.period), np.diff(ends))
        self.args = listing.args[listing.first[self.start] : listing.first[stop]].reshape(self.count, -1)
        self.relative = self.args - (self.start + np.arange(self.count) * self.period)[:, None]

    def rounds(self, readers: Readers) -> Rounds | None:
        """The rounds, None if there are too few that are alike."""
        if not self.enough:
            return None
        self._read()
        single = self._single()
        self._agree(single)
        if not self.enough:
            return None
        self._read()
        single = self._single() | single
        before = self._before(single)
        after = single & ~before
        places = np.flatnonzero(~single)
        mine = ~single[self.owner]
        columns = mine & ~self._inner(single)
        if (
            not len(places)
            or self._refused(places)
            or self._reads(mine, after)
            or self._reads(before[self.owner], after)
        ):
            return None
        return self._body(places, before, after, mine, columns, readers)

    def _single(self) -> np.ndarray:
        """The places of records that are not the same in most rounds, or that no op made."""
        other = (self.params != self.params[self.count // 2]).mean(axis=0)
        found: np.ndarray = (other > 0.25) | (self.code < 0)
        return found

    def _inner(self, single: np.ndarray) -> np.ndarray:
        """Which operands a round makes itself, and in the same way as every other."""
        middle = self.relative[self.count // 2]
        return (middle >= 0) & ~single[np.maximum(middle, 0)]

    def _agree(self, single: np.ndarray) -> None:
        """Go back to the rounds that are like the middle one."""
        middle, inner, mine = self.count // 2, self._inner(single), ~single[self.owner]
        spec = self.listing.spec
        outside = (self.relative < 0) | single[np.maximum(self.relative, 0)]
        fits = np.where(inner, self.relative == self.relative[middle], outside)
        fits &= inner | (spec[self.args] == spec[self.args[middle]])
        alike = (self.params == self.params[middle]) | single
        self._only((fits | ~mine).all(axis=1) & alike.all(axis=1))

    def _before(self, single: np.ndarray) -> np.ndarray:
        """The places of records that need nothing of the rounds."""
        found = single.copy()
        inside = self.args >= self.start
        place = (self.args - self.start) % self.period
        while True:
            ready = (~inside | found[place]).all(axis=0)
            waits = np.zeros(self.period, dtype=np.bool_)
            waits[self.owner[~ready]] = True
            if not (found & waits).any():
                return found
            found &= ~waits

    def _reads(self, columns: np.ndarray, places: np.ndarray) -> bool:
        """Whether some of the operands are records at some places."""
        args = self.args[:, columns]
        return bool((places[(args - self.start) % self.period] & (args >= self.start)).any())

    def _refused(self, places: np.ndarray) -> bool:
        """Whether there are records for which rounds are not made: of several results, or few."""
        rows = self.start + places
        return bool((self.listing.spec[rows] < 0).any()) or is_short(self.listing, rows, self.count)

    def _body(
        self, places: np.ndarray, before: np.ndarray, after: np.ndarray, mine: np.ndarray, columns: np.ndarray,
        readers: Readers,
    ) -> Rounds | None:  # fmt: skip
        listing, middle = self.listing, self.count // 2
        begin, stop = self.start, self.start + self.count * self.period

        def late(rows: np.ndarray) -> np.ndarray:
            found: np.ndarray = (rows >= begin) & (rows < stop) & after[(rows - begin) % self.period]
            return found

        self.inputs = inputs = inputs_of(listing, self.args[:, columns], late)
        given = inputs.given
        self.reads = np.arange(listing.first[self.start], listing.first[stop]).reshape(self.count, -1)[:, columns]
        fixed = (given == given[0]).all(axis=0) & (listing.code[given[0]] == CONSTANT)
        fixed &= np.array(
            [f and is_fixed(listing.constant(k)) for f, k in zip(fixed.tolist(), given[0].tolist())], bool
        )
        if (listing.spec[given] < 0).any():  # several results
            return None
        if any(not f and self._changing(given[:, i]) for i, f in enumerate(fixed.tolist())):
            return None
        self.number = number = np.full(self.period, -1)
        number[places] = len(fixed) + len(inputs.views) + np.arange(len(places))
        args = number[np.maximum(self.relative[middle], 0)]
        args[columns] = inputs.number
        made, kept = self._made(places, given, readers)
        rows, operands = (np.concatenate(x) for x in ((inputs.views, self.start + places), (inputs.looks, args[mine])))
        body = excerpt(listing, given[0], fixed, rows, operands, number[made])
        steps = np.flatnonzero(before), np.flatnonzero(after)
        return Rounds(self.start, self.period, self.count, places, *steps, given, made, kept, body)

    def made(self, rounds: Rounds, readers: Readers) -> Rounds:
        """The rounds with what these read of them."""
        made, kept = self._made(rounds.places, rounds.given, readers)
        return rounds._replace(made=made, kept=kept, body=replace(rounds.body, outputs=self.number[made]))

    def _changing(self, rows: np.ndarray) -> bool:
        """Whether plain numbers in one place would mean something else as numbers in memory."""
        listing = self.listing
        numbers = [listing.constant(k) for k in np.unique(rows).tolist() if listing.is_number(k)]
        return bool(numbers) and (narrower(listing) or any(type(x) is not float for x in numbers))

    def _made(self, places: np.ndarray, given: np.ndarray, readers: Readers) -> tuple[np.ndarray, np.ndarray]:
        """The places that are read by others than their own round, and for how many rounds they must last."""
        listing, stop = self.listing, self.start + self.count * self.period
        read, reader = readers.between(self.start, stop)
        mine = np.zeros(self.period, dtype=np.bool_)
        mine[places] = True
        elsewhere = (reader < self.start) | (reader >= stop) | ~mine[(reader - self.start) % self.period]
        outputs = listing.outputs[(listing.outputs >= self.start) & (listing.outputs < stop)]
        used = np.concatenate([read[elsewhere], outputs]) - self.start
        lasts = np.zeros(self.period, dtype=np.int64)
        late = used // self.period == self.count - 1
        lasts[used[late] % self.period] = 1
        rounds, columns = np.nonzero(given >= self.start)
        rows = given[rounds, columns] - self.start
        np.maximum.at(lasts, rows % self.period, rounds - rows // self.period + 1)
        forever = np.zeros(self.period, dtype=np.bool_)
        forever[used[~late] % self.period] = True
        found = np.flatnonzero(((lasts > 0) | forever) & mine)
        return found, np.where(forever, 0, lasts)[found]


def pieces(listing: Listing, found: list[Rounds]) -> Iterator[np.ndarray | Rounds]:
    """The records in the order in which they are done: the loops, and the rows between them."""
    start, late = 0, np.empty(0, dtype=np.int64)
    for rounds in found:
        yield np.concatenate([late, np.arange(start, rounds.start), rounds.rows(rounds.before)])
        yield rounds
        start, late = rounds.stop, rounds.rows(rounds.after)
    yield np.concatenate([late, np.arange(start, len(listing))])
