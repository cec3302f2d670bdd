"""Records of ops that are made of others, as those others: what kernels can compute together with what is around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ops import Op
from ops.core.registry import OPS

from ...base.spec import Spec
from .listing import Listing, by_code, listing_of
from .trace import CONSTANT, INPUT, Untraceable, draft
from .traced import Traced, argument

WIDE = frozenset(map(np.dtype, ("f8", "f4", "c16", "c8")))
WIDE_OR_TRUTH = WIDE | {np.dtype(np.bool_)}


@cache
def made_of_others(count: int) -> np.ndarray:
    """By opcode, whether an op says what it is made of."""
    return by_code(op.hints.made_of is not None for op in OPS[:count])


def expand(listing: Listing) -> Listing:
    """With the records in the place of others that these are made of."""
    rows = np.flatnonzero(made_of_others(len(OPS))[listing.code]).tolist()
    known: dict[Any, Listing | None] = {}
    found = [(k, _part(listing, k, known)) for k in rows]
    return spliced(listing, [Splice(k, part, _arrays(listing, k)) for k, part in found if part is not None])


def _arrays(listing: Listing, k: int) -> list[int]:
    """The operands of a record that are no plain numbers."""
    return [j for j in listing.operands(k) if not listing.is_number(j)]


def _part(listing: Listing, k: int, known: dict[Any, Listing | None]) -> Listing | None:
    """What a record is made of, as a list of its own; not of 16-bit numbers, which are rounded once per op."""
    op, result, operands = listing.op(k), listing.spec_of(k), listing.operands(k)
    specs = [listing.spec_of(j) for j in _arrays(listing, k)]
    if op is None or result is None or any(s is None or not s.size for s in specs):
        return None
    taken = WIDE if op.kind != "plain" else WIDE_OR_TRUTH
    if any(s.dtype not in taken for s in specs):  # type: ignore[union-attr]
        return None
    if op.complex is None and any(s.dtype.kind == "c" for s in specs):  # type: ignore[union-attr]
        return None
    if len(specs) < len(operands) and op.kind not in ("plain", "elementwise"):  # rules take it in the dtype of others
        return None
    given = [listing.constant(j) if listing.is_number(j) else listing.spec_of(j) for j in operands]
    key = op, int(listing.param[k]), tuple([x if isinstance(x, Spec) else (type(x), repr(x)) for x in given])
    if key not in known:
        known[key] = _recorded(op, listing.parameters(k), given, result)
    return known[key]


def _recorded(op: Op, params: dict[str, Any], operands: list[Any], result: Spec) -> Listing | None:
    """The list of what an op is made of for such operands, None if it is not made of others then."""
    part = part_of(lambda *xs: op.made_of(xs, params), operands)
    return part if part is not None and part.spec_of(int(part.outputs[0])) is result else None


def part_of(function: Callable[..., Any], operands: Sequence[Any]) -> Listing | None:
    """The list of what a function, written in ops like a rule, makes of operands: a plain number, or what has a spec.

    None if it gives None, or asks what its operands are.
    """
    with draft() as trace, np.errstate(all="ignore"):
        given = [argument(trace, x) if isinstance(x, Spec) else x for x in operands]
        try:
            z = function(*given)
            if z is None:
                return None
            row = z._row if isinstance(z, Traced) else trace.operand(z)
        except Untraceable:
            return None
    for constant in trace.constants:
        if isinstance(constant, np.ndarray):
            constant.flags.writeable = False  # nobody else has it
    return None if trace.guards else listing_of(trace, [row])


class Splice(NamedTuple):
    """A list that stands in the place of a record; its inputs are the operands, which come before that record.

    Where it has further outputs, these stand for `others`, records after that one, which nothing reads then.
    """

    row: int
    part: Listing
    operands: list[int]
    others: Sequence[int] = ()


def spliced(listing: Listing, splices: list[Splice]) -> Listing:
    """A listing in which lists stand in the place of some records, given in order."""
    return _Spliced(listing, splices).listing() if splices else listing


class _Spliced:
    def __init__(self, listing: Listing, splices: list[Splice]):
        self.whole = listing
        self.params, self.specs, self.constants = list(listing.params), list(listing.specs), list(listing.constants)
        self._indices = {s: i for i, s in enumerate(self.specs)}
        self.place = np.empty(len(listing), dtype=np.int64)
        self.replaced = np.full(len(listing), -1, dtype=np.int64)
        self.columns: list[tuple[np.ndarray, ...]] = []
        self.args: list[tuple[np.ndarray, bool]] = []
        self.count = begin = 0
        for splice in splices:
            self._keep(begin, splice.row)
            self._put(*splice)
            begin = splice.row + 1
        self._keep(begin, len(listing))

    def _keep(self, begin: int, end: int) -> None:
        """Records as they are."""
        w, replaced = self.whole, self.replaced[begin:end]
        self.place[begin:end] = np.where(replaced >= 0, replaced, self.count + np.arange(end - begin))
        self.columns.append(
            (*(c[begin:end] for c in (w.code, w.param, w.spec, w.line)), np.diff(w.first[begin : end + 1]))
        )
        self.args.append((w.args[w.first[begin] : w.first[end]], True))
        self.count += end - begin

    def _put(self, k: int, part: Listing, given: list[int], others: Sequence[int]) -> None:
        """A list in the place of record k, without its inputs."""
        own = part.code != INPUT
        if not own.any():
            self.place[k] = self.place[given[part.param[part.outputs[0]]]]
            return
        where = np.where(own, self.count + np.cumsum(own) - 1, 0)
        operands = self.place[given]
        inputs = np.flatnonzero(~own)
        where[inputs] = operands[part.param[inputs]]
        param = part.param.copy()
        param[(part.code >= 0) & (param >= 0)] += len(self.params)
        param[part.code == CONSTANT] += len(self.constants)
        specs = np.array([self._index(s) for s in part.specs] + [-1], dtype=np.int64)
        line = np.full(len(part), self.whole.line[k], dtype=np.int64)
        columns = part.code, param, specs[part.spec], line, np.diff(part.first)
        self.columns.append(tuple(c[own] for c in columns))
        self.args.append((where[part.args], False))
        self.params += part.params
        self.constants += part.constants
        self.place[k] = where[part.outputs[0]]
        self.replaced[list(others)] = where[part.outputs[1:]]
        self.count += int(own.sum())

    def _index(self, spec: Spec) -> int:
        found = self._indices.setdefault(spec, len(self.specs))
        if found == len(self.specs):
            self.specs.append(spec)
        return found

    def listing(self) -> Listing:
        """The whole."""
        code, param, spec, line, counts = (np.concatenate(c) for c in zip(*self.columns))
        args = np.concatenate([self.place[a] if kept else a for a, kept in self.args])
        return replace(
            self.whole,
            code=code,
            first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            args=args,
            param=param,
            spec=spec,
            line=line,
            outputs=self.place[self.whole.outputs],
            params=self.params,
            specs=self.specs,
            constants=self.constants,
        )
