"""The rounds of a loop, found again in a listing that has array records: stretches whose records repeat themselves.

A round is done by the same steps as every other one; only what it reads from outside, and where its results are,
changes.  So a plan is made for one round, and stamped for the others (see `tape.program.plans.stamping`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..recorded.listing import Listing, is_fixed, narrower
from ..recorded.stretches import LEAST, RECORDS, stretches
from ..recorded.trace import CONSTANT, INPUT
from .groups import step_numbers

STEPS = 2
"""Rounds that together are fewer steps than so many each are left to kernels that go through all of them."""
FEW = 4
"""It is seen in so many rounds."""
MOST = 1 << 11
"""Loops over larger arrays are left to kernels that go through several rounds at once."""
WRITTEN = 64
"""Arrays of more elements that a round writes into are left where they are."""


class Rounds(NamedTuple):
    """Rounds of records: row `place` of round r is ``start + r * period + place``.

    Attributes:
        times: how many rounds there are.
        places: of the records that each round does alike, and `before` and `after` of those that are done one by one,
            before and after the loop.
        given: by round and by input of the body, the record that it reads; rows of earlier rounds among them.
        made: places of the records that others read, `kept` for how many rounds (0: for good).
        body: a round as a listing of its own, whose outputs are at `made`.
    """

    start: int
    period: int
    times: int
    places: np.ndarray
    before: np.ndarray
    after: np.ndarray
    given: np.ndarray
    made: np.ndarray
    kept: np.ndarray
    body: Listing

    @property
    def stop(self) -> int:
        return self.start + self.times * self.period

    def rows(self, places: np.ndarray) -> np.ndarray:
        """The rows at some places in all rounds, in order."""
        found: np.ndarray = (self.start + np.arange(self.times)[:, None] * self.period + places).ravel()
        return found


def rounds_of(listing: Listing) -> list[Rounds]:
    """The loops of a long listing, in order, none of which overlap, that would be several steps in each round."""
    several = np.array([spec.size > 1 for spec in listing.specs] + [False], dtype=np.bool_)
    if several[listing.spec].sum() < RECORDS // 4:
        return []
    counts = np.diff(listing.first)
    facts = ((listing.code + 2) * (len(listing.specs) + 1) + listing.spec + 1) * (counts.max() + 1) + counts
    _, like = np.unique(facts, return_inverse=True)
    found = [_Stretch(listing, like, *where).rounds() for where in stretches(like)]
    loops = [rounds for rounds in found if rounds is not None and pays(listing, rounds)]
    return sorted(loops, key=lambda rounds: rounds.start)


def pays(listing: Listing, rounds: Rounds) -> bool:
    """Whether a few rounds would be several steps each, if they were no loop."""
    few = rounds._replace(start=rounds.start + rounds.times // 2 * rounds.period, times=FEW)
    part, rows = alone(listing, few.rows(few.places))
    numbers = step_numbers(part)[np.isin(rows, few.rows(few.places))]
    return len(np.unique(numbers[numbers >= 0])) > STEPS * FEW


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

    def rounds(self) -> Rounds | None:
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
        return self._body(places, before, after, mine, columns)

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
        """Whether there are records for which rounds are not made: of several results, large, or written into."""
        listing = self.listing
        for k in (self.start + places).tolist():
            op, spec = listing.op(k), listing.spec_of(k)
            assert op is not None
            if spec is None or spec.size > MOST:
                return True
            if op.hints.part is not None and op.arity == 2 and spec.size > WRITTEN:
                return True
        return False

    def _body(
        self, places: np.ndarray, before: np.ndarray, after: np.ndarray, mine: np.ndarray, columns: np.ndarray
    ) -> Rounds | None:
        listing, middle = self.listing, self.count // 2
        given, which = distinct_columns(self.args[:, columns])
        fixed = (given == given[0]).all(axis=0) & (listing.code[given[0]] == CONSTANT)
        fixed &= np.array(
            [f and is_fixed(listing.constant(k)) for f, k in zip(fixed.tolist(), given[0].tolist())], bool
        )
        if (listing.spec[given] < 0).any():  # several results
            return None
        if any(not f and self._changing(given[:, i]) for i, f in enumerate(fixed.tolist())):
            return None
        number = np.full(self.period, -1)
        number[places] = len(fixed) + np.arange(len(places))
        args = number[np.maximum(self.relative[middle], 0)]
        args[columns] = which
        made, kept = self._made(places, given)
        body = excerpt(listing, given[0], fixed, self.start + places, args[mine], number[made])
        steps = np.flatnonzero(before), np.flatnonzero(after)
        return Rounds(self.start, self.period, self.count, places, *steps, given, made, kept, body)

    def _changing(self, rows: np.ndarray) -> bool:
        """Whether plain numbers in one place would mean something else as numbers in memory."""
        listing = self.listing
        numbers = [listing.constant(k) for k in np.unique(rows).tolist() if listing.is_number(k)]
        return bool(numbers) and (narrower(listing) or any(type(x) is not float for x in numbers))

    def _made(self, places: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places that are read by others than their own round, and for how many rounds they must last."""
        listing, stop = self.listing, self.start + self.count * self.period
        reader = np.repeat(np.arange(len(listing)), np.diff(listing.first))
        mine = np.zeros(self.period, dtype=np.bool_)
        mine[places] = True
        elsewhere = (reader < self.start) | (reader >= stop) | ~mine[(reader - self.start) % self.period]
        used = np.concatenate([listing.args[elsewhere], listing.outputs])
        used = used[(used >= self.start) & (used < stop)] - self.start
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


def distinct_columns(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The columns that differ, each once, and for each column which of them it is."""
    known: dict[bytes, int] = {}
    which = [known.setdefault(column.tobytes(), len(known)) for column in np.ascontiguousarray(columns.T)]
    first = np.unique(np.array(which, dtype=np.int64), return_index=True)[1]
    return columns[:, first], np.array(which, dtype=np.int64)


def excerpt(
    listing: Listing, given: np.ndarray, fixed: np.ndarray, rows: np.ndarray, args: np.ndarray, outputs: np.ndarray
) -> Listing:
    """Rows of a listing as one of its own: what is `given` are its inputs, or constants where they are `fixed`.

    Operands and outputs are numbers of the new listing, where what is given comes first.
    """
    n, both = len(given), np.concatenate([given, rows])
    counts = np.concatenate([np.zeros(n, dtype=np.int64), np.diff(listing.first)[rows]])
    return replace(
        listing,
        code=np.concatenate([np.where(fixed, CONSTANT, INPUT), listing.code[rows]]),
        first=np.concatenate([[0], np.cumsum(counts)]),
        args=args,
        param=np.concatenate([np.where(fixed, listing.param[given], np.arange(n)), listing.param[rows]]),
        spec=listing.spec[both],
        line=listing.line[both],
        outputs=outputs,
        inputs=n,
        guards=[],
        stopped=frozenset(),
        released=frozenset(),
    )


def pieces(listing: Listing, found: list[Rounds]) -> Iterator[np.ndarray | Rounds]:
    """The records in the order in which they are done: the loops, and the rows between them."""
    start, late = 0, np.empty(0, dtype=np.int64)
    for rounds in found:
        yield np.concatenate([late, np.arange(start, rounds.start), rounds.rows(rounds.before)])
        yield rounds
        start, late = rounds.stop, rounds.rows(rounds.after)
    yield np.concatenate([late, np.arange(start, len(listing))])


def alone(listing: Listing, rows: np.ndarray) -> tuple[Listing, np.ndarray]:
    """Some rows as a listing of their own, and by its numbers the rows."""
    counts = np.diff(listing.first)
    inside = np.zeros(len(listing), dtype=np.bool_)
    inside[rows] = True
    owned = np.repeat(inside, counts)
    args = np.concatenate([listing.args[a:b] for a, b in _spans(listing, rows)]) if len(rows) else listing.args[:0]
    given = np.unique(args[~inside[args]])
    place = np.full(len(listing), -1)
    place[given], place[rows] = np.arange(len(given)), len(given) + np.arange(len(rows))
    read = np.zeros(len(listing), dtype=np.bool_)
    read[listing.args[~owned]] = True
    read[listing.outputs] = True
    fixed = listing.code[given] == CONSTANT
    outputs = place[rows[read[rows]]]
    return excerpt(listing, given, fixed, rows, place[args], outputs), np.concatenate([given, rows])


def _spans(listing: Listing, rows: np.ndarray) -> Iterator[tuple[int, int]]:
    """Where the operands of rows are, neighbours together."""
    edges = np.flatnonzero(np.diff(rows) != 1) + 1
    for first, last in zip(rows[np.concatenate([[0], edges])], rows[np.concatenate([edges - 1, [len(rows) - 1]])]):
        yield int(listing.first[first]), int(listing.first[last + 1])
