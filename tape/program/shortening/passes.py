"""The passes that make a list shorter without changing what it computes.

Each takes a listing and gives another one.  They are linear in its length.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ops import REGISTRY
from ops.core.lane import Same
from ops.core.registry import OPS

from ...base.rooms import opened
from ...base.spec import spec
from ...recording.recorder import forward_of
from ..recorded.covered import putting, without_covered
from ..recorded.expanding import expand, made_of_others
from ..recorded.large.later import LARGE
from ..recorded.listing import Listing, by_code, is_fixed, number_of, prune
from ..recorded.trace import CONSTANT, INPUT, NUMBERS
from . import outer_products, sums_of_products, vector_products

MATMUL = REGISTRY["matmul"]


def _jitted() -> Any:
    return opened("tape.jit.column_passes.shorten")


def fold(listing: Listing) -> Listing:
    """With what depends on constants alone computed once.

    Arrays and tensors from outside are no constants: they are read anew on every replay.
    """
    fixed = np.zeros(len(listing), dtype=np.bool_)
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        fixed[k] = is_fixed(listing.constant(k))
    given = fixed.copy()
    repeats = _repeating(len(OPS))[listing.code]
    repeat = bool(repeats.any())
    kept = np.where(repeats, INPUT, listing.code) if repeat else listing.code  # a kernel repeats a number by itself
    _jitted().mark_constant(kept, listing.first, listing.args, fixed)
    if repeat:
        _hold_repeated(listing, given, fixed)
    found = np.flatnonzero(fixed & ~given).tolist()
    if not found:
        return listing
    code, param = listing.code.copy(), listing.param.copy()
    constants = list(listing.constants)
    values: dict[int, Any] = {}
    folded = []
    with np.errstate(all="ignore"):  # the function told of its own errors while it was recorded; rules tell of none
        for k in found:
            value = _value(listing, k, values)
            if listing.spec[k] >= 0:  # a record with several results goes, once each result is a constant
                constants.append(value)
                code[k], param[k] = CONSTANT, len(constants) - 1
                folded.append(k)
    counts = np.diff(listing.first)
    own = np.zeros(len(listing), dtype=np.bool_)
    own[folded] = True
    args = listing.args[np.repeat(~own, counts)]
    counts[own] = 0
    first = np.concatenate([[0], np.cumsum(counts)])
    return replace(listing, code=code, param=param, constants=constants, args=args, first=first)


def _hold_repeated(listing: Listing, given: np.ndarray, fixed: np.ndarray) -> None:
    """Extend ``fixed`` to what is made of repeated numbers and of no use to a kernel, where it takes little memory.

    `given` are the constants.  What only kernels read of a repeated number they make themselves.
    """
    little = np.array([s.nbytes <= LARGE for s in listing.specs] + [True], dtype=np.bool_)
    loose = given.copy()
    kept = np.where(little[listing.spec] | fixed, listing.code, INPUT)
    _jitted().mark_constant(kept, listing.first, listing.args, loose)
    repeats, made = _repeating(len(OPS))[listing.code], _lanes(len(OPS))[listing.code]
    readers = _readers(listing)
    among = loose[listing.args] & ~fixed[listing.args] & ~loose[readers] & ~made[readers]
    wanted = set(listing.args[among].tolist())
    for k in np.flatnonzero(loose & ~fixed).tolist():
        plain = not made[k] or (not repeats[k] and all(fixed[j] for j in listing.operands(k)))
        fixed[k] = plain or k in wanted


@cache
def _lanes(count: int) -> np.ndarray:
    """By opcode, whether a kernel can compute an op."""
    has_lane = opened("tape.jit.emission.lines").has_lane
    return by_code(has_lane(op) for op in OPS[:count])


def _value(listing: Listing, k: int, values: dict[int, Any]) -> Any:
    """What a record gives that depends on constants alone; those on the way there are kept in `values`."""
    waiting = [k]
    while waiting:
        k = waiting[-1]
        operands = [] if k in values or listing.code[k] == CONSTANT else listing.operands(k)
        missing = [j for j in operands if j not in values]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if k in values:
            continue
        op = listing.op(k)
        if op is None:
            values[k] = listing.constant(k)
        else:
            given = [values[j] for j in operands]
            if len(given) == 1 and type(given[0]) in NUMBERS:  # which an op may look into, as into an array
                given = [np.asarray(given[0])[()]]
            values[k] = frozen(forward_of(op)(*given, **listing.parameters(k)))
    return values[k]


@cache
def _repeating(count: int) -> np.ndarray:
    """By opcode, whether an op repeats the numbers of its operand."""
    return by_code(isinstance(op.lane, Same) for op in OPS[:count])


def widen(listing: Listing) -> Listing:
    """With constant arrays of integers or truth values in the dtype that NumPy would turn them to, whoever reads them.

    They have lanes then.
    """
    narrow = [k for k in np.flatnonzero(listing.code == CONSTANT).tolist() if _is_whole(listing, k)]
    if not narrow:
        return listing
    wanted: dict[int, set[Any]] = {k: set() for k in narrow}
    for k in np.unique(_readers(listing)[np.isin(listing.args, narrow)]).tolist():
        for i, j in enumerate(listing.operands(k)):
            if j in wanted:
                wanted[j].add(_computed_in(listing, k, i))
    constants, specs, which = list(listing.constants), list(listing.specs), listing.spec.copy()
    for k, dtypes in wanted.items():
        dtype = dtypes.pop() if len(dtypes) == 1 and k not in listing.outputs else None
        if dtype is not None:
            constants[listing.param[k]] = frozen(listing.constant(k).astype(dtype))
            which[k] = len(specs)
            specs.append(spec(listing.constant(k).shape, dtype))
    return replace(listing, constants=constants, specs=specs, spec=which)


def _is_whole(listing: Listing, k: int) -> bool:
    constant = listing.constant(k)
    return isinstance(constant, np.ndarray) and constant.dtype.kind in "iub" and is_fixed(constant)


def _readers(listing: Listing) -> np.ndarray:
    """By place in `args`, the record that has it."""
    return np.repeat(np.arange(len(listing)), np.diff(listing.first))


def _computed_in(listing: Listing, k: int, i: int) -> Any:
    """The dtype of floating-point numbers that NumPy computes a record in that has lanes, None if there is none."""
    op, found = listing.op(k), listing.spec_of(k)
    assert op is not None
    operands = [listing.spec_of(j) for n, j in enumerate(listing.operands(k)) if n not in op.chooses]
    if op.lane is None or not op.broadcasts or i in op.chooses or found is None or None in operands:
        return None
    dtype = np.result_type(*(x.dtype for x in operands if x is not None))
    return dtype if dtype.kind == "f" and found.dtype in (dtype, np.bool_) else None


def merge(listing: Listing) -> Listing:
    """With equal records computed once, and without those that give an operand back: x·1, x − 0, −(−x), False or x."""
    n = len(listing)
    left, right, kept, twice, repeats, spreads, decides = _facts(len(OPS))
    number = np.full(n, np.nan)
    real = np.array([s.dtype.kind != "c" for s in listing.specs])
    signed = np.array([s.inexact for s in listing.specs], dtype=np.bool_)
    for k in np.flatnonzero(listing.code == CONSTANT).tolist():
        number[k] = as_number(listing.constant(k))
    args, place = _alike(listing), np.empty(n, dtype=np.int64)
    table = np.full(1 << max(4, math.ceil(math.log2(2 * n + 1))), -1, dtype=np.int64)
    _jitted().merge(
        listing.code, listing.first, args, listing.param, listing.spec, real, signed, number, left, right, kept, twice,
        repeats, spreads, decides, place, table,
    )  # fmt: skip
    return replace(listing, args=args).with_rows(place == np.arange(n), place)


FEW_ARRAYS = 64
"""Of more constant arrays none are compared: they are the data of a loop's rounds, each of which has its own."""


def _alike(listing: Listing) -> np.ndarray:
    """The operands of all records, each constant array among them as the first that holds the same bytes."""
    rows = np.flatnonzero(listing.code == CONSTANT).tolist()
    arrays = [k for k in rows if _is_plain(listing.constant(k))]
    if not 1 < len(arrays) <= FEW_ARRAYS:
        return listing.args.copy()
    found = np.arange(len(listing), dtype=np.int64)
    first: dict[Any, int] = {}
    for k in arrays:
        x = listing.constant(k)
        found[k] = first.setdefault((x.dtype, x.shape, x.tobytes()), k)
    return found[listing.args]


def _is_plain(constant: Any) -> bool:
    return type(constant) is np.ndarray and constant.dtype.kind in "fciub" and is_fixed(constant)


def frozen(value: Any) -> Any:
    """A value that nobody can change."""
    if isinstance(value, np.ndarray):
        value = value if value.base is None else value.copy()
        value.flags.writeable = False
    return value


def as_number(constant: Any) -> float:
    """The number that a constant stands for, nan if it is none that a float holds."""
    found = number_of(constant)
    if isinstance(found, int) and abs(found) >= 1 << 53:
        return math.nan
    return math.nan if found is None or isinstance(found, complex) else float(found)


@cache
def _facts(count: int) -> tuple[np.ndarray, ...]:
    """What `merge` knows of each op, out of the declarations."""
    ops = OPS[:count]
    left = np.array([op.hints.neutral.get(0, math.nan) for op in ops])
    right = np.array([op.hints.neutral.get(1, math.nan) for op in ops])
    gives_back = opened("tape.jit.emission.lines").gives_back
    same = [op.hints.motion == "same" or op.name == "cast" for op in ops]  # if its spec is that of the operand
    kept = np.array([1 if same[op.code] else 2 if gives_back(op) else 0 for op in ops])
    twice, repeats = np.array([op.hints.involution for op in ops]), np.array([isinstance(op.lane, Same) for op in ops])
    spreads = np.array([op.broadcasts and op.arity == 2 for op in ops])
    decides = np.full((len(ops), 2, 2), -1)
    for op in ops:
        for (position, truth), given in op.hints.decides.items():
            decides[op.code, position, int(truth)] = given
    return left, right, kept, twice, repeats, spreads, decides.reshape(-1)


def join_products(listing: Listing) -> Listing:
    """With matrix products in the place of many products of vectors, outer ones that are summed and those with parts of
    one matrix, and of sums of products.
    """
    if any(len(s.shape) == 2 and s.shape[1] == 1 < s.shape[0] for s in listing.specs):
        listing = outer_products.with_products(listing)
    if (listing.code == MATMUL.code).any():
        listing = vector_products.with_products(listing)
    shapes = {s.shape for s in listing.specs}
    spread = any(1 in shape for shape in shapes) and max(map(len, shapes)) > 1
    return sums_of_products.with_contractions(listing) if spread else listing


PASSES = (prune, without_covered, join_products, expand, fold, widen, merge, prune)
"""In the order in which a program goes through them."""
ABOUT = {without_covered: putting, expand: made_of_others}
"""By opcode, whether a pass is about an op; of the other passes only they themselves know."""


def shorten(listing: Listing) -> Listing:
    """The listing after all passes."""
    for step in PASSES:
        about = ABOUT.get(step)
        if about is None or about(len(OPS))[listing.code].any():
            listing = step(listing)
    return listing
