"""Results of neighbouring blocks in one array, in memory that is used again.

Fresh memory costs more than many a program, all the more on Dask's workers, which give back to the system what they
free.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from ..base.locks import new_lock
from ..base.spec import Spec, spec
from ..jit.machine.frames import Pool
from .tree_sum import Leaves

MOST_BYTES = 32 << 20
"""Larger arrays are not kept for later."""

MOST_POOLS = 2
"""Of so many shapes arrays are kept, a few of each."""

_pools: OrderedDict[Spec, Pool] = OrderedDict()
_lock = new_lock()


class Together:
    """Leaves with rows, put one after another into arrays of all rows.

    Where dtypes differ, the whole has the one that `np.concatenate` would choose.
    """

    def __init__(self, rows: int):
        self.rows, self.filled = rows, 0
        self.wholes: list[np.ndarray] = []

    def add(self, leaves: Leaves) -> None:
        """Put some rows behind those that are there."""
        if not self.wholes:
            self.wholes = [taken((self.rows, *leaf.shape[1:]), leaf.dtype) for leaf in leaves]
        stop = self.filled + len(leaves[0])
        for k, leaf in enumerate(leaves):
            whole = self.wholes[k]
            if leaf.shape[1:] != whole.shape[1:]:
                raise ValueError(f"one block gives rows of shape {whole.shape[1:]}, and another of {leaf.shape[1:]}.")
            dtype = np.result_type(whole, leaf)
            if dtype != whole.dtype:
                self.wholes[k] = whole.astype(dtype)
            self.wholes[k][self.filled : stop] = leaf
        self.filled = stop

    def leaves(self) -> Leaves:
        """The whole."""
        return tuple(self.wholes)


def taken(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array with anything in it: one that was given out before, if nobody holds it any more."""
    wanted = spec(shape, dtype)
    if wanted.nbytes > MOST_BYTES:
        return np.empty(shape, dtype)
    with _lock:
        pool = _pools.setdefault(wanted, Pool(wanted))
        _pools.move_to_end(wanted)
        while len(_pools) > MOST_POOLS:
            _pools.popitem(last=False)
        return pool.take()
