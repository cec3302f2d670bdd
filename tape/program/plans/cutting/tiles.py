"""Records that go row by row over a long axis, done tile by tile: what a step has just read is still near by.

A loss over many rows is a product with the rows, records of its result, and a product with the same rows turned; each
as a step of its own would go through the data once, and through every value in between.  So some rows are taken at a
time, as many as stay in the processor's cache: one tile goes through all records, and what they add up over the rows is
added to what the tiles before it gave.  That is a loop by rounds (see `round_step`), whose rounds read further on.

Tiles stand in pieces of the rows that follow from the program alone, each with totals of its own, which are added in
order at the end.  So sums are the same to the bit whatever the number of threads that take pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ops import REGISTRY, Op

from ....base.spec import Spec, spec
from ...recorded.listing import Listing, columns_of, is_fixed
from ...recorded.trace import CONSTANT, INPUT
from .array_columns import long_axes
from .row_rules import NotByRows, RowRules, resized

LENGTH = 500
"""Lists of more records are not looked at."""
TILE = 1 << 19
"""Bytes of a tile: of the rows that are read, and of what is in between."""
LEAST_BYTES = 1 << 24
"""Less data stays near by in any case."""
LEAST, MOST, MULTIPLE = 16, 1 << 15, 8
"""A tile has so many rows."""
TILES = 8
"""There are at least so many."""
VECTOR, MATRIX = 9 << 10, 1 << 18
"""Products of so many multiplications, with a vector and with a matrix, BLAS leaves to one thread."""
PIECES = 16
"""The rows are parted into so many pieces, if there are as many tiles."""


class TileLoop(NamedTuple):
    """The tiles of some rows, in pieces; or the sum of what the pieces gave, round by round.

    Attributes:
        body: what is done in each tile, as a listing of its own.
        given: by piece and by input of the body, the record that it reads.
        made: by piece and by output of the body, which record that is; all but the last of a program are numbered as if
            they were behind its listing.
        keeps: those that others read.
        moves: how many bytes after the beginning of what is given each piece begins.
        strides: by input, how many bytes each tile is from the one before it.
        turns: by piece, how many tiles it has; None of rounds that are done once.
        begins: by output, the record of what totals begin with.
    """

    body: Listing
    given: np.ndarray
    made: np.ndarray
    keeps: list[int]
    moves: np.ndarray | None = None
    strides: np.ndarray | None = None
    turns: np.ndarray | None = None
    begins: np.ndarray | None = None


class Tiles(NamedTuple):
    """The records of a listing that are done by tiles.

    Attributes:
        before, after: the other records.
        loops: tiles of full length, the rows that are left, and the sum of what the pieces gave.
    """

    before: np.ndarray
    loops: list[TileLoop]
    after: np.ndarray


def tiles_of(listing: Listing) -> tuple[Listing, Tiles] | None:
    """The listing, with constants that totals begin with, and its tiles; None if there are none that pay."""
    if len(listing) > LENGTH:
        return None
    for n in long_axes(listing)[:1]:
        try:
            return _Tiling(listing, RowRules(listing, n)).tiles()
        except NotByRows:
            pass
    return None


class _Tiling:
    """The tiles of a listing while they are made."""

    def __init__(self, listing: Listing, rules: RowRules):
        self.listing, self.rules, self.n, self.axes = listing, rules, rules.n, rules.axes
        mine = {k for k in self.axes if listing.code[k] >= 0} | set(rules.totals)
        if set(listing.outputs.tolist()) & mine - set(rules.totals):
            raise NotByRows
        self.mine = sorted(mine)
        read = [j for k in self.mine for j in listing.operands(k) if j not in mine]
        self.given = [j for j in dict.fromkeys(read) if not self._is_plain(j)]
        self.plain = [j for j in dict.fromkeys(read) if self._is_plain(j)]
        self.rows = self._rows()

    def _is_plain(self, k: int) -> bool:
        """Whether a record is a constant that the body has itself."""
        return k not in self.axes and self.listing.code[k] == CONSTANT and is_fixed(self.listing.constant(k))

    def _spec(self, k: int) -> Spec:
        found = self.listing.spec_of(k)
        if found is None:
            raise NotByRows
        return found

    def _rows(self) -> int:
        """How many rows a tile has."""
        between = self._between()
        width = sum([self._spec(k).nbytes // self.n for k in [*between, *(k for k in self.given if k in self.axes)]])
        if width * self.n < LEAST_BYTES or not (between or self.rules.work):
            raise NotByRows
        work = [(VECTOR if vector else MATRIX) // max(count, 1) for count, vector in self.rules.work.values()]
        rows = min([TILE // width, MOST, *work])
        rows -= rows % MULTIPLE
        if rows < LEAST or rows * TILES > self.n:
            raise NotByRows
        return rows

    def _between(self) -> list[int]:
        """The records whose values steps leave to other steps: what kernels read alone stays in them."""
        found = set()
        for k in self.mine:
            if k not in self.axes or not self._is_lane(k):
                found.update(self.listing.operands(k))
        kept = [k for k in self.mine if k in self.axes and not self._is_view(k)]
        return [k for k in kept if k in found or not self._is_lane(k)]

    def _is_lane(self, k: int) -> bool:
        op = self.listing.op(k)
        return op is not None and op.broadcasts

    def _is_view(self, k: int) -> bool:
        op = self.listing.op(k)
        return op is not None and op.is_view(self.listing.parameters(k))

    # The loops.

    def tiles(self) -> tuple[Listing, Tiles]:
        totals, known = self.rules.totals, len(self.listing) + len(self.rules.totals)
        listing, begins = self._beginning()
        full, left = divmod(self.n, self.rows)
        edges = np.unique(np.arange(PIECES + 1) * full // PIECES)
        loops, parts = [], list[np.ndarray]()
        whole, rest = (self.rows, np.diff(edges), self.rows * edges[:-1]), (left, [1], [full * self.rows])
        for rows, turns, first in (whole, rest):
            if rows:
                made = known + np.arange(len(turns) * len(totals)).reshape(-1, len(totals))
                known += made.size
                parts.append(made)
                loops.append(self._by_tiles(rows, np.array(turns), np.array(first), made, begins))
        ends = np.concatenate(parts)
        made = known + np.arange(ends.size).reshape(-1, len(totals))
        made[-1] = totals
        given = np.hstack([np.concatenate([[begins], made[:-1]]), ends])
        loops.append(TileLoop(self._adding(), given, made, totals))
        mine, late = np.array(self.mine), np.array(sorted(self.rules.late), dtype=np.int64)
        before = np.setdiff1d(np.arange(len(listing)), np.concatenate([mine, late]))
        return listing, Tiles(before, loops, late)

    def _beginning(self) -> tuple[Listing, np.ndarray]:
        """The listing with what totals begin with: −0.0, which leaves whatever is added as it is."""
        old, specs = self.listing, [self._spec(k) for k in self.rules.totals]
        constants = [np.full(s.shape, -0.0, s.dtype) for s in specs]
        for constant in constants:
            constant.flags.writeable = False
        count = len(specs)
        listing = replace(
            old,
            code=np.concatenate([old.code, np.full(count, CONSTANT)]),
            first=np.concatenate([old.first, np.full(count, old.first[-1])]),
            param=np.concatenate([old.param, len(old.constants) + np.arange(count)]),
            spec=np.concatenate([old.spec, old.spec[self.rules.totals]]),
            line=np.concatenate([old.line, np.full(count, -1)]),
            constants=[*old.constants, *constants],
        )
        return listing, len(old) + np.arange(count)

    def _by_tiles(
        self, rows: int, turns: np.ndarray, first: np.ndarray, made: np.ndarray, begins: np.ndarray
    ) -> TileLoop:
        """Tiles of some rows each, of pieces that begin at some row."""
        given = np.hstack([np.tile(np.array(self.given, dtype=np.int64), (len(made), 1)), made])
        row = [self._spec(k).nbytes // self.n if k in self.axes else 0 for k in self.given]
        strides = np.array(row + [0] * len(begins))
        keeps = made.ravel().tolist()
        return TileLoop(self._body(rows), given, made, keeps, first[:, None] * strides, rows * strides, turns, begins)

    def _body(self, rows: int) -> Listing:
        """The records for so many rows, which add to totals that are given."""
        body, place = BodyRecords(self.listing), dict[int, int]()
        for k in self.given:
            place[k] = body.input(self._resized(k, rows))
        sums = [body.input(self._spec(k)) for k in self.rules.totals]
        for k in self.plain:
            place[k] = body.constant(self.listing.constant(k), self._spec(k))
        for k in self.mine:
            place[k] = self._record(body, k, rows, [place[j] for j in self.listing.operands(k)])
        ends = [body.add(REGISTRY["add"], [x, place[k]], self._spec(k)) for x, k in zip(sums, self.rules.totals)]
        return body.listing(ends)

    def _resized(self, k: int, rows: int) -> Spec:
        return resized(self._spec(k), self.axes[k], rows) if k in self.axes else self._spec(k)

    def _record(self, body: BodyRecords, k: int, rows: int, operands: list[int]) -> int:
        """One record, of so many rows."""
        op, params, made = self.listing.op(k), self.listing.parameters(k), self._resized(k, rows)
        assert op is not None
        if params.get("shape") == self._spec(k).shape:
            params = params | {"shape": made.shape}
        if k in self.axes:
            if len(operands) == 1 and (op.is_view(params) or op.hints.motion == "same"):
                self._verify(op, k, params, rows, made)
        elif op.hints.motion == "average":
            x = self.listing.operands(k)[0]
            count = np.array(self._spec(x).size / self._spec(k).size, dtype=made.dtype)
            count.flags.writeable = False
            total = body.add(REGISTRY["sum"], operands, made, params)
            return body.add(REGISTRY["div"], [total, body.constant(count, spec((), made.dtype))], made)
        return body.add(op, operands, made, params)

    def _verify(self, op: Op, k: int, params: Any, rows: int, made: Spec) -> None:
        """Raise `NotByRows` unless a view looks at the same places of some rows as of all."""
        (x,), axis = self.listing.operands(k), made.ndim + self.axes[k]
        at = self.axes.get(x)
        all_rows = self.rules.look(op, self.listing.parameters(k), self._spec(x), self._spec(k), axis, at)
        some = self.rules.look(op, params, self._resized(x, rows), made, axis, at)
        if not all(map(np.array_equal, all_rows, some)):
            raise NotByRows

    def _adding(self) -> Listing:
        """Totals and those of one piece, added."""
        body, specs = BodyRecords(self.listing), [self._spec(k) for k in self.rules.totals]
        sums = [body.input(s) for s in specs]
        parts = [body.input(s) for s in specs]
        return body.listing([body.add(REGISTRY["add"], pair, s) for *pair, s in zip(sums, parts, specs)])


class BodyRecords:
    """The records of a body, which become a listing."""

    def __init__(self, old: Listing):
        self.old, self._inputs = old, 0
        self._params: list[dict[str, Any]] = []
        self._constants: list[Any] = []
        self._specs: dict[Spec, int] = {}
        self._records: list[tuple[int, Sequence[int], int, int]] = []

    def _say(self, code: int, operands: Sequence[int], param: int, made: Spec) -> int:
        self._records.append((code, operands, param, self._specs.setdefault(made, len(self._specs))))
        return len(self._records) - 1

    def input(self, made: Spec) -> int:
        """One more input."""
        self._inputs += 1
        return self._say(INPUT, (), self._inputs - 1, made)

    def constant(self, constant: Any, made: Spec) -> int:
        """A constant that nobody changes."""
        self._constants.append(constant)
        return self._say(CONSTANT, (), len(self._constants) - 1, made)

    def add(self, op: Op, operands: Sequence[int], made: Spec, params: dict[str, Any] | None = None) -> int:
        """A record of an op."""
        if params:
            self._params.append(params)
        return self._say(op.code, operands, len(self._params) - 1 if params else -1, made)

    def listing(self, outputs: Sequence[int]) -> Listing:
        """All of them."""
        code, operands, param, which = zip(*self._records)
        return replace(
            self.old,
            **columns_of(code, operands, param),
            spec=np.array(which, dtype=np.int64),
            line=np.full(len(code), -1),
            outputs=np.array(outputs, dtype=np.int64),
            inputs=self._inputs,
            params=self._params,
            specs=list(self._specs),
            constants=self._constants,
            guards=[],
            watched=0,
            stopped=frozenset(),
            released=frozenset(),
        )
