"""Sums over axes, and what gives a sum back to all that it is of: each the other's transpose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core import batching
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.lane import Same
from ..core.op import REGISTRY, linear

Axis = int | tuple[int, ...] | None


def normal_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Axes as a tuple of distinct numbers in range(ndim)."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return np.lib.array_utils.normalize_axis_tuple(axes, ndim) if ndim or axis not in (0, -1) else ()


def kept_shape(shape: tuple[int, ...], axis: Axis) -> tuple[int, ...]:
    """The shape after a reduction with ``keepdims=True``."""
    if type(axis) is int and -len(shape) <= axis < len(shape):
        axis %= len(shape)
        return (*shape[:axis], 1, *shape[axis + 1 :])
    axes = normal_axes(axis, len(shape))
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def kept(g: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """A reduced value with its lost axes put back, of length 1."""
    wanted = kept_shape(shape, axis)
    return g if g.shape == wanted else REGISTRY["reshape"](g, shape=wanted)


def spread(g: Any, shape: tuple[int, ...], axis: Axis) -> Any:
    """Give a reduced value back to every element it came from."""
    return broadcast_to(kept(g, shape, axis) if g.shape else g, shape=shape)


REDUCTIONS: Any = (
    ((2, 3), {}),
    ((2, 3, 2), {"axis": 1}),
    ((2, 3), {"axis": (0, 1), "keepdims": True}),
    ((2, 3, 2), {"axis": (-1, 0)}),
    ((2, 3), {"axis": -1, "keepdims": True}),
    ((), {}),
)

sum = linear(
    "sum", lambda x, *, axis=None, keepdims=False: np.add.reduce(x, axis=axis, keepdims=keepdims),
    lambda g, x_shape, axis: spread(g, x_shape, axis),
    node=lambda axis: "SumBackward0" if axis is None else "SumBackward1",
    hints=Hints(reduces=np.add, motion="spread", growth="sum"), cases=cases_of(*REDUCTIONS),
    batch=batching.along("axis"),
    doc="Sum over axes (all where ``axis`` is None).",
)

def _sum_to(x: Any, *, shape: tuple[int, ...]) -> Any:
    x = np.asarray(x)
    lead = x.ndim - len(shape)
    axes = (*range(lead), *(lead + k for k, n in enumerate(shape) if n == 1 and x.shape[lead + k] != 1))
    if axes:
        x = np.add.reduce(x, axis=axes if len(axes) > 1 else axes[0])
    return x.reshape(shape)[()]


sum_to = linear(
    "sum_to", _sum_to, lambda g, x_shape: broadcast_to(g, shape=x_shape),
    node="SumBackward1",
    cases=cases_of(((2, 3), {"shape": (3,)}), ((2, 3), {"shape": (2, 1)}), ((3,), {"shape": ()})),
    hints=Hints(puts=lambda: (Ellipsis,)), batch=batching.summing_to,
    doc="Sum over the axes that broadcasting added: the transpose of `broadcast_to`.",
)


def fit(bar: Any, shape: tuple[int, ...]) -> Any:
    """An adjoint summed to the shape of the operand that it is of, where that was broadcast."""
    return bar if bar.shape == shape else sum_to(bar, shape=shape)

def _broadcast_to(x: Any, *, shape: Any) -> Any:
    x, wanted = np.asarray(x), (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    lead = len(wanted) - x.ndim
    if lead >= 0 and wanted[lead:] == x.shape and math.prod(wanted[:lead]) == 1:
        return x.reshape(wanted)[()]  # nothing is repeated, so unlike NumPy's view it may be written to
    if x.ndim:
        return np.broadcast_to(x, shape)[()]
    z: np.ndarray = np.ndarray(wanted, x.dtype, x, 0, (0,) * lead)  # the same, in a quarter of the time
    z.flags.writeable = False
    return z


broadcast_to = linear(
    "broadcast_to", _broadcast_to, lambda g, x_shape: sum_to(g, shape=x_shape),
    node="ExpandBackward0", numpy=(np.broadcast_to,), view=True, lane=Same(),
    cases=cases_of(((3,), {"shape": (2, 3)}), ((), {"shape": (4,)}), ((2, 1), {"shape": (2, 3)})),
    batch=batching.broadcasting,
    doc="A view of x repeated along new axes and axes of length 1.",
)
