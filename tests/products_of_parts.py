"""A program of many products of vectors with parts of a matrix, and the operands of a test's own programs."""

from __future__ import annotations

import numpy as np


def covariances(x):
    """Each column times those from itself on; the products go to a row and a column."""
    n = x.shape[1]
    x = x - x.mean(axis=0)
    z = np.zeros((n, n), x.dtype)
    for i in range(n):
        z[i:, i] = z[i, i:] = x[:, i] @ x[:, i:]
    return z


def covariance(x, w):
    """Their weighted sum."""
    return (covariances(x) * w).sum()


def operands(shapes, dtype=np.float64):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]
