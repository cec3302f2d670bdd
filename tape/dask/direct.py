"""Tasks that go to the workers on which their data lies without the scheduler's books: it only passes them on.

A graph takes Dask some ten milliseconds, however little its tasks do: client, scheduler, worker, scheduler, client, and
each gathers what it has to say before it says it.  A function that is run on all workers takes two or three.  But what
is run so is no task of the cluster's: the dashboard does not show it, nobody takes it over, and it is not run again
where a worker is lost.  So it is done with little work only, and a worker that cannot do its part at once declines;
then the same tasks go into a graph.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from .tasks import Task

MOST_WORKERS = 8
"""The scheduler connects to all workers of the cluster for this, which takes half a millisecond each."""

Parts = dict[str, list[Any]]
"""What goes to some workers, or comes back, by their addresses."""


def run_directly(client: Any, tasks: Parts) -> list[Any] | None:
    """What tasks give that are run where they are sent; None if a worker is gone, or did not do its part.

    Whatever goes wrong, it comes again where the tasks are in a graph, and is told there.
    """
    try:
        found = client.run(run_here, tasks, on_error="return")  # on those that the scheduler knows now
    except OSError:
        return None
    parts = [found.get(address) for address in tasks]
    return None if any(not isinstance(part, list) for part in parts) else [x for part in parts for x in part]


async def run_here(tasks: Parts, dask_worker: Any = None) -> list[Any] | None:
    """What the tasks for this worker give; None if there are none, or it declines.

    It does where data is not in its memory, a program has not been opened, or a task raises; where it has no thread
    free for each task; where it is short of memory, or about to close.
    """
    own = tasks.get(dask_worker.address)
    if own is None or not at_leisure(dask_worker.state, len(own)):
        return None
    try:
        values = {key: dask_worker.data[key] for key in {key for task in own for key in task.dependencies}}
    except KeyError:
        return None
    found = await run_in_threads(dask_worker.executor, own, values)
    return None if any(isinstance(x, BaseException) for x in found) else found


def at_leisure(state: Any, tasks: int) -> bool:
    """Whether a worker has a thread for each of some tasks now."""
    return bool(state.running and state.executing_count + tasks <= state.nthreads)


async def run_in_threads(executor: Any, tasks: Sequence[Task], values: dict[Any, Any]) -> list[Any]:
    """What tasks give or raise, each in a thread of its own."""
    loop = asyncio.get_running_loop()
    running = [loop.run_in_executor(executor, task, {key: values[key] for key in task.dependencies}) for task in tasks]
    return list(await asyncio.gather(*running, return_exceptions=True))
