"""Data as blocks of rows: which tasks make the blocks, and what is known of their shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import dask
from dask.core import flatten
from dask.delayed import Delayed
from dask.typing import Key

from ..base.tree import leaves_of
from .tasks import Task, TaskRef
from .worker import Shape, described

Get = Callable[[dict[Key, Any], Any], Any]


class Blocks:
    """Collections with the same blocks of rows.

    Attributes:
        graph: the tasks that make the blocks, fused by Dask; it is made once.
        futures: what of the data is in a cluster's memory already, by its keys.
        tasks: for each block, references to its parts, one of each collection.
        chunks: the rows of each block where they are known beforehand; otherwise nan.
        shapes: for each block the shapes of its parts, in tuples and dicts where the parts are; None where unknown.
        kinds: a number for each block, the same for those of the same shapes; examples: the shapes of each kind.
    """

    def __init__(self, data: Any, who: str):
        collections = [as_collection(x, who, k) for k, x in enumerate(data if isinstance(data, tuple) else (data,))]
        if not collections:
            raise ValueError(f"{who} requires data: Dask arrays, dataframes, bags, or lists of delayed values; got ()")
        parts = [Part(x, k) for k, x in enumerate(dask.optimize(*collections))]
        same_rows(parts, who)
        self.futures: dict[Key, Any] = {}
        for x in collections:  # optimising leaves futures out
            self.futures.update({key: task for key, task in graph_of(x).items() if is_future(task)})
        self.graph: dict[Key, Any] = {}
        for part in parts:
            self.graph.update({key: task for key, task in part.graph.items() if not is_future(task)})
        self.tasks = [tuple(row) for row in zip(*(part.tasks for part in parts), strict=True)]
        known = [part.chunks for part in parts if part.chunks is not None]
        self.chunks: tuple[float, ...] = known[0] if known else (math.nan,) * len(self.tasks)
        shapes = [part.shapes for part in parts]
        self.shapes: list[Any] = [None if None in row else tuple(row) for row in zip(*shapes, strict=True)]
        self._rows = [part.chunks is not None for part in parts]
        self._sort()

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def largest(self) -> int:
        """The bytes of the largest block, at least 1."""
        return max(map(nbytes, self.examples), default=1)

    def require_there(self, client: Any) -> None:
        """Raise RuntimeError if data that was in the memory of a cluster is not within reach of this client."""
        if not self.futures:
            return
        if client is None:
            raise RuntimeError(
                "the data is in the memory of a cluster, and there is no client of it now; make one with "
                "distributed.Client(…)."
            )
        gone = [key for key, future in self.futures.items() if future.status in ("cancelled", "lost")]
        if gone:
            raise RuntimeError(
                f"{len(gone)} of {len(self.futures)} pieces of the data are no longer in the memory of the cluster "
                f"({gone[0]} is {self.futures[gone[0]].status}): the client that had put them there was closed, "
                "the cluster was started again, or a worker was lost with what nobody can compute anew.\n"
                "Persist the data with the client that there is now."
            )
        there = next(iter(self.futures.values())).client
        if not same_cluster(there, client):
            raise RuntimeError(
                f"the data is in the memory of the cluster at {there.scheduler.address}, and the client that there is "
                f"now is of another, at {client.scheduler.address}.\nEvaluate within ``with client.as_current():`` of "
                "the first."
            )

    def learn(self, get: Get, name: str) -> None:
        """Ask the blocks whose shapes are not known for them, where they are."""
        unknown = [k for k, shapes in enumerate(self.shapes) if shapes is None]
        if not unknown:
            return
        keys: list[Key] = [(f"shapes-{name}-{dask.base.tokenize(self.tasks)}", k) for k in unknown]
        graph = {key: Task(key, described, *self.tasks[k]) for key, k in zip(keys, unknown, strict=True)}
        for k, found in zip(unknown, get({**self.graph, **graph}, keys), strict=True):
            rows = {x.shape[:1] for x, counts in zip(found, self._rows, strict=True) if counts}
            if len(rows) > 1:
                raise ValueError(f"block {k} has different numbers of rows in different collections: {found}")
            self.shapes[k] = found
        self._sort()

    def _sort(self) -> None:
        """Find out which blocks are alike."""
        numbers: dict[str, int] = {}
        self.kinds = [numbers.setdefault(repr(shapes), len(numbers)) for shapes in self.shapes]
        self.examples = [self.shapes[self.kinds.index(kind)] for kind in range(len(numbers))]


class Part:
    """One collection: the tasks of its blocks."""

    def __init__(self, collection: Any, number: int):
        self.chunks: tuple[float, ...] | None = None
        listed = isinstance(collection, list)
        keys = [x.key for x in collection] if listed else flatten(collection.__dask_keys__(), container=list)
        self.graph = graph_of(collection)
        self.tasks = [TaskRef(key) for key in keys]
        self.shapes: list[Any] = [None] * len(self.tasks)
        if hasattr(collection, "chunks"):
            self.chunks = collection.chunks[0]
            if not any(math.isnan(n) for chunk in collection.chunks for n in chunk):
                self.shapes = [Shape((n, *collection.shape[1:]), collection.dtype) for n in collection.chunks[0]]


def graph_of(collection: Any) -> dict[Key, Any]:
    """The tasks behind a collection, or a list of values that are computed elsewhere."""
    if not isinstance(collection, list):
        return dict(collection.__dask_graph__())
    graphs = [{x.key: x} if is_future(x) else dict(x.__dask_graph__()) for x in collection]
    return {key: task for graph in graphs for key, task in graph.items()}


def same_cluster(one: Any, other: Any) -> bool:
    """Whether two clients are of one cluster, which may have several addresses."""
    if one is None or one is other or one.scheduler.address == other.scheduler.address:
        return True
    return bool(one.scheduler_info(n_workers=0)["id"] == other.scheduler_info(n_workers=0)["id"])


def is_future(x: Any) -> bool:
    """Whether something is a value in a cluster's memory."""
    return type(x).__module__.partition(".")[0] == "distributed" and hasattr(x, "key")


def as_collection(x: Any, who: str, number: int) -> Any:
    """A Dask array, bag, or list of delayed values or futures.

    Raises:
        TypeError: if it is none of them.
        ValueError: if it cannot be cut into blocks of rows as it is.
    """
    if is_one(x):  # first of all: a delayed value has every attribute that it is asked for
        return [x]
    if isinstance(x, list) and x and all(map(is_one, x)):
        return x
    if hasattr(x, "to_dask_array"):
        x = x.to_dask_array()
    if isinstance(x, list) or not dask.is_dask_collection(x):
        raise TypeError(
            f"{who}: data number {number} must be a Dask array, dataframe or bag, or a list of delayed values or "
            f"futures; got {type(x).__name__}.\nMake an array one with dask.array.from_array(x, chunks=…); what all "
            "blocks share belongs to the parameters, or around the function."
        )
    if hasattr(x, "chunks"):
        if x.dtype.kind not in "biufc":
            raise TypeError(
                f"{who}: data number {number} must hold numbers; its dtype is {x.dtype}.\nSay which: x.astype(float)."
            )
        if not x.ndim:
            raise ValueError(f"{who}: data number {number} has no axes, and so no rows.")
        if any(len(chunk) > 1 for chunk in x.chunks[1:]):
            raise ValueError(
                f"{who}: data number {number} must be in blocks of whole rows; its chunks are {x.chunks}.\n"
                "Say x.rechunk({0: 'auto', **dict.fromkeys(range(1, x.ndim), -1)}), once, and persist it."
            )
    return x


def is_one(x: Any) -> bool:
    """Whether something is one value that is computed elsewhere, or later."""
    return isinstance(x, Delayed) or is_future(x)


def same_rows(parts: Sequence[Part], who: str) -> None:
    """Raise ValueError unless all collections have the same blocks of rows, as far as is known."""
    counts = [len(part.tasks) for part in parts]
    if len(set(counts)) > 1:
        raise ValueError(f"{who}: data must have the same number of blocks; got {', '.join(map(str, counts))}.")
    known = {part.chunks for part in parts if part.chunks is not None and not any(map(math.isnan, part.chunks))}
    if len(known) > 1:
        first, second = sorted(known)[:2]
        raise ValueError(
            f"{who}: data must have the same rows in each block; one has chunks of {first} rows, another of {second}.\n"
            "Rechunk one like the other: y.rechunk({0: X.chunks[0]})."
        )


def nbytes(shapes: Any) -> int:
    """What a block of these shapes has, at least 1."""
    return max(1, sum(math.prod(x.shape) * x.dtype.itemsize for x in leaves_of(shapes)))
