"""Values that no result needs, where NumPy may warn of what they are made by: a compiled function warns as well.

The gradient of a sum of logarithms needs no logarithm, and the function warns of one of a negative number.  So such
records are computed for the floating-point errors that they make, or, where that is cheaper, others that make the
same ones (see `Hints.alarm`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, reduce
from typing import Any

import numpy as np

from ops import Op
from ops.core.own import is_own
from ops.core.registry import OPS

from ...base.rooms import opened
from ...base.spec import Spec
from ..recorded.covered import putting, without_covered
from ..recorded.expanding import Splice, part_of, spliced
from ..recorded.listing import Listing, by_code, is_fixed, needed_in
from ..recorded.trace import CONSTANT, INPUT
from .passes import as_number, merge

EXTREMES = (0.0, 0.5, 1.0, 2.0, 1e3, 1e200, 1.7e308, np.finfo(float).max, np.inf, np.nan)
"""Numbers of which, and of whose negatives, NumPy is asked whether it warns."""
PEELED = 8
"""How many records in a row, at the end, are looked at: whether they make errors."""
RECORD, MANY, FEW, GAIN = 3, 64, 16, 4
"""A record takes as long as so many numbers; for so many others are looked at, in a few records, that take a part."""
SMALL = 4096
"""Constants of more numbers are not looked through."""
HIGHEST = 64.0
"""The highest power whose size is known."""
ROOM, LEAST = 1000.0, 128.0
"""Numbers up to 2 to the power `ROOM` are not too large; none is said to be up to the power `LEAST`."""


def with_alarms(listing: Listing) -> Listing:
    """A listing that watches what no result needs, where that may make floating-point errors.

    What is written over in all of an array is among that.
    """
    if putting(len(OPS))[listing.code].any():
        listing = without_covered(listing)
    if not (_told_of(listing, needed_in(listing)) | _decides(len(OPS))[listing.code]).any():
        return listing
    listing = merge(listing)  # much that no result needs is the same as what one needs, and what is known to be chosen
    needed = needed_in(listing)
    watched = _computable(listing, needed)
    alarm = _of_what_is_there(listing, needed, watched)
    last = _last(listing, watched)
    splices = _cheaper(listing, watched, last)
    if alarm is not None:
        last[alarm.row] = True
        splices = sorted([*splices, alarm], key=lambda splice: splice.row)
    outputs = np.concatenate([listing.outputs, np.flatnonzero(last)])
    return spliced(replace(listing, outputs=outputs, watched=int(np.count_nonzero(last))), splices)


def _told_of(listing: Listing, needed: np.ndarray) -> np.ndarray:
    """The records that are not needed, and of whose errors NumPy warns."""
    return told_of(listing, ~needed)


def told_of(listing: Listing, among: np.ndarray) -> np.ndarray:
    """The records of whose errors NumPy warns, among some, as far as they have one result."""
    floats, whole = _of_kinds(listing, "fc"), _of_kinds(listing, "iu")
    found: np.ndarray = among & (floats | whole) & is_told(len(OPS))[listing.code]
    for k in np.flatnonzero(found & whole).tolist():
        found[k] = _tells_of_whole(listing, k, floats)
    return found


def _of_kinds(listing: Listing, kinds: str) -> np.ndarray:
    """The rows whose dtypes are of some kinds."""
    return np.array([s.dtype.kind in kinds for s in listing.specs] + [False], dtype=np.bool_)[listing.spec]


def _tells_of_whole(listing: Listing, k: int, floats: np.ndarray) -> bool:
    """Whether NumPy may warn of whole numbers: of rounded ones, quotients, and what overflows and is no array."""
    op, spec = OPS[listing.code[k]], listing.spec_of(k)
    is_alone = op.kind == "elementwise" and spec is not None and not spec.shape
    return is_alone or warns_of_whole(op) or (op.kind == "linear" and bool(floats[listing.operands(k)].any()))


def _computable(listing: Listing, needed: np.ndarray) -> np.ndarray:
    """Those of them that are made of what is computed anyway, or can be: by anything but users' own code."""
    found = _told_of(listing, needed)
    given = needed | (listing.code < 0)
    code = np.where(needed | _can_be_made(len(OPS))[listing.code], listing.code, INPUT)
    opened("tape.jit.column_passes.shorten").mark_constant(code, listing.first, listing.args, given)
    return found & given


def _of_what_is_there(listing: Listing, needed: np.ndarray, watched: np.ndarray) -> Splice | None:
    """What tells, in the place of many numbers, that one of them may be too large, of the fewer that they are made of.

    `watched` loses these numbers, each of which is a polynomial of inputs and of records that are needed.
    """
    size = np.array([s.size for s in listing.specs] + [0], dtype=np.int64)[listing.spec]
    cost = size + RECORD
    if cost[watched].sum() < MANY:
        return None
    doubles = np.array([s.dtype == np.float64 for s in listing.specs] + [False], dtype=np.bool_)[listing.spec]
    growth = _growth(len(OPS))
    known = growth[np.maximum(listing.code, 0)] >= 0
    leaf = doubles & ((listing.code == INPUT) | (needed & (listing.code >= 0) & ~known))
    degree, factor = _bounds(listing, leaf, np.where(doubles, size, 0), growth)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = (ROOM - np.log2(factor)) / degree  # the leaves may be two to this power
    safe = watched & (room >= LEAST)
    free = np.flatnonzero(safe & ~_beneath(listing, watched & ~safe))
    owner = np.repeat(np.arange(len(listing)), np.diff(listing.first))
    cut = replace(listing, args=np.where(leaf[owner], owner, listing.args))  # where a leaf ends the search
    rows = np.flatnonzero(_beneath(cut, safe) & leaf).tolist()
    if not len(free) or not 0 < len(rows) <= FEW or rows[-1] > free[-1] or cost[safe].sum() < GAIN * cost[rows].sum():
        return None
    most = 2.0 ** (1023.0 - math.floor(room[safe].min()))
    part = part_of(lambda *xs: _alarm(xs, most), [listing.spec_of(k) for k in rows])
    if part is None:
        return None
    watched &= ~safe
    return Splice(int(free[-1]), part, rows)


def _beneath(listing: Listing, records: np.ndarray) -> np.ndarray:
    """Some records and what they are made of."""
    found = np.zeros(len(listing), dtype=np.bool_)
    opened("tape.jit.column_passes.shorten").mark_needed(listing.first, listing.args, np.flatnonzero(records), found)
    return found


def _alarm(xs: Sequence[Any], factor: float) -> Any:
    """An error where a number is too large, or infinite: it may be beside another such number."""
    by_shape: dict[Any, Any] = {}
    for x in xs:
        by_shape[x.shape] = by_shape[x.shape] + abs(x) if x.shape in by_shape else abs(x)
    found = [x * factor for x in by_shape.values()]
    return reduce(operator.add, [(x - x).sum() for x in found])


def _bounds(listing: Listing, leaf: np.ndarray, size: np.ndarray, growth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By record, d and c such that of leaves that are at most t ≥ 1 it is at most c·tᵈ; d is inf if that is unknown."""
    degree, factor = np.where(leaf, 1.0, np.inf), np.ones(len(listing))
    least, number = np.full((2, len(listing)), np.nan)
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        least[k], number[k] = _bounds_of(listing.constant(k))
    known = np.isfinite(number)
    degree[known], factor[known] = 0.0, np.maximum(number[known], 1.0)
    jit, power = opened("tape.jit.column_passes.shorten"), np.zeros(len(listing))
    powers = np.flatnonzero((listing.code >= 0) & (growth[listing.code] == jit.POWER))
    second = listing.args[np.minimum(listing.first[powers] + 1, len(listing.args) - 1)]
    alone = np.diff(listing.first)[powers] == 1
    told = alone | ((least[second] >= 1.0) & (number[second] <= HIGHEST))
    power[powers] = np.where(told, np.where(alone, 2.0, number[second]), 0.0)
    jit.bound(
        listing.code, listing.first, listing.args, growth, np.maximum(size, 1).astype(np.float64), power, degree, factor
    )
    return degree, factor


def _bounds_of(constant: Any) -> tuple[float, float]:
    """The least of few real numbers in a constant, and the largest absolute value; nan if it is anything else."""
    if (
        isinstance(constant, np.ndarray)
        and constant.size <= SMALL
        and is_fixed(constant)
        and constant.dtype.kind in "fiu"
    ):
        return float(constant.min()) if constant.size else math.inf, float(np.abs(constant).max(initial=0.0))
    number = as_number(constant)
    return number, math.fabs(number)


@cache
def _growth(count: int) -> np.ndarray:
    """By opcode, how large a result may be (see `tape.jit.column_passes.shorten.bound`)."""
    jit = opened("tape.jit.column_passes.shorten")
    how = {"none": jit.MOVE, "sum": jit.SUM, "product": jit.PRODUCT, "power": jit.POWER}
    return np.array([how.get(growth_of(op), -1) for op in OPS[:count]])


def growth_of(op: Op) -> str:
    """How large what an op gives may be (see `Hints.growth`): what moves numbers makes none larger."""
    return op.hints.growth or ("none" if op.kind == "linear" and op.view is not False else "")


def _last(listing: Listing, watched: np.ndarray) -> np.ndarray:
    """Those of which none of the others is made; `watched` loses the ones behind which nothing makes an error."""
    silent = watched.copy()
    for code in np.unique(listing.code[watched]).tolist():
        silent &= (listing.code != code) | (not may_warn(OPS[code]))
    for _ in range(PEELED):
        last = _unread(listing, watched, watched) & silent
        if not last.any():
            break
        watched &= ~last
    return _unread(listing, watched, _beneath(listing, watched))


def _unread(listing: Listing, records: np.ndarray, readers: np.ndarray) -> np.ndarray:
    """Those of some records that none of the readers reads."""
    found = records.copy()
    found[listing.args[np.repeat(readers, np.diff(listing.first))]] = False
    return found


def _cheaper(listing: Listing, watched: np.ndarray, last: np.ndarray) -> list[Splice]:
    """What stands in the place of records: what makes their errors for less, and one number for a whole array."""
    read = np.repeat(watched & ~_only_adds(len(OPS))[listing.code], np.diff(listing.first))
    exact = np.zeros(len(listing), dtype=np.bool_)
    exact[listing.args[read]] = True
    exact = _beneath(listing, exact)
    many = np.array([s.size > 1 for s in listing.specs] + [False], dtype=np.bool_)[listing.spec]
    cheap = watched & ~exact & _has_alarm(len(OPS))[listing.code] & _of_kinds(listing, "fc")
    known: dict[Any, Listing | None] = {}
    splices = []
    for k in np.flatnonzero(cheap | (last & many)).tolist():
        rows = listing.operands(k)
        operands = [listing.constant(j) if listing.is_number(j) else listing.spec_of(j) for j in rows]
        less, total = bool(cheap[k]), bool(last[k] and many[k])
        key = listing.op(k), int(listing.param[k]), repr(operands), less, total
        if key not in known:
            known[key] = _part(listing.op(k), listing.parameters(k), operands, less, total)
        part = known[key]
        if part is not None:
            splices.append(Splice(k, part, [j for j in rows if not listing.is_number(j)]))
    return splices


def _part(op: Any, params: dict[str, Any], operands: Sequence[Any], less: bool, total: bool) -> Listing | None:
    """The list of what makes the errors of an op, None if that is only the op itself."""

    def errors_of(*xs: Any) -> Any:
        z: Any = op.alarm(xs, params) if less else None
        if z is None and total:
            z = op(*xs, **params)
        return z.sum() if total else z

    if not all(type(x) in (Spec, int, float) for x in operands):
        return None
    try:
        return part_of(errors_of, operands)
    except ValueError:  # the op takes ones only of such operands as it had
        return None


@cache
def _decides(count: int) -> np.ndarray:
    """By opcode, whether a truth value may decide which operand is given, so that no result needs the other."""
    return by_code(bool(op.hints.decides) for op in OPS[:count])


@cache
def is_told(count: int) -> np.ndarray:
    """By opcode, whether NumPy warns of what goes wrong in an op: not in SciPy's functions, nor in users' own."""
    calm = [op for op in OPS[:count] if op.hints.raises is None or op.hints.raises_of_whole]
    known = [op for op in calm if op.outputs == 1 and not is_own(op)]
    told = [op for op in known if not op.scipy or op.numpy or isinstance(op.forward, np.ufunc)]
    return by_code(op in told and op.name not in ("output", "custom", "replay") for op in OPS[:count])


@cache
def may_warn(op: Op) -> bool:
    """Whether an op can make an error of which NumPy warns."""
    if op.kind not in ("elementwise", "plain"):
        return op.view is False
    if op.kind == "elementwise" and op.params:  # what it does with others than those left out is not known
        return True
    numbers = np.array([*EXTREMES, *(-x for x in EXTREMES)])
    try:
        with np.errstate(all="raise", under="ignore"):
            op.forward(*np.meshgrid(*[numbers] * op.arity))
    except Exception:  # also of an op that takes more than its operands, of which it is not known
        return True
    return False


@cache
def warns_of_whole(op: Op) -> bool:
    """Whether NumPy warns of what an op makes of arrays of whole numbers, if the result is of such, too."""
    if op.kind not in ("elementwise", "plain"):
        return False
    numbers = np.array([-128, -1, 0, 1, 127], np.int8)
    try:
        with np.errstate(all="raise", under="ignore"):
            op.forward(*np.meshgrid(*[numbers] * op.arity))
    except FloatingPointError:
        return True
    except Exception:  # of what else it takes, or refuses
        return False
    return False


@cache
def _can_be_made(count: int) -> np.ndarray:
    """By opcode, whether an op may be evaluated where nobody reads what it gives."""
    return by_code(not is_own(op) and op.name not in ("custom", "replay") for op in OPS[:count])


@cache
def _only_adds(count: int) -> np.ndarray:
    """By opcode, whether an op makes sums and products, or chooses: of larger numbers, nothing that is less large."""
    return by_code(
        op.kind == "linear" or op.hints.growth in ("none", "sum", "product") or bool(op.hints.decides)
        for op in OPS[:count]
    )


@cache
def _has_alarm(count: int) -> np.ndarray:
    """By opcode, whether an op says what makes its errors for less."""
    return by_code(op.hints.alarm is not None for op in OPS[:count])
