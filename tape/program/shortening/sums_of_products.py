"""Sums of products of arrays that are spread over each other's axes, as products of matrices.

``(x[:, :, None] * w[None, :, :]).sum(axis=1)`` multiplies as a product of matrices does, but makes an array of all
products first; so do a convolution that goes from place to place, and the adjoints of all of these.
"""

from __future__ import annotations

from string import ascii_letters
from typing import Any

import numpy as np

import ops
from ops import REGISTRY
from ops.shapes.sums import normal_axes

from ...base.spec import Spec
from ..recorded.expanding import Splice, spliced
from ..recorded.listing import Listing, listing_of
from ..recorded.trace import draft
from ..recorded.traced import argument

SPREAD = 4
"""There are so many times as many products as there are elements of either factor, or more."""
SMALL, LARGE = 1 << 8, 1 << 18
"""Of fewer products kernels make the sum, and of more, some at a time."""

MUL, CHAIN, BROADCAST = (REGISTRY[name] for name in ("mul", "chain_mul", "broadcast_to"))
SUM, SUM_TO = REGISTRY["sum"], REGISTRY["sum_to"]


def with_contractions(listing: Listing) -> Listing:
    """With products of matrices in the place of sums of products."""
    large = [SMALL <= s.size <= LARGE and s.dtype in (np.float64, np.float32) for s in listing.specs] + [False]
    products = ((listing.code == MUL.code) | (listing.code == CHAIN.code)) & np.array(large)[listing.spec]
    uses = np.bincount(listing.args, minlength=len(listing)) + np.bincount(listing.outputs, minlength=len(listing))
    products &= uses == 1
    if not products.any():
        return listing
    rows = np.flatnonzero((listing.code == SUM.code) | (listing.code == SUM_TO.code))
    rows = rows[products[listing.args[listing.first[rows]]]]
    known: dict[Any, Listing | None] = {}
    found = [_splice(listing, k, known) for k in rows.tolist()]
    return spliced(listing, [splice for splice in found if splice is not None])


def _splice(listing: Listing, k: int, known: dict[Any, Listing | None]) -> Splice | None:
    (p,) = listing.operands(k)
    factors = [_before_spreading(listing, j) for j in listing.operands(p)]
    specs = [listing.spec_of(j) for j in (*factors, p, k)]
    if any(s is None for s in specs) or any(map(listing.is_number, factors)):
        return None
    key = int(listing.code[k]), int(listing.param[k]), int(listing.code[p]), tuple(specs)
    if key not in known:
        known[key] = _recorded(listing, k, p, *specs)  # type: ignore[arg-type]
    part = known[key]
    return None if part is None else Splice(k, part, factors)


def _before_spreading(listing: Listing, k: int) -> int:
    while listing.op(k) is BROADCAST:
        (k,) = listing.operands(k)
    return k


def _recorded(listing: Listing, k: int, p: int, x: Spec, y: Spec, product: Spec, result: Spec) -> Listing | None:
    """The list of one such sum; None where it is no product of matrices."""
    shape, dtype = product.shape, product.dtype
    if (
        SPREAD * max(x.size, y.size) > product.size
        or result.dtype != dtype
        or np.result_type(x.dtype, y.dtype) != dtype
    ):
        return None
    if len(shape) > len(ascii_letters) or {x.dtype.kind, y.dtype.kind} != {"f"}:
        return None
    terms = [_term(s.shape, shape) for s in (x, y)]
    summed = [ascii_letters[a] for a in _summed(listing, k, shape) if shape[a] > 1]
    target = [c for c, n in zip(ascii_letters, shape) if n > 1 and c not in summed]
    own = [[c for c in target if c in term] for term in terms]
    if not all(c in term for c in summed for term in terms) or target not in (own[0] + own[1], own[1] + own[0]):
        return None
    with draft() as trace:
        factors = [
            ops.getitem(v, index=tuple([slice(None) if n > 1 else 0 for n in s.shape])) if 1 in s.shape else v
            for s, v in zip((x, y), [argument(trace, s) for s in (x, y)])
        ]
        op = ops.contract if listing.op(p) is MUL else ops.chain_contract
        z = op(*factors, subscripts=f"{','.join(map(''.join, terms))}->{''.join(target)}")
        z = z if z.shape == result.shape else ops.reshape(z, shape=result.shape)
    return listing_of(trace, [z._row]) if trace.spec(z._row) is result else None


def _term(own: tuple[int, ...], shape: tuple[int, ...]) -> list[str]:
    """The letters of the axes along which a factor differs."""
    return [c for c, n in zip(ascii_letters[len(shape) - len(own) :], own) if n > 1]


def _summed(listing: Listing, k: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes that a sum is taken over."""
    params = listing.parameters(k)
    if listing.op(k) is SUM:
        return normal_axes(params.get("axis"), len(shape))
    lead = len(shape) - len(params["shape"])
    return (*range(lead), *(lead + a for a, n in enumerate(params["shape"]) if n == 1))
