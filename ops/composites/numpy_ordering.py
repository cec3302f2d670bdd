"""NumPy functions that go by the order of elements: sorts, ranges, quantiles, medians."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.op import composite, ready
from ..pointwise.comparison import isnan
from ..pointwise.selection import where
from ..reductions.extremes import amax, amin, in_order, sort
from ..reductions.reduction import mean
from ..shapes.index import getitem
from ..shapes.shape import cast, permute, reshape


def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Range of the elements: the largest minus the smallest."""
    a = ready(a)
    return amax(a, axis=axis, keepdims=keepdims) - amin(a, axis=axis, keepdims=keepdims)


ptp = composite("ptp", _ptp, numpy=(np.ptp,))


def _numpy_sort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Any:
    """The elements in order along an axis, or of the flattened array."""
    a = ready(a)
    if axis is None:
        a, axis = reshape(a, shape=(-1,)), 0
    return (sort if stable or kind in ("stable", "mergesort") else in_order)(a, axis=axis)[0]


numpy_sort = composite("numpy_sort", _numpy_sort, numpy=(np.sort,))


def _in_last_axis(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The axes that are reduced, flattened into one at the end; and the shape with them of length 1."""
    axes = tuple(range(a.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    rest = tuple(k for k in range(a.ndim) if k not in axes)
    count = math.prod([a.shape[k] for k in axes])
    last = reshape(permute(a, axes=rest + axes), shape=(*(a.shape[k] for k in rest), count))
    return last, tuple(1 if k in axes else n for k, n in enumerate(a.shape))


def _quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """Quantiles at the places where a method of NumPy's puts them: elements, or between neighbours in order."""
    return quantile_in(None, a, q, axis, method=method, keepdims=keepdims)


def quantile_in(
    there: np.dtype[Any] | None, a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """Quantiles as NumPy writes them into an array of a dtype: those nearer to the neighbour above are taken there.

    Nan where one is nan; and where NumPy takes a share of none of an infinite distance.
    """
    a, shares = ready(a), np.asarray(q, dtype=float)
    q = q if isinstance(q, (int, float)) else np.asarray(q)  # NumPy takes the dtype of arrays, not of numbers
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"quantile needs numbers from 0 to 1, got {q}; percentile() takes 0 to 100")
    last, kept = _in_last_axis(a, axis)
    ordered, n = sort(last)[0], last.shape[-1]
    picked = np.quantile(np.arange(n), q, method=method)  # type: ignore[call-overload]
    if picked.dtype.kind == "i":
        z = getitem(ordered, index=(Ellipsis, picked))
    else:
        low, high, share = _neighbours(n, q, method)
        dtype = np.quantile(np.ones(1, a.dtype), q, method=method).dtype  # type: ignore[call-overload]
        if a.dtype.kind == "b":
            ordered = cast(ordered, dtype=dtype)
        alone = ordered.ndim == 1 and not shares.ndim  # numbers, of which NumPy tells where they overflow
        below, above = (getitem(ordered, index=int(k) if alone else (Ellipsis, k)) for k in (low, high))
        gap = cast(above - below, dtype=dtype)  # of integers one in their own dtype, which may overflow, as NumPy's
        is_late = share >= 0.5
        z = cast(below, dtype=dtype) + gap * share.astype(dtype)  # which warns of what is not taken, too
        there = dtype if there is None else there
        if is_late.any():
            late = cast(above, dtype=there) - cast(gap * (1 - share).astype(dtype), dtype=there)
            z = where(is_late, late, cast(z, dtype=there))
        z = z if z.dtype == there else cast(z, dtype=there)
    z = _unless_missing(z, ordered, shares.ndim)
    n = len(z.shape) - shares.ndim
    z = permute(z, axes=(*range(n, n + shares.ndim), *range(n)))
    return reshape(z, shape=(*shares.shape, *kept)) if keepdims else z


CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0), "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}  # fmt: skip
"""The numbers α and β of methods of Hyndman and Fan, by which NumPy puts a share q at nq + α + q(1 − α − β)."""


def _neighbours(n: int, q: Any, method: str) -> tuple[Any, Any, Any]:
    """Between which two elements of n in order quantiles lie, and their share of the way, rounded as NumPy does.

    Beyond an end both are the element there, and the share is any number: it gives a zero its sign.
    """
    if method == "linear":
        at = (n - 1) * q
    elif method == "midpoint":
        at = 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    elif method == "averaged_inverted_cdf":
        at = n * q - 1
    else:
        alpha, beta = CONTINUOUS[method]
        at = n * q + (alpha + q * (1 - alpha - beta)) - 1
    at = np.asarray(at)
    low = np.where(at >= n - 1, -1, np.where(at < 0, 0, np.floor(at)))
    high = np.where((at >= n - 1) | (at < 0), low, low + 1).astype(int)
    share = (at - low).astype(at.dtype)
    if method == "midpoint":
        share = np.where(at % 1 == 0, 0.0, 0.5)
    if method == "averaged_inverted_cdf":
        share = np.where(share == 0, 0.5, 1.0)
    return low.astype(int), high, share.astype(float)


def _unless_missing(z: Any, ordered: Any, more: int = 0) -> Any:
    """What was found of rows in order, nan where one of a row is: it stands last; `more` axes are behind the rows'."""
    if ordered.dtype.kind not in "fc":
        return z
    missing = getitem(ordered, index=(Ellipsis, -1))
    missing = reshape(missing, shape=(*missing.shape, *(1,) * more))
    return where(isnan(missing), cast(missing, dtype=z.dtype), z)


def _percentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """Percentiles, as quantiles are taken."""
    shares = q / 100.0 if type(q) in (int, float) else np.true_divide(q, 100)
    return _quantile(a, shares, axis, method=method, keepdims=keepdims)


def _numpy_median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Median with NumPy's meaning: the mean of the two middle elements of an even number."""
    a = ready(a)
    last, kept = _in_last_axis(cast(a, dtype=np.dtype(np.float64)) if a.dtype.kind in "biu" else a, axis)
    ordered, n = sort(last)[0], last.shape[-1]
    z = mean(getitem(ordered, index=(Ellipsis, slice(max((n - 1) // 2, 0), n // 2 + 1))), axis=-1)
    z = _unless_missing(z, ordered) if n else z
    return reshape(z, shape=kept) if keepdims else z


quantile = composite("quantile", _quantile, numpy=(np.quantile,))
percentile = composite("percentile", _percentile, numpy=(np.percentile,))
numpy_median = composite("numpy_median", _numpy_median, numpy=(np.median,))
