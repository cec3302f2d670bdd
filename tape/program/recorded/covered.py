"""Writes into all of an array, as what is written there: nothing is left of what the array held before."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import ops
from ops.core.registry import OPS

from ...base.spec import Spec
from .boxes import everything, region_of
from .expanding import Splice, spliced
from .listing import Listing, by_code, listing_of
from .trace import draft
from .traced import argument

KINDS = ("f", "f"), ("c", "c"), ("f", "c")
"""The kinds of what is written, and of the array that it is written into; complex numbers do not fit into real ones."""


@cache
def putting(count: int) -> np.ndarray:
    """By opcode, whether an op puts its second operand into part of the first."""
    return by_code(op.hints.part is not None and op.arity == 2 and op.kind == "linear" for op in OPS[:count])


def without_covered(listing: Listing) -> Listing:
    """With what is put everywhere in an array in the place of the array that it is put into.

    The adjoint of such an array is zero: a number that is repeated, of which kernels need no array.
    """
    parts: dict[Any, Listing | None] = {}
    found = []
    for k in np.flatnonzero(putting(len(OPS))[listing.code]).tolist():
        _, y = listing.operands(k)
        key = listing.code[k], listing.param[k], listing.spec[k], listing.spec[y]
        if key not in parts:
            parts[key] = _alone(listing, k, listing.spec_of(y))
        part = parts[key]
        if part is not None:
            found.append(Splice(k, part, [y]))
    return spliced(listing, found)


def _alone(listing: Listing, k: int, given: Spec | None) -> Listing | None:
    """What a record makes of its second operand, if that is all that it gives."""
    op, result = listing.op(k), listing.spec_of(k)
    if op is None or result is None or given is None or given.ndim > result.ndim:
        return None
    if (given.dtype.kind, result.dtype.kind) not in KINDS:
        return None
    indices = op.part_of(listing.parameters(k))
    if indices is None or any(_chooses(index) for index in indices):
        return None
    if not result.size or region_of(indices, result.shape) != everything(result.shape):
        return None
    return _operand() if given is result else _fitted(given, result)


@cache
def _operand() -> Listing:
    """A list that gives its one input back; of what shape and dtype that is, nobody asks."""
    with draft() as trace:
        row = trace.input(np.float64(1.0))
    return listing_of(trace, [row])


def _fitted(given: Spec, result: Spec) -> Listing | None:
    """A list that gives its one input in another shape and dtype."""
    with draft() as trace:
        y: Any = argument(trace, given)
        if given.dtype != result.dtype:
            y = ops.cast(y, dtype=result.dtype)
        if given.shape != result.shape:
            y = ops.broadcast_to(y, shape=result.shape)
    return listing_of(trace, [y._row]) if trace.spec(y._row) is result else None


def _chooses(index: Any) -> bool:
    """Whether an index has a part that is no slice, so that it need not be looked at closely."""
    return any(type(p) is not slice and p is not Ellipsis for p in (index if type(index) is tuple else (index,)))
