"""Which ops move numbers or add them up, and from where to where: found by applying them to random numbers.

A linear op does the same to all numbers.  So where each number of its result is one of those that it was applied to,
out of a great many, it is the number that was there; and where its transpose gives each number of the adjoint to
some places, the op adds up what is in these.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ops import Op
from ops.core.batching_index import parts_of

from ....base.spec import Spec, spec
from ...recorded.indexmaps import CopyAxis, axes_of, axes_of_pairs, is_linear, puts_of, signs_kept, view_of
from . import record_steps
from .plan_places import SUFFIXES, PlanValue, moved
from .reducing import fold, loop_of
from .step_memory import StepMemory, castable


class Moves(NamedTuple):
    """For each operand: ``z[to] = x[source]``, in flat arrays; what is not named is 0."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    complete: bool


class Sums(NamedTuple):
    """``z[i] = sum(x[places[first[i]:first[i + 1]]]) / n``, in flat arrays.

    Attributes:
        from_zero: whether the sums begin with zero, so that none is −0.0, and not with their first elements.
    """

    first: np.ndarray
    places: np.ndarray
    n: int
    from_zero: bool


def moves_of(op: Op, params: dict[str, Any], operands: Sequence[Spec], result: Spec) -> Moves | None:
    """How an op moves numbers, None unless it does that alone."""
    if not is_linear(op) or any(spec.dtype != result.dtype for spec in operands):
        return None
    if op.hints.part is not None and len(operands) == 1:
        return _read(op.part_of(params), operands[0], result)
    ends = np.cumsum([spec.size for spec in operands])
    if ends[-1] > MOST:
        return None
    pool = _tagged(int(ends[-1]))
    given = [r.reshape(spec.shape)[()] for r, spec in zip(np.split(pool, ends[:-1]), operands)]
    try:
        with np.errstate(all="ignore"):  # a tag may be too large for a dtype that every number here fits
            z = np.asarray(op.forward(*given, **params))
            turned = None if result.dtype.kind != "c" else np.asarray(op.forward(*(x * 1j for x in given), **params))
    except Exception:  # an op may well take no integers
        return None
    if z.dtype != pool.dtype or z.shape != result.shape:
        return None
    if turned is not None and not np.array_equal(turned, z * 1j):  # conjugated, or one of the parts
        return None
    z = z.ravel()
    place = np.minimum(z & ((1 << PLACE) - 1), max(ends[-1] - 1, 0))
    found = (z != 0) & (pool[place] == z) if len(pool) else np.zeros(z.shape, dtype=np.bool_)
    if (~found & (z != 0)).any():
        return None
    source = np.where(found, place, -1)
    owner = np.searchsorted(ends, source, side="right")
    pairs = []
    for i, begin in enumerate([0, *ends[:-1]]):
        to = np.flatnonzero((owner == i) & (source >= 0))
        pairs.append((to, source[to] - begin))
    if result.dtype.kind in "fc" and not signs_kept(op, params, operands, result).ravel()[source >= 0].all():
        return None  # it adds to zeros, be it one number
    return Moves(pairs, bool((source >= 0).all()))


@lru_cache(2)
def _tagged(n: int) -> np.ndarray:
    """n random numbers, each of which says in its last bits where it is; nobody can write to them."""
    pool = np.random.default_rng(0).integers(1, 1 << (62 - PLACE), n) << PLACE | np.arange(n)
    pool.flags.writeable = False
    return pool


def _read(indices: Sequence[Any] | None, operand: Spec, result: Spec) -> Moves | None:
    """The same for one that says at which indices it reads its operand."""
    source = np.arange(operand.size).reshape(operand.shape)
    for index in indices or ():
        source = source[index]
    if indices is None or source.shape != result.shape:
        return None
    return Moves([(np.arange(result.size), source.ravel())], True)


def sums_of(op: Op, params: dict[str, Any], operand: Spec, result: Spec) -> Sums | None:
    """What an op of one operand adds up, None unless it does that alone."""
    if not is_linear(op) or operand.dtype != result.dtype or operand.dtype not in SUFFIXES:
        return None
    rng = np.random.default_rng(0)
    pool = 1 + (rng.permutation(result.size) + 0.5 * rng.random(result.size)) / max(result.size, 1)
    try:
        ones, g = (
            _transposed(op, params, operand, given.reshape(result.shape)) for given in (np.ones_like(pool), pool)
        )
        aside = 1j * pool.reshape(result.shape)
        turned = _transposed(op, params, operand, aside) if operand.dtype.kind == "c" else 1j * g
    except Exception:  # it may read the values of its operand
        return None
    if g.imag.any() or not np.allclose(turned, 1j * g, 1e-14, 0.0):  # conjugated, or one of the parts
        return None
    ones, g = ones.real, g.real
    most = ones.max(initial=0.0)
    if g.shape != operand.shape or not 0 < most <= 1:
        return None
    n = round(1 / most)
    owner = _where(g.ravel() * n, pool, 0.0 if n == 1 else 1e-14)
    if abs(most * n - 1) > 1e-14 or not np.isin(ones, (0, most)).all() or ((owner < 0) != (ones.ravel() == 0)).any():
        return None
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner + 1, minlength=result.size + 1)
    signs = signs_kept(op, params, [operand], result).ravel()[counts[1:] > 0]
    if signs.any() and not signs.all():
        return None
    return Sums(np.concatenate([[0], np.cumsum(counts[1:])]), order[counts[0] :], n, not signs.any())


def _transposed(op: Op, params: dict[str, Any], operand: Spec, g: np.ndarray) -> np.ndarray:
    env = op.environment([None], None, params)
    return np.asarray(op.vjp(0, g, env, operand.shape, g.dtype))


def _where(found: np.ndarray, pool: np.ndarray, tolerance: float = 0) -> np.ndarray:
    """The place in the pool of each number, −1 of those that are not there."""
    if not len(pool):
        return np.full(found.shape, -1)
    order = np.argsort(pool)
    sorted_pool = pool[order]
    at = np.minimum(np.searchsorted(sorted_pool, found - tolerance if tolerance else found), len(pool) - 1)
    there = abs(sorted_pool[at] - found) <= tolerance
    return np.where(there, order[at], -1)


# Steps.

MOST = 1 << 20
"""Index maps of more elements are not looked for: NumPy does the work."""
PLACE = 21
"""Bits of a number that say where it is; the others are drawn by chance."""
MANY = 16
"""From so many numbers in a row on, NumPy's own loop adds them up."""
MOST_PLACES = 1 << 16
"""So many elements may have their places in a table, one by one."""


def step(plan: Any, record: Any) -> bool:
    """Let a record be steps that move numbers, or no step at all if it is a view; whether it can be."""
    op, params, result = record.op, record.params, record.result
    specs = [plan.spec(k) for k in record.needs]
    if result.dtype.hasobject or not result.dtype.isnative or any(s.dtype.hasobject for s in specs):
        return False
    if len(specs) == 1 and op.view and _looked(plan, record, specs[0]):
        return True
    if is_linear(op) and not result.size:  # nothing moves
        plan.make(record.row)
        return True
    if _at_numbers(op, params) and record_steps.step(plan, record):
        return True
    if not is_linear(op) or (op.hints.puts is None and sum(s.size for s in specs) + result.size > MOST):
        return False
    if len(specs) > 1:  # what is joined has one dtype
        if not all(castable(s.dtype, result.dtype) for s in specs):
            return False
        specs = [spec(s.shape, result.dtype) for s in specs]
    key = (op, id(params) if params else None, tuple(specs), result)
    found = plan.found.get(key)
    if found is None:
        plan.pinned.append(params)
        found = plan.found[key] = _way(op, params, specs, result)
    return bool(found(plan, record))


def _at_numbers(op: Op, params: dict[str, Any]) -> bool:
    """Whether arrays of an index say where an op reads or puts, as steps do that read them."""
    if op.hints.steps is None or (op.hints.part is None and op.hints.puts is None):
        return False
    indices = op.part_of(params) if op.hints.puts is None else op.puts_at(params)
    return any(isinstance(part, np.ndarray) for index in indices or () for part in parts_of(index))


def _looked(plan: Any, record: Any, spec: Spec) -> bool:
    """A view of its operand as that lies, or of a copy in row-major order."""
    for value in (plan.value, plan.flat):
        x = value(record.needs[0])
        view = _view(plan, record, spec, x)
        if view is not None:
            at = moved(x.place, view.offset)
            plan.make(record.row, PlanValue(at, view.strides, record.result, x.chunk))
            return True
        if x.contiguous or not record.op.is_view(record.params):
            return False
    return False


def _view(plan: Any, record: Any, spec: Spec, x: PlanValue) -> Any:
    """How a view looks at its operand; found once for the records that share their parameters, in sweeps back too."""
    op, params, found = record.op, record.params, plan.found
    key = (op, id(params), spec, x.strides, record.result, "view")
    if key not in found:
        if not params:  # a dict of its own, which is not the list's
            plan.pinned.append(params)
        found[key] = view_of(op, params, spec, x.strides, record.result)
    return found[key]


def _way(op: Op, params: dict[str, Any], specs: Sequence[Spec], result: Spec) -> Any:
    """How a linear op becomes steps."""
    reads = op.hints.part is not None and len(specs) == 1
    puts = None if reads else puts_of(op, params, specs, result)
    if puts is not None and (not puts.adds or result.dtype in SUFFIXES):
        return lambda plan, record: _put(plan, record, puts)
    if sum(s.size for s in specs) + result.size > MOST:
        return _never
    moves = moves_of(op, params, specs, result)
    if moves is not None:
        ways = [axes_of_pairs(to, source, result.dtype.itemsize) for to, source in moves.pairs]
        if all(w is not None for w in ways) or result.size <= MOST_PLACES:
            return lambda plan, record: _move(plan, record, moves, ways)
        return _never
    sums = sums_of(op, params, specs[0], result) if len(specs) == 1 else None
    if sums is not None and specs[0].size <= MOST_PLACES:
        return lambda plan, record: _sum(plan, record, sums)
    return _never


def _never(plan: Any, record: Any) -> bool:
    return False


def _put(plan: Any, record: Any, puts: Any) -> bool:
    """Operands put into places of the result, or added up there."""
    s = StepMemory(plan)
    operands = [s.convert(plan.value(k), record.result.dtype) for k in record.needs]
    z = plan.make(record.row, again=puts.adds)
    item = record.result.dtype.itemsize
    if puts.adds or not puts.complete:
        plan.fill(z)
    for x, view in zip(operands, puts.views):
        to = moved(z.place, view.offset)
        if not puts.adds:
            plan.place(z._replace(place=to, strides=view.strides, spec=x.spec), x)
            continue
        axes = axes_of(x.spec.shape, view.strides, x.strides, by_source=True)
        double = x.spec.dtype in (np.float64, np.complex128)
        loop = loop_of(np.add, x.spec.dtype) if double and axes[0].n >= MANY else None
        if loop is not None:
            fold(plan, loop, item, to, x.place, axes)
            continue
        plan.strided(f"accumulate_{SUFFIXES[x.spec.dtype]}", item, to, x.place, axes)
    s.end()
    return True


def _move(plan: Any, record: Any, moves: Moves, ways: Sequence[list[CopyAxis] | None]) -> bool:
    """Numbers moved one by one, where they lie in no regular way."""
    s = StepMemory(plan)
    operands = [s.convert(plan.flat(k), record.result.dtype) for k in record.needs]
    z, item = plan.make(record.row), record.result.dtype.itemsize
    if not moves.complete:
        plan.fill(z)
    for x, axes, (to, source) in zip(operands, ways, moves.pairs):
        if not len(to):
            continue
        if axes is not None:
            at, start = (moved(v.place, int(k[0]) * item) for v, k in ((z, to), (x, source)))
            plan.strided("place", item, at, start, axes)
            continue
        tables = [plan.pin(k) for k in (to, source)]
        plan.call(plan.jit("linked", "move"), [len(to), item, z.place, x.place, *tables])
    s.end()
    return True


def _sum(plan: Any, record: Any, sums: Sums) -> bool:
    """Numbers added up from places in a table."""
    x = plan.flat(record.needs[0])
    z, dtype = plan.make(record.row), record.result.dtype
    kernel = plan.jit("linked", f"sum_{SUFFIXES[dtype]}")
    tables = [plan.pin(a) for a in (sums.first, sums.places)]
    plan.call(kernel, [record.result.size, z.place, x.place, *tables, sums.n, int(sums.from_zero)])
    return True
