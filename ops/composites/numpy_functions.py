"""NumPy functions whose signature or meaning is NumPy's own, written in ops.

Each is a composite that is called exactly as the NumPy function it answers for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..core.differentiate import dtype_of
from ..core.op import composite, is_complex, joining, ready, ready_or_number, shape_of
from ..pointwise.arithmetic import general_power, pow, power_of_number
from ..pointwise.comparison import ne
from ..pointwise.elementary import angle, sqrt
from ..pointwise.selection import clamp, clamp_max, clamp_min, clamp_to_arrays
from ..reductions.reduction import mean
from ..shapes.index import getitem
from ..shapes.joining import along, cat, stack
from ..shapes.overwriting import fill
from ..shapes.queries import empty_like
from ..shapes.shape import cast, permute, reshape
from ..shapes.sums import broadcast_to, sum


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Elements limited to an interval; a bound that is None is absent.  At a bound the gradient passes to `a`."""
    low, high = a_min if min is None else min, a_max if max is None else max
    dtype = ready(a).dtype
    if dtype.kind in "iu":  # what no element can be beyond is no bound, also of no such dtype
        low = None if type(low) is int and low <= np.iinfo(dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(dtype).max else high
    if low is None and high is None:
        return ready(a)
    if low is None:
        return clamp_max(ready(a), high)
    if high is None:
        return clamp_min(ready(a), low)
    a, bounds = ready(a), [*map(shape_of, (low, high))]
    is_one = all(math.prod(shape) == 1 for shape in bounds)
    if is_one and math.prod(a.shape) == 1:  # an array of one element is limited as one of several is by as many
        is_one = not any(0 < len(shape) >= a.ndim for shape in bounds)
    return (clamp if is_one else clamp_to_arrays)(a, low, high)


clip = composite("clip", _clip, numpy=(np.clip,))


def _full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> Any:
    """One number, which may have a history, in the shape and dtype of `a`; or numbers that broadcast to it."""
    z = empty_like(ready(a), dtype=dtype, order=order, shape=shape)
    value = ready(np.full((), fill_value, z.dtype) if type(fill_value) is int else fill_value)
    z = fill(z, broadcast_to(value, shape=z.shape) if value.shape else value)
    kind = ready(a).dtype if dtype is None else dtype_of(dtype)
    return z if z.dtype == kind else cast(z, dtype=kind)


full_like = composite("full_like", _full_like, numpy=(np.full_like,))


def _float_power(x1: Any, x2: Any) -> Any:
    """Power in double precision, real or complex, whatever the dtypes."""
    x, y = ready(x1), ready(x2)
    dtype = np.dtype(np.complex128 if is_complex(x) or is_complex(y) else np.float64)
    return general_power(*(v if v.dtype == dtype else cast(v, dtype=dtype) for v in (x, y)))


float_power = composite("float_power", _float_power, numpy=(np.float_power,), lies="operands")


def _numpy_power(x1: Any, x2: Any) -> Any:
    """Power in the dtype that the operands promote to, truth values too, unlike the operator on an array of them."""
    xs = ready_or_number(x1), ready_or_number(x2)
    if any(getattr(x, "dtype", None) == np.bool_ for x in xs):
        dtype = np.result_type(*map(joining, xs))
        xs = tuple([cast(x, dtype=dtype) if getattr(x, "dtype", None) == np.bool_ else x for x in xs])
    if any(map(is_complex, xs)):
        return general_power(*xs)
    if not _is_half(*xs):
        return power_of_number(*xs) if _are_two_numbers(*xs) else pow(*xs)
    return sqrt(xs[0]) if ROOTS and ready(xs[0]).dtype != np.float16 else general_power(*xs)


def _are_two_numbers(x: Any, y: Any) -> bool:
    """Whether neither has axes, and what comes out is of floating point: of these the operator is not `np.power`."""
    return not (np.ndim(x) or np.ndim(y)) and np.result_type(joining(x), joining(y)) in (np.float64, np.float32)


def _is_half(x: Any, y: Any) -> bool:
    """Whether a power of numbers of floating point is their square root, in their dtype."""
    if type(y) is not float and not isinstance(y, np.floating):
        return False
    dtype = ready(x).dtype
    return y == 0.5 and dtype.kind == "f" and np.result_type(dtype, y) == dtype


with np.errstate(invalid="ignore"):
    ROOTS = bool(np.isnan(np.power(np.full(2, -np.inf), 0.5)).all())
    """Whether `np.power` takes square roots for powers of one half, as the operator does: −∞ to it is nan.

    Not of 16-bit numbers, of which only the operator takes them."""


numpy_power = composite("numpy_power", _numpy_power, numpy=(np.power,))


def _numpy_angle(z: Any, deg: bool = False) -> Any:
    """Angle of complex numbers, in degrees if that is asked for."""
    return angle(ready(z)) * (180 / np.pi) if deg else angle(ready(z))


numpy_angle = composite("numpy_angle", _numpy_angle, numpy=(np.angle,))


def _average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    """Weighted mean: Σ w a / Σ w."""
    a = ready(a)
    if weights is None:
        return mean(a, axis=axis, keepdims=keepdims)
    weights = ready(weights)
    dtype = np.result_type(a.dtype, weights.dtype, *(["f8"] if a.dtype.kind in "biu" else []))
    weights = weights if weights.dtype == dtype else cast(weights, dtype=dtype)
    if weights.shape != a.shape:
        axes = () if axis is None else normalize_axis_tuple(axis, a.ndim)
        if weights.shape != tuple(a.shape[k] for k in axes):
            raise ValueError(
                f"average needs weights of shape {a.shape}, or one for each place along `axis`; got {weights.shape}"
            )
        weights = permute(weights, axes=tuple(np.argsort(axes).tolist()))
        weights = reshape(weights, shape=tuple(n if k in axes else 1 for k, n in enumerate(a.shape)))
        weights = broadcast_to(weights, shape=a.shape)
    return sum(a * weights, axis=axis, keepdims=keepdims) / sum(weights, axis=axis, keepdims=keepdims)


average = composite("average", _average, numpy=(np.average,))


def _diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, n times over, with what comes before and after if that is given."""
    z = ready(a)
    ends = [None if x is None or x is np._NoValue else ready(x) for x in (prepend, append)]
    if any(x is not None for x in ends):
        one = [1 if k == axis % z.ndim else length for k, length in enumerate(z.shape)]
        first, last = [[] if x is None else [x if shape_of(x) else broadcast_to(x, shape=tuple(one))] for x in ends]
        z = cat([*first, z, *last], axis=axis)
    for _ in range(n):
        later = getitem(z, index=along(axis, z.ndim, slice(1, None)))
        before = getitem(z, index=along(axis, z.ndim, slice(None, -1)))
        z = ne(later, before) if z.dtype == np.bool_ else later - before
    return z


diff = composite("diff", _diff, numpy=(np.diff,))


def _trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Integral by the trapezoidal rule: Σ ½ (yₖ + yₖ₊₁) (xₖ₊₁ − xₖ)."""
    y = ready(y)
    if x is not None:
        x = ready(x)
        dx = _diff(x, axis=axis if x.ndim > 1 else -1)
        if x.ndim == 1:
            dx = reshape(dx, shape=tuple(-1 if k == axis % y.ndim else 1 for k in range(y.ndim)))
    later = getitem(y, index=along(axis, y.ndim, slice(1, None)))
    earlier = getitem(y, index=along(axis, y.ndim, slice(None, -1)))
    return sum(dx * (later + earlier) / 2.0, axis=axis)


trapezoid = composite("trapezoid", _trapezoid, numpy=(np.trapezoid,), lies="rows")


def _cross(a: Any, b: Any, axis: int = -1) -> Any:
    """Vector product in three dimensions, along one axis."""
    a, b = ready(a), ready(b)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(f"cross needs vectors of length 3 along axis {axis}, got shapes {a.shape} and {b.shape}")
    (a0, a1, a2), (b0, b1, b2) = (
        [getitem(v, index=along(axis, v.ndim, k)) for k in range(3)] for v in (a, b)
    )
    return stack(a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0, axis=axis)


cross = composite("cross", _cross, numpy=(np.cross, np.linalg.cross))
