"""The latest records of a trace: all that a gradient with respect to a late record has to look at."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from .listing import Columns, Listing, operands_of
from .trace import CONSTANT, INPUT, Trace


class Window:
    """The records of a trace from one on, as a listing in which those before that they read have no operands.

    Attributes:
        first: the number of the record from which on.
        count: how many records there are from that on.
        list: the listing; what it has numbers for is at other places than in the trace.
        numbers: by place in the listing, the number in the trace.
    """

    def __init__(self, trace: Trace, first: int):
        columns = Columns(trace, first)
        offsets, args = operands_of(columns)
        before = np.sort(args[args < first])
        before = before[np.diff(before, prepend=-1) > 0]
        m = len(before)
        self.first, self.count, self._shift = first, len(trace) - first, m - first
        self.numbers = np.concatenate([before, np.arange(first, len(trace))])
        known = [trace.fields(k) for k in before.tolist()]
        code = np.concatenate([[CONSTANT if f[0] == CONSTANT else INPUT for f in known], columns.code]).astype(np.int64)
        spec = np.concatenate([[columns.place(f[4]) for f in known], columns.spec]).astype(np.int64)
        param = np.concatenate([[f[1] for f in known], columns.x]).astype(np.int64)
        args = np.where(args < first, np.searchsorted(before, args), args + self._shift)
        none = np.full(len(code), -1, dtype=np.int64)
        self.list = Listing(
            code, np.concatenate([np.zeros(m, dtype=np.int64), offsets]), args, np.where(code < 0, param, -1), spec,
            none, np.empty(0, dtype=np.int64), 0, [], columns.specs, trace.constants, [], [],
            frozenset(self.among(trace.stopped)), frozenset(),
        )  # fmt: skip

    def places(self, numbers: Iterable[int]) -> list[int]:
        """Where records are, of those from `first` on."""
        return [k + self._shift for k in numbers if k >= self.first]

    def among(self, numbers: Collection[int]) -> list[int]:
        """`places`, of a set or dict of records that may be far more than there are here."""
        few = numbers if len(numbers) < self.count else [k for k in self.numbers.tolist() if k in numbers]
        return self.places(few)

    def rows(self, places: Any) -> Any:
        """The numbers of the records at these places."""
        return self.numbers[places]
