"""What falls on one place, reduced: the sum, mean, product or an extreme of the elements sent there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.batching import along
from ..core.domain import Case
from ..core.hints import Hints
from ..core.op import composite, general, ready, shape_of
from ..pointwise.comparison import eq, floor_divide, gt, isnan, logical_and, logical_or
from ..pointwise.selection import maximum, where
from ..shapes.index import cells_along, check_kinds, gather, getitem, index_put, scatter_add
from ..shapes.joining import cat
from ..shapes.shape import cast, reshape

EXTREMES = {"amax": np.maximum, "amin": np.minimum}


def _forward(x: Any, indices: Any, source: Any, *, reduce: str, axis: int = 0, include_self: bool = True) -> Any:
    z = np.array(x)
    check_kinds(z, source, "scatter_reduce(x, source)")
    at = cells_along(np.asarray(indices), axis)
    if not include_self:
        z[at] = source  # any of them, as a start
    EXTREMES[reduce].at(z, at, source)
    return z


def _equal(x: Any, z: Any) -> Any:
    return logical_or(eq(x, z), logical_and(isnan(x), isnan(z)))


def _shares(x: Any, indices: Any, source: Any, z: Any, axis: int, include_self: bool) -> tuple[Any, Any]:
    """1/k for each of the k elements, of x and of the source, that equal the extreme of their place."""
    one = np.ones((), z.dtype)
    ours, theirs = _equal(x, z) * one, _equal(source, gather(z, indices, axis=axis)) * one
    if not include_self:
        ours = where(_touched(x.shape, indices, axis), 0.0, one)
    count = scatter_add(ours, indices, theirs, axis=axis)
    return ours / count, theirs / gather(count, indices, axis=axis)


def _touched(shape: tuple[int, ...], indices: Any, axis: int) -> Any:
    """At which places something arrives."""
    return gt(_count(shape, indices, axis), 0.0)


def _count(shape: tuple[int, ...], indices: Any, axis: int) -> Any:
    """How many elements arrive at each place."""
    return scatter_add(np.zeros(shape), indices, np.ones(shape_of(indices)), axis=axis)


def _vjp(g: Any, x: Any, indices: Any, source: Any, z: Any, axis: int, include_self: bool) -> tuple[Any, None, Any]:
    ours, theirs = _shares(x, indices, source, z, axis, include_self)
    return g * ours, None, gather(g, indices, axis=axis) * theirs


def _jvp(x: Any, indices: Any, source: Any, z: Any, x_dot: Any, source_dot: Any, axis: int, include_self: bool) -> Any:
    ours, theirs = _shares(x, indices, source, z, axis, include_self)
    moved = ours * (np.zeros(z.shape, z.dtype) if x_dot is None else x_dot)
    return moved if source_dot is None else scatter_add(moved, indices, theirs * source_dot, axis=axis)


def _cases(rng: np.random.Generator) -> Iterator[Case]:
    for reduce in EXTREMES:
        for include_self in (True, False):
            params = {"reduce": reduce, "include_self": include_self}
            x, source = np.split(rng.permutation(20) * 0.5 + 0.2 * rng.random(20), [12])
            yield (x.reshape(3, 4), np.array([[0, 2, 1, 1], [0, 0, 1, 2]]), source.reshape(2, 4)), {**params, "axis": 0}
            yield (x[:3], np.array([2, 0, 0, 2]), source[:4]), {**params, "axis": 0}


scatter_extreme = general(
    "scatter_extreme", _forward, joint=_vjp, jvp=_jvp,
    node="ScatterReduceBackward0", cases=_cases, batch=along("axis"), hints=Hints(raises=slice(1, 2)),
    doc="x with the largest or smallest of what is sent to each place; ties share the gradient evenly.",
)


def _product(x: Any, indices: Any, source: Any, axis: int) -> Any:
    """The products, by multiplying in pairs what falls on one place, so that zeros need no special case."""
    cells = np.arange(math.prod(x.shape)).reshape(x.shape)[cells_along(np.asarray(indices), axis)].ravel()
    order = np.argsort(cells, kind="stable")
    cell, counts = np.unique(cells, return_counts=True)
    flat = reshape(x, shape=(-1,))
    factors = getitem(reshape(source, shape=(-1,)), index=order)
    while counts.size and counts.max() > 1:
        factors, counts = _in_pairs(factors, counts)
    made = index_put(flat, getitem(flat, index=cell) * factors, index=cell)
    return reshape(made, shape=x.shape)


def _in_pairs(factors: Any, counts: np.ndarray) -> tuple[Any, np.ndarray]:
    """Half as many factors: first and second, third and fourth, … of each run multiplied; a last one is left alone."""
    halves = (counts + 1) // 2
    within = np.arange(halves.sum()) - np.repeat(np.cumsum(halves) - halves, halves)
    first = np.repeat(np.cumsum(counts) - counts, halves) + 2 * within
    alone = 2 * within + 1 == np.repeat(counts, halves)
    padded = cat([factors, np.ones(1, factors.dtype)])
    return getitem(factors, index=first) * getitem(padded, index=np.where(alone, len(padded) - 1, first + 1)), halves


def _scatter_reduce(
    x: Any, axis: int, indices: Any, source: Any, reduce: str = "sum", include_self: bool = True
) -> Any:
    """x with what is sent to each place reduced there: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.

    ``z[indices[i, j], j]`` takes ``source[i, j]`` for axis 0, and so on.  Without ``include_self`` what x has at
    such a place does not count; elsewhere x stays.  Ties of an extreme share the gradient evenly.
    """
    x, source = ready(x), ready(source)
    if reduce in EXTREMES:
        return scatter_extreme(x, indices, source, reduce=reduce, axis=axis, include_self=include_self)
    start = 1.0 if reduce == "prod" else 0.0
    base = x if include_self else where(_touched(x.shape, indices, axis), np.asarray(start, x.dtype), x)
    if reduce == "prod":
        return _product(base, indices, source, axis)
    total = scatter_add(base, indices, source, axis=axis)
    if reduce == "sum":
        return total
    count = maximum(_count(x.shape, indices, axis) + float(include_self), 1.0)
    count = cast(count, dtype=x.dtype)
    return floor_divide(total, count) if x.dtype.kind in "biu" else total / count


scatter_reduce = composite("scatter_reduce", _scatter_reduce, lies="rows")


def _index_reduce(x: Any, axis: int, indices: Any, source: Any, reduce: str, include_self: bool = True) -> Any:
    """`scatter_reduce` of whole slices: those of ``source`` along an axis go to the slices of x with these numbers."""
    source, k = ready(source), np.asarray(indices).reshape(-1)
    where_to = np.broadcast_to(k.reshape([-1 if n == axis else 1 for n in range(source.ndim)]), source.shape)
    return _scatter_reduce(x, axis, where_to, source, reduce, include_self)


index_reduce = composite("index_reduce", _index_reduce, lies="rows")
