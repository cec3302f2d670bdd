"""Means, products and the soft kin of sums, over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import along
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import HOLOMORPHIC, REGISTRY, general, is_complex, linear
from ..pointwise.arithmetic import chain_mul
from ..pointwise.comparison import eq, isfinite
from ..pointwise.elementary import exp, log
from ..pointwise.selection import where
from ..shapes.shape import permute, reshape, size_of
from ..shapes.sums import REDUCTIONS, Axis, kept, normal_axes, spread, sum
from .cumulative import product_of_others


def _mean(x: Any, *, axis: Axis = None, keepdims: bool = False) -> Any:
    """What `np.mean` gives; of numbers of 64 bits over one axis or all, without what that finds out first."""
    if type(x) is np.ndarray and x.dtype.char == "d" and x.size and (axis is None or type(axis) is int):
        z: Any = np.add.reduce(x, axis, keepdims=keepdims)  # type: ignore[call-overload]
        return z / (x.size if axis is None else x.shape[axis])
    return np.mean(x, axis=axis, keepdims=keepdims)


mean = linear(
    "mean", _mean,
    lambda g, x_shape, axis: spread(g / float(size_of(x_shape, normal_axes(axis, len(x_shape)))), x_shape, axis),
    node=lambda axis: "MeanBackward0" if axis is None else "MeanBackward1",
    cases=cases_of(*REDUCTIONS),
    hints=Hints(motion="average"),
    batch=along("axis"),
    doc="Mean over axes (all where ``axis`` is None).",
)


def _partials_of_product(x: Any, x_shape: tuple[int, ...], axis: Axis) -> Any:
    """∂ prod / ∂xᵢ = the product of the other elements, exact also where some are 0."""
    axes = normal_axes(axis, len(x_shape))
    if len(axes) == 1:
        return product_of_others(x, axes[0])
    others = tuple(k for k in range(len(x_shape)) if k not in axes)
    order = others + axes
    rows = reshape(permute(x, axes=order), shape=(*(x_shape[k] for k in others), size_of(x_shape, axes)))
    partials = reshape(product_of_others(rows, -1), shape=tuple(x_shape[k] for k in order))
    return permute(partials, axes=tuple(int(k) for k in np.argsort(order)))


def _prod_jvp(x: Any, x_dot: Any, axis: Any, keepdims: bool) -> Any:
    return sum(chain_mul(x_dot, _partials_of_product(x, x.shape, axis)), axis=axis, keepdims=keepdims)


prod = general(
    "prod", lambda x, *, axis=None, keepdims=False: np.prod(x, axis=axis, keepdims=keepdims),
    lambda g, x, axis: chain_mul(kept(g, x.shape, axis), _partials_of_product(x, x.shape, axis)),
    jvp=_prod_jvp,
    node=lambda axis: "ProdBackward0" if axis is None else "ProdBackward1",
    hints=Hints(reduces=np.multiply), complex=HOLOMORPHIC, cases=cases_of(*REDUCTIONS),
    batch=along("axis"),
    doc="Product over axes (all where ``axis`` is None).  The gradient is exact where elements are 0.",
)


def _logsumexp(x: Any, *, axis: Axis = None, keepdims: bool = False) -> Any:
    x = np.asarray(x)
    x = x if x.dtype.kind in "fc" else x.astype(float)
    axes = normal_axes(axis, x.ndim)
    top = np.max(x.real, axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, np.zeros((), top.dtype))
    with np.errstate(divide="ignore"):
        z = np.log(np.sum(np.exp(x - top), axis=axes, keepdims=True)) + top
    return z if keepdims else np.squeeze(z, axes)[()]


def _weights(x: Any, z: Any, axis: Axis) -> Any:
    """∂ logsumexp / ∂x = exp(x − z); where z = −inf nothing that is finite moves it, so 0."""
    z = kept(z, x.shape, axis)
    return where(eq(z, -float("inf")), 0.0, exp(x - z))


def _log_of_sum(x: Any, axis: Axis, keepdims: bool) -> Any:
    """`_logsumexp` in ops."""
    axes = normal_axes(axis, x.ndim)
    top = REGISTRY["amax"](REGISTRY["real"](x) if is_complex(x) else x, axis=axes, keepdims=True)
    top = where(isfinite(top), top, 0.0)
    z = log(sum(exp(x - top), axis=axes, keepdims=True)) + top
    return z if keepdims else reshape(z, shape=tuple(n for k, n in enumerate(x.shape) if k not in axes))


logsumexp = general(
    "logsumexp", _logsumexp,
    lambda g, x, z, axis: chain_mul(kept(g, x.shape, axis), _weights(x, z, axis)),
    jvp=lambda x, z, x_dot, axis, keepdims: sum(x_dot * _weights(x, z, axis), axis=axis, keepdims=keepdims),
    complex=HOLOMORPHIC, cases=cases_of(*REDUCTIONS), hints=Hints(reduces=np.logaddexp, made_of=_log_of_sum),
    batch=along("axis"),
    doc="""Logarithm of the sum of exponentials, without overflow.

    Where all elements are −inf the gradient is 0: no finite change moves the result (PyTorch: nan).
    """,
)


def _softmax(x: Any, *, axis: Axis = -1) -> Any:
    x = np.asarray(x)
    axes = normal_axes(axis, x.ndim)
    z = np.exp(x - np.max(x, axis=axes, keepdims=True, initial=-np.inf))
    return (z / np.sum(z, axis=axes, keepdims=True))[()]


def _softmax_derivative(v: Any, z: Any, axis: Axis) -> Any:
    """The Jacobian diag(z) − z zᵀ, which is symmetric, times v."""
    v = v * z
    return v - z * sum(v, axis=axis, keepdims=True)


def _normalised(x: Any, axis: Axis) -> Any:
    """`_softmax` in ops."""
    axes = normal_axes(axis, x.ndim)
    z = exp(x - REGISTRY["amax"](x, axis=axes, keepdims=True))
    return z / sum(z, axis=axes, keepdims=True)


SOFTMAXES: Any = (((2, 3), {"axis": 0}), ((3,), {}), ((2, 3, 2), {"axis": (0, 1)}))

softmax = general(
    "softmax", _softmax, lambda g, z, axis: _softmax_derivative(g, z, axis),
    jvp=lambda z, x_dot, axis: _softmax_derivative(x_dot, z, axis),
    hints=Hints(made_of=_normalised),
    cases=cases_of(*SOFTMAXES), batch=along("axis"), doc="Exponentials along an axis, divided by their sum.",
)


def _log_softmax(x: Any, *, axis: Axis = -1) -> Any:
    x = np.asarray(x)
    below = x - np.max(x, axis=normal_axes(axis, x.ndim), keepdims=True, initial=-np.inf)
    return below - _logsumexp(below, axis=axis, keepdims=True)


def _log_normalised(x: Any, axis: Axis) -> Any:
    """`_log_softmax` in ops: the greatest element below is 0, unless it is nan."""
    axes = normal_axes(axis, x.ndim)
    below = x - REGISTRY["amax"](x, axis=axes, keepdims=True)
    return below - log(sum(exp(below), axis=axes, keepdims=True))


log_softmax = general(
    "log_softmax", _log_softmax, lambda g, z, axis: g - exp(z) * sum(g, axis=axis, keepdims=True),
    jvp=lambda z, x_dot, axis: x_dot - sum(exp(z) * x_dot, axis=axis, keepdims=True),
    hints=Hints(made_of=_log_normalised),
    cases=cases_of(*SOFTMAXES), batch=along("axis"), doc="Logarithm of `softmax`, without overflow: x − logsumexp(x).",
)
