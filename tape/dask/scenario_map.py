"""``tape.dask.map``: a function of rows over the blocks of Dask arrays, lazily.

Neighbouring blocks go through one task, so that tasks cost little beside what they do: one costs Dask about half a
millisecond, and results that are put together in one array take less fresh memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from math import isnan
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import dask
import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.core import flatten
from dask.highlevelgraph import HighLevelGraph
from dask.typing import Key

from ..base.tree import Structure, build, leaves_of, structure_of
from ..program.capture.results import OutputPlace
from ..program.recorded.listing import Listing
from .batches import FIRST_TASKS, TASK_SECONDS, home_of
from .blocks import as_collection, is_future
from .parcel import Parcel, same
from .scheduling import Scheduler
from .source import RecordedParcel, UserFunction
from .tasks import HeldRef, List, Task, TaskRef
from .worker import Shape, mapped, mapped_alone

EMBEDDED = 1 << 18
"""So many bytes of programs in all are sent with the tasks; more go to one worker, which hands them on."""

EXAMPLE = 2
"""Rows of a block whose number of rows nobody knows, for finding out what the function gives."""


def map(function: Callable[..., Any], *args: Any, tier: str = "optimised", fuse: bool = True) -> Any:
    """Apply a function of arrays of rows to each block of Dask arrays: Dask arrays in, Dask arrays out.

    Nothing is computed yet, but for the recording.  On a cluster, neighbouring blocks that take little go through one
    task, and their results are one chunk: the chunks of the results are then larger than those of the arguments, as
    large as leaves a task for each thread of the cluster, or a tenth of a second of work for a task.  Where the blocks
    lie in the memory of the cluster, neighbours that lie on one worker stay there.  So the chunks follow from the
    function, the arguments and the cluster that there is when this is called; without a client, and with
    ``fuse=False``, they are those of the arguments.

    Args:
        function: takes arrays and gives arrays with as many rows, in tuples, lists and dicts: what `tape.func.vmap`
            gives, for example.
        args: its arguments.  Dask arrays are handed over block by block, and must have the same rows in each; anything
            else is the same for all blocks.
        tier: how programs are compiled, as for `tape.compile`.
        fuse: False keeps the chunks as they are, with a task for each.

    Raises:
        TypeError, ValueError: if there is no Dask array, or the blocks do not fit.
        ValueError: when computed, if a result does not have the rows of its block.

    >>> import dask.array as da, numpy as np, tape, tape.dask
    >>> def price(s):
    ...     return np.exp(s[0]) * s[1]
    >>> scenarios = da.ones((6, 2), chunks=(4, 2))
    >>> delta, value = tape.dask.map(tape.func.vmap(tape.func.grad_and_value(price)), scenarios)
    >>> delta.shape, delta.chunks, value.chunks
    ((6, 2), ((4, 2), (2,)), ((4, 2),))
    >>> value.sum().compute().round(3)
    np.float64(16.31)
    """
    source = UserFunction(function, "map", tier)
    arrays = {k: as_collection(x, "tape.dask.map()", k) for k, x in enumerate(args) if isinstance(x, da.Array)}
    common = {k: x for k, x in enumerate(args) if k not in arrays}
    refuse_collections(common)
    rows, data = rows_of(arrays), MapData(list(arrays.values()))
    recorded = {n: record(source, args, n) for n in dict.fromkeys(rows)}
    structure, leaves = results_of(source, next(iter(recorded.values())), args)
    only = leaves[0] if len(leaves) == 1 else None
    engine = Scheduler()
    threads = engine.threads() if fuse else None
    runs = [range(k, k + 1) for k in range(len(rows))]
    if threads and not any(isnan(n) for n in rows):
        size = sum(x.nbytes for x in arrays.values()) / len(rows) + bytes_in(leaves)
        number = tasks_worth(len(rows), threads, recorded[max(rows)], size)
        runs = runs_of(data.homes(engine.client), number)
    parcels = [recorded[n].parcel for n in rows]
    blocks = block_tasks(source, data, common, parcels, runs, only)
    chunks = tuple([sum(rows[k] for k in run) for run in runs])
    if only is not None:
        return build(structure, [array_of(blocks.graph, blocks.name, chunks, only)])
    return build(structure, [column(blocks, number, chunks, leaf) for number, leaf in enumerate(leaves)])


def rows_of(arrays: dict[int, Any]) -> tuple[float, ...]:
    """The rows of each block.

    Raises:
        ValueError: if there is no array, or they do not have the same.
    """
    if not arrays:
        raise ValueError("tape.dask.map() requires a Dask array among the arguments of the function.")
    known = dict.fromkeys(x.chunks[0] for x in arrays.values())
    if len({repr(chunks) for chunks in known}) > 1:
        raise ValueError(
            "tape.dask.map() requires the same rows in each block of all arrays; got "
            + " and ".join([str(chunks) for chunks in known])
            + ".\nRechunk one like the other: y.rechunk({0: X.chunks[0]})."
        )
    return next(iter(known))


def refuse_collections(common: dict[int, Any]) -> None:
    """Raise TypeError if among what all blocks share there is something that is computed elsewhere, or later."""
    for k, arg in common.items():
        for x in leaves_of(arg):
            if is_future(x) or dask.is_dask_collection(x):
                raise TypeError(
                    f"tape.dask.map(): argument {k} is, or holds, a {type(x).__name__}, and only Dask arrays that "
                    "are arguments themselves go block by block.\nPass the array as an argument of its own; what all "
                    "blocks share, as it is: x.compute()."
                )


def record(source: UserFunction, args: tuple[Any, ...], n: float) -> RecordedParcel:
    """What is sent for blocks of so many rows; where nobody knows how many, workers record."""
    travels = Scheduler().travels
    return source.left(travels) if isnan(n) else source.recorded(with_shapes(args, int(n)), travels)


def with_shapes(args: tuple[Any, ...], n: int) -> list[Any]:
    """The arguments for a block of n rows, with a `Shape` in the place of each array."""
    return [Shape((n, *(int(m) for m in x.shape[1:])), x.dtype) if isinstance(x, da.Array) else x for x in args]


def block_tasks(
    source: UserFunction, data: MapData, common: dict[int, Any], parcels: list[Parcel], runs: Sequence[range], only: Any
) -> Layers:  # fmt: skip
    """A task for each run of blocks, which gives the leaves of its results; or, if there is `only` one, that."""
    token = tokenize(parcels, [list(run) for run in runs], [[ref.key for ref in refs] for refs in data.columns], common)
    name, graph = f"{source.name}-{'map' if only is not None else 'blocks'}-{token}", dict[Key, Any]()
    key: Key
    call, rest = (mapped, ()) if only is None else (mapped_alone, (0,) * (len(only.shape) - 1))
    shared: Any = common
    if common:
        key = f"arguments-of-{source.name}-{token}"
        graph[key], shared = Task(key, itself, common), TaskRef(key)
    distinct = {parcel.digest: parcel for parcel in parcels}
    embedded = len(runs) * sum(len(parcel.program or b"") for parcel in distinct.values()) <= EMBEDDED
    sent: dict[str, Any] = {}
    for digest, parcel in distinct.items():
        if embedded:
            sent[digest] = tuple(parcel)
        else:
            key = f"program-of-{source.name}-{digest[:32]}"
            graph[key], sent[digest] = Task(key, same, *parcel), TaskRef(key)
    for number, run in enumerate(runs):
        key = (name, number, *rest)
        own = list(dict.fromkeys(parcels[k].digest for k in run))
        kinds = tuple([own.index(parcels[k].digest) for k in run])
        programs = List(*(sent[digest] for digest in own))
        parts = [column[k] for k in run for column in data.columns]
        graph[key] = Task(key, call, programs, kinds, tuple(run), len(parcels), shared, *parts)
    return Layers(name, f"{source.name}-map", HighLevelGraph.from_collections(name, graph, data.elsewhere))


class Layers(NamedTuple):
    """Tasks that are made, and the names of what they give and of what is taken out of that."""

    name: str
    label: str
    graph: HighLevelGraph


def column(blocks: Layers, number: int, rows: tuple[float, ...], leaf: Any) -> da.Array:
    """One of the results of all blocks as a Dask array; `leaf` is that of a block."""
    name = f"{blocks.label}-{tokenize(blocks.name, number)}"
    rest = leaf.shape[1:]
    layer: dict[Key, Any] = {}
    for k in range(len(rows)):
        key: Key = (name, k, *(0 for _ in rest))
        layer[key] = Task(key, itemgetter(number), TaskRef((blocks.name, k)))
    graph = HighLevelGraph({**blocks.graph.layers, name: layer}, {**blocks.graph.dependencies, name: {blocks.name}})
    return array_of(graph, name, rows, leaf)


def array_of(graph: HighLevelGraph, name: str, rows: tuple[float, ...], leaf: Any) -> da.Array:
    """The Dask array of blocks with these rows that are like a leaf but for that."""
    return da.Array(graph, name, (rows, *((n,) for n in leaf.shape[1:])), dtype=leaf.dtype)


def results_of(source: UserFunction, recorded: RecordedParcel, args: tuple[Any, ...]) -> tuple[Structure, list[Any]]:
    """How the results of a block are built, and arrays or specs like their leaves."""
    program = recorded.program
    if program is not None and program.results is not None:
        rows, results = program.recorded.outputs, program.results
        specs = [
            program.recorded.spec_of(int(rows[x.number])) if isinstance(x, OutputPlace) else x for x in results.leaves
        ]
        return results.structure, [x if hasattr(x, "shape") else np.asarray(x) for x in specs]
    stands = [x.stand_in() if isinstance(x, Shape) else x for x in with_shapes(args, EXAMPLE)]
    try:
        tree = source.function(*stands)
    except Exception as error:
        error.add_note(f"tape.dask.map() called {source.name} on {EXAMPLE} rows of zeros, to see what it gives")
        raise
    return structure_of(tree), [np.asarray(x) for x in leaves_of(tree)]


def itself(x: Any) -> Any:
    """The task that puts something into the memory of a worker."""
    return x


MOST_BYTES = 64 << 20
"""Arguments and results of a task together have at most so many bytes, unless a block has more."""

NUMBER_SECONDS = 2e-10
"""What a number of a record takes, roughly."""


_homes: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""By the future of a block, the worker on which it was first seen."""


class MapData:
    """The blocks of the arrays that are mapped over.

    Attributes:
        columns: of each array, references to its blocks; those to what lies in a cluster's memory hold it there.
        elsewhere: the arrays whose blocks have yet to be made.
    """

    def __init__(self, arrays: Sequence[da.Array]):
        self.columns: list[list[TaskRef]] = []
        self.elsewhere: list[da.Array] = []
        for x in arrays:
            keys = list(flatten(x.__dask_keys__(), container=list))
            held = held_keys(x)
            if all(key in held for key in keys):
                self.columns.append([HeldRef(key, held[key]) for key in keys])
            else:
                self.columns.append([TaskRef(key) for key in keys])
                self.elsewhere.append(x)

    def homes(self, client: Any) -> list[str | None]:
        """The worker on which each block lies, None where nobody knows."""
        count = len(self.columns[0])
        if client is None or self.elsewhere:
            return [None] * count
        blocks = list(zip(*self.columns, strict=True))
        places = client.who_has([ref.future for block in blocks for ref in block if isinstance(ref, HeldRef)])
        loads = dict.fromkeys([w for workers in places.values() for w in workers], 0)
        return [self._home(block, [places.get(ref.key, ()) for ref in block], loads) for block in blocks]

    def _home(self, block: Sequence[Any], places: Sequence[Sequence[str]], loads: dict[str, int]) -> str | None:
        """The worker on which a block was first seen; wherever Dask moves it to, chunks stay."""
        home = _homes.get(block[0].future)
        if home is None:
            home = home_of(places, loads)
            if home is not None:
                _homes[block[0].future] = home
        return home


def held_keys(x: da.Array) -> dict[Key, Any]:
    """What of an array is in a cluster's memory, by its keys."""
    layer = x.dask.layers.get(x.name, {})
    return {key: task for key, task in layer.items() if is_future(task)}


def runs_of(homes: Sequence[str | None], number: int) -> list[range]:
    """Neighbouring blocks in about so many runs: of one worker each, if that takes no more than twice as many."""
    count = len(homes)
    lengths = [len(list(same)) for _, same in groupby(homes)]
    if len(lengths) > 2 * number:  # scattered: neighbours come together by way of the network
        lengths = [count]
    most, start = -(-count // number), 0
    found: list[range] = []
    for length in lengths:
        bounds = start + np.linspace(0, length, -(-length // most) + 1).astype(int)
        found += [range(a, b) for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
        start += length
    return found


def tasks_worth(count: int, threads: int, recorded: RecordedParcel, nbytes: float) -> int:
    """How many tasks so many blocks are worth, with so many bytes each.

    One for each thread, where that is done sooner than one could notice; otherwise several, so that who is done first
    can take over.
    """
    program = recorded.program
    seconds = np.inf if program is None else count * NUMBER_SECONDS * numbers_in(program.recorded) / threads
    each = 1 if seconds <= TASK_SECONDS else FIRST_TASKS
    if np.isfinite(seconds):
        each = max(each, round(seconds / TASK_SECONDS))
    return min(count, max(threads * each, int(-(-count * nbytes // MOST_BYTES))))


def numbers_in(listing: Listing) -> int:
    """How many numbers the records of a list have together."""
    sizes = np.array([spec.size for spec in listing.specs] or [1])
    return int(sizes[listing.spec[listing.spec >= 0]].sum())


def bytes_in(leaves: Any) -> int:
    """What arrays, or specs of arrays, take in memory."""
    return sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in leaves_of(leaves))
