"""Filters of `scipy.ndimage` on recorded arrays, by sums over windows of what goes on beyond the edges.

What is not covered gives NotImplemented: arrays of integers, of which SciPy's filters give such, and an ``output=``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.rooms import Room
from ..arrays.face_base import numpy
from ..arrays.unwrapping import holds_face
from ..constructors import as_array
from ..mathematics import holds
from .scipy_signal import SIGNAL, along_an_axis

ndimage = Room("scipy.ndimage")

PADDED = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "nearest": "edge", "mirror": "reflect", "wrap": "wrap",
    "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip
"""By the mode of a filter, that of `np.pad`."""
SHORT = 512
"""Numbers along an axis up to which a filter along it is a matrix."""


def each(x: Any, n: int) -> list[Any]:
    """An argument for each of several axes.

    Raises:
        RuntimeError: as SciPy does.
    """
    if isinstance(x, str) or not np.iterable(x):
        return [x] * n
    found = list(x)
    if len(found) != n:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return found


def axes_of(x: Any, axes: Any) -> list[int]:
    axes = range(x.ndim) if axes is None else axes if np.iterable(axes) else (axes,)
    return [axis % x.ndim for axis in axes]


def _padded(x: Any, sizes: list[int], mode: str, cval: Any, origins: list[int]) -> Any:
    """An array with what is beyond its edges, where windows of some sizes reach there."""
    if any(not -(n // 2) <= origin <= (n - 1) // 2 for n, origin in zip(sizes, origins)):
        raise ValueError("Invalid origin; origin must satisfy -(size // 2) <= origin <= (size-1) // 2")
    before = [n // 2 + origin for n, origin in zip(sizes, origins)]
    more = {"constant_values": cval} if PADDED[mode] == "constant" else {}
    widths = [(b, n - 1 - b) for b, n in zip(before, sizes)]
    return numpy.pad(x, widths, PADDED[mode], **more)


def _windowed(x: Any, weights: Any, mode: str, cval: Any, origins: list[int]) -> Any:
    if weights.ndim != x.ndim or not weights.size or mode not in PADDED:
        return NotImplemented
    padded = _padded(x, list(weights.shape), mode, cval, origins)
    return SIGNAL["convolve"](padded, numpy.flip(weights), "valid").astype(x.dtype, copy=False)


def _filtered(is_convolution: bool) -> Callable[..., Any]:
    def compute(
        input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0, *,
        axes: Any = None,
    ) -> Any:  # fmt: skip
        x, w = as_array(input), as_array(weights).astype(float)
        if not _is_covered(x, output) or axes is not None or not isinstance(mode, str):
            return NotImplemented
        origins = each(origin, x.ndim)
        if is_convolution and w.ndim == x.ndim:
            w = numpy.flip(w)
            origins = [-n - (1 - size & 1) for n, size in zip(origins, w.shape)]
        return _windowed(x, w, mode, cval, origins)

    return compute


def _is_covered(x: Any, output: Any) -> bool:
    return x.dtype.kind == "f" and output is None and x.ndim > 0


def _line(x: Any, weights: Any, axis: int, mode: str, cval: Any, origin: int = 0) -> Any:
    """`correlate1d`."""
    if mode not in PADDED:
        return NotImplemented
    if not holds_face(weights) and x.shape[axis] <= SHORT and not holds_face(cval):
        return along_an_axis(ndimage.correlate1d)(x, weights, axis, None, mode, cval, origin)
    w = numpy.reshape(as_array(weights).astype(float), [-1 if k == axis else 1 for k in range(x.ndim)])
    return _windowed(x, w, mode, cval, [origin if k == axis else 0 for k in range(x.ndim)])


def _correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    x = as_array(input)
    return _line(x, weights, axis % x.ndim, mode, cval, origin) if _is_covered(x, output) else NotImplemented


def _convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    w = as_array(weights)
    return _correlate1d(input, numpy.flip(w), axis, output, mode, cval, -origin - (1 - w.size & 1))


def _gaussian(sigma: Any, order: int, radius: int) -> Any:
    """The weights of a derivative of a bell-shaped curve, as a polynomial times it."""
    x = np.arange(-radius, radius + 1.0)
    bell = np.exp(-0.5 / (sigma * sigma) * x**2)
    factors = [1.0 + 0.0 * bell, -x / (sigma * sigma)]
    for n in range(2, order + 1):
        factors.append((-x * factors[-1] - (n - 1) * factors[-2]) / (sigma * sigma))
    return factors[order] * bell / bell.sum()


def _gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    x = as_array(input)
    if order < 0 or not _is_covered(x, output):
        return NotImplemented
    radius = int(truncate * sigma + 0.5) if radius is None else radius
    return _line(x, _gaussian(sigma, order, radius)[::-1], axis % x.ndim, mode, cval)


def _gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    x = as_array(input)
    if not _is_covered(x, output):
        return NotImplemented
    axes = axes_of(x, axes)
    for axis, s, n, how, r in zip(axes, *[each(arg, len(axes)) for arg in (sigma, order, mode, radius)]):
        if holds(lambda width: width > 1e-15, s):
            x = _gaussian_filter1d(x, s, axis, n, None, how, cval, truncate, radius=r)
    return x


def _uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    return _correlate1d(input, np.full(size, 1.0 / size), axis, output, mode, cval, origin)


def _uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    x = as_array(input)
    if not _is_covered(x, output):
        return NotImplemented
    axes = axes_of(x, axes)
    for axis, n, how, at in zip(axes, *[each(arg, len(axes)) for arg in (size, mode, origin)]):
        if n > 1:
            x = _uniform_filter1d(x, int(n), axis, None, how, cval, at)
    return x


def _edges(across: list[float]) -> Callable[..., Any]:
    """A difference along one axis, smoothed along the others."""

    def compute(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
        x = as_array(input)
        if not _is_covered(x, output):
            return NotImplemented
        modes = each(mode, x.ndim)
        axis %= x.ndim
        x = _line(x, [-1.0, 0.0, 1.0], axis, modes[axis], cval)
        for other in [k for k in range(x.ndim) if k != axis]:
            x = _line(x, across, other, modes[other], cval)
        return x

    return compute


def _laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    return _summed(as_array(input), output, mode, axes, lambda x, k, how: _line(x, [1.0, -2.0, 1.0], k, how, cval))


def _summed(x: Any, output: Any, mode: Any, axes: Any, part: Callable[[Any, int, str], Any]) -> Any:
    """The sum of what a function gives of each axis."""
    axes = axes_of(x, axes)
    if not _is_covered(x, output) or not axes:
        return NotImplemented
    return functools.reduce(np.add, [part(x, axis, how) for axis, how in zip(axes, each(mode, len(axes)))])


def _of_bells(order: int, finish: Callable[[Any], Any], term: Callable[[Any], Any]) -> Callable[..., Any]:
    """A sum over axes of a derivative along each of them of the array smoothed in all."""

    def compute(
        input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
        **how: Any,
    ) -> Any:  # fmt: skip
        x = as_array(input)
        if axes is not None:
            return NotImplemented

        def part(x: Any, axis: int, mode: str) -> Any:
            return term(
                _gaussian_filter(x, sigma, [order * (k == axis) for k in range(x.ndim)], None, mode, cval, **how)
            )

        found = _summed(x, output, mode, None, part)
        return found if found is NotImplemented else finish(found)

    return compute


def _ranked(rank: Callable[[int], int] | None, is_least: bool = False) -> Callable[..., Any]:
    """The number of a rank in each window; the largest or the least one where there is none."""

    def compute(
        input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
        cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
    ) -> Any:  # fmt: skip
        x = as_array(input)
        if not _is_covered(x, output) or axes is not None or not isinstance(mode, str) or mode not in PADDED:
            return NotImplemented
        if footprint is None and size is None:
            return NotImplemented
        mask = np.ones(each(size, x.ndim), bool) if footprint is None else np.asarray(footprint, bool)
        if mask.ndim != x.ndim or not mask.any():
            return NotImplemented
        padded = _padded(x, list(mask.shape), mode, cval, each(origin, x.ndim))
        windows = numpy.lib.stride_tricks.sliding_window_view(padded, mask.shape)[..., mask]
        n = windows.shape[-1]
        if rank is not None and not 0 <= rank(n) < n:
            return NotImplemented
        if rank is not None and 0 < rank(n) < n - 1:
            return numpy.sort(windows, axis=-1)[..., rank(n)]
        return numpy.min(windows, axis=-1) if (rank(n) == 0 if rank else is_least) else numpy.max(windows, axis=-1)

    return compute


def _ranked_along(find: Callable[..., Any]) -> Callable[..., Any]:
    def compute(
        input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
        origin: int = 0,
    ) -> Any:  # fmt: skip
        x = as_array(input)
        at = [k == axis % x.ndim for k in range(x.ndim)]
        return find(x, [size if k else 1 for k in at], None, output, mode, cval, [origin if k else 0 for k in at])

    return compute


def _rank_filter(input: Any, rank: int, *args: Any, **how: Any) -> Any:
    return _ranked(lambda n: rank + n * (rank < 0))(input, *args, **how)


def _percentile_filter(input: Any, percentile: float, *args: Any, **how: Any) -> Any:
    share = percentile + 100.0 * (percentile < 0)
    return _ranked(lambda n: n - 1 if share == 100.0 else int(float(n) * share / 100.0))(input, *args, **how)


NDIMAGE: dict[str, Callable[..., Any]] = {
    "correlate": _filtered(False), "convolve": _filtered(True), "correlate1d": _correlate1d,
    "convolve1d": _convolve1d, "gaussian_filter1d": _gaussian_filter1d, "gaussian_filter": _gaussian_filter,
    "uniform_filter1d": _uniform_filter1d, "uniform_filter": _uniform_filter, "prewitt": _edges([1.0, 1.0, 1.0]),
    "sobel": _edges([1.0, 2.0, 1.0]), "laplace": _laplace, "gaussian_laplace": _of_bells(2, lambda z: z, lambda z: z),
    "gaussian_gradient_magnitude": _of_bells(1, np.sqrt, np.square),
    "maximum_filter": _ranked(None), "minimum_filter": _ranked(None, True), "median_filter": _ranked(lambda n: n // 2),
    "maximum_filter1d": _ranked_along(_ranked(None)), "minimum_filter1d": _ranked_along(_ranked(None, True)),
    "rank_filter": _rank_filter, "percentile_filter": _percentile_filter,
}  # fmt: skip
"""What stands for the filters of `scipy.ndimage`; NotImplemented for arguments that are not covered."""
