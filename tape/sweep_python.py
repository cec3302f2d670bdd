"""The reverse sweep in Python.

With ``create_graph=True`` the adjoints are tensors and the rules record what they compute, so the
result can be differentiated again.  On plain arrays it is what the jitted sweep is tested against
and what runs where Python's objects cannot be read by address.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from typing import Any

from .propagate import check_not_released, contributions, key
from .row import CODE, LASTI, X, Y, operands
from .wengert import WengertList, current


def visit(wengert: WengertList, roots: Collection[int], targets: Collection[int] | None) -> dict[int, list[Any]]:
    """The rows that the roots depend on by handle, latest first.

    Where `targets` (keys of operands) are given, only the rows that lead to one of them.
    """
    rows: dict[int, list[Any]] = {}
    queue = [-handle for handle in roots]
    heapq.heapify(queue)
    while queue:
        handle = -heapq.heappop(queue)
        if handle in rows:
            continue
        row = rows[handle] = wengert.row(wengert.locate(handle))
        for ref in operands(row[X], row[Y]):
            if wengert.owns(ref):
                heapq.heappush(queue, -ref)
    if targets is None:
        return rows
    leading = set(targets)
    for handle in reversed(rows):
        if any(key(ref) in leading for ref in operands(*rows[handle][X : Y + 1]) if ref is not None):
            leading.add(handle)
    return {handle: row for handle, row in rows.items() if handle in leading}


def sweep(
    wengert: WengertList, roots: dict[int, Any], targets: Collection[int] | None, create_graph: bool
) -> tuple[dict[int, Any], list[int]]:
    """Adjoints of the leaves, the targets and other lists' records, by key; and the positions visited."""
    rows = visit(wengert, roots, targets)
    check_not_released(rows.values())

    def wanted(ref: Any) -> bool:
        k = key(ref)
        return targets is None or k in rows or k in targets

    adjoints = dict(roots)
    found: dict[int, Any] = {}
    recorder = current()
    for handle, row in rows.items():
        if handle not in adjoints:
            continue
        g = adjoints.pop(handle)
        for hook in tuple(wengert.hooks.get(handle, ())):
            g = hook(g)
        if targets is not None and handle in targets:
            found[handle] = g
        recorder.where = row[CODE], row[LASTI]
        for ref, bar in contributions(row, g, wanted, create_graph):
            k = key(ref)
            adjoints[k] = adjoints[k] + bar if k in adjoints else bar
    return found | adjoints, [wengert.locate(handle) for handle in rows]
