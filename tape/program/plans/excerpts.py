"""Rows of a listing as a listing of their own: some of them, or a round of those that are done again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..recorded.listing import Listing
from ..recorded.trace import CONSTANT, INPUT


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
        watched=0,
        stopped=frozenset(),
        released=frozenset(),
    )


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
