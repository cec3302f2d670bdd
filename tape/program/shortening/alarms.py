"""Values that no result needs, where NumPy may warn of what they are made by: a compiled function warns as well.

The gradient of a sum of logarithms needs no logarithm, and the function warns of one of a negative number.  So such
records are computed for the floating-point errors that they make, or, where that is cheaper, others that make the
same ones (see `Hints.alarm`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.own import is_own
from ops.core.registry import OPS

from ...base.rooms import opened
from ...base.spec import Spec
from ..recorded.expanding import Splice, part_of, spliced
from ..recorded.listing import Listing, by_code, needed_in
from ..recorded.trace import CONSTANT, INPUT
from .passes import as_number

MUL, POW, SQUARE, WHERE = (REGISTRY[name] for name in ("mul", "pow", "square", "where"))
SUMS = tuple(REGISTRY[name] for name in ("add", "sub", "neg", "sum"))

EXTREMES = (0.0, 0.5, 1.0, 2.0, 1e3, 1e200, np.inf, np.nan)
PEELED = 8
"""How many records in a row, at the end, are looked at: whether they make errors."""
MANY, FEW = 64, 16
"""Of so many numbers inputs are looked at in their place, if these are few."""
HIGHEST = 64.0
"""The highest power whose size is known."""
ROOM, LEAST = 1000.0, 128.0
"""Numbers up to 2 to the power `ROOM` are not too large; an input is not said to be up to the power `LEAST`."""


def with_alarms(listing: Listing) -> Listing:
    """A listing that watches what no result needs, where that may make floating-point errors."""
    needed = needed_in(listing)
    if needed.all():
        return listing
    watched = _computable(listing, needed)
    alarm = _of_inputs(listing, watched)
    last = _last(listing, watched)
    splices = _cheaper(listing, watched, last)
    if alarm is not None:
        last[alarm.row] = True
        splices = sorted([*splices, alarm], key=lambda splice: splice.row)
    outputs = np.concatenate([listing.outputs, np.flatnonzero(last)])
    return spliced(replace(listing, outputs=outputs, watched=int(np.count_nonzero(last))), splices)


def _computable(listing: Listing, needed: np.ndarray) -> np.ndarray:
    """The records of floating-point numbers that are not needed, and made of what is computed anyway, or of such."""
    floats = np.array([s.dtype.kind in "fc" for s in listing.specs] + [False], dtype=np.bool_)
    found = ~needed & floats[listing.spec] & _is_told(len(OPS))[listing.code]
    given = needed | (listing.code < 0)
    code = np.where(found | needed, listing.code, INPUT)
    opened("tape.jit.emission.shorten").mark_constant(code, listing.first, listing.args, given)
    return found & given


def _of_inputs(listing: Listing, watched: np.ndarray) -> Splice | None:
    """What tells, in the place of many numbers, that an input is so large that one of these may be too large.

    `watched` loses the numbers, each of which is a polynomial of inputs.
    """
    numbers = np.array([s.size == 1 and s.dtype == np.float64 for s in listing.specs] + [False], dtype=np.bool_)
    alone = watched & numbers[listing.spec]
    if np.count_nonzero(alone) < MANY:
        return None
    degree, factor = _bounds(listing)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = (ROOM - np.log2(factor)) / degree  # the inputs may be two to this power
    alone &= room >= LEAST
    free = np.flatnonzero(alone & ~_beneath(listing, watched & ~alone))
    rows = np.flatnonzero(_beneath(listing, alone) & (listing.code == INPUT)).tolist()
    if len(free) < MANY or len(rows) > FEW:
        return None
    factor = 2.0 ** (1023.0 - math.floor(room[alone].min()))
    part = part_of(lambda *xs: _alarm(xs, factor), [listing.spec_of(k) for k in rows])
    watched &= ~alone
    return None if part is None else Splice(int(free[-1]), part, rows)


def _beneath(listing: Listing, records: np.ndarray) -> np.ndarray:
    """Some records and what they are made of."""
    found = np.zeros(len(listing), dtype=np.bool_)
    opened("tape.jit.emission.shorten").mark_needed(listing.first, listing.args, np.flatnonzero(records), found)
    return found


def _alarm(xs: Sequence[Any], factor: float) -> Any:
    """An error where a number is too large, or infinite: it may be beside another such number."""
    total = sum([(abs(x) * factor).sum() for x in xs])
    return total - total


def _bounds(listing: Listing) -> tuple[np.ndarray, np.ndarray]:
    """By record, d and c such that of inputs that are at most t ≥ 1 it is at most c·tᵈ; d is nan if that is unknown."""
    floats = np.array([s.dtype == np.float64 for s in listing.specs] + [False], dtype=np.bool_)[listing.spec]
    size = np.array([max(s.size, 1) for s in listing.specs] + [1], dtype=np.float64)[listing.spec]
    degree, factor = np.where((listing.code == INPUT) & floats, 1.0, np.nan), np.ones(len(listing))
    power = np.where(listing.code == SQUARE.code, 2.0, np.nan)
    number = np.full(len(listing), np.nan)
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        number[k] = math.fabs(as_number(listing.constant(k)))
    known = np.isfinite(number)
    degree[known], factor[known] = 0.0, np.maximum(number[known], 1.0)
    powers = np.flatnonzero(listing.code == POW.code)
    power[powers] = number[listing.args[listing.first[powers] + 1]]
    power[~((power >= 1.0) & (power <= HIGHEST))] = np.nan
    opened("tape.jit.emission.shorten").bound(
        listing.code, listing.first, listing.args, _growth(len(OPS)), size, power, degree, factor
    )
    return degree, factor


@cache
def _growth(count: int) -> np.ndarray:
    """By opcode, how large a result may be (see `tape.jit.emission.shorten.bound`)."""
    jit = opened("tape.jit.emission.shorten")
    how = {op: jit.MOVE for op in OPS[:count] if op.kind == "linear" and op.view is not False}
    how |= {**dict.fromkeys(SUMS, jit.SUM), MUL: jit.PRODUCT, **dict.fromkeys((POW, SQUARE), jit.POWER)}
    return np.array([how.get(op, -1) for op in OPS[:count]])


def _last(listing: Listing, watched: np.ndarray) -> np.ndarray:
    """Those that none of the others reads; `watched` loses the ones behind which nothing makes an error."""
    silent = watched.copy()
    for code in np.unique(listing.code[watched]).tolist():
        silent &= (listing.code != code) | (not may_warn(OPS[code]))
    for _ in range(PEELED):
        last = _unread(listing, watched) & silent
        if not last.any():
            break
        watched &= ~last
    return _unread(listing, watched)


def _unread(listing: Listing, records: np.ndarray) -> np.ndarray:
    """Those of some records that none of them reads."""
    found = records.copy()
    found[listing.args[np.repeat(records, np.diff(listing.first))]] = False
    return found


def _cheaper(listing: Listing, watched: np.ndarray, last: np.ndarray) -> list[Splice]:
    """What stands in the place of records: what makes their errors for less, and one number for a whole array."""
    read = np.repeat(watched & ~_only_adds(len(OPS))[listing.code], np.diff(listing.first))
    exact = np.zeros(len(listing), dtype=np.bool_)
    exact[listing.args[read]] = True
    exact = _beneath(listing, exact)
    many = np.array([s.size > 1 for s in listing.specs] + [False], dtype=np.bool_)[listing.spec]
    cheap = watched & ~exact & _has_alarm(len(OPS))[listing.code]
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

    return part_of(errors_of, operands) if all(type(x) in (Spec, int, float) for x in operands) else None


@cache
def _is_told(count: int) -> np.ndarray:
    """By opcode, whether NumPy warns of what goes wrong in an op: not in SciPy's functions, nor in users' own."""
    known = [op for op in OPS[:count] if op.outputs == 1 and op.hints.raises is None and not is_own(op)]
    told = [op for op in known if not op.scipy or isinstance(op.forward, np.ufunc)]
    return by_code(op in told and op.name not in ("output", "custom", "replay") for op in OPS[:count])


@cache
def may_warn(op: Op) -> bool:
    """Whether an op can make an error of which NumPy warns."""
    if op.kind != "elementwise":
        return op.view is False
    numbers = np.array([*EXTREMES, *(-x for x in EXTREMES)])
    try:
        with np.errstate(all="raise", under="ignore"):
            op.forward(*np.meshgrid(*[numbers] * op.arity))
    except Exception:  # also of an op that takes more than its operands, of which it is not known
        return True
    return False


@cache
def _only_adds(count: int) -> np.ndarray:
    """By opcode, whether an op makes sums and products, or chooses: of larger numbers, nothing that is less large."""
    return by_code(op.kind == "linear" or op in (*SUMS, MUL, WHERE) for op in OPS[:count])


@cache
def _has_alarm(count: int) -> np.ndarray:
    """By opcode, whether an op says what makes its errors for less."""
    return by_code(op.hints.alarm is not None for op in OPS[:count])
