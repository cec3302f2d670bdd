"""Sums, products, extremes and statistics over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core import general, linear
from .shape import _cases, broadcast_to, reshape, size_of

Axis = int | tuple[int, ...] | None


def normal_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Axes as a tuple of distinct numbers in range(ndim)."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return np.lib.array_utils.normalize_axis_tuple(axes, ndim)


def kept_shape(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """The shape after a reduction with ``keepdims=True``."""
    axes = normal_axes(axis, len(shape))
    return tuple(1 if k in axes else n for k, n in enumerate(shape))


def spread(g: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """Give a reduced value back to every element it came from."""
    kept = kept_shape(shape, axis)
    return broadcast_to(g if np.shape(g) == kept else reshape(g, shape=kept), shape=shape)


REDUCTIONS = (
    ((2, 3), {}),
    ((2, 3, 2), {"axis": 1}),
    ((2, 3), {"axis": (0, 1), "keepdims": True}),
    ((2, 3), {"axis": -1, "keepdims": True}),
    ((), {}),
)

sum = linear(
    "sum", lambda x, *, axis=None, keepdims=False: np.sum(x, axis=axis, keepdims=keepdims),
    lambda g, x_shape, axis: spread(g, x_shape, axis),
    node=lambda axis: "SumBackward0" if axis is None else "SumBackward1",
    cases=_cases(*REDUCTIONS),
    doc="Sum over axes (all where ``axis`` is None).",
)

mean = linear(
    "mean", lambda x, *, axis=None, keepdims=False: np.mean(x, axis=axis, keepdims=keepdims),
    lambda g, x_shape, axis: spread(g / size_of(x_shape, normal_axes(axis, len(x_shape))), x_shape, axis),
    node=lambda axis: "MeanBackward0" if axis is None else "MeanBackward1",
    cases=_cases(*REDUCTIONS),
    doc="Mean over axes (all where ``axis`` is None).",
)
