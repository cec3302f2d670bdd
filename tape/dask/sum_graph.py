"""The tasks of one evaluation: contributions of batches of blocks, and the sums of those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dask.typing import Key

from .batches import BlockBatch
from .blocks import Blocks
from .direct import Parts
from .tasks import Task, TaskRef
from .worker import contribution, total

FAN_IN = 8
"""So many contributions are added up in one task."""


class SumGraph(NamedTuple):
    """Tasks, and the keys of what they come to; the caller adds up what is under them."""

    tasks: dict[Key, Any]
    keys: list[Key]


def sum_graph(
    name: str, blocks: Blocks, batches: Sequence[BlockBatch], parcels: Sequence[Any], arguments: Any,
    mean: str | None, nan: str, few: int,
) -> SumGraph:  # fmt: skip
    """The tasks that evaluate batches of blocks, and sum up, until there are but a `few` sums."""
    graph: dict[Key, Any] = {}
    level: list[Key] = []
    rules = (len(blocks), mean, nan)
    for batch in batches:
        key: Key = (name, batch.numbers[0])
        own = list(dict.fromkeys(blocks.kinds[k] for k in batch.numbers))
        kinds = tuple([own.index(blocks.kinds[k]) for k in batch.numbers])
        first, *others = (parcels[kind] for kind in own)
        parts = [part for k in batch.numbers for part in blocks.tasks[k]]
        graph[key] = Task(key, contribution, first, rules, batch.numbers, batch.home, kinds, arguments, *others, *parts)
        level.append(key)
    depth = 0
    while len(level) > few:
        above: list[Key] = [(f"sum-of-{name}", depth, k) for k in range(-(-len(level) // FAN_IN))]
        for k, key in enumerate(above):
            graph[key] = Task(key, total, len(blocks), *map(TaskRef, level[k * FAN_IN : (k + 1) * FAN_IN]))
        level, depth = above, depth + 1
    return SumGraph(graph, level)


def by_worker(graph: SumGraph, batches: Sequence[BlockBatch]) -> Parts:
    """The tasks of batches by the workers on which their blocks lie."""
    found: Parts = {}
    for key, batch in zip(graph.keys, batches, strict=True):
        found.setdefault(str(batch.home), []).append(graph.tasks[key])
    return found
