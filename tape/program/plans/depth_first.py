"""Records in the order in which each is made shortly before it is read, so that kernels keep it in a register.

Code that is made operation by operation makes all of its values before it reads the first: a kernel of many records
would write each to memory, and read it from there.  Where functions are called, such as tanh, they come to lie there in
any case, and calls one after another overlap.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from ops.core.lane import Math, Scalar
from ops.core.registry import OPS

from ..recorded.listing import Listing, by_code


def in_depth(listing: Listing) -> Listing:
    """The same records: before each come those that it needs, and only these, as far as they are not there already.

    As they are where functions are called.
    """
    if _calling(len(OPS))[listing.code].any():
        return listing
    order = _order(listing)
    place = np.empty(len(listing), dtype=np.int64)
    place[order] = np.arange(len(listing))
    counts = np.diff(listing.first)[order]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    args = listing.args[np.repeat(listing.first[order] - first[:-1], counts) + np.arange(first[-1])]
    columns = {name: getattr(listing, name)[order] for name in ("code", "param", "spec", "line")}
    return replace(listing, **columns, first=first, args=place[args], outputs=place[listing.outputs])


@cache
def _calling(count: int) -> np.ndarray:
    """By opcode, whether a kernel calls a function for an op."""
    return by_code(isinstance(op.lane, (Math, Scalar)) for op in OPS[:count])


def _order(listing: Listing) -> np.ndarray:
    """The records in that order, beginning with those that come first of those that no other one reads."""
    first, args = listing.first.tolist(), listing.args.tolist()
    read = np.zeros(len(listing), dtype=np.bool_)
    read[listing.args] = True
    done, order = [False] * len(listing), []
    for root in np.flatnonzero(~read).tolist():
        waiting = [root]
        while waiting:
            k = waiting[-1]
            missing = [] if done[k] else [j for j in args[first[k] : first[k + 1]] if not done[j]]
            if missing:
                waiting += missing[::-1]
                continue
            waiting.pop()
            if not done[k]:
                done[k] = True
                order.append(k)
    return np.array(order, dtype=np.int64)
