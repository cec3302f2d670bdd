"""Arrays read between their places: the interpolation of `scipy.ndimage`, on recorded arrays and at recorded places.

Each number is a sum over the nearest ones, weighted by splines.  The derivative with respect to a place is that of the
splines; of order 0 it is 0, of order 1 that of the line on which the place is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.rooms import Room
from ...base.tensor import Face
from ..arrays.face_base import numpy
from ..arrays.leaving import carries
from ..constructors import as_array
from .piecewise import even_basis, of_products, taken
from .scipy_ndimage import each
from .scipy_signal import along_an_axis

ndimage, special = Room("scipy.ndimage"), Room("scipy.special")

MIRRORED = "mirror", "constant", "wrap"
"""The modes in which splines go on beyond the edges as in a mirror."""
MODES = (*MIRRORED, "reflect", "grid-mirror", "nearest", "grid-wrap", "grid-constant")
PAD = 12
"""By how much SciPy makes an array wider where the splines do not go on exactly as the mode says."""


class Splines:
    """An array as the sum of splines at its places.

    Attributes:
        c: how much there is of each.
        shift: where the array's first place is.
    """

    def __init__(self, x: Any, order: int, mode: str, cval: Any, prefilter: bool):
        self.x, self.order, self.mode, self.cval = x, order, mode, cval
        self.c, self.shift = x, 0
        if prefilter and order > 1:
            if mode in ("nearest", "grid-constant"):
                self.shift = PAD
                more = {"constant_values": cval} if mode == "grid-constant" else {}
                self.c = numpy.pad(x, PAD, "edge" if mode == "nearest" else "constant", **more)
            self.c = self.c.astype(float, copy=False)
            smoothed = along_an_axis(ndimage.spline_filter1d)
            for axis in range(x.ndim):
                self.c = smoothed(self.c, order, axis, mode=mode)

    def along(self, axis: int, at: Any) -> tuple[Any, Any, Any, Any]:
        """Places and weights for coordinates along an axis; which places are none, and which coordinates have none."""
        n, size = self.x.shape[axis], self.c.shape[axis]
        outside = nowhere = None
        if self.mode == "constant":
            outside = ~((at >= 0) & (at <= n - 1))
            at = np.where(outside, 0.0, at)
        elif self.mode in ("wrap", "mirror", "reflect", "grid-mirror"):
            at = _around(at, n, self.mode)
        at = at + self.shift
        places, weights = even_basis(self.order, at)
        if self.mode == "grid-constant":
            nowhere = (places < 0) | (places >= size)
        return _inside(places, size, self.mode), weights, nowhere, outside

    def at(self, coordinates: Sequence[Any]) -> Any:
        """The numbers at coordinates along all axes."""
        found = [self.along(axis, at) for axis, at in enumerate(coordinates)]
        c = self.c
        if self.mode == "grid-constant":  # what is nowhere is told by one place more along each axis
            c = numpy.pad(c, [(0, 1)] * c.ndim, "constant", constant_values=self.cval)
            found = [
                (np.where(nowhere, size, places), weights, None, None)
                for size, (places, weights, nowhere, _) in zip(self.c.shape, found)
            ]
        z = of_products(c, [(places, weights) for places, weights, *_ in found])
        for *_, outside in found:
            z = z if outside is None else np.where(outside, self.cval, z)
        return z.astype(self.x.dtype, copy=False)

    def on_grid(self, lines: Sequence[Any]) -> Any:
        """The numbers at all combinations of coordinates along the axes, one axis after the other."""
        z = self.c
        for axis, at in enumerate(lines):
            places, weights, nowhere, outside = self.along(axis, at)
            behind = (1,) * (z.ndim - 1 - axis)
            part = taken(z, places, axis)
            if nowhere is not None:
                part = np.where(numpy.reshape(nowhere, (*nowhere.shape, *behind)), self.cval, part)
            z = (part * numpy.reshape(weights, (*weights.shape, *behind))).sum(axis + 1)
            if outside is not None:
                z = np.where(numpy.reshape(outside, (*outside.shape, *behind)), self.cval, z)
        return z.astype(self.x.dtype, copy=False)


def _around(at: Any, n: int, mode: str) -> Any:
    """Coordinates moved into an array of n numbers, or next to its edges, as SciPy moves them."""
    if n == 1:
        return 0.0 * at
    if mode == "wrap":
        below = at + (n - 1) * (np.trunc(-at / (n - 1)) + 1)
        return np.where(at < 0, below, np.where(at > n - 1, at - (n - 1) * np.trunc(at / (n - 1)), at))
    edge = 0 if mode == "mirror" else 1
    period = 2 * (n - 1 + edge)
    low, high = at + period * np.trunc(-at / period), at - period * np.trunc(at / period)
    low = np.where(low < 1 - n - edge, low + period, -low - edge)
    high = np.where(high >= n, period - high - edge, high)
    return np.where(at < 0, low, np.where(at > n - 1, high, at))


def _inside(places: Any, n: int, mode: str) -> Any:
    """Whole places as those within the array."""
    if n == 1:
        return 0 * places
    if mode in MIRRORED:
        around = places % (2 * n - 2)
        return np.where(around < n, around, 2 * n - 2 - around)
    if mode in ("reflect", "grid-mirror"):
        around = places % (2 * n)
        return np.where(around < n, around, 2 * n - 1 - around)
    return places % n if mode == "grid-wrap" else np.clip(places, 0, n - 1)


def _splines(x: Any, output: Any, order: int, mode: str, cval: Any, prefilter: bool) -> Splines | None:
    """None of what is not covered, and where SciPy raises."""
    fits = x.dtype.kind == "f" and output is None and x.ndim and x.size and mode in MODES and 0 <= order <= 5
    return Splines(x, order, mode, cval, prefilter) if fits else None


def _map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    x, at = as_array(input), as_array(coordinates)
    splines = _splines(x, output, order, mode, cval, prefilter)
    if splines is None or at.ndim < 2 or len(at) != x.ndim or at.dtype.kind == "c":
        return NotImplemented
    return splines.at([row.astype(float, copy=False) for row in at])


def _shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    x = as_array(input)
    splines = _splines(x, output, order, mode, cval, prefilter)
    if splines is None:
        return NotImplemented
    return splines.on_grid([np.arange(float(n)) - by for n, by in zip(x.shape, each(shift, x.ndim))])


def _zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    x = as_array(input)
    splines, factors = _splines(x, output, order, mode, cval, prefilter), each(zoom, x.ndim)
    if splines is None:
        return NotImplemented
    if all(factor == 1 for factor in factors) and prefilter:
        return numpy.array(x)
    sizes = [int(np.round(n * factor)) for n, factor in zip(x.shape, factors)]
    if grid_mode:
        return splines.on_grid([(np.arange(float(m)) + 0.5) * (n / m) - 0.5 for n, m in zip(x.shape, sizes)])
    steps = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(x.shape, sizes)]
    return splines.on_grid([np.arange(float(m)) * step for m, step in zip(sizes, steps)])


def _carries(x: Any) -> bool:
    return isinstance(x, Face) and carries(x._tensor)


def _affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    x, a = as_array(input), as_array(matrix).astype(float)
    splines = _splines(x, output, order, mode, cval, prefilter)
    if splines is None:
        return NotImplemented
    n, shape = x.ndim, x.shape if output_shape is None else tuple(output_shape)
    if a.ndim == 2 and a.shape[1] == n + 1 and a.shape[0] in (n, n + 1):
        if a.shape[0] == n + 1 and (_carries(a) or not np.array_equal(a[n], [0] * n + [1])):
            return NotImplemented
        a, offset = a[:n, :n], a[:n, n]
    given = as_array(offset)
    offsets = list(given) if given.ndim else [given] * n
    if a.shape not in ((n,), (n, len(shape))):
        return NotImplemented
    if a.ndim == 1:
        return splines.on_grid([a[k] * (np.arange(float(shape[k])) + offsets[k] / a[k]) for k in range(n)])
    grid = np.meshgrid(*[np.arange(float(m)) for m in shape], indexing="ij", sparse=True)
    rows = [sum((a[k, j] * grid[j] for j in range(len(shape))), offsets[k]) for k in range(n)]
    return splines.at([np.broadcast_to(row, shape) for row in rows])


def _rotate(
    input: Any, angle: Any, axes: tuple[int, int] = (1, 0), reshape: bool = True, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    x = as_array(input)
    if not -x.ndim <= min(axes) <= max(axes) < x.ndim or (reshape and _carries(angle)) or len(axes) != 2:
        return NotImplemented
    first, second = sorted([axis % x.ndim for axis in axes])
    c, s = special.cosdg(angle), special.sindg(angle)
    inner = [x.shape[first], x.shape[second]]
    outer = inner
    if reshape:
        bounds = np.array([[c, s], [-s, c]], float) @ [[0, 0, inner[0], inner[0]], [0, inner[1], 0, inner[1]]]
        outer = [int(width) for width in np.ptp(bounds, axis=1) + 0.5]
    middle = [(n - 1) / 2 for n in outer]
    rows, rights = [(n - 1) / 2 for n in inner], [c * middle[0] + s * middle[1], c * middle[1] - s * middle[0]]
    offset = [row - right for row, right in zip(rows, rights)]
    matrix = as_array([[c, s], [-s, c]])

    def turn(plane: Any) -> Any:
        return _affine_transform(plane, matrix, offset, outer, output, order, mode, cval, prefilter)

    if x.ndim == 2:
        return turn(x)
    planes = numpy.moveaxis(x, (first, second), (-2, -1))
    flat = numpy.reshape(planes, (-1, *inner))
    found = [turn(plane) for plane in flat]
    if any(plane is NotImplemented for plane in found) or not found:
        return NotImplemented
    turned = numpy.reshape(numpy.stack(found), (*planes.shape[:-2], *outer))
    return numpy.moveaxis(turned, (-2, -1), (first, second))


def _spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    x = as_array(input)
    if x.dtype.kind != "f" or output is not np.float64 or not 2 <= order <= 5:
        return NotImplemented
    for axis in range(x.ndim):
        x = along_an_axis(ndimage.spline_filter1d)(x.astype(float, copy=False), order, axis, mode=mode)
    return x


RESAMPLING: dict[str, Callable[..., Any]] = {
    "map_coordinates": _map_coordinates, "shift": _shift, "zoom": _zoom, "affine_transform": _affine_transform,
    "rotate": _rotate, "spline_filter": _spline_filter,
}  # fmt: skip
"""What stands for the interpolation of `scipy.ndimage`; NotImplemented for arguments that are not covered."""
