"""NumPy functions whose signature or meaning is NumPy's own, written in ops.

Each is a composite that is called exactly as the NumPy function it answers for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..core.differentiate import dtype_of
from ..core.op import composite, is_complex, joining, ready, ready_or_number, shape_of
from ..pointwise.arithmetic import general_power, pow, power_of_number
from ..pointwise.comparison import isnan, ne
from ..pointwise.elementary import angle, sqrt
from ..pointwise.selection import clamp, clamp_max, clamp_min, clamp_to_arrays, where
from ..reductions.extremes import amax, amin, in_order, sort
from ..reductions.reduction import mean
from ..shapes.index import getitem, index_put, take
from ..shapes.joining import along, cat, split, stack
from ..shapes.overwriting import fill
from ..shapes.queries import empty_like
from ..shapes.shape import broadcast_arrays, cast, flip, permute, reshape, transpose
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
    is_one = all(math.prod(shape) == 1 for shape in map(shape_of, (low, high)))
    return (clamp if is_one else clamp_to_arrays)(ready(a), low, high)


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


def _ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Range of the elements: the largest minus the smallest."""
    a = ready(a)
    return amax(a, axis=axis, keepdims=keepdims) - amin(a, axis=axis, keepdims=keepdims)


ptp = composite("ptp", _ptp, numpy=(np.ptp,))


def _numpy_sort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Any:
    """The elements in order along an axis, or of the flattened array."""
    a = ready(a)
    if axis is None:
        a, axis = reshape(a, shape=(-1,)), 0
    return (sort if stable or kind in ("stable", "mergesort") else in_order)(a, axis=axis)[0]


numpy_sort = composite("numpy_sort", _numpy_sort, numpy=(np.sort,))


def _in_last_axis(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The axes that are reduced, flattened into one at the end; and the shape with them of length 1."""
    axes = tuple(range(a.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, a.ndim)
    rest = tuple(k for k in range(a.ndim) if k not in axes)
    count = math.prod([a.shape[k] for k in axes])
    last = reshape(permute(a, axes=rest + axes), shape=(*(a.shape[k] for k in rest), count))
    return last, tuple(1 if k in axes else n for k, n in enumerate(a.shape))


def _quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """Quantiles at the places where a method of NumPy's puts them: elements, or between neighbours in order."""
    return quantile_in(None, a, q, axis, method=method, keepdims=keepdims)


def quantile_in(
    there: np.dtype[Any] | None, a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """Quantiles as NumPy writes them into an array of a dtype: those nearer to the neighbour above are taken there.

    Nan where one is nan; and where NumPy takes a share of none of an infinite distance.
    """
    a, shares = ready(a), np.asarray(q, dtype=float)
    q = q if isinstance(q, (int, float)) else np.asarray(q)  # NumPy takes the dtype of arrays, not of numbers
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"quantile needs numbers from 0 to 1, got {q}; percentile() takes 0 to 100")
    last, kept = _in_last_axis(a, axis)
    ordered, n = sort(last)[0], last.shape[-1]
    picked = np.quantile(np.arange(n), q, method=method)  # type: ignore[call-overload]
    if picked.dtype.kind == "i":
        z = getitem(ordered, index=(Ellipsis, picked))
    else:
        low, high, share = _neighbours(n, q, method)
        dtype = np.quantile(np.ones(1, a.dtype), q, method=method).dtype  # type: ignore[call-overload]
        if a.dtype.kind == "b":
            ordered = cast(ordered, dtype=dtype)
        alone = ordered.ndim == 1 and not shares.ndim  # numbers, of which NumPy tells where they overflow
        below, above = (getitem(ordered, index=int(k) if alone else (Ellipsis, k)) for k in (low, high))
        gap = cast(above - below, dtype=dtype)  # of integers one in their own dtype, which may overflow, as NumPy's
        is_late = share >= 0.5
        z = cast(below, dtype=dtype) + gap * share.astype(dtype)  # which warns of what is not taken, too
        there = dtype if there is None else there
        if is_late.any():
            late = cast(above, dtype=there) - cast(gap * (1 - share).astype(dtype), dtype=there)
            z = where(is_late, late, cast(z, dtype=there))
        z = z if z.dtype == there else cast(z, dtype=there)
    z = _unless_missing(z, ordered, shares.ndim)
    n = len(z.shape) - shares.ndim
    z = permute(z, axes=(*range(n, n + shares.ndim), *range(n)))
    return reshape(z, shape=(*shares.shape, *kept)) if keepdims else z


CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1), "hazen": (0.5, 0.5), "weibull": (0, 0), "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}  # fmt: skip
"""The numbers α and β of methods of Hyndman and Fan, by which NumPy puts a share q at nq + α + q(1 − α − β)."""


def _neighbours(n: int, q: Any, method: str) -> tuple[Any, Any, Any]:
    """Between which two elements of n in order quantiles lie, and their share of the way, rounded as NumPy does.

    Beyond an end both are the element there, and the share is any number: it gives a zero its sign.
    """
    if method == "linear":
        at = (n - 1) * q
    elif method == "midpoint":
        at = 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    elif method == "averaged_inverted_cdf":
        at = n * q - 1
    else:
        alpha, beta = CONTINUOUS[method]
        at = n * q + (alpha + q * (1 - alpha - beta)) - 1
    at = np.asarray(at)
    low = np.where(at >= n - 1, -1, np.where(at < 0, 0, np.floor(at)))
    high = np.where((at >= n - 1) | (at < 0), low, low + 1).astype(int)
    share = (at - low).astype(at.dtype)
    if method == "midpoint":
        share = np.where(at % 1 == 0, 0.0, 0.5)
    if method == "averaged_inverted_cdf":
        share = np.where(share == 0, 0.5, 1.0)
    return low.astype(int), high, share.astype(float)


def _unless_missing(z: Any, ordered: Any, more: int = 0) -> Any:
    """What was found of rows in order, nan where one of a row is: it stands last; `more` axes are behind the rows'."""
    if ordered.dtype.kind not in "fc":
        return z
    missing = getitem(ordered, index=(Ellipsis, -1))
    missing = reshape(missing, shape=(*missing.shape, *(1,) * more))
    return where(isnan(missing), cast(missing, dtype=z.dtype), z)


def _percentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Any:
    """Percentiles, as quantiles are taken."""
    shares = q / 100.0 if type(q) in (int, float) else np.true_divide(q, 100)
    return _quantile(a, shares, axis, method=method, keepdims=keepdims)


def _numpy_median(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Median with NumPy's meaning: the mean of the two middle elements of an even number."""
    a = ready(a)
    last, kept = _in_last_axis(cast(a, dtype=np.dtype(np.float64)) if a.dtype.kind in "biu" else a, axis)
    ordered, n = sort(last)[0], last.shape[-1]
    z = mean(getitem(ordered, index=(Ellipsis, slice(max((n - 1) // 2, 0), n // 2 + 1))), axis=-1)
    z = _unless_missing(z, ordered) if n else z
    return reshape(z, shape=kept) if keepdims else z


quantile = composite("quantile", _quantile, numpy=(np.quantile,))
percentile = composite("percentile", _percentile, numpy=(np.percentile,))
numpy_median = composite("numpy_median", _numpy_median, numpy=(np.median,))


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


def _at_least(n: int, new: Any):  # type: ignore[no-untyped-def]
    def at_least(*arys: Any) -> Any:
        raised = tuple(a if len(shape_of(a)) >= n else reshape(a, shape=new(shape_of(a))) for a in map(ready, arys))
        return raised[0] if len(raised) == 1 else raised

    return at_least


atleast_1d = composite(
    "atleast_1d", _at_least(1, lambda shape: (1,)), numpy=(np.atleast_1d,), doc="Numbers as vectors of one element."
)
atleast_2d = composite(
    "atleast_2d", _at_least(2, lambda shape: (1, *shape) if shape else (1, 1)), numpy=(np.atleast_2d,),
    doc="Vectors as matrices of one row.",
)
atleast_3d = composite(
    "atleast_3d", _at_least(3, lambda shape: {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]),
    numpy=(np.atleast_3d,), doc="Matrices as arrays of three axes, the last of length 1.",
)


def _raised(tup: Sequence[Any], n: int) -> list[Any]:
    raise_one = {1: atleast_1d, 2: atleast_2d, 3: atleast_3d}[n]
    return [raise_one(a) for a in tup]


def _hstack(tup: Sequence[Any]) -> Any:
    """Arrays side by side: along the second axis, vectors along the first."""
    arrays = _raised(tup, 1)
    return cat(arrays, axis=0 if arrays and arrays[0].ndim == 1 else 1)


def _column_stack(tup: Sequence[Any]) -> Any:
    """Vectors as the columns of a matrix, together with the columns of matrices."""
    return cat([reshape(a, shape=(-1, 1)) if len(shape_of(a)) < 2 else a for a in map(ready, tup)], axis=1)


vstack = composite(
    "vstack", lambda tup: cat(_raised(tup, 2), axis=0), numpy=(np.vstack,), lies="rows",
    doc="Arrays one below the other, vectors as rows.",
)
hstack = composite("hstack", _hstack, numpy=(np.hstack,), lies="rows")
dstack = composite(
    "dstack", lambda tup: cat(_raised(tup, 3), axis=2), numpy=(np.dstack,), lies="rows",
    doc="Arrays one behind the other, in the third axis.",
)
column_stack = composite("column_stack", _column_stack, numpy=(np.column_stack,), lies="rows")


def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Values after the end of an array, along an axis or of the flattened array."""
    return cat([arr, values], axis=axis)


append = composite("append", _append, numpy=(np.append,))

fliplr = composite(
    "fliplr", lambda m: flip(ready(m), axis=1), numpy=(np.fliplr,), lies="operand", doc="The second axis reversed."
)
flipud = composite(
    "flipud", lambda m: flip(ready(m), axis=0), numpy=(np.flipud,), lies="operand", doc="The first axis reversed."
)


def _rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Matrices turned by k right angles, from the first of two axes towards the second."""
    m, (first, second) = ready(m), axes
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return flip(m, axis=(first, second))
    turned = flip(m, axis=second) if k % 4 == 1 else m
    turned = transpose(turned, axis1=first, axis2=second)
    return turned if k % 4 == 1 else flip(turned, axis=second)


rot90 = composite("rot90", _rot90, numpy=(np.rot90,))


def _hsplit(ary: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """An array cut along the second axis, a vector along the first."""
    return split(ary, indices_or_sections=indices_or_sections, axis=1 if len(shape_of(ary)) > 1 else 0)


hsplit = composite("hsplit", _hsplit, numpy=(np.hsplit,))


def _vsplit(ary: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """An array cut along the first axis."""
    z: tuple[Any, ...] = split(ary, indices_or_sections=indices_or_sections, axis=0)
    return z


vsplit = composite("vsplit", _vsplit, numpy=(np.vsplit,))


def _meshgrid(*xi: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate arrays of a grid, from the coordinates along each axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid takes indexing 'xy' or 'ij', got {indexing!r}")
    n = len(xi)
    axes = [*range(n)]
    if indexing == "xy" and n > 1:
        axes[:2] = 1, 0
    rows = [reshape(ready(x), shape=tuple(-1 if k == axis else 1 for k in range(n))) for x, axis in zip(xi, axes)]
    return broadcast_arrays(*rows)


meshgrid = composite("meshgrid", _meshgrid, numpy=(np.meshgrid,))


def _pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: float = 0.0) -> Any:
    """An array with constants around it, or with its own elements: 'edge', 'reflect', 'symmetric', 'wrap'."""
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or np.ndim(constant_values):
        raise ValueError(
            "pad supports the mode 'constant' with one number, and 'edge', 'reflect', 'symmetric' and 'wrap'; got "
            f"mode={mode!r}" + (f", constant_values={constant_values!r}" if mode == "constant" else "")
        )
    array = ready(array)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    if mode != "constant":
        for axis, width in enumerate(widths):
            places = np.pad(np.arange(array.shape[axis]), tuple(width), mode)  # type: ignore[call-overload]
            array = take(array, places, axis=axis) if width.any() else array
        return array
    shape = tuple(n + int(a + b) for n, (a, b) in zip(array.shape, widths))
    inside = tuple(slice(int(a), int(a) + n) for n, (a, _) in zip(array.shape, widths))
    return index_put(np.full(shape, constant_values, dtype=array.dtype), array, index=inside)


pad = composite("pad", _pad, numpy=(np.pad,))
