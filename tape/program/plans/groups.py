"""A shortened list as steps: which records run together in one kernel, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ops.core.lane import Math, Scalar
from ops.core.registry import OPS

from ...base.rooms import opened
from ...jit.emission.task import IN_ORDER, OF_COLUMNS
from ..recorded.listing import Listing, by_code, distinct, number_of
from ..recorded.trace import CONSTANT, NUMBERS

LEAST, LEAST_COLUMNS, LEAST_CALLS = 3, 8, 16
"""Sums of shorter rows are no part of a kernel, nor those of columns in shorter rows, nor where functions are called:
what is left of a row beside full vectors takes as long as a vector."""
MOST_SUMMED = 1 << 18
"""Nor those along other axes than the last of more elements: several threads cannot share such a kernel."""
VIEWS = 1000
"""In lists of more records views are not told from arrays that take memory."""
WHOLE = 3
_KINDS = {np.dtype(np.float64): 0, np.dtype(np.float32): 1, np.dtype(np.bool_): 2, np.dtype(np.int64): WHOLE}


def _grouping() -> Any:
    return opened("tape.jit.column_passes.grouping")


def _segments() -> Any:
    return opened("tape.jit.emission.segments")


class GroupInput(NamedTuple):
    """Memory that a group reads: the record that made it, and where a number is in it (−1: all of its elements)."""

    row: int
    offset: int


class GroupOutput(NamedTuple):
    """Memory that a group writes: the record whose result it is, how, and from which value of the group."""

    row: int
    how: str
    values: tuple[int, ...]


@dataclass(slots=True)
class Group:
    """Records of one shape and precision that become one kernel.

    Values are numbered: what comes from outside first, then the results of the rows.

    Attributes:
        bits: 64 or 32.
        shape: shape of each result.
        rows: positions of the records that compute.
        outside: positions of the records that values come from.
        sources: for each of them where it is read, or the plain number that it is.
        operands: three numbers of values for each of the rows, −1 for none.
        targets: what is written.
        loops: rows that are iterations of one body, which is compiled once.
    """

    bits: int
    shape: tuple[int, ...]
    rows: np.ndarray
    outside: np.ndarray
    sources: list[GroupInput | Any]
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


class Alone(NamedTuple):
    """A record that NumPy evaluates."""

    row: int


Step = Group | Alone


@cache
def _ops(count: int) -> tuple[np.ndarray, ...]:
    """By opcode: has a lane, gives truth values, takes truth values (bits), role in a group of others."""
    lines, g = opened("tape.jit.emission.lines"), _grouping()
    roles = {"block": g.ELEMENT, "spread": g.TOTAL, "average": g.TOTAL, "sum_to": g.TOTAL, "stack": g.PACK}
    lane, gives, takes, part = (np.zeros(count, dtype=np.int64) for _ in range(4))
    for op in OPS[:count]:
        part[op.code] = int(roles.get(op.name) or roles.get(op.hints.motion or "", g.ALONE))
        if (lines.has_lane(op) or lines.keeps_numbers(op)) and op.arity <= 3:
            lane[op.code] = 1 if lines.has_lane(op) else 2
            gives[op.code] = lines.result_kind(op)
            takes[op.code] = sum(kind << i for i, kind in enumerate(lines.operand_kinds(op)))
    return lane, gives, takes, part


def _fitting(code: np.ndarray) -> tuple[np.ndarray, ...]:
    """`_ops`, without a lane for those in the column `code` whose scalar code cannot run in a kernel."""
    lane, *rest = _ops(len(OPS))
    scalar = code[_scalar(len(OPS))[code]]
    unfit = [c for c in set(scalar.tolist()) if lane[c] and not opened("tape.jit.emission.lines").fits(OPS[c])]
    if unfit:
        lane = lane.copy()
        lane[unfit] = 0
    return lane, *rest


@cache
def _whole(count: int) -> np.ndarray:
    """By opcode, whether a kernel may read whole numbers for an op."""
    takes_whole = opened("tape.jit.emission.lines").takes_whole
    return by_code(lane > 0 and takes_whole(op) for lane, op in zip(lanes(count), OPS[:count]))


@cache
def _scalar(count: int) -> np.ndarray:
    """By opcode, whether an op's lane is scalar code."""
    return by_code(isinstance(op.lane, Scalar) for op in OPS[:count])


@cache
def calling(count: int) -> np.ndarray:
    """By opcode, whether a kernel calls a function for an op."""
    return by_code(isinstance(op.lane, (Math, Scalar)) for op in OPS[:count])


def lanes(count: int) -> np.ndarray:
    """By opcode, whether a kernel can evaluate an op; 2 where it depends on the dtypes."""
    return _ops(count)[0]


def steps_of(listing: Listing) -> list[Step]:
    """The steps of a listing in the order in which they run."""
    g, (role, family, stage, keys) = _grouping(), _together(listing)
    together = keys >= 0
    group = np.arange(len(listing), dtype=np.int64)
    kernels, which = distinct(keys[together])
    group[together] = len(listing) + which
    escapes = np.zeros(len(listing), dtype=np.bool_)
    g.escaping(listing.first, listing.args, listing.outputs, group, role, escapes)
    members = np.flatnonzero(together)
    members = members[np.argsort(which, kind="stable")]
    ends = np.cumsum(np.bincount(which, minlength=len(kernels)))
    timed: list[tuple[int, int, Step]] = []
    for rows, made in _groups(listing, members, ends, role, group, family, escapes) if len(kernels) else ():
        timed.append((int(stage[rows[0]]), int(rows[0]), made))
    alone = np.flatnonzero((role == g.ALONE) | ((role == g.ELEMENT) & escapes))
    timed += [(int(stage[k]), k, Alone(k)) for k in alone.tolist()]
    timed.sort(key=itemgetter(0, 1))
    return [step for _, _, step in timed]


def _together(listing: Listing) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """By record its role, family and stage, and a number that those of one kernel share; −1 for the others."""
    g, n = _grouping(), len(listing)
    shapes: dict[Any, int] = {}
    shape = np.array([shapes.setdefault(s.shape, len(shapes)) for s in listing.specs], dtype=np.int64)
    kind = np.array([_KINDS.get(s.dtype, 4) for s in listing.specs], dtype=np.int64)
    single = np.array([s.size == 1 for s in listing.specs], dtype=np.bool_)
    plain = np.zeros(n, dtype=np.bool_)
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        plain[k] = type(listing.constant(k)) in NUMBERS and type(listing.constant(k)) is not complex
    role, family, stage = (np.empty(n, dtype=np.int64) for _ in range(3))
    code, first, args = listing.code, listing.first, listing.args
    whole = _whole(len(OPS)) if (kind == WHOLE).any() else np.zeros(len(OPS), dtype=np.bool_)
    known = by_rows(listing), whole, *_fitting(code)
    g.classify(code, first, args, listing.spec, shape, kind, single, plain, *known, role, family)
    g.stages(code, first, args, role, family, stage)
    several = (listing.spec >= 0) & ~single[listing.spec] & ~looks_at_given(listing)
    g.postpone(first, args, listing.outputs, role, family, several, np.full(n, n + 1), np.full(n, -1), stage)
    together = (role == g.LANE) | (role == g.TOTAL) | (role == g.PACK)
    return role, family, stage, np.where(together, stage * (2 * len(shapes) + 2) + family, -1)


def looks_at_given(listing: Listing) -> np.ndarray:
    """By record, whether it is a view of what is given, which takes no memory; of long lists that is not looked for."""
    found = np.zeros(len(listing), dtype=np.bool_)
    if len(listing) <= VIEWS:
        given = listing.code < 0
        for k in np.flatnonzero(_views(len(OPS))[listing.code]).tolist():
            operands = listing.args[listing.first[k] : listing.first[k + 1]]
            if len(operands) == 1 and (given[operands[0]] or found[operands[0]]):
                found[k] = OPS[listing.code[k]].is_view(listing.parameters(k))
    return found


@cache
def _views(count: int) -> np.ndarray:
    """By opcode, whether an op may give a view, of which kernels compute nothing."""
    return by_code(bool(op.view) and not lane for op, lane in zip(OPS[:count], lanes(count)))


class KernelMembers(NamedTuple):
    """Which records of a listing run together.

    Attributes:
        lanes: those of several numbers that kernels compute.
        family: by record, which shape and precision its kernel has.
        keys: by record, a number that those of one kernel share; −1 for the others.
        by_rows: the numbers of kernels that go by rows, because of sums.
    """

    lanes: list[int]
    family: np.ndarray
    keys: np.ndarray
    by_rows: set[int]


def kernels_of(listing: Listing) -> KernelMembers:
    """Which records of a listing run together."""
    g, (role, family, _, keys) = _grouping(), _together(listing)
    several = np.array([s.size > 1 for s in listing.specs] + [False], dtype=np.bool_)[listing.spec]
    lanes = np.flatnonzero((role == g.LANE) & several).tolist()
    return KernelMembers(lanes, family, keys, set(keys[by_rows(listing) & (role == g.TOTAL)].tolist()))


def step_numbers(listing: Listing) -> np.ndarray:
    """By record a number that those of one step share; −1 for what is given, and for views, which need no step."""
    g, (role, _, _, keys) = _grouping(), _together(listing)
    found = np.where(keys >= 0, len(listing) + keys, np.where(role == g.ALONE, np.arange(len(listing)), -1))
    for k in np.flatnonzero((keys < 0) & (role == g.ALONE)).tolist():
        if listing.op(k).is_view(listing.parameters(k)):  # type: ignore[union-attr]
            found[k] = -1
    return found


def renumbered(step: Step, rows: np.ndarray) -> Step:
    """A step of an excerpt of a listing as one of the listing itself: `rows` are its records by number there."""
    if isinstance(step, Alone):
        return Alone(int(rows[step.row]))
    sources = [s._replace(row=int(rows[s.row])) if isinstance(s, GroupInput) else s for s in step.sources]
    targets = [t._replace(row=int(rows[t.row])) for t in step.targets]
    return replace(step, rows=rows[step.rows], outside=rows[step.outside], sources=sources, targets=targets)


def by_rows(listing: Listing) -> np.ndarray:
    """By record, whether it is a sum or mean along the last axis, or a sum along the first axes, of rows so long that a
    kernel makes it.
    """
    found = np.zeros(len(listing), dtype=np.bool_)
    codes, part = listing.code, _ops(len(OPS))[-1]
    called = None
    for k in np.flatnonzero((codes >= 0) & (part[codes] == _grouping().TOTAL)).tolist():
        x, z = listing.spec_of(listing.operands(k)[0]), listing.spec_of(k)
        if x is None or z is None or x.ndim < 2 or x.shape[-1] < LEAST:
            continue
        if x.shape[-1] < LEAST_CALLS:
            called = _calling_shapes(listing) if called is None else called
            if x.shape in called:
                continue
        found[k] = 1 < z.size == x.size // x.shape[-1] and _over_last(listing.parameters(k), x.shape)
        found[k] |= _sums_columns(listing, k)
    return found


def _calling_shapes(listing: Listing) -> set[tuple[int, ...]]:
    """The shapes of results for which a kernel calls functions."""
    specs = set(listing.spec[calling(len(OPS))[listing.code]].tolist())
    return {listing.specs[i].shape for i in specs if i >= 0}


def _sums_columns(listing: Listing, k: int) -> bool:
    """Whether a record is a sum along the first axes of an array."""
    op, x, z = listing.op(k), listing.spec_of(listing.operands(k)[0]), listing.spec_of(k)
    if op is None or x is None or z is None or op.hints.motion == "average":
        return False
    if x.ndim < 2 or x.size > MOST_SUMMED or x.shape[-1] < LEAST_COLUMNS:
        return False
    if z.dtype != x.dtype or not 1 < z.size < x.size:
        return False
    summed = _summed_axes(op.name, listing.parameters(k), x.shape)
    return summed is not None and summed == tuple(range(len(summed))) and len(summed) < x.ndim


def _summed_axes(name: str, params: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes that a sum goes over, those of length 1 among the first included; None where that is not said."""
    if name == "sum_to":
        wanted = (1,) * (len(shape) - len(params["shape"])) + tuple(params["shape"])
        axes = [a for a, (n, m) in enumerate(zip(shape, wanted)) if m != n]
        if any(wanted[a] != 1 for a in axes):
            return None
    else:
        axis = params.get("axis")
        given = axis if type(axis) is tuple else (axis,)
        if any(type(a) is not int for a in given):
            return None
        axes = [a % len(shape) for a in given]
    last = max(axes, default=-1)
    return tuple(a for a in range(len(shape)) if a in axes or (a < last and shape[a] == 1))


def _over_last(params: Any, shape: tuple[int, ...]) -> bool:
    """Whether a sum goes over the last axis alone."""
    if "shape" in params:
        return tuple(params["shape"]) == (*shape[:-1], 1)
    axis = params.get("axis")
    return (axis if type(axis) is tuple else (axis,)) in ((len(shape) - 1,), (-1,))


def _groups(
    listing: Listing, members: np.ndarray, ends: np.ndarray, role: Any, group: Any, family: Any, escapes: Any
) -> Iterator[tuple[np.ndarray, Group]]:
    """The groups, each with all of its rows: those of group k are ``members[ends[k - 1]:ends[k]]``."""
    g = _grouping()
    most = int((listing.first[members + 1] - listing.first[members]).sum())
    inner, outside = np.empty(len(members), dtype=np.int64), np.empty(most, dtype=np.int64)
    operands = np.full(3 * len(members), -1, dtype=np.int64)
    values, targets = np.empty(most + len(members), dtype=np.int64), np.empty(2 * len(members), dtype=np.int64)
    counts, place = np.empty(4 * len(ends), dtype=np.int64), np.full(len(listing), -1, dtype=np.int64)
    g.localise(
        members, ends, listing.first, listing.args, role, group, escapes, place, inner, outside, operands, targets,
        values, counts,
    )  # fmt: skip
    kinds, gives = _truths(listing), _ops(len(OPS))[1]
    said = values[: counts[-1]].tolist()
    which = targets[: 2 * counts[-2]].reshape(-1, 2).tolist()
    hows = [_how(listing, k, role, g) for k, _ in which]
    sources = sources_of(listing, outside[: counts[-3]])
    start = made = given = written = value = 0
    firsts, worth, loops_of = members[np.concatenate([[0], ends[:-1]])], _segments().WORTH, _segments().loops_of
    alike = zip(np.where(family[firsts] & 1, 32, 64).tolist(), _shapes(listing, firsts, role, g))
    ranges = zip(ends.tolist(), counts.reshape(-1, 4).tolist(), alike)
    for end, (made_by, given_by, written_by, _), (bits, shape) in ranges:
        rows, mine, wanted = members[start:end], inner[made:made_by], []
        for how, (k, last) in zip(hows[written:written_by], which[written:written_by]):
            wanted.append(GroupOutput(k, how, tuple(said[value:last])))
            value = last
        reads, takes, loops = outside[given:given_by], operands[3 * made : 3 * made_by], []
        if len(mine) >= worth:
            truths = np.concatenate([kinds[listing.spec[reads]], gives[listing.code[mine]]])
            all_values = [v for t in wanted for v in t.values]
            loops = loops_of(listing.code[mine], takes, truths, len(reads), all_values)
        yield rows, Group(bits, shape, mine, reads, sources[given:given_by], takes, wanted, loops)
        start, made, given, written = end, made_by, given_by, written_by


def _how(listing: Listing, k: int, role: np.ndarray, g: Any) -> str:
    """How a record that is written comes about."""
    if role[k] == g.LANE:
        return "each"
    op = listing.op(k)
    assert op is not None
    if role[k] == g.PACK:
        return "pack"
    if _sums_columns(listing, k):
        return OF_COLUMNS
    how, result = "mean" if op.hints.motion == "average" else "sum", listing.spec_of(k)
    x = listing.spec_of(listing.operands(k)[0])
    if result is not None and result.size == 1:
        return f"{how} of few" if x is not None and x.size < IN_ORDER else how
    return f"{how} of short rows" if x is not None and x.shape[-1] < IN_ORDER else f"{how} of rows"


def _truths(listing: Listing) -> np.ndarray:
    """By spec, and at the end where there is none, 1 for truth values."""
    return np.array([*(_KINDS.get(s.dtype) == 2 for s in listing.specs), False], dtype=np.int64)


def _shapes(listing: Listing, firsts: np.ndarray, role: np.ndarray, g: Any) -> list[tuple[int, ...]]:
    """The shapes in which groups compute, each of which begins with one of these records."""
    computed = firsts.copy()
    totals = np.flatnonzero(role[firsts] == g.TOTAL)
    computed[totals] = listing.args[listing.first[firsts[totals]]]
    shapes = [spec.shape for spec in listing.specs]
    found = [shapes[i] for i in listing.spec[computed].tolist()]
    for k in np.flatnonzero(role[firsts] == g.PACK).tolist():
        found[k] = ()
    return found


def sources_of(listing: Listing, rows: np.ndarray) -> list[GroupInput | Any]:
    """For each of the records where its value is read, or the plain number that it is."""
    g, part, code = _grouping(), _ops(len(OPS))[-1], listing.code
    single = np.array([*(s.size == 1 for s in listing.specs), False], dtype=np.bool_)
    ones = single[listing.spec[rows]]
    elements = (code[rows] >= 0) & (part[code[rows]] == g.ELEMENT) & ones
    offsets = np.where(ones, 0, -1).tolist()
    found: list[Any] = list(map(GroupInput, rows.tolist(), offsets))
    places = np.flatnonzero(elements)
    memories = listing.args[listing.first[rows[places]]]
    columns = places.tolist(), memories.tolist(), listing.spec[memories].tolist(), listing.param[rows[places]].tolist()
    for i, memory, whole, param in zip(*columns):
        found[i] = GroupInput(memory, int(listing.params[param]["index"]) % listing.specs[whole].shape[0])
    for i in np.flatnonzero(code[rows] == CONSTANT).tolist():
        number = number_of(listing.constant(int(rows[i])))
        if number is not None:
            found[i] = number
    return found
