"""NumPy's numerical methods: interpolation, differences, polynomials, sequences of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.differentiate import dtype_of
from ..core.op import composite, joining, ready, shape_of
from ..pointwise.arithmetic import pow, remainder
from ..pointwise.comparison import eq, ge, gt, isnan, logical_and, logical_or, lt
from ..pointwise.elementary import exp, log
from ..pointwise.selection import abs, floor, where
from ..reductions.cumulative import cumsum
from ..shapes.index import getitem, take
from ..shapes.joining import along, cat
from ..shapes.parts import complex as complex_of, imag, real
from ..shapes.queries import argsort, searchsorted
from ..shapes.shape import cast, movedim, ravel, reshape
from ..shapes.sums import broadcast_to
from .numpy_functions import diff


def _interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Any:
    """The function through the points (xp, fp), straight between them and constant outside, at x, in 64 bits."""
    x, xp, fp = (_in_double(ready(v)) for v in (x, xp, fp))
    if "c" in (x.dtype.kind, xp.dtype.kind):
        raise TypeError(f"interp needs real numbers x and xp; got {x.dtype} and {xp.dtype}")
    if xp.ndim != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ValueError(f"interp needs vectors xp and fp of one length; got shapes {xp.shape} and {fp.shape}")
    if period is not None:
        if period == 0:
            raise ValueError("interp needs a `period` other than 0")
        period, left, right = np.abs(period), None, None
        x, xp = remainder(x, period), remainder(xp, period)
        order = argsort(xp)
        xp, fp = take(xp, order, axis=0), take(fp, order, axis=0)
        xp = cat([getitem(xp, index=slice(-1, None)) - period, xp, getitem(xp, index=slice(0, 1)) + period], axis=0)
        fp = cat([getitem(fp, index=slice(-1, None)), fp, getitem(fp, index=slice(0, 1))], axis=0)
    if fp.dtype.kind == "c":
        ends = [(None, None) if end is None else (np.real(end), np.imag(end)) for end in (left, right)]
        parts = [_along(x, xp, part(fp), *sides) for part, sides in zip((real, imag), zip(*ends))]
        return complex_of(parts[0], where(isnan(x), 0.0, parts[1]) if xp.shape[0] > 1 else parts[1])
    return _along(x, xp, fp, left, right)


def _along(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    """Straight from point to point at x, or what is on the left of all and on the right; of one point, also at nan."""
    n = xp.shape[0]
    low = _at_most(searchsorted(xp, x, side="right") - 1, max(n - 2, 0))
    high = _at_most(low + 1, n - 1)
    x0, x1, y0, y1 = (take(v, k, axis=0) for v in (xp, fp) for k in (low, high))
    first, last = (getitem(fp, index=slice(k, k + 1 or None)) for k in (0, -1))
    start, end = (getitem(xp, index=k) for k in (0, -1))
    width = where(eq(x1, x0), 1.0, x1 - x0)
    slope = (y1 - y0) / width
    rises = ge(slope, 0.0)  # of two zeros the product is the negative one: what is added to y0 keeps its sign
    z = y0 + where(rises, -slope, slope) * (where(rises, x0 - x, x - x0) + 0.0)
    z = where(isnan(z), y1 + slope * (x - x1), z)  # where one of both is infinite
    z = where(logical_and(isnan(z), logical_or(eq(y0, y1), eq(x, x0))), y0, z)
    z = where(eq(x, x1), y1, z)
    z = where(isnan(x), x, z) if n > 1 else z
    z = where(lt(x, start), reshape(first, shape=()) if left is None else left, z)
    return where(gt(x, end), reshape(last, shape=()) if right is None else right, z)


def _in_double(x: Any) -> Any:
    """Numbers in the precision in which NumPy interpolates them.

    Raises:
        TypeError: if that would round them, as NumPy does.
    """
    dtype = np.dtype(complex if x.dtype.kind == "c" else float)
    if x.dtype.kind in "fc" and not np.can_cast(x.dtype, dtype):
        raise TypeError(f"Cannot cast array data from {x.dtype!r} to {dtype!r} according to the rule 'safe'")
    return x if x.dtype == dtype else cast(x, dtype=dtype)


def _at_most(places: Any, n: int) -> Any:
    """Places in a vector, limited to those from 0 to n."""
    places = where(lt(places, 0), 0, places)
    return where(gt(places, n), n, places)


interp = composite("interp", _interp, numpy=(np.interp,))


def _slopes(f: Any, steps: Any, axis: int, edge_order: int) -> Any:
    """∂f along one axis: central differences inside, one-sided ones of an order at the two ends.

    The steps are one number where all are the same, so that nothing infinite in the middle counts.
    """
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(f"gradient needs {edge_order + 1} elements along an axis; got shape {f.shape}")
    is_even = not shape_of(steps)

    def part(start: Any, stop: Any) -> Any:
        return getitem(f, index=along(axis, f.ndim, slice(start, stop)))

    def shaped(h: Any) -> Any:
        return h if is_even else reshape(h, shape=tuple(-1 if k == axis else 1 for k in range(f.ndim)))

    def step(k: int) -> Any:
        return steps if is_even else getitem(steps, index=slice(k, k + 1 or None))

    def weighted(weights: Any, first: int) -> Any:
        """The sum of neighbours times their weights, from an element on, counted from the first or the last."""
        return sum_of(shaped(w) * part(first + k, first + k + 1 or None) for k, w in enumerate(weights))

    if is_even:
        inside = (part(2, None) - part(None, -2)) / (2.0 * steps)
    else:
        h1, h2 = (getitem(steps, index=s) for s in (slice(None, -1), slice(1, None)))
        a, b, c = -h2 / (h1 * (h1 + h2)), (h2 - h1) / (h1 * h2), h1 / (h2 * (h1 + h2))
        inside = shaped(a) * part(None, -2) + shaped(b) * part(1, -1) + shaped(c) * part(2, None)
    if edge_order == 1:
        start = (part(1, 2) - part(0, 1)) / shaped(step(0))
        end = (part(-1, None) - part(-2, -1)) / shaped(step(-1))
    elif is_even:
        start = weighted((-1.5 / steps, 2.0 / steps, -0.5 / steps), 0)
        end = weighted((0.5 / steps, -2.0 / steps, 1.5 / steps), -3)
    else:
        g1, g2 = step(0), step(1)
        start = weighted((-(2.0 * g1 + g2) / (g1 * (g1 + g2)), (g1 + g2) / (g1 * g2), -g1 / (g2 * (g1 + g2))), 0)
        g1, g2 = step(-2), step(-1)
        end = weighted((g2 / (g1 * (g1 + g2)), -(g2 + g1) / (g1 * g2), (2.0 * g2 + g1) / (g2 * (g1 + g2))), -3)
    return cat([_in_dtype(part, f.dtype) for part in (start, inside, end)], axis=axis)


def _steps_of(spacing: Any) -> Any:
    """The steps between coordinates, one number where they are known and all the same; or the distance that is given.

    Of coordinates that may have a gradient each step counts: that of a formula for equal ones would be another.
    """
    if type(spacing) in (float, int):
        return spacing  # which takes the dtype of what stands beside it
    spacing = ready(spacing)
    if not spacing.ndim:
        return spacing
    steps = diff(cast(spacing, dtype=np.dtype(np.float64)) if spacing.dtype.kind in "iu" else spacing)
    is_even = type(steps) is np.ndarray and steps.size and bool((steps == steps[0]).all())
    return steps[0] if is_even else steps


def sum_of(terms: Any) -> Any:
    """The sum of some arrays."""
    total = next(terms := iter(terms))
    for term in terms:
        total = total + term
    return total


def _gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes along each axis, from distances or from coordinates; for several axes a tuple."""
    f = ready(f)
    axes = range(f.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [k % f.ndim for k in axes]
    spacings = list(varargs) or [1.0]
    spacings = spacings * len(axes) if len(spacings) == 1 and not shape_of(spacings[0]) else spacings
    if len(spacings) != len(axes) or edge_order not in (1, 2):
        raise ValueError(
            f"gradient needs one distance or one for each of the {len(axes)} axes, and edge_order 1 or 2; got "
            f"{len(varargs)} of them and edge_order={edge_order}"
        )
    if f.dtype == np.bool_:
        np.subtract(np.True_, np.True_)  # NumPy's own error
    f = f if f.dtype.kind in "fc" else cast(f, dtype=np.dtype(np.float64))
    z = tuple([_slopes(f, _steps_of(h), k, edge_order) for k, h in zip(axes, spacings)])
    return z[0] if len(z) == 1 else z


def _in_dtype(z: Any, dtype: np.dtype[Any]) -> Any:
    return z if z.dtype == dtype else cast(z, dtype=dtype)


numpy_gradient = composite("numpy_gradient", _gradient, numpy=(np.gradient,), lies="rows")


def _ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in the flattened array, between numbers to begin and to end with, in its dtype.

    Raises:
        TypeError: if these numbers are of another kind.
    """
    x = ravel(ary)
    parts = [getitem(x, index=slice(1, None)) - getitem(x, index=slice(None, -1))]
    for name, given, place in ("to_begin", to_begin, 0), ("to_end", to_end, 2):
        if given is not None:
            edge = ready(given)
            if not np.can_cast(edge.dtype, x.dtype, "same_kind"):
                raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
            parts.insert(place, _in_dtype(ravel(edge), x.dtype))
    return cat(parts, axis=0)


ediff1d = composite("ediff1d", _ediff1d, numpy=(np.ediff1d,))


def _unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi) -> Any:
    """Angles with jumps of more than half a period taken out, by whole periods."""
    p = ready(p)
    steps = diff(p, axis=axis)
    half = period / 2
    inside = remainder(steps + half, period) - half
    inside = where(logical_and(eq(inside, -half), gt(steps, 0.0)), half, inside)
    jumps = where(lt(abs(steps), half if discont is None else discont), 0.0, inside - steps)
    first = getitem(p, index=along(axis, p.ndim, slice(0, 1)))
    rest = getitem(p, index=along(axis, p.ndim, slice(1, None)))
    return cat([first, rest + cumsum(jumps, axis=axis % p.ndim)], axis=axis)


unwrap = composite("unwrap", _unwrap, numpy=(np.unwrap,))


def _polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients p, that of the highest power first, at x; by Horner's rule."""
    p, x = ready(p), ready(x)
    z = ready(np.zeros(x.shape, x.dtype))
    for k in range(p.shape[0]):
        z = z * x + getitem(p, index=k)
    return z


polyval = composite("polyval", _polyval, numpy=(np.polyval,))


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """A row of powers for each element."""
    x = ready(x)
    powers = np.arange(x.shape[0] if N is None else N)
    return pow(reshape(x, shape=(-1, 1)), (powers if increasing else powers[::-1]).astype(x.dtype))


vander = composite("vander", _vander, numpy=(np.vander,))


def _in_one_dtype(start: Any, stop: Any, other: Any = 0.0) -> tuple[Any, Any, np.dtype[Any]]:
    """Two ends in the floating point dtype that NumPy goes from one to the other in: whole numbers may wrap around."""
    dtype = np.result_type(joining(start), joining(stop), other)
    start, stop = [x if x.dtype == dtype else cast(x, dtype=dtype) for x in (ready(start), ready(stop))]
    return start, stop, dtype


def _evenly(start: Any, stop: Any, num: int, endpoint: bool, axis: int) -> tuple[Any, Any]:
    """Numbers from start to stop along an axis, and the distance of neighbours."""
    start, stop, dtype = _in_one_dtype(start, stop)
    parts = num - 1 if endpoint else num
    shape = np.broadcast_shapes(start.shape, stop.shape)
    step = (stop - start) / parts if parts > 0 else np.nan
    steps = np.arange(num).reshape(-1, *(1,) * len(shape)).astype(dtype)
    z = broadcast_to(start + steps * (step if parts > 0 else stop - start), shape=(num, *shape))
    if endpoint and num > 1:  # exactly, whatever the rounding
        last = broadcast_to(stop, shape=(1, *shape))
        z = cat([getitem(z, index=slice(0, -1)), last], axis=0)
    return movedim(z, 0, axis) if shape else z, step


def _linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` numbers evenly spaced from start to stop, which may be arrays."""
    z, step = _evenly(start, stop, num, endpoint, axis)
    if dtype is not None:
        z = cast(floor(z) if dtype_of(dtype).kind in "iu" else z, dtype=dtype_of(dtype))
    return (z, step) if retstep else z


def _logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """`base` to the powers that `linspace` gives."""
    z = pow(base, _evenly(start, stop, num, endpoint, axis)[0])
    return z if dtype is None else cast(z, dtype=dtype_of(dtype))


def _geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """`num` numbers from start to stop, of which each is the same multiple of the one before."""
    start, stop, _ = _in_one_dtype(start, stop, dtype_of(float if dtype is None else dtype))
    z = start * exp(_evenly(log(start / start), log(stop / start), num, endpoint, 0)[0])
    if num > 0:  # the ends exactly, also where there is nothing between them
        end = where(isnan(start), start, stop)  # NumPy multiplies all by the sign of the first
        first, last = (broadcast_to(x, shape=(1, *z.shape[1:])) for x in (start, end))
        is_last = endpoint and num > 1
        between = getitem(z, index=slice(1, -1 if is_last else None))
        z = cat([first, between, *([last] if is_last else [])], axis=0)
    z = movedim(z, 0, axis) if len(z.shape) > 1 else z
    return z if dtype is None else cast(z, dtype=dtype_of(dtype))


numpy_linspace = composite("numpy_linspace", _linspace, numpy=(np.linspace,))
numpy_logspace = composite("numpy_logspace", _logspace, numpy=(np.logspace,))
geomspace = composite("geomspace", _geomspace, numpy=(np.geomspace,))
