"""Distances of `scipy.spatial.distance`, by the differences of coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..constructors import as_array


def _between(metric: Any, p: Any = None) -> Any:
    """The distance of a metric, by the differences of coordinates in the last axis; None of one that is not covered."""
    if metric == "minkowski":
        return lambda d: np.sum(np.abs(d) ** (2 if p is None else p), -1) ** (1 / (2 if p is None else p))
    return METRICS.get(metric)


METRICS: dict[Any, Callable[[Any], Any]] = {
    "sqeuclidean": lambda d: np.sum(d * d, -1), "cityblock": lambda d: np.sum(np.abs(d), -1),
    "euclidean": lambda d: np.linalg.norm(d, axis=-1), "chebyshev": lambda d: np.max(np.abs(d), -1),
}  # fmt: skip


def _cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, p: Any = None) -> Any:
    a, b, between = as_array(XA), as_array(XB), _between(metric, p)
    if between is None or a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or not a.shape[1]:
        return NotImplemented
    return between(a[:, None].astype(float, copy=False) - b.astype(float, copy=False))


def _pdist(X: Any, metric: Any = "euclidean", *, p: Any = None) -> Any:
    x, between = as_array(X), _between(metric, p)
    if between is None or x.ndim != 2 or not x.shape[1]:
        return NotImplemented
    first, second = np.triu_indices(len(x), 1)
    return between((x[first] - x[second]).astype(float, copy=False))


def _distance(metric: str) -> Callable[..., Any]:
    def compute(u: Any, v: Any) -> Any:
        u, v = as_array(u), as_array(v)
        return NotImplemented if u.ndim != 1 or u.shape != v.shape or not u.size else METRICS[metric](u - v)

    return compute


def _squareform(X: Any) -> Any:
    x = as_array(X)
    n = round((1 + np.sqrt(1 + 8 * x.size)) / 2)
    if x.ndim != 1 or n * (n - 1) != 2 * x.size or not x.size:
        return NotImplemented
    places = np.zeros((n, n), int)
    places[np.triu_indices(n, 1)] = np.arange(x.size)
    return np.where(np.eye(n, dtype=bool), np.zeros((), x.dtype), x[places + places.T])


DISTANCES: dict[str, Callable[..., Any]] = {
    "cdist": _cdist, "pdist": _pdist, "squareform": _squareform, **{name: _distance(name) for name in METRICS},
}  # fmt: skip
