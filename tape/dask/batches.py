"""Which blocks are evaluated by one task: those that lie on one worker, as many as do not keep others waiting.

A task costs Dask about half a millisecond, whatever it does; so a task takes many blocks where they take less.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from .blocks import Blocks
from .direct import MOST_WORKERS

TASK_SECONDS = 0.1
"""What a task may take where there is more than one for each thread: others then find something to take over."""

FIRST_TASKS = 4
"""Tasks for each thread, as long as nobody knows how long they take."""

MEMORY_SHARE = 10
"""The blocks of a task have at most this part of a worker's memory: they may have to come back from its disk."""

FRESH = 10.0
"""So many seconds what is known of the workers is believed, unless a task ran elsewhere than it should."""


class BlockBatch(NamedTuple):
    """Blocks of one task, by number, and the worker on which they lie; None if nobody knows."""

    numbers: tuple[int, ...]
    home: str | None


class Homes:
    """Where the blocks lie, as far as they are in a cluster's memory."""

    def __init__(self, blocks: Blocks):
        self._blocks = blocks
        self._asked, self._cost, self._client = -math.inf, 0.0, None
        self._home: list[str | None] = []
        self._workers: dict[str, Any] = {}
        self._proved = False

    def batches(self, client: Any, seconds: float | None) -> list[BlockBatch]:
        """The blocks in batches; `seconds` is what an evaluation took, None if there was none yet."""
        alone = [BlockBatch((k,), None) for k in range(len(self._blocks))]
        if client is None or not self._blocks.futures:
            return alone
        self._ask(client)
        threads = sum(worker["nthreads"] for worker in self._workers.values())
        if not threads:
            return alone
        tasks = tasks_each(seconds)
        most = max(1, math.ceil(len(self._blocks) / (threads * tasks)))
        found: list[BlockBatch] = []
        for home in dict.fromkeys(self._home):
            here = [k for k, other in enumerate(self._home) if other == home]
            if home is None:
                found += [BlockBatch((k,), None) for k in here]
            else:
                found += [BlockBatch(numbers, home) for numbers in self._cut(here, most, self._workers[home])]
        return found

    def settled(self, batches: Sequence[BlockBatch], seconds: float | None) -> bool:
        """Whether batches may be handed to the workers on which they lie, without the scheduler.

        They may where a graph has proved that all are there, not long ago, so that the cluster is never idle for the
        scheduler, and where there is a thread for each and no more to do than one task of a thread.
        """
        counts = Counter(batch.home for batch in batches if batch.home is not None)
        return (
            self._proved
            and tasks_each(seconds) == 1
            and counts.total() == len(batches)
            and len(self._workers) <= MOST_WORKERS
            and all(count <= self._workers[home]["nthreads"] for home, count in counts.items())
        )

    def learn(self, moved: bool) -> None:
        """What a graph shows: whether a task ran elsewhere than where its blocks should be."""
        if moved:
            self.forget()
        else:
            self._proved = True

    def forget(self) -> None:
        """Ask again before the next evaluation."""
        self._asked, self._proved = -math.inf, False

    def _cut(self, numbers: list[int], most: int, worker: Any) -> list[tuple[int, ...]]:
        """Blocks of one worker in runs of nearly the same length, `most` or a few more, as far as memory allows."""
        limit = worker["memory_limit"] or math.inf
        allowed = max(1, int(min(limit / (MEMORY_SHARE * worker["nthreads"] * self._blocks.largest), len(numbers))))
        pieces = max(1, round(len(numbers) / most), math.ceil(len(numbers) / allowed))
        return [tuple(part.tolist()) for part in np.array_split(np.asarray(numbers), pieces)]

    def _ask(self, client: Any) -> None:
        """Ask the scheduler, unless what it said is fresh."""
        start = monotonic()
        if client is self._client and start - self._asked < max(FRESH, 100 * self._cost):
            return
        self._workers = workers_of(client)
        places = client.who_has(list(self._blocks.futures.values()))
        loads = dict.fromkeys(self._workers, 0)
        self._home = []
        for task in self._blocks.tasks:
            home = home_of([places.get(part.key, ()) for part in task], loads)
            if home is not None:
                loads[home] += 1
            self._home.append(home)
        self._client, self._asked, self._proved = client, monotonic(), False
        self._cost = self._asked - start


def workers_of(client: Any) -> dict[str, Any]:
    """What the scheduler says of all workers, by address.

    From its own answer: `Client.scheduler_info` reads one kept in the client, which the client's periodic update, of no
    workers, may have replaced by then.
    """
    return dict(client.sync(client.scheduler.identity, n_workers=-1)["workers"])


def tasks_each(seconds: float | None) -> int:
    """How many tasks a thread gets where all of an evaluation took so long."""
    return FIRST_TASKS if seconds is None else max(1, round(seconds / TASK_SECONDS))


def home_of(places: Sequence[Sequence[str]], loads: dict[str, int]) -> str | None:
    """The worker that has most of a block's parts, of several the one with the fewest blocks; None if one lacks."""
    if not places or not all(places):
        return None
    counts = {w: sum(w in having for having in places) for having in places for w in having if w in loads}
    return min(counts, key=lambda w: (-counts[w], loads[w], w), default=None)
