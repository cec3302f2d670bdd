"""Work on a Dask cluster of processes with a thread each: `tape.dask` beside the same done by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import Any

from ..goal import Goal
from ..kinds import Sampler

Setting = Callable[..., Iterator[dict[str, Sampler]]]


PAUSE = 0.02
"""Seconds; a client of Dask sends a message 10 ms after the last one at the soonest."""


@dataclass(frozen=True)
class Clustered:
    """Work on a cluster; a peer is ``library.dask``, and ``tape.dask, one process`` has a cluster of one process.

    Attributes:
        start: gives samplers of the peers, within a context in which clusters run and data lies there.
    """

    name: str
    text: str
    start: Callable[..., Any]
    size: tuple[Any, ...]
    small: tuple[Any, ...]
    peers: tuple[str, ...]
    goal: Goal | None = None
    unit: str = "s"
    rounds: int = 5

    @contextmanager
    def samplers(self, peers: Sequence[str], small: bool = False) -> Iterator[dict[str, Sampler]]:
        """A sampler for each peer, after a check that all of them find the same."""
        with ExitStack() as stack:
            yield self.start(stack, peers, *(self.small if small else self.size))


def cluster(stack: ExitStack, workers: int) -> Any:
    """The client of a cluster that runs as long as a context."""
    import dask
    import distributed

    stack.enter_context(dask.config.set({"distributed.scheduler.work-stealing": False}))
    started = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=":0",
        silence_logs=50,
    )  # fmt: skip
    return stack.enter_context(distributed.Client(stack.enter_context(started), set_as_default=False))


def timed(call: Callable[[], Any], client: Any) -> Sampler:
    """A sampler of the seconds of a call on a cluster."""

    def sample() -> float:
        with client.as_current():
            start = perf_counter()
            call()
            return perf_counter() - start

    return sample


def kept(client: Any, made: Any) -> Sampler:
    """A sampler of the seconds until a Dask array is in the memory of a cluster.

    Its tasks have the same names each time; so the next one may not begin before the last has been forgotten, nor as
    long as what the client then said keeps its next message waiting.
    """
    from distributed import futures_of, wait

    def sample() -> float:
        with client.as_current():
            start = perf_counter()
            there = client.persist(made)
            wait(there)
            seconds = perf_counter() - start
            keys = [future.key for future in futures_of(there)]
            del there
            while client.run_on_scheduler(knows, keys):
                sleep(0.002)
            sleep(PAUSE)
            return seconds

    return sample


def knows(keys: Sequence[Any], dask_scheduler: Any = None) -> bool:
    """Whether a scheduler has tasks with these names."""
    return any(key in dask_scheduler.tasks for key in keys)


def nothing(*_: Any) -> None:
    """An empty task."""


_jitted: dict[str, Any] = {}


def jitted(name: str, make: Callable[[], Any]) -> Any:
    """A function compiled by jax for float64, once in each process."""
    if name not in _jitted:
        import jax

        jax.config.update("jax_enable_x64", True)
        _jitted[name] = make()
    return _jitted[name]
