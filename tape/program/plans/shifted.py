"""Arrays that kernels read where they lie: slices, and what an op puts together of other arrays' rows.

A kernel goes through blocks, the rows along the last axis.  Of a slice it needs to know where each row begins; of a
roll, a concatenation, a padded array or the adjoint of a slice, which *runs* of columns come from where.  So no such
array is made in memory, unless something else than a kernel reads it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ops import Op
from ops.core.registry import OPS

from ...base.spec import Spec, row_major
from ..recorded.indexmaps import Puts, is_linear, puts_of, view_of
from ..recorded.listing import Listing, is_fixed
from ..recorded.trace import CONSTANT
from .groups import lanes
from .plan_steps.moving import MOST, moves_of
from .plan_steps.plan_places import contiguous

LEAST = 16
"""Shorter rows are copied."""
SMALLEST = 1 << 7
"""So are arrays of fewer elements."""
MOST_ROWS = 1 << 16
"""So are arrays of more rows: a table says where each of them is."""
MOST_RUNS = 4
"""An array of which a row consists of more runs is made in memory."""
MOST_READERS = 4
"""So is one that is read more often."""
ROWS, STRIDED = 0, -1
"""The way of a slice, of which each row lies somewhere, and of a column, whose elements lie at equal distances.  A
positive number is how many runs a row has."""


class Run(NamedTuple):
    """Where columns of each row come from: which operand, and a table of three words for each row.

    These are the bytes from the operand's beginning to where column 0 would be, the first column and the end.
    """

    operand: int
    table: np.ndarray


class Shifts:
    """How kernels read the records of a listing."""

    def __init__(self, listing: Listing):
        self.listing = listing
        self._ways: dict[int, int | None] = {}
        self._strides: dict[int, tuple[int, ...]] = {}
        self._known: dict[Any, Any] = {}
        self._said: dict[int, Hashable] = {}
        self._made: np.ndarray | None = None

    def way(self, k: int) -> int | None:
        """How a kernel reads a record: `ROWS`, `STRIDED`, how many runs, or None where it must lie as usual."""
        if k not in self._ways:
            self._ways[k] = self._find(k)
        return self._ways[k]

    def _find(self, k: int) -> int | None:
        listing, spec = self.listing, self.listing.spec_of(k)
        op = listing.op(k)
        if op is None or spec is None or not spec.ndim or spec.shape[-1] < LEAST or spec.size < SMALLEST:
            return None
        if spec.dtype not in (np.float64, np.float32) or spec.size > MOST_ROWS * spec.shape[-1]:
            return None
        if op.is_view(listing.parameters(k)):
            strides = self.strides(k)
            item = spec.dtype.itemsize
            if spec.ndim == 1 and strides[0] not in (0, item):
                return STRIDED
            return ROWS if strides[-1] == item and not contiguous(spec.shape, strides, item) else None
        if not is_linear(op) or self.in_memory[k]:
            return None
        runs = self.runs(k)
        return len(runs) if runs else None

    def strides(self, k: int) -> tuple[int, ...]:
        """The strides that a record's value will probably have."""
        if k not in self._strides:
            self._strides[k] = self._strides_of(k)
        return self._strides[k]

    def _strides_of(self, k: int) -> tuple[int, ...]:
        listing, result = self.listing, self.listing.spec_of(k)
        assert result is not None
        usual, op, operands = row_major(result.shape, result.dtype.itemsize), listing.op(k), listing.operands(k)
        if op is None or len(operands) != 1 or not op.is_view(listing.parameters(k)):
            return usual
        whole = listing.spec_of(operands[0])
        if whole is None:
            return usual
        strides, params = self.strides(operands[0]), listing.parameters(k)
        key = op, self._what(k), whole, strides
        if key not in self._known:
            self._known[key] = view_of(op, params, whole, strides, result), params
        view = self._known[key][0]
        return usual if view is None else view.strides

    @property
    def in_memory(self) -> np.ndarray:
        """Which records are read by something else than a kernel, or often."""
        if self._made is None:
            listing = self.listing
            reader = np.repeat(np.arange(len(listing)), np.diff(listing.first))
            code = listing.code[reader]
            count = np.bincount(listing.args, minlength=len(listing))
            alone = (code < 0) | (lanes(len(OPS))[np.maximum(code, 0)] != 1)
            self._made = count > MOST_READERS
            self._made[listing.args[alone]] = True
            self._made[listing.outputs] = True
        return self._made

    def runs(self, k: int) -> list[Run]:
        """The runs that a row of a record's value consists of; none where it is no such record."""
        listing = self.listing
        op, params, operands = listing.op(k), listing.parameters(k), listing.operands(k)
        specs, result = [listing.spec_of(x) for x in operands], listing.spec_of(k)
        assert op is not None
        assert result is not None
        if any(s is None for s in specs):
            return []
        zeros = tuple([self._is_zero(x) for x in operands])
        key = op, self._what(k), tuple(specs), result, zeros
        if key not in self._known:
            self._known[key] = runs_of(op, params, specs, result, zeros), params  # type: ignore[arg-type]
        found: list[Run] = self._known[key][0]
        return found

    def _what(self, k: int) -> Hashable:
        """What the parameters of a record say; many share theirs."""
        param = int(self.listing.param[k])
        found = self._said.get(param)
        if found is None:
            found = self._said[param] = key_of(self.listing.parameters(k))
        return found

    def _is_zero(self, k: int) -> bool:
        """Whether a record is a constant array of zeros."""
        if self.listing.code[k] != CONSTANT:
            return False
        constant = self.listing.constant(k)
        if type(constant) is not np.ndarray or not is_fixed(constant):
            return False
        return not np.ascontiguousarray(constant).reshape(-1).view(np.uint8).any()  # 0.0, and not −0.0


def runs_of(op: Op, params: dict[str, Any], specs: Sequence[Spec], result: Spec, zeros: Sequence[bool]) -> list[Run]:
    """The runs of an op that does nothing but move numbers, as few as serve all rows; none for any other."""
    if sum(s.size for s in specs) + result.size > MOST:
        return []
    columns = result.shape[-1]
    if op.puts_at(params) is not None:
        puts = puts_of(op, params, specs, result)
        if puts is not None:
            return [] if puts.adds else _runs_put(puts, specs, result, zeros)
    moves = moves_of(op, params, specs, result)
    if moves is None:
        return []
    owner, source = np.full(result.size, -1), np.zeros(result.size, dtype=np.int64)
    for i, (to, x) in enumerate(moves.pairs):
        if not zeros[i]:
            owner[to], source[to] = i, x
    breaks = np.ones(result.size, dtype=np.bool_)
    breaks[1:] = (np.diff(owner) != 0) | ((owner[1:] >= 0) & (np.diff(source) != 1))
    breaks[::columns] = True
    begins = np.flatnonzero(breaks)
    rows = result.size // columns
    if len(begins) > (2 * MOST_RUNS + 1) * rows:
        return []
    row, first = np.divmod(begins, columns)
    last = np.append(begins[1:], result.size) - row * columns
    found: list[Run] = []
    for i in range(len(specs)):
        mine = owner[begins] == i
        found += _tables(i, row[mine], first[mine], last[mine], source[begins[mine]], rows, result)
        if len(found) > MOST_RUNS:
            return []
    return found


def _runs_put(puts: Puts, specs: Sequence[Spec], result: Spec, zeros: Sequence[bool]) -> list[Run]:
    """The runs of an op that puts its operands into places of its result, none of which two of them share."""
    item, columns = result.dtype.itemsize, result.shape[-1]
    rows = result.size // columns
    found: list[Run] = []
    for i, (view, spec) in enumerate(zip(puts.views, specs)):
        if zeros[i]:
            continue
        in_rows = bool(spec.shape) and view.strides[-1] == item
        n, axes = (spec.shape[-1], len(spec.shape) - 1) if in_rows else (1, len(spec.shape))
        at = np.array(view.offset // item)
        for length, stride in zip(spec.shape[:axes], view.strides):
            at = at[..., None] + np.arange(length) * (stride // item)
        at = at.ravel()
        order = np.argsort(at)
        row, first = np.divmod(at[order], columns)
        found += _tables(i, row, first, first + n, n * order, rows, result)
        if len(found) > MOST_RUNS:
            return []
    return found


def _tables(
    operand: int, row: np.ndarray, first: np.ndarray, end: np.ndarray, source: np.ndarray, rows: int, result: Spec
) -> Iterator[Run]:
    """The runs of one operand: the first of each row, the second, and so on."""
    if not len(row):
        return
    starts = np.searchsorted(row, row)  # where each row's runs begin
    number = np.arange(len(row)) - starts
    for n in range(min(int(number.max()) + 1, MOST_RUNS + 1)):
        table = np.zeros((rows, 3), dtype=np.int64)
        mine = number == n
        table[row[mine]] = np.stack(
            [(source[mine] - first[mine]) * result.dtype.itemsize, first[mine], end[mine]], axis=1
        )
        yield Run(operand, table)


def key_of(params: Any) -> Hashable:
    """Parameters by what they say, as far as they consist of plain things; others by their identity."""
    if isinstance(params, dict):
        return tuple([(name, key_of(value)) for name, value in params.items()])
    if isinstance(params, (tuple, list)):
        return (type(params), *map(key_of, params))
    if isinstance(params, slice):
        return slice, key_of(params.start), key_of(params.stop), key_of(params.step)
    if params is None or params is Ellipsis or isinstance(params, (int, float, str, np.generic)):
        return type(params), params
    return id, id(params)
