"""Functions of neural networks and small fused formulas, made of other ops."""

from __future__ import annotations

from typing import Any

from ..core.op import composite, ready
from ..pointwise.comparison import gt, lt
from ..pointwise.elementary import expm1, sigmoid, tanh
from ..pointwise.selection import minimum, where
from ..specials.usual import erf


def _gelu(x: Any, approximate: str = "none") -> Any:
    """x Φ(x), with Φ the normal distribution function or, for 'tanh', the usual approximation of it."""
    x = ready(x)
    if approximate == "tanh":
        return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    if approximate != "none":
        raise ValueError(f"gelu takes approximate='none' or 'tanh', got {approximate!r}")
    return 0.5 * x * (1.0 + erf(x * 0.7071067811865476))


def _elu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha (eˣ − 1); the slope at 0 is alpha, and the curvature there 0."""
    x = ready(x)
    return where(gt(x, 0.0), x, alpha * where(lt(x, 0.0), expm1(minimum(x, 0.0)), x))


def _leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """x where it is positive, else negative_slope x."""
    x = ready(x)
    return where(gt(x, 0.0), x, negative_slope * x)


def _silu(x: Any) -> Any:
    """x times its logistic function."""
    x = ready(x)
    return x * sigmoid(x)


def _lerp(start: Any, end: Any, weight: Any) -> Any:
    """The point between two others: start + weight (end − start)."""
    start, end = ready(start), ready(end)
    return start + weight * (end - start)


def _addcmul(x: Any, y: Any, z: Any, value: float = 1) -> Any:
    """x + value y z."""
    return ready(x) + value * (ready(y) * ready(z))


def _addcdiv(x: Any, y: Any, z: Any, value: float = 1.0) -> Any:
    """x + value y / z."""
    return ready(x) + value * (ready(y) / ready(z))


silu = composite("silu", _silu)
gelu = composite("gelu", _gelu)
elu = composite("elu", _elu)
leaky_relu = composite("leaky_relu", _leaky_relu)
lerp = composite("lerp", _lerp)
addcmul = composite("addcmul", _addcmul)
addcdiv = composite("addcdiv", _addcdiv)
