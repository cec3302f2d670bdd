"""Which records of a list a gradient reaches, and which of them a sweep uses up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from types import CodeType
from typing import Any

import numpy as np

from ops.core.batching_index import SLOT
from ops.core.registry import OPS

from ...base.errors import used_up_error
from ...base.location import locate
from ...base.rooms import opened
from ...base.tensor import Tensor
from ...recording.level import ProgramRecords
from ...recording.recorder import plan
from .listing import Columns, Listing, listing_of, operands_of
from .rule_lists import rules
from .trace import CONSTANT, INPUT, NUMBERS, Trace, WithoutHistory, is_tracked
from .trace_records import CODE, SPEC, X, arguments_in


def leading(listing: Listing, targets: Iterable[int]) -> np.ndarray:
    """By record, whether it is one of the targets or a gradient flows from it to one."""
    leads = marked(listing, targets)
    _jitted().leading(*_columns(listing), leads)
    return leads


def require_history(trace: Trace, rows: Sequence[int], what: str) -> None:
    """Leave records without a history to the tensors that refuse what is asked of them.

    Raises:
        WithoutHistory: if no gradient flows from one of them to anything, or none is recorded.
    """
    exact = trace.tensors is not False and trace.mode is not None
    trace.historic = trace.historic or trace.mode is not None
    if trace.mode is False:
        raise WithoutHistory(f"{what} where gradients are not recorded")
    if not all(flows(trace, rows, trace.sources(tracked=exact))):
        raise WithoutHistory(f"{what} of something without history")


def has_history(trace: Trace, row: int) -> bool:
    """Whether a record has a history in the calls that are recorded for: by who requires grad in them, and where."""
    exact = trace.tensors is not False and trace.mode is not None
    trace.historic = trace.historic or trace.mode is not None
    return trace.mode is not False and flows(trace, [row], trace.sources(tracked=exact))[0]


def flows(trace: Trace, rows: Sequence[int], sources: Sequence[int]) -> list[bool]:
    """Whether a gradient flows from each of these records to one of the sources."""
    first = min(sources, default=len(trace))
    if max(rows, default=-1) < first:
        return [False] * len(rows)
    window = Window(trace, first)
    leads = leading(window.list, window.places(sources))
    return [row >= first and bool(leads[window.places([row])[0]]) for row in rows]


def reaches(trace: Trace, row: int, targets: Iterable[int]) -> bool:
    """Whether a gradient flows from a record to one of the targets."""
    targets = set(targets)
    if row in targets:
        return True
    if row in trace.stopped or trace.code(row) < 0:
        return False
    if row < min(targets, default=row + 1):
        return False
    window = Window(trace, min(targets))
    return bool(leading(window.list, window.places(targets))[window.places([row])[0]])


def origins(trace: Trace, row: int) -> int:
    """The sources that a gradient may flow to from a record, whoever of the arguments requires grad: a bit for each."""
    known, leaves = trace.origins, trace.leaves
    for k in range(len(known), row + 1):
        found = 0
        if trace.code(k) == CONSTANT:
            found = _bit(trace, k) if is_tracked(trace.constants[trace.fields(k)[X]]) else 0
        for j in flowing(trace, k):
            found |= _bit(trace, j) if j in leaves else known[j]
        known.append(found)
    return _bit(trace, row) if row in leaves else known[row]


def flowing(trace: Trace, row: int) -> tuple[int, ...]:
    """The operands of a record that a gradient flows to."""
    fields = trace.fields(row)
    code, spec = fields[CODE], fields[SPEC]
    if code < 0 or row in trace.stopped or not rules(len(OPS)).differentiable[code]:
        return ()
    return arguments_in(fields)[0] if spec is None or spec.inexact else ()


class RecordsOfTrace(ProgramRecords):
    """The records of a trace, for derivatives that its function takes."""

    def __init__(self, trace: Trace):
        self.trace = trace

    def latest(self) -> int:
        return len(self.trace) - 1

    def operands(self, k: int) -> tuple[int, ...]:
        return flowing(self.trace, k)

    def own(self, parts: Iterable[Any]) -> set[int]:
        return {x._row for x in parts if getattr(x, "_trace", None) is self.trace}

    def line(self, k: int) -> tuple[CodeType, int]:
        return self.trace.record(k)[1]


def _bit(trace: Trace, source: int) -> int:
    return trace.bits.setdefault(source, 1 << len(trace.bits))


def consumed(listing: Listing, leads: np.ndarray, roots: Iterable[int]) -> np.ndarray:
    """The records whose rules run in a sweep from the roots to what they lead to."""
    reached = marked(listing, roots)
    _jitted().consumed(*_columns(listing), leads, reached)
    return np.flatnonzero(reached)


def check_not_released(trace: Trace, sources: Iterable[int], records: Sequence[int]) -> None:
    """Raise if one of the records, which a sweep goes through, needs a value that an earlier one has released.

    Args:
        sources: what a gradient flows to.

    Raises:
        RuntimeError: as the reverse sweep of recorded tensors does.
    """
    if trace.released.isdisjoint(records):
        return
    listing = listing_of(trace, ())
    history = leading(listing, sources)
    for k in records[::-1]:
        op = listing.op(k)
        if k in listing.released and op is not None:
            operands, params = listing.operands(k), listing.parameters(k)
            keep, keep_z = plan(op, tuple([i for i, j in enumerate(operands) if history[j]]))
            kept = operands if keep is True else [j for j, needed in zip(operands, keep or ()) if needed]
            if keep_z or not (_is_index(params) or all(_is_number(trace, j) for j in kept)):
                raise used_up_error(op.title(params), locate(*listing.lines[listing.line[k]]))


def _is_index(params: dict[str, Any]) -> bool:
    """Whether a record reads or writes at an index, which tensors keep as a parameter: no backward releases that."""
    return SLOT in params.get("form", ())


def _is_number(trace: Trace, row: int) -> bool:
    """Whether a row stands for a plain number, a constant or an argument: neither is ever released."""
    return trace.is_number(row) or (trace.fields(row)[0] == INPUT and type(trace.values[row]) in NUMBERS)


def unreached(listing: Listing, tracked: Sequence[bool], captures: Sequence[Tensor], count: int) -> frozenset[int]:
    """The first `count` results that depend neither on a `tracked` input nor on a captured tensor."""
    given = [k for k in np.flatnonzero(listing.code == INPUT).tolist() if tracked[listing.param[k]]]
    known = set(map(id, captures))
    captured = [k for k in np.flatnonzero(listing.code == CONSTANT).tolist() if id(listing.constant(k)) in known]
    leads = leading(listing, given + captured)
    return frozenset(i for i, k in enumerate(listing.outputs[:count].tolist()) if not leads[k])


def idle(listing: Listing, captures: Sequence[Tensor], count: int) -> frozenset[int]:
    """The operands, inputs and then captured tensors, to which no gradient flows from the first `count` results."""
    place = {id(t): listing.inputs + i for i, t in enumerate(captures)}
    operands = {k: int(listing.param[k]) for k in np.flatnonzero(listing.code == INPUT).tolist()}
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        if id(listing.constant(k)) in place:
            operands[k] = place[id(listing.constant(k))]
    results = listing.outputs[:count].tolist()
    used = marked(listing, consumed(listing, leading(listing, operands), results).tolist())
    reached = marked(listing, results)
    reached[listing.args[np.repeat(used, np.diff(listing.first))]] = True
    return frozenset(range(listing.inputs + len(captures))) - {i for k, i in operands.items() if reached[k]}


def marked(listing: Listing, records: Iterable[int]) -> np.ndarray:
    """By record, whether it is one of these."""
    found = np.zeros(len(listing), dtype=np.bool_)
    found[list(records)] = True
    return found


def _columns(listing: Listing) -> tuple[np.ndarray, ...]:
    differentiable = rules(len(OPS)).differentiable
    stopped = marked(listing, listing.stopped)
    exact = np.array([not s.inexact for s in listing.specs] + [False], dtype=np.bool_)  # none: several results
    return listing.code, listing.first, listing.args, differentiable, stopped | exact[listing.spec]


def _jitted() -> Any:
    return opened("tape.jit.column_passes.rule_rows")


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
