"""Variances and standard deviations over axes, alone and beside the mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import along
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import ADJOINT, general, linear
from ..pointwise.arithmetic import chain_mul
from ..pointwise.comparison import eq
from ..pointwise.elementary import sqrt
from ..pointwise.selection import where
from ..shapes.index import getitem
from ..shapes.parts import dot_part
from ..shapes.shape import size_of
from ..shapes.sums import Axis, kept, normal_axes, spread, sum
from .reduction import mean


def _center(x: Any, *, axis: Axis = None) -> Any:
    x = np.asarray(x)
    if x.size == 0:
        return x
    axes = normal_axes(axis, x.ndim)
    first = x[tuple(slice(0, 1) if k in axes else slice(None) for k in range(x.ndim))]
    difference = x - first
    return difference - np.mean(difference, axis=axes, keepdims=True)


def _deviation(x: Any, axis: Axis) -> Any:
    """`_center` in ops."""
    axes = normal_axes(axis, x.ndim)
    difference = x - getitem(x, index=tuple(slice(0, 1) if k in axes else slice(None) for k in range(x.ndim)))
    return difference - mean(difference, axis=axes, keepdims=True)


center = linear(
    "center",
    _center,
    lambda g, axis: center(g, axis=axis),
    node="SubBackward0",
    cases=cases_of(((2, 3), {}), ((2, 3, 2), {"axis": (0, -1)}), ((3,), {"axis": 0})),
    batch=along("axis"),
    hints=Hints(made_of=_deviation),
    doc="""Deviation from the mean over axes; it is its own transpose.

    The first element is subtracted before the mean is taken, so that constants give exact zeros.
    """,
)


def _freedom(shape: tuple[int, ...], axis: Axis, correction: float) -> float:
    """Degrees of freedom as a float that may be divided by: nan where there are none."""
    return float(max(size_of(shape, normal_axes(axis, len(shape))) - correction, 0)) or float("nan")


def _var(x: Any, *, axis: Axis = None, correction: float = 1, keepdims: bool = False) -> Any:
    """About the mean of the numbers themselves, operation by operation as NumPy has it, whose bits these are."""
    x = np.asarray(x)
    x = x.astype(np.float64) if x.dtype.kind in "biu" else x  # the differences of small integers wrap around
    axes = normal_axes(axis, x.ndim)
    count = size_of(x.shape, axes)
    deviation = x - np.sum(x, axis=axes, keepdims=True) / max(count, 1)
    total = np.sum(dot_part(deviation, deviation), axis=axes, keepdims=keepdims)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(total, float(max(count - correction, 0)))


def _mean_square(x: Any, axis: Axis, correction: float, keepdims: bool) -> Any:
    """`_var` in ops."""
    count = size_of(x.shape, normal_axes(axis, x.ndim))
    deviation = x - sum(x, axis=axis, keepdims=True) / float(max(count, 1))
    total = sum(dot_part(deviation, deviation), axis=axis, keepdims=keepdims)
    return total / float(max(count - correction, 0))


VARIANCES: Any = (
    ((2, 3), {}),
    ((2, 3, 2), {"axis": 1, "correction": 0}),
    ((2, 3), {"axis": (0, 1), "keepdims": True}),
    ((3,), {"axis": -1, "correction": 0.5}),
)


def _var_vjp(g: Any, x: Any, axis: Axis, correction: float) -> Any:
    return kept(g, x.shape, axis) * (2.0 / _freedom(x.shape, axis, correction)) * center(x, axis=axis)


def _var_jvp(x: Any, x_dot: Any, axis: Axis, correction: float, keepdims: bool) -> Any:
    twice = 2.0 / _freedom(x.shape, axis, correction)
    return sum(dot_part(center(x, axis=axis), x_dot) * twice, axis=axis, keepdims=keepdims)


var = general(
    "var",
    _var,
    lambda g, x, axis, correction: _var_vjp(g, x, axis, correction),
    jvp=lambda x, x_dot, axis, correction, keepdims: _var_jvp(x, x_dot, axis, correction, keepdims),
    complex=ADJOINT,
    cases=cases_of(*VARIANCES),
    batch=along("axis"),
    hints=Hints(made_of=_mean_square),
    doc="Variance over axes: Σ (x − mean)² / (n − correction).",
)


def _std(x: Any, *, axis: Axis = None, correction: float = 1, keepdims: bool = False) -> Any:
    return np.sqrt(_var(x, axis=axis, correction=correction, keepdims=keepdims))


def _std_slope(x: Any, z: Any, axis: Axis, correction: float) -> Any:
    z = kept(z, x.shape, axis)
    scale = where(eq(z, 0.0), 0.0, 1.0 / z) * (1.0 / _freedom(x.shape, axis, correction))
    return scale * center(x, axis=axis)


def _std_vjp(g: Any, x: Any, z: Any, axis: Axis, correction: float) -> Any:
    return chain_mul(kept(g, x.shape, axis), _std_slope(x, z, axis, correction))


def _std_jvp(x: Any, z: Any, x_dot: Any, axis: Axis, correction: float, keepdims: bool) -> Any:
    return sum(dot_part(_std_slope(x, z, axis, correction), x_dot), axis=axis, keepdims=keepdims)


std = general(
    "std",
    _std,
    lambda g, x, z, axis, correction: _std_vjp(g, x, z, axis, correction),
    jvp=lambda x, z, x_dot, axis, correction, keepdims: _std_jvp(x, z, x_dot, axis, correction, keepdims),
    complex=ADJOINT,
    cases=cases_of(*VARIANCES),
    batch=along("axis"),
    hints=Hints(made_of=lambda x, axis, correction, keepdims: sqrt(_mean_square(x, axis, correction, keepdims))),
    doc="Standard deviation over axes: √var.  The gradient of constant input is 0.",
)


def _beside_mean(bar: Any, g: Any, x: Any, axis: Axis) -> Any:
    """What both results give back: `bar` from the first, and a share of the mean's adjoint; None where none came."""
    if g is None:
        return 0.0 * x if bar is None else bar
    shares = spread(g / float(size_of(x.shape, normal_axes(axis, len(x.shape)))), x.shape, axis)
    return shares if bar is None else bar + shares


def _var_mean(x: Any, *, axis: Axis = None, correction: int = 1, keepdims: bool = False) -> tuple[Any, Any]:
    variance = _var(x, axis=axis, correction=correction, keepdims=keepdims)
    return variance, np.mean(x, axis=axis, keepdims=keepdims)


def _var_mean_vjp(g: Any, x: Any, axis: Axis, correction: int) -> Any:
    return _beside_mean(None if g[0] is None else _var_vjp(g[0], x, axis, correction), g[1], x, axis)


def _var_mean_jvp(x: Any, x_dot: Any, axis: Axis, correction: int, keepdims: bool) -> tuple[Any, Any]:
    return _var_jvp(x, x_dot, axis, correction, keepdims), mean(x_dot, axis=axis, keepdims=keepdims)


var_mean = general(
    "var_mean", _var_mean, _var_mean_vjp, jvp=_var_mean_jvp,
    outputs=2,
    complex=ADJOINT,
    cases=cases_of(*VARIANCES),
    batch=along("axis"),
    doc="Variance and mean over axes, as one operation.",
)


def _std_mean(x: Any, *, axis: Axis = None, correction: int = 1, keepdims: bool = False) -> tuple[Any, Any]:
    deviation = _std(x, axis=axis, correction=correction, keepdims=keepdims)
    return deviation, np.mean(x, axis=axis, keepdims=keepdims)


def _std_mean_vjp(g: Any, x: Any, z: Any, axis: Axis, correction: int) -> Any:
    return _beside_mean(None if g[0] is None else _std_vjp(g[0], x, z[0], axis, correction), g[1], x, axis)


def _std_mean_jvp(x: Any, z: Any, x_dot: Any, axis: Axis, correction: int, keepdims: bool) -> tuple[Any, Any]:
    return _std_jvp(x, z[0], x_dot, axis, correction, keepdims), mean(x_dot, axis=axis, keepdims=keepdims)


std_mean = general(
    "std_mean", _std_mean, _std_mean_vjp, jvp=_std_mean_jvp,
    outputs=2,
    complex=ADJOINT,
    cases=cases_of(*VARIANCES),
    batch=along("axis"),
    doc="Standard deviation and mean over axes, as one operation.",
)
