"""Piecewise polynomials and splines of `scipy.interpolate`, of recorded coefficients and at recorded places."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..arrays.face_base import numpy
from ..arrays.unwrapping import holds_face
from ..constructors import as_array
from ..mathematics import holds
from .cubic import akima_slopes, cubic_slopes, hermite, pchip_slopes
from .piecewise import (
    between,
    derived_powers,
    derived_splines,
    of_powers,
    of_splines,
    summed_powers,
    summed_splines,
)
from .recorded_parts import (
    KINDS,
    Making,
    another,
    becomes,
    constructor,
    has_recorded_parts,
    interpolate,
    is_closed,
    method,
    places,
    refused,
    turned,
    values_of,
)


def _knots(x: Any) -> Any:
    x = as_array(x).astype(float)
    if holds_face(x) and not holds(lambda apart: apart > 0, np.diff(x)):
        raise ValueError("`x` must be strictly increasing sequence.")
    return x


def _powers(self: Any, c: Any, x: Any, axis: int, **_: Any) -> None:
    c = as_array(c)
    c = c.astype(np.result_type(c.dtype, float), copy=False)
    for _times in range(2 if axis else 0):
        c = numpy.moveaxis(c, axis + 1, 0)
    becomes(self, c=c, x=as_array(x).astype(float))


def _by_slopes(slopes: Callable[..., Any]) -> Callable[..., Any]:
    """What a constructor puts into its object, by the slopes of the polynomials."""

    def compute(self: Any, x: Any, y: Any, **given: Any) -> None:
        x, y = _knots(x), values_of(y, self.axis)
        becomes(self, c=hermite(x, y, slopes(x, y, self.axis, **given)), x=x)

    return compute


def _given_slopes(x: Any, y: Any, at: int, dydx: Any, **_: Any) -> Any:
    return values_of(dydx, at, "dydx")


def _smooth_slopes(x: Any, y: Any, at: int, bc_type: Any, **_: Any) -> Any:
    if isinstance(bc_type, str) and bc_type == "periodic" and not is_closed(y):
        raise ValueError(f"The first and last `y` point along axis {at} must be identical, as it is periodic.")
    start, stop = [bc_type] * 2 if isinstance(bc_type, str) else bc_type
    return cubic_slopes(x, y, (_end(start), _end(stop)))


def _end(end: Any) -> Any:
    if isinstance(end, str):
        return {"clamped": (1, 0.0), "natural": (2, 0.0)}.get(end, end)
    return end[0], as_array(end[1])


def _as_powers(self: Any) -> Any:
    """A constant piecewise polynomial of another basis in powers; None of what SciPy does otherwise."""
    if not isinstance(self, interpolate.PPoly):
        self = None if type(self) in KINDS else interpolate.PPoly.from_bernstein_basis(self)
    return self if self is not None and (type(self) in KINDS or self.x[0] <= self.x[-1]) else None


def _of_powers(self: Any, x: Any, nu: int, extrapolate: Any) -> Any:
    powers, x = _as_powers(self), places(x)
    if powers is None or nu < 0:
        return NotImplemented
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    return turned(of_powers(powers.c, powers.x, x, nu, extrapolate), x.ndim, self.axis)


def _derived_powers(self: Any, nu: int) -> Any:
    return _summed_powers(self, -nu) if nu < 0 else another(self, c=derived_powers(self.c, nu), x=self.x)


def _summed_powers(self: Any, nu: int) -> Any:
    c = derived_powers(self.c, max(-nu, 0))
    for _ in range(nu):
        c = summed_powers(c, self.x)
    return another(self, c=c, x=self.x, extrapolate=nu <= 0 or _beyond(self))


def _beyond(self: Any) -> Any:
    """Whether an integral goes on beyond the ends: not that of what goes on by periods."""
    return False if self.extrapolate == "periodic" else self.extrapolate


def _integral_of_powers(self: Any, a: Any, b: Any, extrapolate: Any) -> Any:
    extrapolate = self.extrapolate if extrapolate is None else extrapolate
    if _as_powers(self) is None:
        return NotImplemented
    c, x = summed_powers(self.c, self.x), self.x
    whole = of_powers(c, x, x[-1:])[0]
    return between(lambda at: of_powers(c, x, places(at), 0, extrapolate), whole, (a, b), x[0], x[-1], extrapolate)


def _splines(self: Any, t: Any, c: Any, axis: int, **_: Any) -> None:
    c = numpy.moveaxis(as_array(c), axis, 0)
    becomes(self, t=as_array(t).astype(float), c=c.astype(np.result_type(c.dtype, float), copy=False))


def _of_splines(self: Any, x: Any, nu: int, extrapolate: Any) -> Any:
    x, extrapolate = places(x), self.extrapolate if extrapolate is None else extrapolate
    return turned(of_splines(self.t, self.c, self.k, x, nu, extrapolate), x.ndim, self.axis)


def _derived_splines(self: Any, nu: int) -> Any:
    t, c, k = derived_splines(self.t, self.c, self.k, nu) if nu >= 0 else summed(self.t, self.c, self.k, -nu)
    return another(self, t=t, c=c, k=k)


def summed(t: Any, c: Any, k: int, nu: int) -> tuple[Any, Any, int]:
    for _ in range(nu):
        t, c, k = summed_splines(t, c, k)
    return t, c, k


def _summed_splines(self: Any, nu: int) -> Any:
    if nu < 0:
        return _derived_splines(self, -nu)
    t, c, k = summed(self.t, self.c, self.k, nu)
    return another(self, t=t, c=c, k=k, extrapolate=_beyond(self))


def _integral_of_splines(self: Any, a: Any, b: Any, extrapolate: Any) -> Any:
    return integral(self.t, self.c, self.k, a, b, self.extrapolate if extrapolate is None else extrapolate)


def integral(t: Any, c: Any, k: int, a: Any, b: Any, extrapolate: Any) -> Any:
    first, last, whole = t[k], t[len(t) - k - 1], summed(t, c, k, 1)
    if not extrapolate:
        a, b = np.clip(a, first, last), np.clip(b, first, last)
    value = lambda at: of_splines(*whole, places(at), 0, extrapolate or True)  # noqa: E731
    period = of_splines(*whole, places(last)) - of_splines(*whole, places(first))
    return between(value, period, (a, b), first, last, extrapolate)


def of_pieces(module: Any) -> Iterator[tuple[type, str, Making]]:
    """The methods of these classes that record."""
    powers = next(kind for kind in module.PPoly.__mro__ if "__call__" in vars(kind))
    parts = functools.partial(method, has_recorded_parts)
    yield powers, "__init__", constructor(_powers)
    yield powers, "__call__", parts(_of_powers)
    yield module.PPoly, "derivative", parts(_derived_powers)
    yield module.PPoly, "antiderivative", parts(_summed_powers)
    yield module.PPoly, "integrate", parts(_integral_of_powers)
    yield module.PPoly, "solve", parts(refused("PPoly.solve"))
    yield module.CubicHermiteSpline, "__init__", constructor(_by_slopes(_given_slopes))
    yield module.PchipInterpolator, "__init__", constructor(_by_slopes(lambda x, y, at, **_: pchip_slopes(x, y)))
    akima = _by_slopes(lambda x, y, at, method, **_: akima_slopes(x, y, method))
    yield module.Akima1DInterpolator, "__init__", constructor(akima)
    yield module.CubicSpline, "__init__", constructor(_by_slopes(_smooth_slopes))
    yield module.BSpline, "__init__", constructor(_splines)
    yield module.BSpline, "__call__", parts(_of_splines)
    yield module.BSpline, "derivative", parts(_derived_splines)
    yield module.BSpline, "antiderivative", parts(_summed_splines)
    yield module.BSpline, "integrate", parts(_integral_of_splines)
