"""Methods of NumPy's functions of two numbers that no op is: `reduce`, `accumulate`, and `reduceat`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays.leaving import plain
from .constructors import as_array

TOTALS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
}  # fmt: skip
"""The functions that are the ``reduce`` of such a function, with all its arguments."""


def is_folded(ufunc: np.ufunc) -> bool:
    """Whether a function takes two numbers and gives one, and no truth value.

    Not a power or an angle, of which NumPy's own ``reduce`` gives one number or another by how an array lies in memory.
    """
    made_of_two = (ufunc.nin, ufunc.nout) == (2, 1) and ufunc not in (np.power, np.float_power, np.arctan2)
    return made_of_two and not all(types.endswith("?") for types in ufunc.types)


def reduce(
    ufunc: np.ufunc, x: Any, *, axis: Any = 0, dtype: Any = None, keepdims: bool = False, initial: Any = np._NoValue,
    where: Any = True,
) -> Any:  # fmt: skip
    """``ufunc.reduce``: one number after the other joins those before it, of any function of two numbers."""
    named = {"keepdims": keepdims} | ({} if initial is np._NoValue else {"initial": initial})
    named |= {} if where is True else {"where": where}
    x = as_array(x) if dtype is None else as_array(x).astype(dtype)
    if ufunc in TOTALS and initial is not None:
        return TOTALS[ufunc](x, axis=axis, **named)
    ufunc.reduce(np.ones(x.shape, x.dtype), axis=axis, **plain(named))  # what NumPy raises of such arguments
    if not x.ndim and initial is np._NoValue and where is True:
        return x[()]
    axes = sorted(k % x.ndim for k in (range(x.ndim) if axis is None or not x.ndim else np.atleast_1d(axis).tolist()))
    kept = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
    rest = tuple([n for k, n in enumerate(x.shape) if k not in axes])
    count = math.prod([x.shape[k] for k in axes])
    rows = np.reshape(np.moveaxis(x, axes, range(len(axes))), (count, *rest))
    chosen = np.moveaxis(np.broadcast_to(plain(where), x.shape), axes, range(len(axes))).reshape(rows.shape)
    start: Any = ufunc.identity if initial is np._NoValue and where is not True else initial
    found: Any = (
        None if start is None or start is np._NoValue else np.broadcast_to(as_array(start).astype(x.dtype), rest)
    )
    for row, now in zip(rows, chosen):
        joined = row if found is None else ufunc(found, row)
        found = joined if found is None or np.all(now) else np.where(now, joined, found)
    return np.reshape(found, kept) if keepdims else found[()]


def accumulate(ufunc: np.ufunc, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    """``ufunc.accumulate``: what `reduce` gives of the first number, of the first two, …"""
    x = as_array(x) if dtype is None else as_array(x).astype(dtype)
    made: Any = ufunc.accumulate(np.ones(x.shape, x.dtype), axis=axis)  # what NumPy raises of such arguments
    rows = np.moveaxis(x, axis, 0)
    found = list(rows[:1])
    for row in rows[1:]:
        found.append(ufunc(found[-1], row))
    return np.moveaxis(np.stack(found), 0, axis).astype(made.dtype) if found else made


def reduceat(ufunc: np.ufunc, x: Any, indices: Any, axis: int = 0, **named: Any) -> Any:
    """``ufunc.reduceat``: from each place to the next one, or what stands there if that is none later."""
    x, places = np.moveaxis(as_array(x), axis, 0), np.asarray(plain(indices)).tolist()
    if any(not 0 <= k < len(x) for k in places):
        raise IndexError(f"index out-of-bounds in {ufunc.__name__}.reduceat [0, {len(x)})")

    def part(start: int, stop: int) -> Any:
        if ufunc is not np.add or x.dtype.kind not in "fc" or named.get("dtype") is not None:
            return ufunc.reduce(x[start : max(stop, start + 1)], axis=0, **named)
        rest = x[start + 1 : stop]  # which the first is added to, with the sign of its zero
        return x[start] + ufunc.reduce(rest, axis=0, initial=-0.0, **named) if len(rest) else x[start]

    parts = [part(start, stop) for start, stop in zip(places, [*places[1:], len(x)])]
    return np.moveaxis(np.stack(parts), 0, axis)
