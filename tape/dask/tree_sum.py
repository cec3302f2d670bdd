"""The tree of sums: which block is added to which depends on their order alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dask.typing import Key

from .tasks import Task, TaskRef
from .worker import total

FAN_IN = 8
"""So many sums are done in one task, in a binary tree; a power of two, so that the whole tree is binary too."""


def sum_of(keys: Sequence[Key], name: str) -> tuple[dict[Key, Any], Key]:
    """The tasks that sum up what is under some keys, and the key of the sum."""
    graph: dict[Key, Any] = {}
    level, depth = list(keys), 0
    while depth == 0 or len(level) > 1:
        above: list[Key] = []
        for k in range(0, len(level), FAN_IN):
            key: Key = (name, depth, k // FAN_IN)
            graph[key] = Task(key, total, *map(TaskRef, level[k : k + FAN_IN]))
            above.append(key)
        level, depth = above, depth + 1
    return graph, level[0]
