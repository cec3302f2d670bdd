"""Which ops move numbers or add them up, and from where to where: found by applying them to random numbers.

A linear op does the same to all numbers.  So where each number of its result is one of those that it was applied to,
out of a great many, it is the number that was there; and where its transpose gives each number of the adjoint to
some places, the op adds up what is in these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ops import Op

from ..spec import Spec


class Moves(NamedTuple):
    """For each operand: ``z[to] = x[source]``, in flat arrays; what is not named is 0."""

    pairs: list[tuple[np.ndarray, np.ndarray]]
    complete: bool


class Sums(NamedTuple):
    """``z[i] = sum(x[places[first[i]:first[i + 1]]]) / n``, in flat arrays."""

    first: np.ndarray
    places: np.ndarray
    n: int


def moves_of(op: Op, params: dict[str, Any], operands: Sequence[Spec], result: Spec) -> Moves | None:
    """How an op moves numbers, None unless it does that alone."""
    if not _is_linear(op) or any(spec.dtype != result.dtype for spec in operands):
        return None
    ends = np.cumsum([spec.size for spec in operands])
    pool = np.random.default_rng(0).integers(1, 1 << 62, ends[-1])
    given = [r.reshape(spec.shape)[()] for r, spec in zip(np.split(pool, ends[:-1]), operands)]
    try:
        z = np.asarray(op.forward(*given, **params))
    except Exception:  # an op may well take no integers
        return None
    if z.dtype != pool.dtype or z.shape != result.shape:
        return None
    z = z.ravel()
    source = _where(z, pool)
    if ((source < 0) & (z != 0)).any():
        return None
    owner = np.searchsorted(ends, source, side="right")
    pairs = []
    for i, begin in enumerate([0, *ends[:-1]]):
        to = np.flatnonzero((owner == i) & (source >= 0))
        pairs.append((to, source[to] - begin))
    return Moves(pairs, bool((source >= 0).all()))


def sums_of(op: Op, params: dict[str, Any], operand: Spec, result: Spec) -> Sums | None:
    """What an op of one operand adds up, None unless it does that alone."""
    if not _is_linear(op) or operand.dtype != result.dtype or operand.dtype.kind != "f":
        return None
    rng = np.random.default_rng(0)
    pool = 1 + (rng.permutation(result.size) + 0.5 * rng.random(result.size)) / max(result.size, 1)
    try:
        ones, g = (
            _transposed(op, params, operand, given.reshape(result.shape)) for given in (np.ones_like(pool), pool)
        )
    except Exception:  # it may read the values of its operand
        return None
    most = ones.max(initial=0.0)
    if g.shape != operand.shape or not 0 < most <= 1:
        return None
    n = round(1 / most)
    owner = _where(g.ravel() * n, pool, 0.0 if n == 1 else 1e-14)
    if abs(most * n - 1) > 1e-14 or not np.isin(ones, (0, most)).all() or ((owner < 0) != (ones.ravel() == 0)).any():
        return None
    order = np.argsort(owner, kind="stable")
    counts = np.bincount(owner + 1, minlength=result.size + 1)
    return Sums(np.concatenate([[0], np.cumsum(counts[1:])]), order[counts[0] :], n)


def _is_linear(op: Op) -> bool:
    """Whether an op with one result is linear in each operand, and in all of them together."""
    return op.kind == "linear" and op.outputs == 1 and all(op.rules)


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
