"""Array code along one long axis, as code of its columns: the rows are side by side in the lanes of one kernel.

Points in few dimensions, scores of few classes, rows of few features: such programs have one long axis, of n rows, and
others that are short.  A *column* is what an array has at one place along the short axes: n numbers.  With a record for
each column, what were products, sums and extremes along short axes are elementwise records, and what was summed over
rows is a total that a kernel makes on its way.  So the kernel goes through the rows once: what is between the data and
the totals stays in registers, and no array of n times anything is written in between.

Code that is made operation by operation makes all of its values before it reads the first: a kernel of many records
would write each to memory, and read it from there.  So records are put in the order in which each is made shortly
before it is read.  Where functions are called, such as tanh, values come to lie in memory in any case, and calls one
after another overlap.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ops.core.registry import OPS

from ...recorded.listing import Listing, prune
from ..groups import calling
from .column_records import ColumnRecords, NoColumns, TooMany
from .column_rules import ColumnRules

LEAST = 64
"""A shorter axis is not taken for the long one."""
MOST = 1100
"""Code of more records for columns would take longer to compile than a first call should."""
LENGTH = 2000
"""Lists of more records are not looked at: it takes time, and what pays is short."""
MOST_AXES = 2
"""So many lengths of axes are tried, that of the largest arrays first."""
WORTH = 5
"""So many records for columns there have to be at least for each column that is read or written."""


def by_columns(listing: Listing) -> Listing:
    """The same listing, or one of the same outputs with records for columns where that is worth it."""
    if len(listing) > LENGTH:
        return listing
    for n in long_axes(listing)[:MOST_AXES]:
        found = _along(listing, n)
        if found is not None:
            return found
    return listing


def long_axes(listing: Listing) -> list[int]:
    """How long the axes are that may be the long one of some arrays, that of the largest first."""
    sizes: dict[int, int] = {}
    several = [i for i, s in enumerate(listing.specs) if s.ndim > 1 and s.dtype.kind == "f"]
    used = set(listing.spec.tolist()) if several else ()
    for s in [listing.specs[i] for i in several if i in used]:
        n = max(s.shape)
        if n >= LEAST and s.size // n > 1 and s.shape.count(n) == 1:
            sizes[n] = max(sizes.get(n, 0), s.size)
    return sorted(sizes, key=lambda n: -sizes[n])


def _along(listing: Listing, n: int) -> Listing | None:
    """The listing with records for columns of n rows; None where these are none, too many, or not worth it."""
    made = ColumnRecords(listing, n, MOST)
    rules = ColumnRules(made)
    try:
        for k in range(len(listing)):
            try:
                rules.apply(k)
            except NoColumns:
                made.keep(k)
        outputs = [made.array(k) for k in listing.outputs.tolist()]
    except TooMany:
        return None
    if not any(columns.ids.size > 1 for columns in made.columns.values()):
        return None
    computed, moved = made.worth(outputs)
    return in_depth(prune(made.listing(outputs))) if computed > WORTH * moved else None


def in_depth(listing: Listing) -> Listing:
    """The same records: before each come those that it needs, and only these, as far as they are not there already.

    As they are where functions are called.
    """
    if calling(len(OPS))[listing.code].any():
        return listing
    order = _order(listing)
    place = np.empty(len(listing), dtype=np.int64)
    place[order] = np.arange(len(listing))
    counts = np.diff(listing.first)[order]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    args = listing.args[np.repeat(listing.first[order] - first[:-1], counts) + np.arange(first[-1])]
    columns = {name: getattr(listing, name)[order] for name in ("code", "param", "spec", "line")}
    return replace(listing, **columns, first=first, args=place[args], outputs=place[listing.outputs])


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
