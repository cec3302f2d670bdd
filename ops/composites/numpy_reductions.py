"""NumPy's reductions with the arguments that only NumPy's have: ``where``, ``initial``, and those that skip nan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.differentiate import dtype_of
from ..core.op import Op, composite, is_complex, ready
from ..pointwise.arithmetic import square
from ..pointwise.comparison import eq, isnan, logical_and, logical_not, signbit
from ..pointwise.elementary import sqrt
from ..pointwise.selection import maximum, minimum, where as choose
from ..reductions.cumulative import cumprod, cumsum
from ..reductions.extremes import amax, amin, largest_number, smallest_number
from ..reductions.reduction import mean, prod
from ..reductions.variance import std, var
from ..shapes.joining import cat
from ..shapes.parts import conj, dot_part, real
from ..shapes.queries import all, anywhere, argmax, argmin
from ..shapes.shape import cast, size_of
from ..shapes.sums import normal_axes, sum


def _chosen(a: Any, dtype: Any, where: Any, otherwise: Any) -> Any:
    """What is reduced: in a dtype, with a number in the place of what is not chosen."""
    a = ready(a)
    a = a if dtype is None else cast(a, dtype=dtype_of(dtype))
    if where is None or where is True:
        return a
    return choose(_mask(where, a.shape), a, cast(ready(otherwise), dtype=a.dtype))


def _mask(where: Any, shape: tuple[int, ...]) -> Any:
    """What is chosen; the elements that there are stay as many.

    Raises:
        ValueError: if it does not broadcast to the shape of what is reduced, as NumPy does.
    """
    wanted = np.shape(where)
    if len(wanted) > len(shape) or any(n not in (1, m) for n, m in zip(reversed(wanted), reversed(shape))):
        raise ValueError(f"where= must broadcast to the shape {shape} of what is reduced; got the shape {wanted}")
    return where


def _single(initial: Any, dtype: np.dtype[Any]) -> Any:
    """Where a reduction begins, in the dtype of what it reduces to.

    Raises:
        ValueError: if that is not one number.
        TypeError: if it is complex and the others are not.
    """
    if np.ndim(initial):
        raise ValueError(f"initial= must be one number; got an array of shape {np.shape(initial)}")
    initial = ready(initial)
    if initial.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"initial= must be real where the others are; got a {initial.dtype} number")
    return initial if initial.dtype == dtype else cast(initial, dtype=dtype)


def _total(name: str, reduce: Op, neutral: float, join: Callable[..., Any], function: Any, doc: str) -> Op:
    def total(
        a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
    ) -> Any:
        x = _chosen(a, dtype, where, neutral)
        z = reduce(x, axis=axis, keepdims=keepdims)
        return z if initial is None else join(z, _single(initial, z.dtype), x, axis, keepdims)

    return composite(f"numpy_{name}", total, numpy=(function,), doc=doc)


def _from(z: Any, initial: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A sum z of x, and the number where it begins, in the place of 0.0: from −0.0 on, zeros of sign − give −0.0."""
    if not isinstance(initial, np.ndarray | np.generic) or z.dtype.kind != "f" or initial or not np.signbit(initial):
        return z + initial
    negative = all(logical_and(eq(x, 0.0), signbit(x)), axis=axis, keepdims=keepdims)
    return choose(negative, -sum(-x, axis=axis, keepdims=keepdims), z)


numpy_sum = _total("sum", sum, -0.0, _from, np.sum, "Sum over axes, of what is chosen, and of `initial`.")
numpy_prod = _total(
    "prod", prod, 1.0, lambda z, initial, *_: z * initial, np.prod,
    "Product over axes, of what is chosen, and of `initial`.",
)  # fmt: skip


def _extreme(name: str, reduce: Op, join: Op, functions: tuple[Any, ...], doc: str) -> Op:
    def extreme(a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> Any:
        if initial is None and not (where is None or where is True):
            raise ValueError(f"{name} over what `where` chooses may be over nothing, and needs an `initial` number")
        a = ready(a)
        if initial is None:
            return reduce(a, axis=axis, keepdims=keepdims)
        initial = _single(initial, a.dtype)
        a = _chosen(a, None, where, initial)
        if not size_of(a.shape, normal_axes(axis, a.ndim)):
            z = initial - sum(a, axis=axis, keepdims=keepdims)  # −0.0 stays −0.0
            return z if z.dtype == a.dtype else cast(z, dtype=a.dtype)
        return join(initial, reduce(a, axis=axis, keepdims=keepdims))

    return composite(f"numpy_{name}", extreme, numpy=functions, doc=doc)


numpy_max = _extreme("max", amax, maximum, (np.max, np.amax), "Largest over axes, of what is chosen, and of `initial`.")
numpy_min = _extreme(
    "min", amin, minimum, (np.min, np.amin), "Smallest over axes, of what is chosen, and of `initial`."
)


def _mean(a: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """Mean over axes of what is chosen."""
    where, dtype = _mask(where, a.shape), _fractions(a.dtype)
    count = sum(choose(where, np.ones(a.shape), 0.0), axis=axis, keepdims=keepdims)
    if dtype != np.float16:
        return sum(choose(where, a, 0.0), axis=axis, keepdims=keepdims) / cast(count, dtype=dtype)
    total = sum(choose(where, cast(a, dtype=np.dtype(np.float32)), 0.0), axis=axis, keepdims=keepdims)
    return cast(total / cast(count, dtype=total.dtype), dtype=dtype)  # NumPy adds up 16 bits in 32


def _fractions(dtype: Any) -> Any:
    """The dtype of a mean of numbers of some dtype."""
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _numpy_mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """Mean over axes, of what is chosen; in whole numbers the sum is one, and so is what it is divided to.

    In 16 bits it is added up if they are asked for: a sum that they do not hold is infinite.
    """
    a = _chosen(a, dtype, None, 0.0)
    if dtype is not None and a.dtype == np.float16:
        there = choose(_mask(True if where is None else where, a.shape), np.ones(a.shape), 0.0)
        total = cast(numpy_sum.forward(a, axis, keepdims=keepdims, where=where), dtype=np.dtype(np.float64))
        return cast(total / sum(there, axis=axis, keepdims=keepdims), dtype=a.dtype)
    if dtype is not None and dtype_of(dtype).kind in "biu":
        there = choose(_mask(True if where is None else where, a.shape), np.ones(a.shape), 0.0)
        total = numpy_sum.forward(a, axis, keepdims=keepdims, where=where)
        return cast(cast(total, dtype=dtype) / sum(there, axis=axis, keepdims=keepdims), dtype=dtype)
    return mean(a, axis=axis, keepdims=keepdims) if where is None or where is True else _mean(a, axis, keepdims, where)


numpy_mean = composite("numpy_mean", _numpy_mean, numpy=(np.mean,))


def _numpy_var(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False, mean: Any = None, correction: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """Variance of what is chosen, with NumPy's defaults: divided by n − ddof, about a mean that may be known."""
    a, correction = ready(a), ddof if correction is None else correction
    chosen = None if where is True else where
    if mean is None and chosen is None:
        return var(a, axis=axis, correction=correction, keepdims=keepdims)
    if chosen is None:
        free, deviation = float(max(size_of(a.shape, normal_axes(axis, a.ndim)) - correction, 0)), a - mean
    else:
        a = a if a.dtype.kind in "fc" else cast(a, dtype=np.dtype(np.float64))
        deviation = choose(_mask(chosen, a.shape), a - (_mean(a, axis, True, chosen) if mean is None else mean), 0.0)
        count = sum(choose(chosen, np.ones(a.shape), 0.0), axis=axis, keepdims=keepdims)
        free = maximum(count - correction, 0.0)
    total = sum(dot_part(deviation, deviation), axis=axis, keepdims=keepdims)
    return total / (free if chosen is None else cast(free, dtype=total.dtype))


def _numpy_std(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False, mean: Any = None, correction: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """Standard deviation of what is chosen, with NumPy's defaults: the root of a sum divided by n − ddof."""
    correction = ddof if correction is None else correction
    if mean is None and (where is None or where is True):
        return std(ready(a), axis=axis, correction=correction, keepdims=keepdims)
    return sqrt(_numpy_var(a, axis, keepdims=keepdims, mean=mean, correction=correction, where=where))


numpy_var = composite("numpy_var", _numpy_var, numpy=(np.var,))
numpy_std = composite("numpy_std", _numpy_std, numpy=(np.std,))


def _there(a: Any, where: Any) -> Any:
    """Which elements are no nan, of those that are chosen; True where all are."""
    chosen = True if where is None or where is True else _mask(where, a.shape)
    if a.dtype.kind not in "fc":
        return chosen
    return logical_not(isnan(a)) if chosen is True else logical_and(logical_not(isnan(a)), chosen)


def _without(a: Any, where: Any, otherwise: float) -> Any:
    """The elements, with a number in the place of nan and of what is not chosen."""
    there = _there(a, where)
    return a if there is True else choose(there, a, cast(ready(otherwise), dtype=a.dtype))


def _nansum(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """Sum over the elements that are not nan."""
    return sum(_without(ready(a), where, 0.0), axis=axis, keepdims=keepdims)


def _nanprod(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """Product over the elements that are not nan."""
    return prod(_without(ready(a), where, 1.0), axis=axis, keepdims=keepdims)


def _nanmean(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = None) -> Any:
    """Mean of the elements that are not nan."""
    a = ready(a)
    return _mean(a, axis, keepdims, _there(a, where))


def _nanvar(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False, correction: Any = None, where: Any = None
) -> Any:
    """Variance of the elements that are not nan, divided by their number − ddof."""
    a = ready(a)
    there = _there(a, where)
    off = choose(there, a - _mean(a, axis, True, there), 0.0)
    squares = real(off * conj(off)) if is_complex(a) else square(off)
    count = sum(choose(there, np.ones(a.shape, squares.dtype), 0.0), axis=axis, keepdims=keepdims)
    free = count - (ddof if correction is None else correction)
    return sum(squares, axis=axis, keepdims=keepdims) / choose(free > 0, free, np.nan)


def _nanstd(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False, correction: Any = None, where: Any = None
) -> Any:
    """Standard deviation of the elements that are not nan."""
    return sqrt(_nanvar(a, axis, ddof=ddof, keepdims=keepdims, correction=correction, where=where))


def _without_nan(reduce: Op, of_numbers: Op) -> Callable[..., Any]:
    def extreme(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        a = ready(a)
        return (of_numbers if a.dtype.kind in "fc" else reduce)(a, axis=axis, keepdims=keepdims)

    return extreme


nansum = composite("nansum", _nansum, numpy=(np.nansum,), lies="rows")
nanprod = composite("nanprod", _nanprod, numpy=(np.nanprod,))
nanmean = composite("nanmean", _nanmean, numpy=(np.nanmean,), lies="rows")
nanvar = composite("nanvar", _nanvar, numpy=(np.nanvar,))
nanstd = composite("nanstd", _nanstd, numpy=(np.nanstd,))
nanmax = composite(
    "nanmax", _without_nan(amax, largest_number), numpy=(np.nanmax,), doc="Largest of the elements that are not nan."
)
nanmin = composite(
    "nanmin", _without_nan(amin, smallest_number), numpy=(np.nanmin,), doc="Smallest of the elements that are not nan."
)


def _place_without_nan(name: str, place: Op, worst: float, function: Any, doc: str) -> Op:
    def extreme(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Any:
        a = ready(a)
        if a.dtype.kind not in "fc":
            return place(a, axis=axis, keepdims=keepdims)
        missing = isnan(a)
        if anywhere(sum(choose(missing, 0.0, np.ones(a.shape)), axis=axis) < 0.5):
            raise ValueError("All-NaN slice encountered")
        return place(choose(missing, worst, a), axis=axis, keepdims=keepdims)

    return composite(name, extreme, numpy=(function,), doc=doc)


nanargmax = _place_without_nan(
    "nanargmax", argmax, -np.inf, np.nanargmax, "Index of the largest of the elements that are not nan."
)
nanargmin = _place_without_nan(
    "nanargmin", argmin, np.inf, np.nanargmin, "Index of the smallest of the elements that are not nan."
)


def _infinite(name: str, bound: float, function: Any, sign: str) -> Op:
    def is_infinite(x: Any) -> Any:
        x = ready(x)
        if x.dtype.kind == "c":
            raise TypeError(f"{function.__name__} has no meaning for complex numbers; take the .real part")
        return eq(x, bound)

    return composite(name, is_infinite, numpy=(function,), doc=f"Whether elements are {sign}∞.")


numpy_isposinf = _infinite("numpy_isposinf", np.inf, np.isposinf, "+")
numpy_isneginf = _infinite("numpy_isneginf", -np.inf, np.isneginf, "−")


def _running(name: str, scan: Op, skipped: float, function: Any, doc: str) -> Op:
    def running(a: Any, axis: int | None = None) -> Any:
        a = ready(a)
        return scan(choose(isnan(a), skipped, a), axis=axis)

    return composite(name, running, numpy=(function,), doc=doc)


nancumsum = _running("nancumsum", cumsum, 0.0, np.nancumsum, "Running sums over the elements that are not nan.")
nancumprod = _running("nancumprod", cumprod, 1.0, np.nancumprod, "Running products over the elements that are not nan.")


def _cumulative(name: str, scan: Op, start: float, doc: str) -> Op:
    def cumulative(x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
        x = _chosen(x, dtype, None, start)
        if axis is None and x.ndim > 1:
            raise ValueError(f"{name} of an array of several axes needs `axis`; got shape {x.shape}")
        axis = 0 if axis is None else axis
        z = scan(x, axis=axis)
        if not include_initial:
            return z
        shape = tuple(1 if k == axis % x.ndim else n for k, n in enumerate(x.shape))
        return cat([np.full(shape, start, z.dtype), z], axis=axis)

    return composite(name, cumulative, numpy=(getattr(np, name),), doc=doc)


cumulative_sum = _cumulative("cumulative_sum", cumsum, 0.0, "Running sums along an axis, with a leading 0 on request.")
cumulative_prod = _cumulative(
    "cumulative_prod", cumprod, 1.0, "Running products along an axis, with a leading 1 on request."
)
