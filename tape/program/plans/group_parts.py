"""A group of records cut into the parts that recur: one kernel each, in place of one long kernel for each group.

A loop over the columns of a matrix that does less in each round, as Gram and Schmidt's does, is one group for each
round of the loop around it, no two of them equal; what is done for one column is the same everywhere.  Its records
stand side by side in the list, so a group is cut where another step stands between two of its records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ops.core.registry import OPS

from ...jit.emission.task import OF_FEW
from ..recorded.listing import Listing
from .groups import Group, GroupInput, GroupOutput

KERNELS = 16
"""So many different kernels of arrays are made as they come; from then on groups are cut."""
LEAST = 8
"""Groups of fewer records are not."""
MOST = 1 << 11
"""Nor are groups of larger arrays, which do not stay near the processor from one kernel to the next."""
WHOLE = ("each", "sum", "mean", *OF_FEW)


def is_long(group: Group) -> bool:
    """Whether a group is cut where there are many different kernels already."""
    small = 1 < group.size <= MOST
    return small and len(group.rows) >= LEAST and all(target.how in WHOLE for target in group.targets)


def steps_before(listing: Listing) -> np.ndarray:
    """By record, how many of those before it are steps of their own: views are none, and what is given is none."""
    looks = np.array([bool(op.view) for op in OPS], dtype=np.bool_)
    done = (listing.code >= 0) & ~looks[listing.code]
    return np.concatenate([[0], np.cumsum(done)])


def parts(group: Group, before: np.ndarray) -> Iterator[Group]:
    """The parts of a group, in the order in which they run; what one makes for another lies in memory.

    They end where there are steps between two records, of which so many stand `before` each record (`steps_before`).
    """
    given, operands = len(group.outside), group.operands.reshape(-1, 3)
    rows = group.rows
    edges = [0, *(np.flatnonzero(before[rows[1:]] > before[rows[:-1] + 1]) + 1).tolist(), len(rows)]
    if len(edges) == 2 and all(target.values[0] >= given for target in group.targets):  # nothing stands between them
        yield replace(group, loops=[])
        return
    home = np.concatenate([np.full(given, -1), np.repeat(np.arange(len(edges) - 1), np.diff(edges))])
    crossing = (operands >= given) & (home[operands] != home[given:, None])
    wanted: list[list[GroupOutput]] = [[] for _ in edges[1:]]
    late: list[GroupOutput] = []
    for target in group.targets:
        part = int(home[target.values[0]])
        (late if part < 0 else wanted[part]).append(target)
    said = {target.values[0] for target in group.targets if target.how == "each"}
    for value in np.unique(operands[crossing]).tolist():
        if value not in said:
            wanted[home[value]].append(GroupOutput(int(group.rows[value - given]), "each", (value,)))
    for start, stop, targets in zip(edges[:-1], edges[1:], wanted):
        yield _part(group, start, stop, targets)
    if late:
        yield _part(group, 0, 0, late)


def _part(group: Group, start: int, stop: int, targets: list[GroupOutput]) -> Group:
    """The rows from one to another, with what they read of other parts as arrays in memory."""
    given, operands = len(group.outside), group.operands[3 * start : 3 * stop]
    own = range(given + start, given + stop)
    used = [*operands.tolist(), *(target.values[0] for target in targets)]
    read = list(dict.fromkeys([v for v in used if v >= 0 and v not in own]))
    place = {v: i for i, v in enumerate([*read, *own])} | {-1: -1}
    outside = [int(group.outside[v] if v < given else group.rows[v - given]) for v in read]
    return Group(
        group.bits,
        group.shape,
        group.rows[start:stop],
        np.array(outside, dtype=np.int64),
        [group.sources[v] if v < given else GroupInput(row, -1) for v, row in zip(read, outside)],
        np.array([place[v] for v in operands.tolist()], dtype=np.int64),
        [target._replace(values=(place[target.values[0]],)) for target in targets],
        [],
    )
