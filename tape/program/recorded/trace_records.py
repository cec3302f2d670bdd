"""The records of a function that is being recorded, in memory: rows of fields, and blocks of many records at once.

`Trace` appends them; here is how one is read back by its number.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from ...base.spec import Spec

CODE, X, Y, EXTRA, SPEC, LINE, LASTI = range(7)
WIDTH = 7


class Block:
    """Records that were appended at once: ops on one kind of value, without parameters.

    Attributes:
        words: opcode and up to three operands (−1: none) of each.
        specs: by record, which of `kinds` its result has.
        origin: by record, the earlier record that it was made for.
    """

    def __init__(self, words: np.ndarray, truth: np.ndarray, kinds: tuple[Spec, Spec], origin: np.ndarray):
        self.words, self.truth, self.kinds, self.origin = words, truth, kinds, origin

    def __len__(self) -> int:
        return len(self.words)

    def fields(self, k: int) -> tuple[Any, ...]:
        code, x, y, w = self.words[k].tolist()
        extra: Any = ((x, y, w), {}) if w >= 0 else None
        return code, x, y, extra, self.spec(k)

    def spec(self, k: int) -> Spec:
        return self.kinds[self.truth.item(k)]


def arguments_in(fields: Sequence[Any]) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Operands by number, and parameters, out of a record's fields."""
    code, x, y, extra, _ = fields
    if code < 0:
        return (), {}
    if extra is not None:
        return extra
    return ((x,) if y < 0 else (x, y)), {}


class Records:
    """Records by number.

    Attributes:
        rows: a flat list of the latest records, `WIDTH` fields each: opcode, two operands by number (−1: none), for
            other ops the operands and parameters, the spec (None for several results), the user's line.
        values: by number, what the record gave; large arrays as `Later`.
        start: the number of the first record in `rows`; those before it are in `pieces`, lists of rows and blocks.
    """

    __slots__ = ("_before", "_latest", "extend", "pieces", "rows", "start", "values")

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.extend = self.rows.extend
        self.start = 0
        self.pieces: list[tuple[int, list[Any] | Block]] = []
        self._latest: tuple[int, int, Any] = (0, 0, None)
        self._before = self._latest
        self.values: list[Any] = []

    def __len__(self) -> int:
        return len(self.values)

    def append_block(self, block: Block, values: list[Any]) -> None:
        """Append many records at once."""
        first = len(self.values)
        if self.rows:
            self.pieces.append((self.start, self.rows))
        self.pieces.append((first, block))
        self.values += values
        self.start, self.rows = len(self.values), []
        self.extend = self.rows.extend

    def fields(self, number: int) -> Sequence[Any]:
        """The fields of a record up to its spec."""
        if number >= self.start:
            at = (number - self.start) * WIDTH
            return self.rows[at : at + LINE]
        first, piece = self._piece(number)
        if isinstance(piece, Block):
            return piece.fields(number - first)
        at = (number - first) * WIDTH
        return piece[at : at + LINE]

    def _piece(self, number: int) -> tuple[int, list[Any] | Block]:
        first, end, piece = self._latest  # who asks for one record asks for its neighbours too,
        if not first <= number < end:
            self._latest, self._before = self._before, self._latest  # and then for those of one that it was made for
            first, end, piece = self._latest
        if not first <= number < end:
            after = bisect.bisect_right(self.pieces, number, key=lambda piece: piece[0])
            first, piece = self.pieces[after - 1]
            self._latest = first, self.pieces[after][0] if after < len(self.pieces) else self.start, piece
        return first, piece

    def pieces_from(self, number: int) -> Iterator[tuple[int, list[Any] | Block]]:
        """The lists of rows and the blocks that records from a number on are in, with the number of their first."""
        at = bisect.bisect_right(self.pieces, number, key=lambda piece: piece[0]) - 1
        yield from self.pieces[max(at, 0) :]
        yield self.start, self.rows

    def code(self, number: int) -> int:
        at = number - self.start
        return self.rows[at * WIDTH + CODE] if at >= 0 else self.fields(number)[CODE]

    def arguments(self, number: int) -> tuple[tuple[int, ...], dict[str, Any]]:
        """Operands of a record by number, and its parameters."""
        return arguments_in(self.fields(number))

    def record(self, number: int) -> tuple[Sequence[Any], tuple[CodeType, int]]:
        """The fields of a record up to its spec, and the user's line that made it."""
        first, piece = (self.start, self.rows) if number >= self.start else self._piece(number)
        if isinstance(piece, Block):
            return piece.fields(number - first), self.line(number)
        at = (number - first) * WIDTH
        return piece[at : at + LINE], (piece[at + LINE], piece[at + LASTI])

    def line(self, number: int) -> tuple[CodeType, int]:
        """The user's line that made a record."""
        if number >= self.start:
            first, piece = self.start, self.rows
        else:
            first, found = self._piece(number)
            if isinstance(found, Block):
                return self.line(int(found.origin[number - first]))
            piece = found
        at = (number - first) * WIDTH
        return piece[at + LINE], piece[at + LASTI]

    def spec(self, number: int) -> Spec | None:
        at = number - self.start
        if at >= 0:
            return self.rows[at * WIDTH + SPEC]
        first, piece = self._piece(number)
        return piece.spec(number - first) if isinstance(piece, Block) else piece[(number - first) * WIDTH + SPEC]
