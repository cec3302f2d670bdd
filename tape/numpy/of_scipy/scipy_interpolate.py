"""What else there is in `scipy.interpolate`, of recorded values and at recorded places, and all of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base.tensor import Face
from ..arrays.face_base import numpy
from ..arrays.unwrapping import holds_face
from ..constructors import as_array
from ..mathematics import holds
from .piecewise import of_powers, of_splines, taken
from .recorded_parts import Making, constructor, interpolate, method, places, told, turned
from .scipy_fitpack import FITPACK, by_units, of_fitpack
from .scipy_grids import of_grids
from .scipy_pieces import of_pieces


def _line(self: Any, x: Any, y: Any, axis: int, fill_value: Any, assume_sorted: bool, **_: Any) -> Any:
    """`interp1d` through recorded values."""
    x, y = as_array(x), as_array(y)
    y = y.astype(np.result_type(y.dtype, float), copy=False) if y.dtype.kind not in "fc" else y
    if not assume_sorted:
        order = np.argsort(x, kind="mergesort")
        x, y = taken(x, order), taken(y, order, axis % y.ndim)
    self.x, self.y = x, y
    self._y = numpy.reshape(numpy.moveaxis(y, axis, 0), (len(x), -1))
    if self._kind in ("previous", "next"):
        self._x_shift = np.nextafter(x, np.inf if self._kind == "next" else -np.inf)
    if self._kind == "spline":
        given = {"x": told(x, "its x", "interp1d"), "y": self._y, "k": self._spline.k, "axis": 0}
        self._spline = by_units(interpolate.make_interp_spline, given)
    elif self._kind.startswith("nearest"):
        self.x_bds = (x[1:] + x[:-1]) / 2.0
    if isinstance(fill_value, str) and self._kind in ("previous", "next"):
        fill_value = (np.nan, self._y[-1]) if self._kind == "previous" else (self._y[0], np.nan)
    if holds_face(fill_value):
        ends = fill_value if type(fill_value) is tuple else (fill_value, fill_value)
        self._fill_value_below, self._fill_value_above = [
            numpy.reshape(np.broadcast_to(as_array(end), self._y_extra_shape or (1,)), (-1,)) for end in ends
        ]
    return None


def _has_recorded_points(self: Any, args: Any) -> bool:
    return any(isinstance(getattr(self, name, None), Face) for name in ("x", "y", "xi", "yi"))


def _through_points(self: Any, x: Any) -> Any:
    """What `interp1d` gives, or the polynomial through all points."""
    shape, x = as_array(x).shape, numpy.reshape(places(x), (-1,))
    z = _on_line(self, x) if isinstance(self, interpolate.interp1d) else _on_polynomial(self, x)
    if z is NotImplemented:
        return z
    z = numpy.reshape(z, (*shape, *self._y_extra_shape))
    return turned(z, len(shape), self._y_axis) if shape else z


def _on_line(self: Any, x: Any) -> Any:
    if self._kind == "spline":
        z = of_splines(self._spline.t, self._spline.c, self._spline.k, x)
    elif self._kind == "linear":
        z = of_powers(np.stack([np.diff(self._y, axis=0) / np.diff(self.x)[:, None], self._y[:-1]]), self.x, x)
    elif self._kind in ("previous", "next"):
        place = np.searchsorted(self._x_shift, x, self._side)
        z = taken(self._y, np.clip(place, 1 - self._ind, len(self.x) - self._ind) + self._ind - 1)
    else:
        z = taken(self._y, np.clip(np.searchsorted(self.x_bds, x, self._side), 0, len(self.x) - 1))
    if self._extrapolate:
        return z
    below, above = x < self.x[0], x > self.x[-1]
    if self.bounds_error and not holds(lambda inside: inside, ~(below | above)):
        raise ValueError(f"A value in x_new is beyond the interpolation range, {self.x[0]} to {self.x[-1]}.")
    return np.where(below[:, None], self._fill_value_below, np.where(above[:, None], self._fill_value_above, z))


def _weighted(original: Callable[..., Any]) -> Callable[..., Any]:
    """`BarycentricInterpolator`, of which SciPy finds the weights in an order that it draws."""
    inner = constructor(_polynomial)(original)

    @functools.wraps(original)
    def __init__(self: Any, xi: Any, yi: Any = None, axis: int = 0, *, wi: Any = None, **named: Any) -> None:
        if wi is None and (holds_face(xi) or holds_face(yi)):
            x = as_array(xi)
            wi = 1.0 / np.prod(np.where(np.eye(len(x), dtype=bool), 1.0, x[:, None] - x), axis=-1)
        inner(self, xi, yi, axis, wi=wi, **named)
        if holds_face(wi):
            self.wi = wi

    return __init__


def _polynomial(self: Any, xi: Any, yi: Any, axis: int, **_: Any) -> Any:
    if yi is None:
        return NotImplemented
    yi = as_array(yi)
    self.xi = as_array(xi).astype(float)
    self.yi = numpy.reshape(numpy.moveaxis(yi.astype(np.result_type(yi.dtype, float)), axis, 0), (len(self.xi), -1))
    return None


def _on_polynomial(self: Any, x: Any) -> Any:
    """By Lagrange's products, which are smooth at the points too."""
    xi, n = self.xi, len(self.xi)
    apart = xi[:, None] - xi
    if not holds(lambda gap: gap != 0, apart + np.eye(n)):
        return NotImplemented  # which stands for derivatives there
    return (
        np.prod(np.where(np.eye(n, dtype=bool), 1.0, (x[:, None, None] - xi) / (apart + np.eye(n))), axis=-1) @ self.yi
    )


INTERPOLATE: dict[str, Making] = dict(FITPACK)
"""By name of a function of `scipy.interpolate`, what makes what stands for it."""


def of_interpolate(module: Any) -> Iterator[tuple[type, str, Making]]:
    """The methods of SciPy's classes that record."""
    yield from of_pieces(module)
    yield from of_fitpack(module)
    yield from of_grids(module)
    points = next(kind for kind in module.interp1d.__mro__ if "__call__" in vars(kind))
    yield module.interp1d, "__init__", constructor(_line)
    yield points, "__call__", method(_has_recorded_points, _through_points)
    yield module.BarycentricInterpolator, "__init__", _weighted
    yield module.KroghInterpolator, "__init__", constructor(_polynomial)
