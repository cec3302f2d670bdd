"""The tree of sums: which block is added to which depends on their order alone, not on who computes what.

A node ``(level, k)`` is the sum of the blocks from ``k * 2**level`` to ``(k + 1) * 2**level``, of as many as there are.
Sums of any blocks are kept as the largest nodes that they make up, so that whoever adds them up adds the same pairs.
"""

from __future__ import annotations

from typing import Any

Node = tuple[int, int]
Leaves = tuple[Any, ...]
Sums = dict[Node, Leaves | None]


def merged(count: int, *parts: Sums) -> Sums:
    """The largest nodes that some make up together, of a tree over so many blocks."""
    found: Sums = {}
    waiting = {node: leaves for part in parts for node, leaves in part.items()}
    for level in range(depth(count)):
        for node in [node for node in waiting if node[0] == level and not node[1] & 1]:
            _, k = node
            if (k + 1) << level >= count:  # there is nothing to its right
                waiting[level + 1, k >> 1] = waiting.pop(node)
            elif (level, k + 1) in waiting:
                waiting[level + 1, k >> 1] = added(waiting.pop(node), waiting.pop((level, k + 1)))
        found.update({node: waiting.pop(node) for node in list(waiting) if node[0] == level})
    return {**found, **waiting}


def root(count: int) -> Node:
    """The node of all blocks."""
    return depth(count), 0


def depth(count: int) -> int:
    """How many levels there are above the blocks."""
    return (count - 1).bit_length()


def added(x: Leaves | None, y: Leaves | None) -> Leaves | None:
    """x + y, leaf by leaf; None is nothing."""
    if x is None or y is None:
        return y if x is None else x
    return tuple([a + b for a, b in zip(x, y, strict=True)])
