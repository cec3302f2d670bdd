"""Which neighbouring blocks go through one task of a map, so that tasks cost little beside what they do.

A task costs Dask about half a millisecond, and results that are put together in one array take less fresh memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any
from weakref import WeakKeyDictionary

import dask.array as da
import numpy as np
from dask.core import flatten
from dask.typing import Key

from ..base.tree import leaves_of
from ..program.recorded.listing import Listing
from .batches import FIRST_TASKS, TASK_SECONDS, home_of
from .blocks import is_future
from .source import RecordedParcel
from .tasks import HeldRef, TaskRef

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
