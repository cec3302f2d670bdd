"""Medians and quantiles that leave out what is not a number, or that weigh: each row says for itself what counts.

And what the largest and smallest without nan warn of.  Whole numbers are never nan: of them the functions that count
all give the same, in their dtype.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import ops

from .arrays.explaining import have_numbers
from .arrays.face_base import numpy
from .arrays.leaving import plain, user_frame
from .arrays.unwrapping import bare
from .constructors import as_array
from .mathematics import holds

LINEAR, ALL_NAN = "linear", "All-NaN slice encountered"


def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = LINEAR,
    keepdims: Any = False, *, weights: Any = None, **old: Any,
) -> Any:  # fmt: skip
    """`np.nanquantile` by the default method: linear between the two nearest in order; or weighted."""
    if weights is not None and out is None and not old:
        return _weighted(np.nanquantile, a, q, axis, method, keepdims, weights)
    if method != LINEAR or weights is not None or out is not None or old:
        return NotImplemented
    shares = as_array(q)
    if not bool(np.all((shares >= 0) & (shares <= 1))):
        raise ValueError("Quantiles must be in the range [0, 1]")
    a = as_array(a)
    return _quantile(a, shares, axis, keepdims is True, _dtype_of(np.nanquantile, a.dtype, *_kind_of(q)))


def nanpercentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = LINEAR,
    keepdims: Any = False, *, weights: Any = None, **old: Any,
) -> Any:  # fmt: skip
    """`np.nanpercentile` by the default method, or weighted."""
    if weights is not None and out is None and not old:
        return _weighted(np.nanquantile, a, np.true_divide(plain(q), 100), axis, method, keepdims, weights)
    if method != LINEAR or out is not None or old:
        return NotImplemented
    shares = as_array(q) / 100
    if not bool(np.all((shares >= 0) & (shares <= 1))):
        raise ValueError("Percentiles must be in the range [0, 100]")
    a = as_array(a)
    return _quantile(a, shares, axis, keepdims is True, _dtype_of(np.nanpercentile, a.dtype, *_kind_of(q)))


def _kind_of(q: Any) -> tuple[Any, bool]:
    """The class of a number, or the dtype of what is none; and whether it is an array."""
    if type(q) in (int, float):
        return type(q), False
    return as_array(q).dtype, isinstance(q, np.ndarray) or np.ndim(q) > 0


@cache
def _dtype_of(function: Any, dtype: np.dtype[Any], q: Any, is_array: bool) -> Any:
    """The dtype of what NumPy gives of numbers of a dtype, for quantiles of a kind."""
    zero: Any = np.zeros((), q)
    return function(np.zeros(1, dtype), zero if is_array else q(0) if isinstance(q, type) else zero[()]).dtype


def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """`np.nanmedian`: the middle one, or the mean of both."""
    return NotImplemented if out is not None else _quantile(as_array(a), np.asarray(0.5), axis, keepdims is True)


def _quantile(a: Any, q: Any, axis: Any, keepdims: bool, dtype: Any = None) -> Any:
    """Quantiles of a dtype, with the axes of `q` before those that are left; without dtype, the median."""
    if not a.size:  # also of several quantiles, NumPy gives one number for each row
        return numpy.nanmean(a, axis, keepdims=keepdims)
    axes = tuple(range(a.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    rows = _in_rows(a, axes)
    found = _of_rows(numpy.sort(rows, axis=-1), np.ravel(q), dtype).astype(a.dtype if dtype is None else dtype)
    return _with_axes(found, a, axes, q, keepdims)


def _of_rows(rows: Any, q: Any, dtype: Any) -> Any:
    """Quantiles of a dtype of sorted rows, in which all that is not a number stands last.

    Without dtype a median, an element or a mean.

    NumPy tells itself of rows of nothing but nan if it is shown the numbers.
    """
    count = np.sum(~np.isnan(rows), axis=-1, keepdims=True)
    if not have_numbers(rows):
        warn_where(count == 0, ALL_NAN)
    last = np.maximum(count - 1, 0)
    if q.dtype.kind in "biu":  # 0 and 1: the ends themselves
        return np.take_along_axis(rows, q * last, axis=-1)
    place = (q * last).astype(np.result_type(q.dtype, np.float16))  # NumPy rounds it so
    low = np.where(place >= last, last, np.floor(place)).astype(np.intp)
    high = np.minimum(low + 1, last)
    below, above = (np.take_along_axis(rows, k, axis=-1) for k in (low, high))
    if dtype is None:
        return np.where(place == low, below, (below + above) / 2) + 0.0  # a mean, also of one: +0.0 of −0.0
    share = (place - np.where(place >= last, -1, low)).astype(place.dtype)  # at the end any: it gives a zero its sign
    early, late = ((above - below) * part.astype(dtype) for part in (share, 1 - share))
    return np.where(share < 0.5, below + early, above - late)  # NumPy warns of what it does not take


def warn_where(holds: Any, text: str) -> None:
    """Warn at the user's line if something holds anywhere; a guard, where it is recorded."""
    if bool(ops.anywhere(bare(holds))):
        warnings.warn(text, RuntimeWarning, stacklevel=user_frame()[1])


def nan_extreme(a: Any, axis: Any = None, out: Any = None, **options: Any) -> Any:
    """What `np.nanmax` and `np.nanmin` warn of; their numbers are an op's."""
    a = as_array(a)
    if a.size and a.dtype.kind in "fc" and options.get("initial") is None:
        warn_where(np.all(np.isnan(a), axis=axis), ALL_NAN)
    return NotImplemented


def nan_spread(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, *rest: Any, **named: Any
) -> Any:
    """What `np.nanvar` and `np.nanstd` warn of where too few numbers are left; theirs are an op's.

    NumPy tells itself if it is shown the numbers.
    """
    a, free = as_array(a), plain(named.get("correction", ddof))
    if not have_numbers([a, named]):
        warn_where(_count(a, axis, **named) <= free, "Degrees of freedom <= 0 for slice.")
    return NotImplemented


def nan_mean(a: Any, axis: Any = None, *rest: Any, **named: Any) -> Any:
    """What `np.nanmean` warns of where nothing is left; the numbers are an op's, and NumPy tells if it has them."""
    a = as_array(a)
    if not have_numbers([a, named]):
        warn_where(_count(a, axis, **named) == 0, "Mean of empty slice")
    return NotImplemented


def _count(a: Any, axis: Any, where: Any = True, **_: Any) -> Any:
    """How many elements are not nan, along axes, of those that are chosen."""
    there = ~np.isnan(a)
    return np.sum(there if where is True else there & where, axis=axis)


def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = LINEAR,
    keepdims: Any = False, *, weights: Any = None, **old: Any,
) -> Any:  # fmt: skip
    """`np.quantile`, weighted; and of one number of a narrow dtype that is none."""
    if out is not None or old:
        return NotImplemented
    if weights is None:
        return _unless_none(np.quantile, a, q, axis, method, keepdims)
    return _weighted(np.quantile, a, q, axis, method, keepdims, weights)


def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = LINEAR,
    keepdims: Any = False, *, weights: Any = None, **old: Any,
) -> Any:  # fmt: skip
    """`np.percentile`, weighted; and of one number of a narrow dtype that is none."""
    if out is not None or old:
        return NotImplemented
    if weights is None:
        return _unless_none(np.percentile, a, q, axis, method, keepdims)
    return _weighted(np.quantile, a, np.true_divide(plain(q), 100), axis, method, keepdims, weights)


def _unless_none(function: Any, a: Any, q: Any, axis: Any, method: str, keepdims: Any) -> Any:
    """The nan that NumPy gives in the dtype that it has in `a`, in the place of one number of a wider one.

    NotImplemented, unless there is a nan and that is what an op does not give: in an array NumPy writes the nan into
    the wider dtype, and a share that is Python's number widens nothing.
    """
    if type(q) in (float, int) or np.ndim(q):
        return NotImplemented
    a = as_array(a)
    axes = range(a.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    is_wider = a.dtype.kind == "f" and np.result_type(a.dtype, as_array(q).dtype) != a.dtype
    if not is_wider or len(axes) < a.ndim or holds(_is_number, a):
        return NotImplemented
    return function(a, 0.5, axis, method=method, keepdims=keepdims)


def _is_number(x: Any) -> Any:
    return np.logical_not(np.isnan(x))


def _weighted(function: Any, a: Any, q: Any, axis: Any, method: str, keepdims: Any, weights: Any) -> Any:
    """The first elements in order that together with those before have that share of the weight.

    An element is taken as it is, so the gradient flows to it, and none to weights.
    """
    a, q, w = as_array(a), np.asarray(plain(q), float), np.asarray(plain(weights), float)
    made: Any = function(np.ones(a.shape, a.dtype), q, axis=axis, method=method, weights=w)  # with what that raises
    axes = tuple(range(a.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    if w.shape != a.shape:
        w = np.broadcast_to(np.expand_dims(w, [k for k in range(a.ndim) if k not in axes]), a.shape)
    rows, heavy = (_in_rows(x, axes) for x in (a, w))
    missing = np.isnan(rows)
    if function is np.nanquantile:
        heavy = np.where(missing, 0.0, heavy)
    order = np.argsort(rows, axis=-1, kind="stable")
    ordered, heavy = np.take_along_axis(rows, order, axis=-1), np.take_along_axis(heavy, order, axis=-1)
    shares = np.cumsum(heavy, axis=-1)
    shares = shares / shares[..., -1:]
    shares = np.where(shares == 0, -1.0, shares)  # what has no weight is not taken for the least
    first = np.sum(shares[..., None, :] < np.ravel(q)[:, None], axis=-1)
    found = np.take_along_axis(ordered, np.minimum(first, rows.shape[-1] - 1), axis=-1)
    if function is np.quantile and a.dtype.kind == "f":
        found = np.where(np.any(missing, axis=-1, keepdims=True), np.nan, found)
    result = _with_axes(found.astype(made.dtype, copy=False), a, axes, q, keepdims is True)
    return result[...] if type(made) is np.ndarray and not result.ndim else result


def _in_rows(a: Any, axes: tuple[int, ...]) -> Any:
    """The axes that are reduced as one, the last."""
    kept = [k for k in range(a.ndim) if k not in axes]
    shape = (*[a.shape[k] for k in kept], math.prod([a.shape[k] for k in axes]))
    return np.reshape(np.transpose(a, (*kept, *axes)), shape)


def _with_axes(found: Any, a: Any, axes: tuple[int, ...], q: Any, keepdims: bool) -> Any:
    """What was found for each row and quantile, with the axes of `q` before those that are left."""
    rest = [1 if k in axes else n for k, n in enumerate(a.shape) if keepdims or k not in axes]
    found = np.reshape(np.moveaxis(found, -1, 0), (*q.shape, *rest))
    return found if found.ndim or keepdims else found[()]


def _of_whole_numbers(function: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    """What a function without nan gives: of numbers that cannot be nan, what NumPy's function with nan gives."""

    def call(a: Any, *args: Any, **named: Any) -> Any:
        return (answer if as_array(a).dtype.kind in "fc" else function)(a, *args, **named)

    return call


def _by_op(*args: Any, **named: Any) -> Any:
    return NotImplemented


def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """`np.unwrap` of whole numbers, which stay that where the period is one."""
    p = as_array(p)
    made: Any = np.unwrap(np.zeros(p.shape, p.dtype), discont, axis, period=period)  # with what NumPy raises of such
    if made.dtype.kind == "f":
        return NotImplemented
    steps = np.diff(p, axis=axis)
    half, rest = divmod(period, 2)
    inside = np.mod(steps + half, period) - half
    if not rest:
        inside = np.where((inside == -half) & (steps > 0), half, inside)
    jumps = np.where(np.abs(steps) < (period / 2 if discont is None else discont), 0, inside - steps)
    along = (slice(None),) * (axis % p.ndim)
    first, others = p[(*along, slice(0, 1))], p[(*along, slice(1, None))]
    return np.concatenate([first.astype(made.dtype), (others + jumps.cumsum(axis)).astype(made.dtype)], axis)


NAN_QUANTILES: dict[Any, Callable[..., Any]] = {
    np.nanquantile: _of_whole_numbers(np.quantile, nanquantile), np.nanmedian: _of_whole_numbers(np.median, nanmedian),
    np.nanpercentile: _of_whole_numbers(np.percentile, nanpercentile),
    np.nanmean: _of_whole_numbers(np.mean, nan_mean),
    np.nanvar: _of_whole_numbers(np.var, nan_spread), np.nanstd: _of_whole_numbers(np.std, nan_spread),
    np.nancumsum: _of_whole_numbers(np.cumsum, _by_op), np.nancumprod: _of_whole_numbers(np.cumprod, _by_op),
    np.unwrap: unwrap, np.quantile: quantile, np.percentile: percentile, np.nanmax: nan_extreme, np.nanmin: nan_extreme,
}  # fmt: skip
"""What answers for these functions of NumPy's; NotImplemented, if nothing does for these arguments."""
