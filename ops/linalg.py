"""Matrix products and their kin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .core import general
from .shape import permute, reshape, sum_to


def _swap(x: Any) -> Any:
    """The transposed matrices of a stack."""
    n = np.ndim(x)
    return permute(x, axes=(*range(n - 2), n - 1, n - 2))


def _matmul_x(g: Any, x_shape: tuple[int, ...], y: Any) -> Any:
    if len(x_shape) == 1 and np.ndim(y) == 1:
        return g * y
    if np.ndim(y) == 1:
        return sum_to(reshape(g, shape=(*np.shape(g), 1)) * y, shape=x_shape)
    if len(x_shape) == 1:
        return sum_to(matmul(reshape(g, shape=(*np.shape(g)[:-1], 1, np.shape(g)[-1])), _swap(y)), shape=(1, *x_shape))[0]
    return sum_to(matmul(g, _swap(y)), shape=x_shape)


def _matmul_y(g: Any, x: Any, y_shape: tuple[int, ...]) -> Any:
    if len(y_shape) == 1 and np.ndim(x) == 1:
        return g * x
    if np.ndim(x) == 1:
        return sum_to(reshape(x, shape=(*np.shape(x), 1)) * reshape(g, shape=(*np.shape(g)[:-1], 1, np.shape(g)[-1])), shape=y_shape)
    if len(y_shape) == 1:
        return sum_to(matmul(_swap(x), reshape(g, shape=(*np.shape(g), 1))), shape=(*y_shape, 1))[..., 0]
    return sum_to(matmul(_swap(x), g), shape=y_shape)


def _matmul_cases(rng: np.random.Generator) -> Iterator[tuple[tuple[np.ndarray, ...], dict[str, Any]]]:
    for a, b in (((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3, 2)), ((2, 3), (4, 3, 2)), ((2, 1, 2, 3), (4, 3, 2)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2))):
        yield (rng.standard_normal(a), rng.standard_normal(b)), {}


matmul = general(
    "matmul", np.matmul, _matmul_x, _matmul_y,
    symbol="matmul", node="MmBackward0", cases=_matmul_cases,
    doc="Matrix product, stacked over leading axes; a vector is a row on the left and a column on the right.",
)
