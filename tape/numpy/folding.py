"""Methods of NumPy's functions of two numbers that no op is: `reduce`, `accumulate`, and `reduceat`; and means.

Of means and variances into an ``out=`` of another dtype NumPy adds up, rounds to that dtype, and divides there.  A
variance's deviations from the mean are those without ``out=``; only what is done with their squares is done there.
What NumPy warns of, or refuses, has been told when one of these is computed: without ``out=`` it does the same.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ops.composites.numpy_ordering import quantile_in

from .arrays.face import Recorded, array
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


def _shared(x: np.ndarray, out: np.dtype[Any], dtype: Any) -> Any:
    """The dtype that NumPy adds up in."""
    return dtype or np.result_type(x.dtype, out)


def _count(x: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """How many elements there are in each sum, as a number of NumPy's, with which 32 bits are divided in 64."""
    if where is True:
        sums = np.any(np.broadcast_to(False, x.shape), axis)
        return np.intp(x.size // max(1, np.size(sums)))
    return np.sum(np.broadcast_to(where, x.shape), axis, np.intp, keepdims=keepdims)


def _quotient(total: Any, count: Any, out: np.dtype[Any]) -> Any:
    return (total.astype(out) / count).astype(out)


def _mean(x: Any, out: np.dtype[Any], axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    if x.dtype == np.float16:
        dtype = dtype or np.dtype(np.float32)
    total = np.sum(x, axis, _shared(x, out, dtype), keepdims=keepdims, where=where)
    return _quotient(total, _count(x, axis, keepdims, where), out)


def _var(
    x: Any, out: np.dtype[Any], axis: Any, dtype: Any, keepdims: bool, where: Any, *,
    mean: Any = None, ddof: Any = 0, correction: Any = 0,
) -> Any:  # fmt: skip
    if mean is None:
        total = np.sum(x, axis, dtype, keepdims=True, where=where)
        mean = _quotient(total, _count(x, axis, True, where), total.dtype)
    apart = x - mean
    squares = apart.real**2 + apart.imag**2 if apart.dtype.kind == "c" else apart * apart
    total = np.sum(squares, axis, _shared(squares, out, dtype), keepdims=keepdims, where=where)
    return _quotient(total, np.maximum(_count(x, axis, keepdims, where) - (ddof or correction), 0), out)


def _std(*args: Any, **kwargs: Any) -> Any:
    return np.sqrt(_var(*args, **kwargs))


SHARES: dict[Any, int] = {np.quantile: 1, np.percentile: 100}
"""Functions whose results lie between two elements, and of how many parts they take a share."""


def _quantile(
    function: Any, x: Any, out: np.dtype[Any], q: Any, axis: Any, *, method: str = "linear", keepdims: Any = False,
    weights: Any = None, overwrite_input: Any = False, interpolation: Any = None,
) -> Any:  # fmt: skip
    q, parts = plain(q), SHARES[function]
    shares = q if parts == 1 else q / 100.0 if type(q) in (int, float) else np.true_divide(q, 100)
    return array(quantile_in(out, x._tensor, shares, axis, method=method, keepdims=bool(keepdims)))


THERE: dict[Any, Callable[..., Any]] = {
    np.mean: _mean, np.var: _var, np.std: _std, np.nanmean: _mean, np.nanvar: _var, np.nanstd: _std,
}  # fmt: skip
"""By function what computes it in the dtype of its ``out=``; arguments of its own follow by name."""

WITHOUT_NAN = frozenset({np.nanmean, np.nanvar, np.nanstd})
"""Those that leave NaN out."""


def divided_there(function: Any, result: Any, out: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of a function of NumPy's as it is in its ``out=``, if that has another dtype than the result has."""
    dtype = np.dtype(kwargs["dtype"]) if kwargs.get("dtype") is not None else None
    if isinstance(out, tuple):
        (out,) = out
    if function not in THERE and function is not np.median and function not in SHARES:
        return result
    if not isinstance(out, np.ndarray) or not isinstance(result, Recorded) or out.dtype == result.dtype:
        return result
    given = dict(zip(("a", "q", "axis") if function in SHARES else ("a", "axis"), args)) | kwargs
    x = as_array(given.pop("a"))
    kinds = x.dtype.kind, out.dtype.kind, *(() if dtype is None else (dtype.kind,))
    if (
        given.get("weights") is not None
        or not set(kinds) <= {"f", "c"}
        or (dtype is not None and dtype.kind != x.dtype.kind)
    ):
        return result
    named = {"axis": None, **{name: value for name, value in given.items() if name != "dtype"}}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if function in SHARES:
            return _quantile(function, x, out.dtype, **named)
        if function is np.median:
            return np.median(x.astype(np.result_type(x.dtype, out.dtype)), **named)
        keepdims, where = bool(named.pop("keepdims", False)), named.pop("where", True)
        if function in WITHOUT_NAN:
            where = ~np.isnan(x) & where
            x = np.where(where, x, 0) if function is np.nanmean else x
        return THERE[function](x, out.dtype, named.pop("axis"), dtype, keepdims, where, **named)
