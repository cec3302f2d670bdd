"""What runs where the data is.

Tasks are pure: Dask runs them again elsewhere when a worker is lost.  Results of neighbouring blocks lie in one array,
in memory that is used again: fresh memory costs more than many a program, all the more on Dask's workers, which give
back to the system what they free.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.locks import new_lock
from ..base.spec import Spec, spec
from ..base.tree import leaves_of, transform
from ..jit.machine.frames import Pool
from .parcel_programs import here, opened
from .tree_sum import Leaves, Sums, merged


@dataclass(frozen=True)
class Shape:
    """Shape and dtype of an array that is elsewhere."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def stand_in(self) -> np.ndarray:
        """An array like it, for recording; it takes no memory as long as nobody looks."""
        return np.zeros(self.shape, self.dtype)


def contribution(
    travelled: tuple[Any, ...], rules: tuple[int, str | None, str], numbers: tuple[int, ...], home: str | None,
    kinds: tuple[int, ...], arguments: tuple[Any, ...], *rest: Any,
) -> tuple[Sums, bool]:  # fmt: skip
    """What some blocks add to the sum, and whether that was computed elsewhere than where they lie.

    Of each block these are the leaves of what the function gives; where a mean is wanted, the rows of the block come
    after, and the leaves are times the rows if they are means themselves.  A block without rows contributes nothing:
    None.

    Args:
        travelled: the first parcel; those of other kinds of blocks are the first of the `rest`.
        rules: how many blocks there are in all; for a mean, whether a block gives its "mean" or its "sum", otherwise
            None; what to do about nan.
        numbers, kinds: of the blocks; home: the worker where they should be.
        arguments: what comes before the data.
        rest: after the other parcels, the parts of one block after another.
    """
    count, mean, nan = rules
    others = max(kinds)
    parcels, parts = (travelled, *rest[:others]), rest[others:]
    width = len(parts) // len(numbers)
    sums: Sums = {}
    for at, number in enumerate(numbers):
        data, parcel = parts[at * width : (at + 1) * width], parcels[kinds[at]]
        sums[0, number] = of_block(parcel, number, count, mean, nan, arguments, data)
    return merged(count, sums), home is not None and here() != home


def of_block(
    travelled: tuple[Any, ...], number: int, count: int, mean: str | None, nan: str,
    arguments: tuple[Any, ...], data: tuple[Any, ...],
) -> Leaves | None:  # fmt: skip
    """What one block adds."""
    blocks = tuple(map(block_of, data))
    rows = rows_in(blocks)
    if not rows:
        return None
    leaves = leaves_of(evaluated(travelled, number, count, (*arguments, *blocks)))
    if nan == "raise":
        refuse_nan(leaves, blocks, f"block {number} of {count} of {travelled[2]}")
    if mean is None:
        return tuple(leaves)
    return (*(leaves if mean == "sum" else [rows * leaf for leaf in leaves]), rows)


def mapped(
    parcels: Sequence[tuple[Any, ...]], kinds: Sequence[int], numbers: Sequence[int], count: int,
    common: dict[int, Any], *data: Any,
) -> Leaves:  # fmt: skip
    """The leaves of what the function gives for neighbouring blocks, one after another.

    Each block's results are put where they belong and dropped, so that the next block's take the same memory: fresh
    memory costs more than many a program.

    Args:
        parcels: of each kind of block; kinds: of the blocks.
        numbers: of the blocks; count: how many there are in all.
        common: arguments that are not blocks, by position.
        data: the parts of one block after another.
    """
    width = len(data) // len(numbers)
    blocks = [data[at * width : (at + 1) * width] for at in range(len(numbers))]
    if len(blocks) == 1:
        return rows_of_block(parcels[kinds[0]], numbers[0], count, common, blocks[0])
    together = Together(sum(len(block[0]) for block in blocks))
    for kind, number, block in zip(kinds, numbers, blocks, strict=True):
        together.add(rows_of_block(parcels[kind], number, count, common, block))
    return together.leaves()


def rows_of_block(
    travelled: tuple[Any, ...], number: int, count: int, common: dict[int, Any], data: Sequence[Any]
) -> Leaves:
    """The leaves of what the function gives for one block, which must have its rows."""
    blocks = iter([block_of(x) for x in data])
    args = [common[k] if k in common else next(blocks) for k in range(len(data) + len(common))]
    leaves = leaves_of(evaluated(travelled, number, count, tuple(args)))
    rows = rows_in([x for k, x in enumerate(args) if k not in common])
    for leaf in leaves:
        if np.ndim(leaf) == 0 or len(leaf) != rows:
            raise ValueError(
                f"tape.dask.map() requires a result for each row; for block {number} with {rows} rows, "
                f"{travelled[2]} returned an array of shape {np.shape(leaf)}.\n"
                "Map a function of one row: tape.func.vmap(function)."
            )
    return tuple(leaves)


def mapped_alone(*args: Any) -> Any:
    """The only leaf of what the function gives for neighbouring blocks."""
    (leaf,) = mapped(*args)
    return leaf


def evaluated(travelled: tuple[Any, ...], number: int, count: int, args: tuple[Any, ...]) -> Any:
    """What the function gives; what it raises says for which block."""
    try:
        return opened(travelled)(*args)
    except Exception as error:
        shapes = ", ".join(str(np.shape(x)) for x in leaves_of(args))
        error.add_note(
            f"in block {number} of {count} (counted from 0) of {travelled[2]}, with arguments of shapes {shapes}"
            + (f", on {here()}" if here() else "")
        )
        raise


def block_of(x: Any) -> Any:
    """A partition as arrays: of a list of rows an array, of a list of records a record of arrays."""
    if isinstance(x, np.ndarray):
        # What was sent from another worker has the same bits and may lie otherwise; sums must not see that.
        return x if x.flags.forc and x.flags.aligned else np.array(x, order="C")
    if isinstance(x, dict):
        return {key: block_of(part) for key, part in x.items()}
    if isinstance(x, tuple):
        return tuple(map(block_of, x))
    if hasattr(x, "to_numpy"):
        return block_of(x.to_numpy())
    rows = list(x) if isinstance(x, (list, Iterator, map, range)) else x
    if isinstance(rows, list) and rows:
        first = rows[0]
        if isinstance(first, tuple):
            return tuple([block_of([row[k] for row in rows]) for k in range(len(first))])
        if isinstance(first, dict):
            return {key: block_of([row[key] for row in rows]) for key in first}
    found = np.asarray(rows)
    if found.dtype.kind not in "biufc":
        raise TypeError(
            f"a block must hold numbers, or tuples and dicts of them; got {type(x).__name__} with dtype {found.dtype}"
        )
    return found


def rows_in(blocks: Sequence[Any]) -> int:
    """How many rows the first array of a block has."""
    leaves = leaves_of(tuple(blocks))
    return len(leaves[0]) if leaves and np.ndim(leaves[0]) else 1


def refuse_nan(leaves: Sequence[Any], blocks: Sequence[Any], where: str) -> None:
    """Raise if there is a nan among the results.

    Raises:
        FloatingPointError: naming the block, and the first nan of its data if there is one.
    """
    if not any(np.isnan(leaf).any() for leaf in leaves):
        return
    found = []
    for k, x in enumerate(leaves_of(tuple(blocks))):
        if x.dtype.kind in "fc" and np.isnan(x).any():
            index = tuple(map(int, np.argwhere(np.isnan(x))[0]))
            found.append(f"array {k} of its data has nan at {index if len(index) > 1 else index[0]}")
    raise FloatingPointError(f"{where} gives nan: {'; '.join(found) or 'there is none in its data'}.")


def described(*data: Any) -> Any:
    """The shapes and dtypes of one block."""
    return transform(lambda x: Shape(x.shape, x.dtype), tuple(map(block_of, data)))


def total(count: int, *parts: tuple[Sums, bool]) -> tuple[Sums, bool]:
    """What some contributions add up to, and whether one was computed elsewhere."""
    return merged(count, *(sums for sums, _ in parts)), any(moved for _, moved in parts)


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
