"""Outer products that are summed, as one matrix product.

A loop that multiplies a vector by a part of a matrix, ``x[i] @ A[:, i:]``, adds an outer product to the adjoint of the
matrix in each round.  Each is as large as the part; their vectors are small, and ``Σ u vᵀ`` is the product of a matrix
of the u and one of the v, which BLAS makes in one pass over the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import ops
from ops import REGISTRY, Op
from ops.core.registry import OPS

from ..recorded.boxes import Region, along, everything, hull, index_of, nested, region_of, shape_of, size_of
from ..recorded.expanding import Splice, spliced
from ..recorded.listing import Listing, listing_of
from ..recorded.trace import draft
from ..recorded.traced import Traced, argument

LEAST = 8
"""Of fewer outer products the sum is left to kernels, which make them in one pass too."""
FILL = 8
"""The parts of a sum that are outer products have the elements of its box over this, or more, on average."""

SMALL = 1 << 7
"""Sums of fewer elements are left to kernels too."""

ADD, MUL = REGISTRY["add"], REGISTRY["mul"]


class Summand(NamedTuple):
    """A record that is added to a region of a sum."""

    row: int
    region: Region


@cache
def _summing(count: int) -> np.ndarray:
    """By opcode, whether a record may be a sum of its operands, each in a part of it."""
    return np.array([op is ADD or (op.hints.puts is not None and op.kind == "linear") for op in OPS[:count]])


def with_products(listing: Listing) -> Listing:
    """With a matrix product in the place of many outer products that are summed."""
    products = _products(listing)
    if int(products.sum()) < LEAST:
        return listing
    uses = np.bincount(listing.args, minlength=len(listing)) + np.bincount(listing.outputs, minlength=len(listing))
    products &= uses == 1
    parts = []
    for root, summands in _sums(listing, products, uses):
        made = _joined(listing, root, summands, products)
        if made is not None:
            parts.append(made)
    return spliced(listing, sorted(parts)) if parts else listing


def _products(listing: Listing) -> np.ndarray:
    """By record, whether it is a column times a row."""
    shapes = [s.shape for s in listing.specs] + [()]
    column, row, large = (
        np.array(found, dtype=np.bool_)[listing.spec]
        for found in (
            [len(s) == 2 and s[1] == 1 < s[0] for s in shapes],
            [len(s) in (1, 2) and s[-1] > 1 and s[:-1] in ((), (1,)) for s in shapes],
            [len(s) == 2 and min(s) > 1 for s in shapes],
        )
    )
    real = np.array([s.dtype.kind == "f" for s in listing.specs] + [False], dtype=np.bool_)[listing.spec]
    found = (listing.code == MUL.code) & large & real
    rows = np.flatnonzero(found)
    x, y = listing.args[listing.first[rows]], listing.args[listing.first[rows] + 1]
    same = (listing.spec[rows] >= 0) & real[x] & real[y]
    found[rows] = same & ((column[x] & row[y]) | (row[x] & column[y]))
    return found


def _sums(listing: Listing, products: np.ndarray, uses: np.ndarray) -> Iterator[tuple[int, list[Summand]]]:
    """The records that are sums of enough outer products, with what they are sums of."""
    flat = np.array([s.ndim == 2 and s.dtype.kind == "f" for s in listing.specs] + [False], dtype=np.bool_)
    summing = (listing.code >= 0) & _summing(len(OPS))[np.maximum(listing.code, 0)] & flat[listing.spec]
    count = products.astype(np.int64)
    nodes: dict[int, list[Summand]] = {}
    for k in np.flatnonzero(summing).tolist():
        operands = _operands(listing, k)
        found = 0 if operands is None else sum(int(count[s.row]) for s in operands if uses[s.row] == 1)
        if operands is not None and found:
            nodes[k], count[k] = operands, found
    inner: set[int] = set()
    for k in reversed(nodes):
        if k in inner or count[k] < LEAST:
            continue
        waiting, summands = nodes[k][::-1], []
        while waiting:
            s = waiting.pop()
            if s.row not in nodes or uses[s.row] > 1:
                summands.append(s)
                continue
            inner.add(s.row)
            waiting += [Summand(t.row, nested(s.region, t.region)) for t in nodes[s.row][::-1]]
        yield k, summands


def _operands(listing: Listing, k: int) -> list[Summand] | None:
    """What a record adds up, and where; None if one of its operands is in no region of the result as it is."""
    op, result, operands = listing.op(k), listing.spec_of(k), listing.operands(k)
    assert op is not None
    assert result is not None
    specs = [listing.spec_of(j) for j in operands]
    if any(s is None or s.dtype != result.dtype for s in specs):
        return None
    whole = everything(result.shape)
    regions = [whole] * len(operands) if op is ADD else _places(op, listing.parameters(k), result.shape)
    if regions is None or any(r is None or shape_of(r) != s.shape for r, s in zip(regions, specs)):  # type: ignore[union-attr]
        return None
    return [Summand(j, r) for j, r in zip(operands, regions)]  # type: ignore[arg-type]


def _places(op: Op, params: dict[str, Any], shape: tuple[int, ...]) -> list[Region | None] | None:
    return [region_of((index,), shape) for index in op.puts_at(params) or ()]


def _joined(listing: Listing, root: int, summands: list[Summand], products: np.ndarray) -> Splice | None:
    """A sum with one product in it; None where the outer products fill too little of its box."""
    outer: list[Summand] = []
    rest: list[Summand] = []
    for s in summands:
        (outer if products[s.row] and all(type(r) is range and r.step > 0 for r in s.region) else rest).append(s)
    if len(outer) < LEAST:
        return None
    around = hull([s.region for s in outer])
    if size_of(around) < SMALL or FILL * sum(size_of(s.region) for s in outer) < len(outer) * size_of(around):
        return None
    pairs = [_column_and_row(listing, s.row) for s in outer]
    operands = [u for u, _ in pairs] + [v for _, v in pairs] + [s.row for s in rest]
    result = listing.spec_of(root)
    assert result is not None
    with draft() as trace:
        given = [argument(trace, s) for s in map(listing.spec_of, operands) if s is not None]
        us, vs, others = given[: len(outer)], given[len(outer) : 2 * len(outer)], given[2 * len(outer) :]
        places = tuple([tuple(along(_within(r, a)) for r, a in zip(s.region, around)) for s in outer])
        vectors = [ops.reshape(x, shape=(x._spec.size,)) for x in (*us, *vs)]
        product = ops.outer_sum(*vectors, places=places, shape=shape_of(around))
        z = _summed(product, around, others, [s.region for s in rest], result.shape)
    part = listing_of(trace, [z._row])
    return Splice(root, part, operands) if trace.spec(z._row) is result else None


def _column_and_row(listing: Listing, k: int) -> tuple[int, int]:
    x, y = listing.operands(k)
    spec = listing.spec_of(x)
    assert spec is not None
    return (x, y) if spec.ndim == 2 and spec.shape[1] == 1 else (y, x)


def _within(r: range, around: range) -> range:
    return range(r.start - around.start, r.stop - around.start, r.step)


def _summed(product: Any, around: Region, others: list[Traced], regions: list[Region], shape: tuple[int, ...]) -> Any:
    """A product in its box, and other values in their regions, added up."""
    whole = everything(shape)
    if not others:
        return product if around == whole else ops.scatter(product, index=index_of(around), shape=shape)
    if len(others) == 1 and around == regions[0] == whole:
        return ops.add(others[0], product)
    places = [... if region == whole else index_of(region) for region in (*regions, around)]
    return ops.collect(*others, product, places=tuple(places), shape=shape)
