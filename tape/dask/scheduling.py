"""Who computes: the user's cluster if there is a client, otherwise the scheduler that Dask would take: its threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any
from weakref import WeakKeyDictionary

import dask
import dask.threaded
from dask.base import get_scheduler

from .parcel import Parcel, same
from .parcel_programs import PathReport, here, reports
from .tasks import HeldRef

_sent: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
"""By client and digest, the futures of the parcels that are in a cluster's memory."""


class Scheduler:
    """Where graphs are computed now.

    Attributes:
        get: computes the keys of a graph.
        client: of the cluster; None within this process.
    """

    def __init__(self) -> None:
        self.get: Callable[..., Any] = get_scheduler() or dask.threaded.get
        owner = getattr(self.get, "__self__", None)
        self.client: Any = owner if hasattr(owner, "scheduler_info") else None

    @property
    def travels(self) -> bool:
        """Whether what is computed leaves this process."""
        return self.client is not None or (self.get is not dask.threaded.get and self.get is not dask.get)

    def reference(self, parcel: Parcel) -> Any:
        """What stands for a parcel in a graph: on a cluster what is in its memory, and each worker gets it once."""
        if self.client is None:
            return tuple(parcel)
        sent = _sent.setdefault(self.client, {})
        future = sent.get(parcel.digest)
        if future is None or future.status not in ("pending", "finished"):
            key = f"program-of-{parcel.name}-{parcel.digest[:32]}"
            future = sent[parcel.digest] = self.client.submit(same, *parcel, key=key)
        return HeldRef(future.key, future)

    @property
    def watched(self) -> bool:
        """Whether tasks have to be tasks of the cluster's: something was said of them, or a task of its own waits."""
        return bool(dask.get_annotations()) or here() is not None

    def compute(self, graph: dict[Any, Any], keys: list[Any], largest: int) -> list[Any]:
        """What the keys of a graph come to, where a block has `largest` bytes at most.

        Raises:
            KilledWorker: with a note that says how much that is beside the memory of a worker.
        """
        try:
            return list(self.get(graph, keys))
        except Exception as error:
            worker = getattr(error, "last_worker", None)  # of a KilledWorker
            if worker is not None:
                error.add_note(
                    f"A block of the data has up to {largest / 2**20:,.1f} MiB, and that worker might use "
                    f"{(worker.memory_limit or inf) / 2**20:,.1f} MiB: Dask's nanny ends one that uses more.\n"
                    "Cut smaller blocks, x.rechunk({0: rows}), or give workers more memory."
                )
            raise

    def threads(self) -> int | None:
        """How many threads the cluster has now; None within this process."""
        return None if self.client is None else sum(self.client.nthreads().values())

    def reports(self, digests: Iterable[str]) -> list[PathReport]:
        """What was taken on every worker, and in this process."""
        wanted = list(digests)
        if self.client is None:
            return reports(wanted)
        return [r for found in self.client.run(reports, wanted).values() for r in found]
