"""Vectors times parts of one matrix, as products of matrices.

A loop that multiplies a matrix, or parts of it, by one vector after the other, ``x[:, i] @ x[:, i:]``, reads the matrix
from memory in each round.  Where no vector depends on another product, many of them are the rows of a matrix, and BLAS
reads the other one once for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import ops
from ops import REGISTRY, Op

from ..recorded.boxes import Region, along, hull, index_of, region_of, shape_of, size_of
from ..recorded.expanding import Splice, spliced
from ..recorded.listing import Listing, listing_of, raising
from ..recorded.trace import draft
from ..recorded.traced import argument

LEAST = 8
"""Fewer products stay what they are."""
MOST = 128
"""So many vectors are one matrix: of more of them the parts of the other matrix may differ too much."""
FILL = 2
"""The parts of the matrix have the elements of the box around them over this, or more, on average."""
SMALL, LARGE = 1 << 10, 1 << 21
"""Parts of fewer elements stay in the caches; what is computed with larger ones goes by rows, some at a time."""
THIN = 32
"""What is computed with a part that is less wide or high may go by columns."""

MATMUL = REGISTRY["matmul"]


class Product(NamedTuple):
    """A record that is a vector times a part of a matrix.

    Attributes:
        row: which record.
        vector, matrix: the records of the vector and of the whole matrix.
        region: the part of the matrix.
        right: whether the vector is the right operand.
    """

    row: int
    vector: int
    matrix: int
    region: Region
    right: bool

    @property
    def summed(self) -> range:
        """Which places of the matrix meet the elements of the vector."""
        found: range = [r for r in self.region if type(r) is range][self.right]
        return found

    @property
    def kept(self) -> range:
        """Which places of the matrix the elements of the result are of."""
        found: range = [r for r in self.region if type(r) is range][not self.right]
        return found


def with_products(listing: Listing) -> Listing:
    """With products of matrices in the place of many of vectors and parts of one matrix."""
    found = [product for product in (_product(listing, k) for k in _rows(listing)) if product is not None]
    if len(found) < LEAST:
        return listing
    levels = _levels(listing, {p.row for p in found})
    families: dict[Any, list[Product]] = {}
    stretch = np.searchsorted(raising(listing), [p.row for p in found]).tolist()  # a guard before stays before
    for p, between in zip(found, stretch):
        whole = tuple([r for r in p.region if type(r) is int])
        families.setdefault((levels[p.row], p.matrix, p.right, whole, between), []).append(p)
    joined = [part for family in families.values() for part in _parts(family)]
    if not joined:
        return listing
    order = np.array(_order(listing, joined, levels), dtype=np.int64)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    ordered = listing.in_order(order)
    return spliced(ordered, sorted(_joined(listing, part, place) for part in joined))


def _rows(listing: Listing) -> list[int]:
    """The products of vectors and matrices that are large enough."""
    vectors = [s.ndim == 1 and s.dtype.kind == "f" for s in listing.specs] + [False]
    rows = (listing.code == MATMUL.code) & np.array(vectors, dtype=np.bool_)[listing.spec]
    return np.flatnonzero(rows).tolist() if int(rows.sum()) >= LEAST else []


def _product(listing: Listing, k: int) -> Product | None:
    x, y = listing.operands(k)
    x_spec, y_spec, result = listing.spec_of(x), listing.spec_of(y), listing.spec_of(k)
    if x_spec is None or y_spec is None or result is None or not x_spec.dtype == y_spec.dtype == result.dtype:
        return None
    right = y_spec.ndim == 1
    vector, part, part_spec = (y, x, x_spec) if right else (x, y, y_spec)
    if part_spec.ndim != 2 or not SMALL <= part_spec.size <= LARGE or min(part_spec.shape) < THIN:
        return None
    indices = []
    while (op := listing.op(part)) is not None and (read := _reads(op, listing.parameters(part))) is not None:
        indices.append(read)
        part = listing.operands(part)[0]
    whole = listing.spec_of(part)
    if whole is None:
        return None
    region = region_of([index for read in reversed(indices) for index in read], whole.shape)
    if region is None or shape_of(region) != part_spec.shape or any(type(r) is range and r.step != 1 for r in region):
        return None
    return Product(k, vector, part, region, right)


def _reads(op: Op, params: dict[str, Any]) -> tuple[Any, ...] | None:
    """The indices, one applied after the other, at which an op reads its one operand."""
    return op.part_of(params) if op.arity == 1 else None


def _levels(listing: Listing, rows: set[int]) -> list[int]:
    """By record, of how many products at most, made one after the other, it is made."""
    levels = [0] * len(listing)
    first, args = listing.first.tolist(), listing.args.tolist()
    for k in range(min(rows), len(listing)):
        level = max([levels[j] for j in args[first[k] : first[k + 1]]], default=0)
        levels[k] = level + (k in rows)
    return levels


def _parts(family: list[Product]) -> Iterator[list[Product]]:
    """Those that are made together: of some that follow one another, if parts of the matrix are much the same."""
    for start in range(0, len(family), MOST):
        part = family[start : start + MOST]
        sizes = sum(size_of(p.region) for p in part)
        if len(part) >= LEAST and len(part) * size_of(hull([p.region for p in part])) <= FILL * sizes:
            yield part


def _order(listing: Listing, joined: list[list[Product]], levels: list[int]) -> list[int]:
    """The records as they stand, but products made together after all their vectors, and what reads them later."""
    keys = list(range(len(listing)))
    first, args = listing.first.tolist(), listing.args.tolist()
    group = {p.row: n for n, part in enumerate(joined) for p in part}
    begin = min(group)
    by_level: dict[int, list[int]] = {}
    for k in range(begin, len(listing)):
        if k not in group:
            by_level.setdefault(levels[k], []).append(k)
    parts: dict[int, list[list[Product]]] = {}
    for part in joined:
        parts.setdefault(levels[part[0].row], []).append(part)
    for level in range(max(levels) + 1):
        for part in parts.get(level, ()):
            key = max([keys[j] for p in part for j in args[first[p.row] : first[p.row + 1]]])
            for p in part:
                keys[p.row] = key
        for k in by_level.get(level, ()):
            keys[k] = max([k, *[keys[j] for j in args[first[k] : first[k + 1]]]])
    return sorted(range(len(listing)), key=lambda k: (keys[k], levels[k], k not in group, k))


def _joined(listing: Listing, part: list[Product], place: np.ndarray) -> Splice:
    """One product in the place of some."""
    first = part[0]
    around = hull([p.region for p in part])
    summed, kept = (getattr(first._replace(region=around), name) for name in ("summed", "kept"))
    specs = map(listing.spec_of, [first.matrix, *(p.vector for p in part)])
    with draft() as trace:
        matrix, *vectors = [argument(trace, s) for s in specs if s is not None]
        x = ops.getitem(matrix, index=index_of(around))
        places = tuple([along(_within(p.summed, summed)) for p in part])
        z = ops.vector_products(ops.transpose(x, axis1=0, axis2=1) if first.right else x, *vectors, places=places)
        rows = [ops.getitem(z, index=(k, along(_within(p.kept, kept)))) for k, p in enumerate(part)]
    made = listing_of(trace, [row._row for row in rows])
    operands = [first.matrix, *(p.vector for p in part)]
    positions = sorted((int(place[p.row]), n) for n, p in enumerate(part))
    assert [n for _, n in positions] == list(range(len(part)))
    return Splice(positions[0][0], made, place[operands].tolist(), [k for k, _ in positions[1:]])


def _within(r: range, around: range) -> range:
    return range(r.start - around.start, r.stop - around.start)
