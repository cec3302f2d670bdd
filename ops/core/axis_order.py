"""In which order the axes of results lie in memory: what PyTorch gives lies by rules of its own, not by NumPy's.

An order names the axes from that of the longest steps to that of the shortest; None is row-major order, that of the
axes themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

AS_COMPUTED, ROWS, COLUMNS, OPERAND, OPERANDS = "as computed", "rows", "columns", "operand", "operands"
"""How the results of an op lie: as its forward gives them; in row-major order; as matrices that lie by columns; as the
first operand does; as the operands do together, of which the earlier ones decide first."""

Order = tuple[int, ...] | None


def by_columns(ndim: int) -> Order:
    """The order of matrices of which each lies by columns."""
    return (*range(ndim - 2), ndim - 1, ndim - 2) if ndim > 1 else None


def order_of(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Order:
    """The order of an array that is made like some others: of what is computed of them element by element, say.

    It is that of PyTorch's TensorIterator, and for a single other of its ``infer_dense_strides``: axes are inserted one
    by one, from the last to the first, before those that have longer steps in the first array that tells them apart.

    Args:
        shape: that of the result.
        strides: those of the others, broadcast to it: zero along axes that they repeat.
    """
    ndim = len(shape)
    fastest = list(range(ndim - 1, -1, -1))
    for i in range(1, ndim):
        at = i
        for before in range(i - 1, -1, -1):
            goes = _compare(fastest[before], fastest[at], shape, strides)
            if goes > 0:
                fastest[before], fastest[at] = fastest[at], fastest[before]
                at = before
            elif goes < 0:
                break
    fastest.reverse()
    return None if fastest == list(range(ndim)) else tuple(fastest)


def _compare(i: int, j: int, shape: Sequence[int], strides: Sequence[Sequence[int]]) -> int:
    """Whether axis `i` has longer steps than axis `j`: 1 if so, −1 if shorter ones, 0 if that cannot be told."""
    for steps in strides:
        mine, other = abs(steps[i]), abs(steps[j])
        if mine and other:
            if mine != other:
                return 1 if mine > other else -1
            if shape[i] > shape[j]:
                return 1
    return 0


def spread(shape: Sequence[int], strides: Sequence[int], ndim: int, wanted: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array that is broadcast to a shape of `ndim` axes."""
    missing = ndim - len(shape)
    return (0,) * missing + tuple([
        0 if n == 1 and m != 1 else s for n, s, m in zip(shape, strides, wanted[missing:])
    ])


def order_at(x: np.ndarray, index: tuple[Any, ...]) -> Order:
    """The order of what is picked from an array by an index with arrays of whole numbers or truth values in it.

    The axes that are picked from count as the indices lie, all others as the array does.
    """
    parts = _for_each_axis(x.ndim, index)
    rest = x[tuple([slice(None) if isinstance(p, np.ndarray) else p for p in parts])]
    places, kept = list[np.ndarray](), list[int]()
    axis, first, last = 0, None, None
    for p in parts:
        if isinstance(p, np.ndarray):
            first, last = len(kept) if first is None else first, len(kept)
            places.append(p)
        elif p is None or isinstance(p, slice):
            kept.append(axis)
        else:
            continue
        axis += 1
    at = first if first == last and first is not None else 0
    whole = np.broadcast_shapes(*[p.shape for p in places])
    shape, steps = [rest.shape[k] for k in kept], [rest.strides[k] for k in kept]
    shape[at:at], steps[at:at] = whole, (0,) * len(whole)
    before, after = (0,) * at, (0,) * (len(kept) - at)
    indices = [(*before, *spread(p.shape, p.strides, len(whole), whole), *after) for p in places]
    return order_of(shape, [steps, *indices])


def _for_each_axis(ndim: int, index: tuple[Any, ...]) -> list[Any]:
    """The parts of an index, one for each axis, but for new ones; an array of truth values as the numbers it means."""
    parts: list[Any] = []
    for p in index:
        if isinstance(p, np.ndarray) and p.dtype == np.bool_ and p.ndim:
            parts += np.nonzero(p)
        else:
            parts.append(p)
    taken = sum(p is not None and p is not Ellipsis for p in parts)
    dots = next((k for k, p in enumerate(parts) if p is Ellipsis), len(parts))
    parts[dots : dots + 1] = [slice(None)] * (ndim - taken)
    return parts


def laid_like(z: Any, *arrays: Any) -> Any:
    """What was computed of some arrays element by element, in the order that they decide; a copy if need be."""
    if z.flags.f_contiguous and _lie_by_columns(z.shape, arrays):
        return z
    order = _order_like(z.shape, tuple([(x.shape, x.strides) for x in arrays if isinstance(x, np.ndarray)]))
    return z if lies_in(z, order) else copied_in(order, z)


def _lie_by_columns(shape: tuple[int, ...], arrays: tuple[Any, ...]) -> bool:
    """Whether all of some arrays have a shape, and lie in the opposite of row-major order."""
    for x in arrays:
        if type(x) is np.ndarray and x.shape == shape and x.flags.f_contiguous:
            continue  # `all` of a generator would cost a call for each
        return False
    return True


@lru_cache(1 << 12)
def _order_like(shape: tuple[int, ...], arrays: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]) -> Order:
    return order_of(shape, [spread(own, strides, len(shape), shape) for own, strides in arrays])


def lies_in(array: np.ndarray, order: Order) -> bool:
    """Whether an array lies without gaps and in an order of its axes."""
    return bool((array if order is None else array.transpose(order)).flags.c_contiguous)


def order_without_gaps(array: np.ndarray) -> Order:
    """The order of an array that lies without gaps; of others row-major order."""
    order = order_of(array.shape, [array.strides])
    return order if lies_in(array, order) else None


def laid_in(order: Order, array: np.ndarray) -> np.ndarray:
    """A copy of an array that lies in an order of its axes, or the array itself if it does."""
    return array if lies_in(array, order) else copied_in(order, array)


def copied_in(order: Order, array: np.ndarray) -> np.ndarray:
    """A copy of an array that lies in an order of its axes."""
    made = empty_in(order, array.shape, array.dtype)
    made[...] = array
    return made


def empty_in(order: Order, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """An array that lies in an order of its axes."""
    if order is None:
        return np.empty(shape, dtype)
    back = sorted(range(len(order)), key=order.__getitem__)
    return np.empty([shape[k] for k in order], dtype).transpose(back)
