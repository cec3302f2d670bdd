"""A finished Wengert list as flat arrays: what the passes shorten and what is replayed."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from struct import pack
from types import CodeType
from typing import Any

import numpy as np

from ops import Op
from ops.core.own import may_raise
from ops.core.registry import OPS

from ...base.location import Location, locate
from ...base.rooms import opened
from ...base.spec import Spec
from .guards import Guard
from .large.fingerprint import key_of
from .trace import CONSTANT, NUMBERS, Trace
from .trace_records import CODE, EXTRA, LASTI, LINE, SPEC, WIDTH, Block, X, Y


@dataclass(frozen=True)
class Listing:
    """Records in order; an operand is the position of an earlier record.

    Attributes:
        code: opcode of each record, or `INPUT` or `CONSTANT`.
        first: record k has the operands ``args[first[k]:first[k + 1]]``.
        args: positions of the operands, one record's after another's.
        param: which of `params` a record has, −1 for none; for an input or a constant, which one.
        spec: which of `specs` a record's result has, −1 where it has several results.
        line: which of `lines` recorded it.
        outputs: positions of the results, after them of what the guards look at, and of what is watched.
        inputs: how many arguments there are.
        guards: what must hold of the outputs after the results.
        watched: how many outputs, the last ones, nobody reads: they are computed for their floating-point errors.
        stopped: positions of the records, before any pass, through which no gradient flows.
        released: of those, before any pass, that a backward has gone through without retaining the graph.
    """

    code: np.ndarray
    first: np.ndarray
    args: np.ndarray
    param: np.ndarray
    spec: np.ndarray
    line: np.ndarray
    outputs: np.ndarray
    inputs: int
    params: list[dict[str, Any]] = field(repr=False)
    specs: list[Spec] = field(repr=False)
    constants: list[Any] = field(repr=False)
    lines: list[tuple[CodeType, int]] = field(repr=False)
    guards: list[Guard] = field(repr=False)
    stopped: frozenset[int] = field(default=frozenset(), repr=False)
    released: frozenset[int] = field(default=frozenset(), repr=False)
    watched: int = 0

    def __len__(self) -> int:
        return len(self.code)

    @property
    def results(self) -> int:
        """How many of the outputs are results."""
        return len(self.outputs) - len(self.guards) - self.watched

    def operands(self, k: int) -> list[int]:
        """Positions of a record's operands."""
        return self.args[self.first[k] : self.first[k + 1]].tolist()

    def op(self, k: int) -> Op | None:
        """The op of a record; None for an input or a constant."""
        code = int(self.code[k])
        return OPS[code] if code >= 0 else None

    def parameters(self, k: int) -> dict[str, Any]:
        """The parameters of a record."""
        return self.params[self.param[k]] if self.code[k] >= 0 and self.param[k] >= 0 else {}

    def spec_of(self, k: int) -> Spec | None:
        """Shape and dtype of a record's result, None if it has several."""
        return self.specs[self.spec[k]] if self.spec[k] >= 0 else None

    def location(self, k: int) -> Location | None:
        """The user's line that recorded it, None if the program has none."""
        return locate(*self.lines[self.line[k]]) if self.line[k] >= 0 else None

    def constant(self, k: int) -> Any:
        """What a constant row stands for."""
        return self.constants[self.param[k]]

    def is_number(self, k: int) -> bool:
        """Whether a row stands for a plain number, which takes the dtype of what it meets."""
        return self.code[k] == CONSTANT and type(self.constant(k)) in NUMBERS

    def with_rows(self, keep: np.ndarray, place: np.ndarray) -> Listing:
        """The kept rows, whose operands are first moved to where `place` says (positions among all rows)."""
        return self.repeated(np.flatnonzero(keep), (np.cumsum(keep, dtype=np.int64) - 1).take(place))

    def in_order(self, order: np.ndarray) -> Listing:
        """The rows in another order, in which operands still come before what reads them."""
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return self.repeated(order, place)

    def repeated(self, rows: np.ndarray, moved: np.ndarray) -> Listing:
        """Some rows one after the other; `moved` says which of them each row of this listing is, or is told to be."""
        counts = np.diff(self.first).take(rows)
        first = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        args = self.args.take(np.arange(first[-1]) + np.repeat(self.first.take(rows) - first[:-1], counts))
        return replace(
            self,
            code=self.code.take(rows),
            first=first,
            args=moved.take(args),
            param=self.param.take(rows),
            spec=self.spec.take(rows),
            line=self.line.take(rows),
            outputs=moved.take(self.outputs),
        )


def by_code(flags: Iterable[bool]) -> np.ndarray:
    """What holds of each op, to be read by a column of opcodes: False for inputs and constants."""
    return np.array([*flags, False, False], dtype=np.bool_)


def is_fixed(constant: Any) -> bool:
    """Whether a constant is a value of its own rather than somebody's memory; a read-only view may be of such."""
    if hasattr(constant, "_spec"):
        return False
    while isinstance(constant, np.ndarray):
        if constant.flags.writeable:
            return False
        constant = constant.base
    return True


def number_of(constant: Any) -> Any:
    """The real number or truth value that a constant stands for in every place, None if there is none."""
    if isinstance(constant, np.ndarray) and constant.size == 1 and is_fixed(constant):
        constant = constant.reshape(-1)[0]
    return constant if isinstance(constant, (int, float, np.floating, np.bool_)) else None


def narrower(listing: Listing) -> bool:
    """Whether numbers of less than 64 bits take part, beside which a plain float takes their dtype."""
    return any(s.dtype.kind in "fc" and s.dtype not in (np.float64, np.complex128) for s in listing.specs)


def prune(listing: Listing) -> Listing:
    """Without the records that no output depends on, and that cannot raise an exception."""
    needed = needed_in(listing)
    return listing if needed.all() else listing.with_rows(needed, np.arange(len(listing)))


def needed_in(listing: Listing) -> np.ndarray:
    """Which records outputs depend on, or can raise an exception."""
    needed = np.zeros(len(listing), dtype=np.bool_)
    roots = np.concatenate([listing.outputs, np.array(raising(listing), dtype=np.int64)])
    opened("tape.jit.column_passes.shorten").mark_needed(listing.first, listing.args, roots, needed)
    return needed


def raising(listing: Listing) -> list[int]:
    """The records that raise an exception for some values of what is no constant; of users' code nothing is known."""
    found = np.flatnonzero(_may_raise(len(OPS))[listing.code]).tolist()
    return [k for k in found if any(listing.code[j] != CONSTANT for j in _deciding(listing, k))]


def _deciding(listing: Listing, k: int) -> list[int]:
    """The operands that decide whether a record raises."""
    hints, spec = OPS[listing.code[k]].hints, listing.spec_of(k)
    if hints.raises_of_whole and spec is not None and spec.dtype.kind not in "iu":
        return []
    return listing.operands(k) if hints.raises is None else listing.operands(k)[hints.raises]


@cache
def _may_raise(count: int) -> np.ndarray:
    """By opcode, whether an op raises for some values."""
    return by_code(map(may_raise, OPS[:count]))


class Rows:
    """Rows of a trace taken apart: what they hold is converted once, however often a trace is read.

    Attributes:
        begin, end: which fields of a flat list of rows they are.
    """

    def __init__(self, rows: list[Any], begin: int):
        self.begin, self.end = begin, begin + len(rows)
        self.code, self.x, self.y = integers(rows[CODE::WIDTH]), integers(rows[X::WIDTH]), integers(rows[Y::WIDTH])
        self.specs, self.which = kinds(rows[SPEC::WIDTH])
        extras = rows[EXTRA::WIDTH]
        plain = extras.count(None) == len(extras)
        self.wide = {} if plain else {k: extra for k, extra in enumerate(extras) if extra is not None}
        self.lines, self.line = lines_of(rows[LINE::WIDTH], rows[LASTI::WIDTH])


def kinds(specs: list[Spec | None]) -> tuple[list[Spec | None], np.ndarray]:
    """The specs that occur, and for each place which of these is there."""
    found = list(dict.fromkeys(specs))
    if len(found) == 1:
        return found, np.zeros(len(specs), dtype=np.int64)
    number = {s: i for i, s in enumerate(found)}
    return found, integers(list(map(number.__getitem__, specs)))


FEW = 64
"""Of fewer lines Python finds the distinct ones sooner than NumPy."""


def lines_of(codes: list[CodeType], instructions: list[int]) -> tuple[list[tuple[CodeType, int]], np.ndarray]:
    """The lines that occur, code objects and offsets, and for each place which of these is there."""
    if len(codes) < FEW:
        number: dict[tuple[int, int], int] = {}
        which = integers([number.setdefault(line, len(number)) for line in zip(map(id, codes), instructions)])
        named = dict(zip(map(id, codes), codes))
        return [(named[code], instruction) for code, instruction in number], which
    where, which = distinct(together(codes, instructions))
    return [(codes[k], instructions[k]) for k in where.tolist()], which


def together(codes: list[CodeType], instructions: list[int]) -> np.ndarray:
    """The lines of records as numbers: a tuple for each of many would keep the collector busy."""
    ids = np.fromiter(map(id, codes), np.int64, len(codes))
    numbers = integers(instructions)
    starts = np.flatnonzero(ids[1:] != ids[:-1]) + 1  # mostly few: a function makes many records in a row
    if not len(starts):
        return numbers
    starts = np.concatenate([[0], starts])
    known: dict[int, int] = {}
    functions = np.array([known.setdefault(k, len(known)) for k in ids[starts].tolist()], dtype=np.int64)
    return numbers + np.repeat(functions * (numbers.max() + 1), np.diff(starts, append=len(ids)))


def integers(numbers: list[int]) -> np.ndarray:
    """Python's integers as an array that is only read; `struct` takes half the time that NumPy takes."""
    return np.frombuffer(pack(f"{len(numbers)}q", *numbers), dtype=np.int64)


def distinct(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A place of each number that occurs, in order, and for each place which of these is there."""
    if numbers.max(initial=0) > 8 * len(numbers):
        _, numbers = np.unique(numbers, return_inverse=True)
    table = np.full(numbers.max(initial=0) + 1, -1)
    table[numbers] = np.arange(len(numbers))
    where = np.sort(table[table >= 0])
    table[numbers[where]] = np.arange(len(where))
    return where, table[numbers]


class Columns:
    """The records of a trace from one on as arrays.

    Attributes:
        start: the number of the first.
        code, x, y, w: opcodes and operands, −1 for none; those of a wide record are in `wide`.
        wide: by position, operands and parameters.
        spec: which of `specs` each has, −1 for several results.
        line: which of `lines` each has.
    """

    def __init__(self, trace: Trace, start: int = 0):
        n, self.start = len(trace) - start, start
        self.code, self.x, self.y, self.w, self.spec, self.line = (np.full(n, -1, dtype=np.int64) for _ in range(6))
        self.wide: dict[int, Any] = {}
        self.specs: list[Spec] = []
        self.lines: list[tuple[CodeType, int]] = []
        self._known: dict[int, int] = {id(None): -1}
        for first, piece in trace.pieces_from(start):
            if isinstance(piece, Block):
                self._add_block(first, piece)
            else:
                for number, rows in apart(trace, first, piece, start):
                    self._add_rows(number, rows)

    def _here(self, first: int, count: int) -> tuple[slice, int]:
        """Where so many records from a number on go, and how many of them come before the first."""
        cut = max(self.start - first, 0)
        return slice(first + cut - self.start, first + count - self.start), cut

    def _add_rows(self, first: int, rows: Rows) -> None:
        here, cut = self._here(first, len(rows.code))
        self.code[here], self.x[here], self.y[here] = rows.code[cut:], rows.x[cut:], rows.y[cut:]
        self.spec[here] = np.array([self.place(s) for s in rows.specs], dtype=np.int64)[rows.which[cut:]]
        self.wide.update((here.start - cut + k, extra) for k, extra in rows.wide.items() if k >= cut)
        self.line[here] = rows.line[cut:] + len(self.lines)
        self.lines += rows.lines

    def _add_block(self, first: int, block: Block) -> None:
        here, cut = self._here(first, len(block))
        self.code[here], self.x[here], self.y[here], self.w[here] = block.words[cut:].T
        self.spec[here] = np.array([self.place(s) for s in block.kinds])[block.truth[cut:]]
        origin = block.origin[cut:] - self.start
        self.line[here] = np.where(origin >= 0, self.line[origin], -1)

    def place(self, spec: Spec | None) -> int:
        """Which of `specs` a spec is."""
        found = self._known.get(id(spec))
        if found is None:
            found = self._known[id(spec)] = len(self.specs)
            self.specs.append(spec)  # type: ignore[arg-type]
        return found


def apart(trace: Trace, first: int, rows: list[Any], start: int) -> Iterator[tuple[int, Rows]]:
    """The rows from a number on, taken apart, as far as they are from `start` on; what was before is not again."""
    parts = trace.apart.setdefault(first, [])
    done = parts[-1].end if parts else 0
    if done < len(rows):
        parts.append(Rows(rows[done:] if done else rows, done))
    late = bisect.bisect_right(parts, (start - first) * WIDTH, key=lambda part: part.end)
    for part in parts[late:]:
        yield first + part.begin // WIDTH, part


def operands_of(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """`first` and `args` of a listing of these records; operands by number."""
    n, wide = len(columns.code), columns.wide
    inline = np.empty((n, 3), dtype=np.int64)
    inline[:, 0], inline[:, 1], inline[:, 2] = columns.x, columns.y, columns.w
    inline[columns.code < 0, 0] = -1
    has = inline >= 0
    counts = has[:, 0].view(np.int8) + has[:, 1] + has[:, 2]
    first = np.zeros(n + 1, dtype=np.int64)
    if not wide:
        np.cumsum(counts, out=first[1:])
        return first, inline[has]
    rows, operands = list(wide), [x for x, _ in wide.values()]  # in ascending order, as they were added
    has[rows] = False
    counts = counts.astype(np.int64)
    counts[rows] = list(map(len, operands))
    np.cumsum(counts, out=first[1:])
    own = np.zeros(n, dtype=np.bool_)
    own[rows] = True
    own = np.repeat(own, counts)
    args = np.empty(first[-1], dtype=np.int64)
    args[own], args[~own] = list(chain.from_iterable(operands)), inline[has]
    return first, args


def columns_of(code: Sequence[int], operands: Sequence[Sequence[int]], param: Sequence[int]) -> dict[str, Any]:
    """Columns of a listing, by name, of records that are given one by one."""
    return {
        "code": np.array(code, dtype=np.int64),
        "first": np.cumsum([0, *map(len, operands)], dtype=np.int64),
        "args": np.array([j for x in operands for j in x], dtype=np.int64),
        "param": np.array(param, dtype=np.int64),
    }


def listing_of(trace: Trace, outputs: Iterable[int]) -> Listing:
    """A trace that is finished, as arrays."""
    columns = Columns(trace)
    code = columns.code
    param = np.where(code < 0, columns.x, -1)
    first, args = operands_of(columns)
    params = _Interned()
    for k, (_, named) in columns.wide.items():
        param[k] = params.add(int(code[k]), named) if named else -1
    results = np.array([*outputs, *(g.row for g in trace.guards)], dtype=np.int64)
    return Listing(
        code, first, args, param, columns.spec, columns.line, results, len(trace.inputs), params.table, columns.specs,
        trace.constants, columns.lines, trace.guards, frozenset(trace.stopped), frozenset(trace.released),
    )  # fmt: skip


class _Interned:
    """Parameters of records, which live meanwhile: equal ones once where they can be compared."""

    def __init__(self) -> None:
        self.table: list[dict[str, Any]] = []
        self._known: dict[Any, int] = {}
        self._met: dict[tuple[int, int], int] = {}

    def add(self, code: int, params: dict[str, Any]) -> int:
        same = code, id(params)  # many records share theirs
        found = self._met.get(same)
        if found is None:
            found = self._met[same] = self._find(code, params)
        return found

    def _find(self, code: int, params: dict[str, Any]) -> int:
        key = key_of(code, params)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.table)
            self.table.append(params)
        return found
