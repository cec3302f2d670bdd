"""The reverse sweep in Python.

With ``create_graph=True`` the adjoints are tensors and the rules record what they compute, so the
result can be differentiated again.  On plain arrays it is what a program begins with, until it has
done as much as makes the jitted sweep pay (`tape.base.jit_door`), what that is tested against, and what
runs where Python's objects cannot be read by address.

Both visit the same records in the same order and add up adjoints in the same order.  They differ by
rounding alone, a few units in the last place for each rule: kernels multiply and add in one step,
and may have sin, tanh, pow, ... from another library than NumPy.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ops.core.registry import OPS

from ..base.row import CODE, LASTI, OP, SPEC, X, Y, operands
from ..base.tensor import Tensor
from ..base.watch import watched_rules
from ..recording.wengert import WengertList, current
from .chain import pass_by, surrounded
from .hooks import hooked_leaves, in_order
from .propagate import check_not_released, contributions, key

PER_RECORD, PER_ELEMENT = 15e-6, 1.5e-9
"""Seconds that a record, and each element of it, takes longer here than in the jitted sweep, if that has a kernel."""

Rows = dict[int, list[Any]]
"""Rows by handle, latest first."""


def reach(wengert: WengertList, roots: Collection[int], limit: float = inf) -> tuple[Rows, float]:
    """The rows that the roots depend on, and how many seconds longer their sweep would take here.

    Looking for more ends where that is beyond a limit.
    """
    rows: Rows = {}
    work = 0.0
    queue = [-handle for handle in roots]
    heapq.heapify(queue)
    while queue and work < limit:
        handle = -heapq.heappop(queue)
        if handle in rows:
            continue
        row = rows[handle] = wengert.row(wengert.locate(handle))
        op, spec = OPS[row[OP]], row[SPEC]
        if (op.lane or op.hints.motion) and spec is not None:
            work += PER_RECORD + PER_ELEMENT * spec.size
        for ref in operands(row[X], row[Y]):
            if wengert.owns(ref):
                heapq.heappush(queue, -ref)
    return rows, work


def leading_to(targets: Collection[int], wengert: WengertList, rows: Rows) -> Rows:
    """The rows that lead to one of the targets (keys of operands)."""
    leading = set(targets)

    def leads(ref: Any) -> bool:
        return key(ref) in leading or foreign(wengert, ref)

    for handle in reversed(rows):
        if any(leads(ref) for ref in operands(*rows[handle][X : Y + 1]) if ref is not None):
            leading.add(handle)
    return {handle: row for handle, row in rows.items() if handle in leading}


def visit(wengert: WengertList, roots: Collection[int], targets: Collection[int] | None) -> Rows:
    """The rows that the roots depend on by handle, latest first.

    Where `targets` (keys of operands) are given, only the rows that lead to one of them.
    """
    rows, _ = reach(wengert, roots)
    return rows if targets is None else leading_to(targets, wengert, rows)


def sweep(
    wengert: WengertList,
    roots: dict[int, Any],
    leaves: dict[int, Tensor],
    targets: Collection[int] | None,
    create_graph: bool,
    early: Callable[[Tensor, list[Any]], Any] | None = None,
    reached: Rows | None = None,
) -> tuple[dict[int, Any], list[tuple[int, int]]]:
    """Adjoints of the leaves, the targets and other lists' records, by key; and the runs of rows visited.

    With `early`, a leaf that has hooks gets its adjoint there as soon as that is complete.  `reached` are the
    rows that the roots depend on, where they have been looked for.
    """
    rows = reach(wengert, roots)[0] if reached is None else reached
    rows = rows if targets is None else leading_to(targets, wengert, rows)

    def wanted(ref: Any) -> bool:
        if ref is None:
            return False
        k = key(ref)
        return targets is None or k in rows or k in targets or foreign(wengert, ref)

    # A target that leads no further is not consumed.
    consumed = [handle for handle, row in rows.items() if any(map(wanted, operands(row[X], row[Y])))]
    check_not_released(rows[handle] for handle in consumed)

    adjoints = {handle: g for handle, g in roots.items() if handle in rows}
    for handle in roots.keys() - rows.keys():
        show_in_vain(wengert, handle, roots[handle])
    found: dict[int, Any] = {}
    readers = last_readers(wengert, rows, wanted) if early else {}
    recorder, run_rules = current(), watched_rules(contributions)
    leading = set(consumed)
    for handle, row in rows.items():
        if handle in adjoints:
            g, chain = adjoints.pop(handle), wengert.hooks.get(handle)
            recorder.where = None
            if chain is not None:
                g = chain.receive(g)
            if targets is not None and handle in targets:
                found[handle] = g
            if handle not in leading:
                if chain is not None and recorder.task.passing and chain.surrounds():
                    pass_by(chain, row, g, create_graph)
                continue
            recorder.where = row[CODE], row[LASTI]
            rule = partial(surrounded, chain, run_rules) if chain and chain.surrounds() else run_rules
            with np.errstate(all="ignore"):
                for _, ref, bar in rule(row, g, wanted, create_graph):
                    k = key(ref)
                    adjoints[k] = adjoints[k] + bar if k in adjoints else bar
                    if k < 0:
                        leaves[k] = ref
        for leaf in in_order(readers.get(handle, []), row):
            k = key(leaf)
            if early and k in adjoints:
                recorder.where = None
                early(leaf, [adjoints.pop(k)])
    return found | adjoints, list(runs(map(wengert.locate, consumed)))


def show_in_vain(wengert: WengertList, handle: int, g: Any) -> None:
    """Let the hooks of an output see its adjoint though it leads to no target; they see that of every output."""
    chain, task = wengert.hooks.get(handle), current().task
    if chain is not None and task is not None and handle in task.roots:
        chain.receive(g)


def last_readers(
    wengert: WengertList, rows: dict[int, list[Any]], wanted: Callable[[Any], bool]
) -> dict[int, list[Tensor]]:
    """For the leaves that have hooks, the last row to contribute to each: by handle, the leaves.

    Nothing where another list is reached, from which more may come.
    """
    last: dict[int, int] = {}
    leaves = hooked_leaves()
    for handle, row in rows.items():
        for ref in operands(row[X], row[Y]):
            if foreign(wengert, ref):
                return {}
            if isinstance(ref, Tensor) and id(ref) in leaves and wanted(ref):
                last[id(ref)] = handle
    found: dict[int, list[Tensor]] = {}
    for k, handle in last.items():
        found.setdefault(handle, []).append(leaves[k])
    return found


def foreign(wengert: WengertList, ref: Any) -> bool:
    """Whether an operand is a record of another thread's list, which may lead anywhere."""
    return type(ref) is int and not wengert.owns(ref)


def runs(positions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Descending positions as half-open runs of neighbours."""
    start = stop = -1
    for p in positions:
        if p != start - 1:
            if start >= 0:
                yield start, stop
            stop = p + 1
        start = p
    if start >= 0:
        yield start, stop
