"""A shortened list as steps: which records run together in one kernel, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ops import REGISTRY

from ...base.rooms import opened
from ..recorded.listing import Listing, number_of
from ..recorded.trace import CONSTANT, NUMBERS

_KINDS = {np.dtype(np.float64): 0, np.dtype(np.float32): 1, np.dtype(np.bool_): 2}


def _grouping() -> Any:
    return opened("tape.jit.emission.grouping")


def _segments() -> Any:
    return opened("tape.jit.emission.segments")


class GroupInput(NamedTuple):
    """Memory that a group reads: the record that made it, and where a number is in it (−1: all of its elements)."""

    row: int
    offset: int


@dataclass(frozen=True)
class GroupOutput:
    """Memory that a group writes: the record whose result it is, how, and from which value of the group."""

    row: int
    how: str
    values: tuple[int, ...]


@dataclass
class Group:
    """Records of one shape and precision that become one kernel.

    Values are numbered: what comes from outside first, then the results of the rows.

    Attributes:
        bits: 64 or 32.
        shape: shape of each result.
        rows: positions of the records that compute.
        outside: positions of the records that values come from.
        operands: three numbers of values for each of the rows, −1 for none.
        targets: what is written.
        loops: rows that are iterations of one body, which is compiled once.
    """

    bits: int
    shape: tuple[int, ...]
    rows: np.ndarray
    outside: np.ndarray
    operands: np.ndarray
    targets: list[GroupOutput]
    loops: list[Any]

    @property
    def rows_to_compile(self) -> int:
        """How many rows a compiler sees."""
        return len(self.rows) - sum(loop.period * (loop.iterations - 1) for loop in self.loops)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Alone:
    """A record that NumPy evaluates."""

    row: int


Step = Group | Alone


@cache
def _ops(count: int) -> tuple[np.ndarray, ...]:
    """By opcode: has a lane, gives truth values, takes truth values (bits), role in a group of others."""
    lines, g = opened("tape.jit.emission.lines"), _grouping()
    roles = {"block": g.ELEMENT, "spread": g.TOTAL, "average": g.TOTAL, "sum_to": g.TOTAL, "stack": g.PACK}
    lane, gives, takes, part = (np.zeros(count, dtype=np.int64) for _ in range(4))
    for op in list(REGISTRY.values())[:count]:
        part[op.code] = int(roles.get(op.name) or roles.get(op.motion or "", g.ALONE))
        if lines.has_lane(op) and op.arity <= 3:
            lane[op.code] = 1
            gives[op.code] = lines.result_kind(op)
            takes[op.code] = sum(kind << i for i, kind in enumerate(lines.operand_kinds(op)))
    return lane, gives, takes, part


def lanes(count: int) -> np.ndarray:
    """By opcode, whether a kernel can evaluate an op."""
    return _ops(count)[0]


def steps_of(listing: Listing) -> list[Step]:
    """The steps of a listing in the order in which they run."""
    g, n = _grouping(), len(listing)
    shapes: dict[Any, int] = {}
    shape = np.array([shapes.setdefault(s.shape, len(shapes)) for s in listing.specs], dtype=np.int64)
    kind = np.array([_KINDS.get(s.dtype, 3) for s in listing.specs], dtype=np.int64)
    single = np.array([s.size == 1 for s in listing.specs], dtype=np.bool_)
    plain = np.zeros(n, dtype=np.bool_)
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        plain[k] = type(listing.constant(k)) in NUMBERS and type(listing.constant(k)) is not complex
    role, family, stage = (np.empty(n, dtype=np.int64) for _ in range(3))
    code, first, args = listing.code, listing.first, listing.args
    g.classify(code, first, args, listing.spec, shape, kind, single, plain, *_ops(len(REGISTRY)), role, family)
    g.stages(code, first, args, role, family, stage)
    several = (listing.spec >= 0) & ~single[listing.spec]
    g.postpone(first, args, listing.outputs, role, family, several, stage)
    group = np.arange(n, dtype=np.int64)
    together = (role == g.LANE) | (role == g.TOTAL) | (role == g.PACK)
    keys = stage * (2 * len(shapes) + 2) + family
    found, inverse = np.unique(keys[together], return_inverse=True)
    group[together] = n + inverse
    escapes = np.zeros(n, dtype=np.bool_)
    g.escaping(first, args, listing.outputs, group, role, escapes)
    members = np.flatnonzero(together)
    members = members[np.argsort(inverse, kind="stable")]
    ends = np.cumsum(np.bincount(inverse, minlength=len(found)))
    place = np.full(n, -1, dtype=np.int64)
    timed: list[tuple[int, int, Step]] = []
    for rows in np.split(members, ends[:-1]) if len(found) else ():
        made = _group(listing, rows, role, group, family, escapes, place)
        timed.append((int(stage[rows[0]]), int(rows[0]), made))
    alone = np.flatnonzero((role == g.ALONE) | ((role == g.ELEMENT) & escapes))
    timed += [(int(stage[k]), k, Alone(k)) for k in alone.tolist()]
    timed.sort(key=lambda item: item[:2])
    return [step for _, _, step in timed]


def _group(
    listing: Listing, rows: np.ndarray, role: Any, group: Any, family: Any, escapes: Any, place: np.ndarray
) -> Group:
    g = _grouping()
    inner = rows[role[rows] == g.LANE]
    counts = listing.first[rows + 1] - listing.first[rows]
    outside = np.empty(int(counts.sum()), dtype=np.int64)
    operands = np.full(3 * len(inner), -1, dtype=np.int64)
    given = g.localise(rows, listing.first, listing.args, role, group, place, outside, operands)
    outside = outside[:given].copy()
    targets = [GroupOutput(int(k), "each", (int(place[k]),)) for k in inner[escapes[inner]]]
    for k in rows[role[rows] != g.LANE].tolist():
        values = tuple(place[listing.operands(k)].tolist())
        op = listing.op(k)
        assert op is not None
        how = "pack" if role[k] == g.PACK else "mean" if op.motion == "average" else "sum"
        targets.append(GroupOutput(k, how, values))
    place[outside] = -1
    place[inner] = -1
    bits = 32 if family[rows[0]] & 1 else 64
    truth = _ops(len(REGISTRY))[1]
    kinds = np.concatenate([_is_truth(listing, outside), truth[listing.code[inner]]])
    loops = _segments().loops_of(listing.code[inner], operands, kinds, given, [v for t in targets for v in t.values])
    return Group(bits, _shape(listing, rows, role, g), inner, outside, operands, targets, loops)


def _is_truth(listing: Listing, rows: np.ndarray) -> np.ndarray:
    """Whether the records give truth values."""
    return np.array([_KINDS.get(s.dtype) == 2 for s in listing.specs], dtype=np.int64)[listing.spec[rows]]


def _shape(listing: Listing, rows: np.ndarray, role: np.ndarray, g: Any) -> tuple[int, ...]:
    k = int(rows[0])
    if role[k] != g.LANE:
        if role[k] == g.PACK:
            return ()
        k = listing.operands(k)[0]
    spec = listing.spec_of(k)
    assert spec is not None
    return spec.shape


def sources_of(listing: Listing, group: Group) -> Iterator[tuple[int, GroupInput | Any]]:
    """For each value from outside its number and where it is read, or the plain number that it is."""
    g = _grouping()
    part = _ops(len(REGISTRY))[3]
    outside = group.outside
    codes = listing.code[outside]
    reads = (codes >= 0) & (part[codes] == g.ELEMENT)
    memories = np.zeros(len(codes), dtype=np.int64)
    memories[reads] = listing.args[listing.first[outside[reads]]]
    wholes, params = listing.spec[memories].tolist(), listing.param[outside].tolist()
    columns = outside.tolist(), codes.tolist(), listing.spec[outside].tolist(), reads.tolist(), memories.tolist()
    for number, (k, code, spec, is_read, memory) in enumerate(zip(*columns)):
        constant = number_of(listing.constant(k)) if code == CONSTANT else None
        if constant is not None:
            yield number, constant
        elif is_read and listing.specs[spec].size == 1:
            length = listing.specs[wholes[number]].shape[0]
            yield number, GroupInput(memory, int(listing.params[params[number]]["index"]) % length)
        else:
            yield number, GroupInput(k, 0 if listing.specs[spec].size == 1 else -1)
