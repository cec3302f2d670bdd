"""Interpolation of `scipy.interpolate` in several dimensions: on grids, by triangles, and by distances.

Which cell a place lies in is found by its number alone, of triangles by looking at all where places are recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base.tensor import Face
from ..arrays.face_base import numpy
from ..constructors import as_array
from ..mathematics import holds
from .piecewise import basis, derived_splines, of_products, summed_splines, taken
from .recorded_parts import (
    KINDS,
    Making,
    becomes,
    constructor,
    has_recorded_parts,
    interpolate,
    method,
    places,
    told,
)
from .scipy_fitpack import by_units

DEGREES = {"linear": 1, "slinear": 1, "cubic": 3, "quintic": 5}


def coordinates(xi: Any, ndim: int) -> Any:
    """Places as an array whose last axis is their coordinates, however they are given."""
    if isinstance(xi, tuple) and len(xi) == 1:
        xi = xi[0]
    if isinstance(xi, tuple):
        return numpy.stack(np.broadcast_arrays(*map(places, xi)), axis=-1)
    xi = places(xi)
    return xi if xi.ndim != 1 else numpy.reshape(xi, (-1, ndim))


def _grid(self: Any, values: Any, **_: Any) -> None:
    values = as_array(values)
    values = values.astype(np.result_type(values.dtype, float), copy=False)
    down = getattr(self, "_descending_dimensions", ())
    becomes(self, values=numpy.flip(values, down) if len(down) else values)


def _on_grid(self: Any, xi: Any, how: str | None, nu: Any = None) -> Any:
    """What `RegularGridInterpolator` gives; recorded values have splines that are exact, SciPy's are within 10⁻⁶."""
    grid, values, how = self.grid, self.values, self.method if how is None else how
    xi = coordinates(xi, len(grid))
    if (how != "nearest" and how not in DEGREES) or xi.shape[-1] != len(grid):
        return NotImplemented
    if nu is not None and how not in ("slinear", "cubic", "quintic"):
        return NotImplemented
    rows = [xi[..., k] for k in range(len(grid))]
    outside = functools.reduce(np.logical_or, [(row < line[0]) | (row > line[-1]) for row, line in zip(rows, grid)])
    if self.bounds_error and not holds(lambda inside: inside, ~outside):
        raise ValueError("One of the requested xi is out of bounds")
    z = _nearest(grid, values, rows) if how == "nearest" else _by_splines(self, how, rows, nu or (0,) * len(grid))
    if not self.bounds_error and self.fill_value is not None:
        z = np.where(numpy.reshape(outside, (*outside.shape, *(1,) * (z.ndim - outside.ndim))), self.fill_value, z)
    return z


def _nearest(grid: Any, values: Any, rows: list[Any]) -> Any:
    place: Any = 0
    for line, row in zip(grid, rows):
        i = np.clip(np.searchsorted(line, row, "right") - 1, 0, len(line) - 2)
        share = (row - taken(line, i)) / (taken(line, i + 1) - taken(line, i))
        place = place * len(line) + np.where(share <= 0.5, i, i + 1)
    return taken(numpy.reshape(values, (-1, *values.shape[len(grid) :])), place)


def _by_splines(self: Any, how: str, rows: list[Any], nu: Any) -> Any:
    c, k, known = self.values, DEGREES[how], self._spline
    lines = []
    if known is not None and type(self) not in KINDS and how == self.method:
        c, lines = known.c, list(known.t)
    else:
        for axis, line in enumerate(self.grid):
            spline = by_units(interpolate.make_interp_spline, {"x": line, "y": c, "k": k, "axis": axis})
            c, lines = numpy.moveaxis(spline.c, 0, axis), [*lines, spline.t]
    return _products(c, lines, [k] * len(lines), rows, nu)


def _products(c: Any, lines: list[Any], degrees: list[int], rows: list[Any], nu: Any) -> Any:
    """Splines along the first axes, at places with a coordinate along each; derivatives of some orders."""
    bases = []
    for axis, (t, k, row, order) in enumerate(zip(lines, degrees, rows, nu)):
        t, part, k = derived_splines(t, numpy.moveaxis(c, axis, 0), k, order)  # noqa: PLW2901
        c = numpy.moveaxis(part, 0, axis)
        bases.append(basis(t, k, row))
    return of_products(c, bases)


def _interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    if method not in DEGREES and method != "nearest":
        return NotImplemented
    points = told(points, "its points", "interpn")
    made = interpolate.RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    return made(coordinates(xi, len(points)))


def _surface(self: Any, x: Any, y: Any, z: Any, kx: int, ky: int, s: Any, **_: Any) -> Any:
    """`RectBivariateSpline` through recorded values, with the knots that it has through others."""
    if s != 0:
        return NotImplemented
    tx, ty = self.tck[:2]
    along = by_units(interpolate.make_interp_spline, {"x": np.ravel(x), "y": z, "k": kx, "t": tx, "axis": 0}).c
    both = by_units(interpolate.make_interp_spline, {"x": np.ravel(y), "y": along.T, "k": ky, "t": ty, "axis": 0}).c
    self.tck, self.fp = (tx, ty, numpy.reshape(both.T, (-1,))), 0.0
    return None


def _has_recorded_surface(self: Any, args: Any) -> bool:
    return any(isinstance(part, Face) for part in self.tck)


def _on_surface(self: Any, x: Any, y: Any, dx: int, dy: int, grid: bool) -> Any:
    tx, ty, c = self.tck[:3]
    kx, ky = self.degrees
    c = numpy.reshape(c, (len(tx) - kx - 1, len(ty) - ky - 1))
    x, y = [
        np.clip(places(at), t[k], t[len(t) - k - 1]) for at, t, k in ((x, tx, kx), (y, ty, ky))
    ]  # beyond its ends it is as at them
    if grid:
        if x.ndim > 1 or y.ndim > 1:
            return NotImplemented
        x, y = numpy.reshape(x, (-1, 1)), numpy.reshape(y, (1, -1))
    x, y = np.broadcast_arrays(x, y)
    return _products(c, [tx, ty], [kx, ky], [x, y], (dx, dy))


def _volume(self: Any, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
    tx, ty, c = self.tck[:3]
    kx, ky = self.degrees
    c = numpy.reshape(c, (len(tx) - kx - 1, len(ty) - ky - 1))
    for t, k, ends in ((tx, kx, (xa, xb)), (ty, ky, (ya, yb))):
        first, last = [as_array(np.clip(end, t[k], t[len(t) - k - 1])).astype(float) for end in ends]
        knots, sums, degree = summed_splines(t, c, k)
        high, low = [of_products(sums, [basis(knots, degree, at)]) for at in (last, first)]
        c = high - low
    return c[()]


def _triangles(self: Any, values: Any, rescale: bool, **_: Any) -> Any:
    """`LinearNDInterpolator` of recorded values."""
    values = as_array(values)
    if rescale:
        return NotImplemented
    becomes(self, values=values.astype(np.result_type(values.dtype, float), copy=False))
    return None


def _in_triangles(self: Any, *args: Any) -> Any:
    if not isinstance(self, interpolate.LinearNDInterpolator) or self.scale is not None:
        return NotImplemented
    tri, ndim = self.tri, self.points.shape[1]
    values = self.values if type(self) in KINDS else numpy.reshape(self.values, (len(self.values), *self.values_shape))
    xi = coordinates(args if len(args) > 1 else args[0], ndim)
    flat = numpy.reshape(xi, (-1, ndim))
    apart = flat[:, None] - tri.transform[:, ndim]
    shares = (apart[..., None, :] * tri.transform[:, :ndim]).sum(-1)
    shares = np.concatenate([shares, 1.0 - shares.sum(-1)[..., None]], axis=-1)
    least = np.where(np.isnan(tri.transform[:, 0, 0]), -np.inf, shares.min(-1))
    best = np.argmax(least, axis=-1)
    corners = taken(tri.simplices, best)
    at = numpy.take_along_axis(shares, best[:, None, None], axis=1)[:, 0]
    parts = taken(values, corners)
    behind = (1,) * (values.ndim - 1)
    z = (parts * numpy.reshape(at, (*at.shape, *behind))).sum(1)
    inside = np.max(least, axis=-1) >= -1e-10
    z = np.where(numpy.reshape(inside, (*inside.shape, *behind)), z, self.fill_value)
    return numpy.reshape(z, (*xi.shape[:-1], *values.shape[1:]))


def _points(self: Any, y: Any, rescale: bool, **_: Any) -> Any:
    if rescale:
        return NotImplemented
    becomes(self, values=as_array(y))
    return None


def _at_nearest(self: Any, *args: Any, **options: Any) -> Any:
    if options or self.scale is not None:
        return NotImplemented
    xi = coordinates(args if len(args) > 1 else args[0], self.points.shape[1])
    apart = ((xi[..., None, :] - self.points) ** 2).sum(-1)
    return taken(self.values, np.argmin(apart, axis=-1))


def _griddata(
    points: Any, values: Any, xi: Any, method: str = "linear", fill_value: Any = np.nan, rescale: bool = False
) -> Any:
    points, values = told(points, "its points", "griddata"), as_array(values)
    points = np.stack(np.broadcast_arrays(*points), axis=-1) if isinstance(points, tuple) else np.asarray(points)
    if rescale:
        return NotImplemented
    if points.ndim < 2 or points.shape[-1] == 1:
        if method not in ("nearest", "linear", "cubic"):
            return NotImplemented
        fill_value = "extrapolate" if method == "nearest" else fill_value
        return interpolate.interp1d(
            points.ravel(), values, kind=method, axis=0, bounds_error=False, fill_value=fill_value
        )(xi[0] if isinstance(xi, tuple) else xi)
    if method == "nearest":
        return interpolate.NearestNDInterpolator(points, values)(xi)
    if method != "linear":
        return NotImplemented
    return interpolate.LinearNDInterpolator(points, values, fill_value=fill_value)(xi)


def _off_zero(r2: Any, f: Callable[[Any], Any]) -> Any:
    """A function of distances that is 0 at 0, by their squares."""
    return np.where(r2 > 0, f(np.where(r2 > 0, r2, 1.0)), 0.0)


KERNELS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda r2: -_off_zero(r2, np.sqrt),
    "thin_plate_spline": lambda r2: _off_zero(r2, lambda r2: 0.5 * r2 * np.log(r2)),
    "cubic": lambda r2: _off_zero(r2, lambda r2: r2 * np.sqrt(r2)),
    "quintic": lambda r2: -_off_zero(r2, lambda r2: r2 * r2 * np.sqrt(r2)),
    "multiquadric": lambda r2: -np.sqrt(r2 + 1.0),
    "inverse_multiquadric": lambda r2: 1.0 / np.sqrt(r2 + 1.0),
    "inverse_quadratic": lambda r2: 1.0 / (r2 + 1.0),
    "gaussian": lambda r2: np.exp(-r2),
}
"""Radial functions of `RBFInterpolator`, by the squares of distances."""


def _radial(self: Any, y: Any, d: Any, smoothing: Any, **_: Any) -> Any:
    """`RBFInterpolator` of recorded values at points that may be recorded as well."""
    if self.neighbors is not None:
        return NotImplemented
    y, d = places(y), as_array(d)
    n, m = len(y), len(self.powers)
    corner = _monomials(self, y)
    inner = KERNELS[self.kernel](_squares(self, y, y)) + as_array(smoothing) * np.eye(n)
    whole = np.concatenate([np.concatenate([inner, corner], 1), np.concatenate([corner.T, np.zeros((m, m))], 1)])
    rows = np.concatenate([numpy.reshape(d, (n, -1)), np.zeros((m, d.size // n))])
    becomes(self, values=numpy.linalg.solve(whole, rows), y=y, d=d)
    return None


def _squares(self: Any, x: Any, y: Any) -> Any:
    return (((x[:, None] - y) * self.epsilon) ** 2).sum(-1)


def _monomials(self: Any, x: Any) -> Any:
    """Powers of coordinates, whose origin and scale have no effect on the sum."""
    found = [[x[:, k] ** int(p) for k, p in enumerate(row) if p] or [np.ones(len(x))] for row in self.powers]
    columns = [functools.reduce(np.multiply, parts) for parts in found]
    return numpy.stack(columns, axis=1) if columns else np.zeros((len(x), 0))


def _by_distances(self: Any, x: Any) -> Any:
    x = places(x)
    if self.neighbors is not None or x.ndim != 2 or x.shape[1] != self.y.shape[1]:
        return NotImplemented
    near = KERNELS[self.kernel](_squares(self, x, self.y))
    if type(self) in KINDS:
        weights, monomials = self.values, _monomials(self, x)
    else:
        weights, monomials = self._coeffs, _monomials(self, (x - self._shift) / self._scale)
    z = np.concatenate([near, monomials], axis=1) @ weights
    if type(self) not in KINDS and np.dtype(self.d_dtype).kind == "c":
        return NotImplemented
    return numpy.reshape(z, (len(x), *self.d_shape))


GRIDS: dict[str, Callable[..., Any]] = {"interpn": _interpn, "griddata": _griddata}
"""What stands for functions of `scipy.interpolate`; NotImplemented for arguments that are not covered."""


def of_grids(module: Any) -> Iterator[tuple[type, str, Making]]:
    """The methods of these classes that record."""
    parts = functools.partial(method, has_recorded_parts)
    surface = next(kind for kind in module.RectBivariateSpline.__mro__ if "__call__" in vars(kind))
    triangles = next(kind for kind in module.LinearNDInterpolator.__mro__ if "__call__" in vars(kind))
    yield module.RegularGridInterpolator, "__init__", constructor(_grid, "points")
    yield module.RegularGridInterpolator, "__call__", parts(_on_grid)
    yield module.RectBivariateSpline, "__init__", constructor(_surface, "x", "y", "bbox")
    yield surface, "__call__", method(_has_recorded_surface, _on_surface)
    yield module.BivariateSpline, "integral", method(_has_recorded_surface, _volume)
    yield module.LinearNDInterpolator, "__init__", constructor(_triangles, "points")
    yield triangles, "__call__", parts(_in_triangles)
    yield module.NearestNDInterpolator, "__init__", constructor(_points, "x")
    yield module.NearestNDInterpolator, "__call__", parts(_at_nearest)
    yield module.RBFInterpolator, "__init__", constructor(_radial, apart="y")
    yield module.RBFInterpolator, "__call__", parts(_by_distances)
