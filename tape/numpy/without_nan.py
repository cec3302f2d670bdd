"""Medians and quantiles that leave out what is not a number: how many there are, each row says for itself."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays.face_base import numpy
from .arrays.leaving import user_frame
from .constructors import as_array

LINEAR = "linear"


def nanquantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = LINEAR,
    keepdims: Any = False, *, weights: Any = None, **old: Any,
) -> Any:  # fmt: skip
    """`np.nanquantile` by the default method: linear between the two nearest in order."""
    if method != LINEAR or weights is not None or out is not None or old:
        return NotImplemented
    q = as_array(q)
    if not bool(np.all((q >= 0) & (q <= 1))):
        raise ValueError("Quantiles must be in the range [0, 1]")
    return _quantile(as_array(a), q, axis, keepdims is True)


def nanpercentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = LINEAR,
    keepdims: Any = False, *, weights: Any = None, **old: Any,
) -> Any:  # fmt: skip
    """`np.nanpercentile` by the default method."""
    q = as_array(q) / 100
    if not bool(np.all((q >= 0) & (q <= 1))):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return nanquantile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights, **old)


def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """`np.nanmedian`: the middle one, or the mean of both."""
    return NotImplemented if out is not None else _quantile(as_array(a), np.asarray(0.5), axis, keepdims is True, True)


def _quantile(a: Any, q: Any, axis: Any, keepdims: bool, median: bool = False) -> Any:
    """Quantiles, or the median, with the axes of `q` before those that are left."""
    axes = tuple(range(a.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    kept = [k for k in range(a.ndim) if k not in axes]
    rows = np.reshape(
        np.transpose(a, (*kept, *axes)), (*[a.shape[k] for k in kept], math.prod([a.shape[k] for k in axes]))
    )
    dtype = np.result_type(a.dtype, q.dtype) if q.ndim else np.result_type(a.dtype, np.float16)
    found = _of_rows(numpy.sort(rows, axis=-1), np.ravel(q), median).astype(dtype)
    found = np.reshape(np.moveaxis(found, -1, 0), (*q.shape, *rows.shape[:-1]))
    if keepdims:
        found = np.reshape(found, (*q.shape, *[1 if k in axes else n for k, n in enumerate(a.shape)]))
    return found if found.ndim else found[()]


def _of_rows(rows: Any, q: Any, median: bool) -> Any:
    """Quantiles of sorted rows, in which all that is not a number stands last; a median is an element, or a mean."""
    count = np.sum(~np.isnan(rows), axis=-1, keepdims=True)
    if not rows.shape[-1] or bool(np.any(count == 0)):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=user_frame()[1])
    if not rows.shape[-1]:
        return np.full((*rows.shape[:-1], len(q)), np.nan)
    place = q * np.maximum(count - 1, 0)
    low = np.floor(place).astype(np.intp)
    high = np.minimum(low + 1, np.maximum(count - 1, 0))
    below, above = (np.take_along_axis(rows, k, axis=-1) for k in (low, high))
    share = place - low
    if median:
        return np.where(share == 0, below, (below + above) / 2)
    near = np.take_along_axis(rows, np.where(share < 0.5, low, high), axis=-1)
    return near + (above - below) * (share - (share >= 0.5))


NAN_QUANTILES: dict[Any, Callable[..., Any]] = {
    np.nanquantile: nanquantile, np.nanpercentile: nanpercentile, np.nanmedian: nanmedian,
}  # fmt: skip
"""What answers for these functions of NumPy's; NotImplemented, if nothing does for these arguments."""
