"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import along, filling_diagonal, trailing
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import composite, linear, ready
from .shape import clone, reshape
from .sums import broadcast_to


def _fill_diagonal(x: Any, *, shape: tuple[int, ...], offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = np.asarray(x)
    z = np.zeros(shape, dtype=x.dtype)
    rows, columns = max(-offset, 0), max(offset, 0)
    k = np.arange(x.shape[-1])
    np.moveaxis(z, (axis1, axis2), (-2, -1))[..., k + rows, k + columns] = x
    return z


def _diagonal(x: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = np.asarray(x)
    z = np.diagonal(x, offset, axis1, axis2)
    z.flags.writeable = x.flags.writeable  # NumPy gives it as read-only
    return z


diagonal = linear(
    "diagonal", _diagonal,
    lambda g, x_shape, offset, axis1, axis2: fill_diagonal(g, shape=x_shape, offset=offset, axis1=axis1, axis2=axis2),
    numpy=(np.diagonal,), view=True,
    cases=cases_of(((3, 3), {}), ((2, 4), {"offset": 1}), ((2, 3, 4), {"offset": -1, "axis1": 0, "axis2": 2})),
    batch=along("axis1", "axis2"),
    doc="The elements x[i, i + offset] of the matrices in the axes `axis1`, `axis2`, along a new last axis.",
)

fill_diagonal = linear(
    "fill_diagonal", _fill_diagonal,
    lambda g, offset, axis1, axis2: diagonal(g, offset=offset, axis1=axis1, axis2=axis2),
    node="DiagEmbedBackward0",
    cases=cases_of(((3,), {"shape": (3, 3)}), ((2, 3), {"shape": (2, 4, 5), "offset": -1, "axis1": -2, "axis2": -1})),
    batch=filling_diagonal,
    doc="Zeros of the given shape with x on a diagonal: the transpose of `diagonal`.",
)


def _trace_transpose(g: Any, x_shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    rows, columns = x_shape[axis1], x_shape[axis2]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    every = broadcast_to(reshape(g, shape=(*g.shape, 1)), shape=(*g.shape, length))
    return fill_diagonal(every, shape=x_shape, offset=offset, axis1=axis1, axis2=axis2)


trace = linear(
    "trace", lambda x, *, offset=0, axis1=0, axis2=1: np.trace(x, offset, axis1, axis2), _trace_transpose,
    numpy=(np.trace,),
    cases=cases_of(((3, 3), {}), ((2, 4), {"offset": 1}), ((2, 3, 4), {"offset": -1, "axis1": 1, "axis2": 2})),
    batch=along("axis1", "axis2"),
    doc="Sum of a diagonal.",
)

tril = linear(
    "tril", lambda x, *, k=0: np.tril(x, k), lambda g, k: tril(g, k=k),
    numpy=(np.tril,), cases=cases_of(((3, 4), {}), ((2, 3, 3), {"k": -1})),
    batch=trailing(2), hints=Hints(steps=lambda s, x, k: s.triangle(x, k, lower=True), large=True),
    doc="The matrices with zeros above diagonal number k.",
)

triu = linear(
    "triu", lambda x, *, k=0: np.triu(x, k), lambda g, k: triu(g, k=k),
    numpy=(np.triu,), cases=cases_of(((3, 4), {}), ((2, 3, 3), {"k": 1})),
    batch=trailing(2), hints=Hints(steps=lambda s, x, k: s.triangle(x, k, lower=False), large=True),
    doc="The matrices with zeros below diagonal number k.",
)


def _diag(v: Any, k: int = 0) -> Any:
    """The diagonal number k of a matrix, or the matrix with a vector on that diagonal."""
    v = ready(v)
    if v.ndim == 1:
        n = v.shape[0] + abs(k)
        return fill_diagonal(v, shape=(n, n), offset=k)
    if v.ndim == 2:
        return clone(diagonal(v, offset=k))
    raise ValueError(f"diag takes a vector or a matrix, got shape {v.shape}; use diagonal() for stacks of matrices")


diag = composite("diag", _diag, numpy=(np.diag,))


def _diag_embed(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """Matrices with the last axis of x on their diagonals."""
    x = ready(x)
    n, ndim = x.shape[-1] + abs(offset), x.ndim + 1
    axes = sorted((axis1 % ndim, axis2 % ndim))
    if axes[0] == axes[1]:
        raise ValueError(f"diag_embed needs two different axes, got {axis1} and {axis2}")
    shape = list(x.shape[:-1])
    for axis in axes:
        shape.insert(axis, n)
    return fill_diagonal(x, shape=tuple(shape), offset=offset, axis1=axis1, axis2=axis2)


diag_embed = composite("diag_embed", _diag_embed)


matrix_trace = composite(
    "matrix_trace", lambda x, *, offset=0: trace(ready(x), offset=offset, axis1=-2, axis2=-1),
    numpy=(np.linalg.trace,), doc="Sums of the diagonals of matrices.",
)
matrix_diagonal = composite(
    "matrix_diagonal", lambda x, *, offset=0: diagonal(ready(x), offset=offset, axis1=-2, axis2=-1),
    numpy=(np.linalg.diagonal,), doc="The diagonals of matrices.",
)
