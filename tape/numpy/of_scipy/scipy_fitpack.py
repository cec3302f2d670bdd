"""Splines that `scipy.interpolate` puts through values or near them, and those of FITPACK.

Where coefficients are linear in the values they are a matrix times them: that which SciPy makes of unit vectors.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...base.tensor import Face
from ..arrays.face_base import numpy
from ..arrays.unwrapping import holds_face
from ..constructors import as_array
from ..mathematics import holds
from .piecewise import derived_splines, of_splines
from .recorded_parts import (
    Making,
    another,
    constructor,
    interpolate,
    is_closed,
    method,
    places,
    refused,
    stand_in,
    told,
    values_of,
)
from .scipy_pieces import integral, summed

LARGEST = 4096
"""Values up to which coefficients are a matrix times them."""


def by_units(original: Callable[..., Any], given: dict[str, Any]) -> Any:
    """A spline whose coefficients are linear in recorded values, by what SciPy makes of each alone.

    Args:
        given: the arguments of SciPy's function by name, of which `y` and values of ``bc_type`` may carry a gradient.
    """
    y = as_array(given["y"])
    axis = given["axis"] % y.ndim
    y = values_of(y, axis)
    sides = given.get("bc_type")
    values: list[Any] = []
    if not (sides is None or isinstance(sides, str)):
        count = len(y) + sum(len(side) for side in sides if not (side is None or isinstance(side, str)))
        sides = tuple([_unit_values(side, values, len(y), count) for side in sides])
    units = np.eye(len(y), len(y) + len(values))
    if sides == "periodic":
        if not is_closed(y):
            raise ValueError("First and last points does not match while periodic case expected")
        units[-1] = units[0]
    given |= {"y": units, "axis": 0} | ({"bc_type": sides} if "bc_type" in given else {})
    spline = original(**given)
    rows = np.concatenate([y, *[np.broadcast_to(value, y[:1].shape) for value in values]])
    c = spline.c @ numpy.reshape(rows, (len(rows), -1))
    return another(spline, t=spline.t, c=numpy.reshape(c, (len(c), *y.shape[1:])), axis=axis)


def _unit_values(side: Any, values: list[Any], before: int, count: int) -> Any:
    """What derivatives at an end are, each a unit behind those of the values; they are added to `values`."""
    if side is None or isinstance(side, str):
        return side
    found = []
    for order, value in side:
        found.append((order, np.eye(1, count, before + len(values))[0]))
        values.append(as_array(value))
    return found


def _linear(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a spline whose coefficients are linear in the values."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not holds_face(args) and not holds_face(list(kwargs.values())):
            return original(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = {
            name: value if name in ("y", "bc_type") else told(value, f"its {name}", original.__name__)
            for name, value in bound.arguments.items()
        }
        if not as_array(given["y"]).ndim or len(as_array(given["x"])) > LARGEST or given.get("lam", 0) is None:
            return original(*args, **kwargs)
        original(**{name: stand_in(name, value) for name, value in given.items()})  # for what it raises
        return by_units(original, given)

    return call


def _splrep(original: Callable[..., Any], given: dict[str, Any]) -> Any:
    if given["task"] or given["per"] or given["full_output"] or given["t"] is not None:
        return NotImplemented
    if given["s"] if given["s"] is not None else given["w"] is not None:
        return NotImplemented
    given = {name: value if name == "y" else told(value, f"its {name}", "splrep") for name, value in given.items()}
    t, _, k = original(**given | {"y": stand_in("y", given["y"])})
    c = by_units(interpolate.make_interp_spline, {"x": given["x"], "y": given["y"], "k": k, "t": t, "axis": 0}).c
    return t, np.concatenate([c, np.zeros(k + 1)]), k


def _splev(original: Callable[..., Any], given: dict[str, Any]) -> Any:
    x, tck, der, ext = given["x"], given["tck"], given["der"], given["ext"]
    if isinstance(tck, interpolate.BSpline):
        return tck(x, der) if ext == 0 else NotImplemented
    t, c, k = tck
    if type(c) is list and np.ndim(c[0]):
        return [at_places(as_array(t), as_array(row), k, x, der, ext) for row in c]
    return at_places(as_array(t), as_array(c), k, x, der, ext)


def _splint(original: Callable[..., Any], given: dict[str, Any]) -> Any:
    t, c, k = given["tck"].tck if isinstance(given["tck"], interpolate.BSpline) else given["tck"]
    if np.ndim(c) != 1 or given["full_output"]:
        return NotImplemented
    return integral(as_array(t), as_array(c), k, given["a"], given["b"], False)[()]


def _splder(original: Callable[..., Any], given: dict[str, Any]) -> Any:
    tck, n = given["tck"], given["n"]
    return tck.derivative(n) if isinstance(tck, interpolate.BSpline) else _derived_fitpack(tck, n)


def _splantider(original: Callable[..., Any], given: dict[str, Any]) -> Any:
    tck, n = given["tck"], given["n"]
    return tck.antiderivative(n) if isinstance(tck, interpolate.BSpline) else _derived_fitpack(tck, -n)


def _by_name(compute: Callable[..., Any]) -> Making:
    """Lead a function to `compute` with its arguments by name, where something in them is recorded."""

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            parts = [part.tck if isinstance(part, interpolate.BSpline) else part for part in bound.arguments.values()]
            if not holds_face(parts):
                return original(*args, **kwargs)
            found = compute(original, bound.arguments)
            return original(*args, **kwargs) if found is NotImplemented else found

        return call

    return making


EXTRAPOLATED = {name: k for k, name in enumerate(("extrapolate", "zeros", "raise", "const"))}
"""What FITPACK's splines are beyond their ends."""


def at_places(t: Any, c: Any, k: int, x: Any, nu: int, ext: Any) -> Any:
    """A spline of FITPACK's.

    Raises:
        ValueError: for a place beyond the ends where that is asked for.
    """
    x, ext = places(x), EXTRAPOLATED.get(ext, ext)
    first, last = t[k], t[len(t) - k - 1]
    if ext == 2 and not holds(lambda inside: inside, (x >= first) & (x <= last)):
        raise ValueError("Found x value not in the domain")
    z = of_splines(t, c, k, np.clip(x, first, last) if ext == 3 else x, nu)
    return np.where((x < first) | (x > last), 0.0, z) if ext == 1 else z


def _univariate(self: Any, x: Any, y: Any, w: Any, **given: Any) -> Any:
    """A spline of FITPACK's through recorded values, with the knots that it has through others."""
    t, _, k = self._eval_args
    if given.get("s", 0) != 0:  # it chooses knots by the values
        return NotImplemented
    how = {"w": w} if "t" in given else {}
    original = interpolate.make_lsq_spline if how else interpolate.make_interp_spline
    found = by_units(original, {"x": x, "y": y, "t": t, "k": k, "axis": 0, **how})
    self._eval_args = t, np.concatenate([found.c, np.zeros(k + 1)]), k
    self._data = (*[None] * 5, k, None, len(t), t, self._eval_args[1], *[None] * 4)
    return None


def _has_recorded_spline(self: Any, args: Any) -> bool:
    return any(isinstance(part, Face) for part in self._eval_args)


def _of_univariate(self: Any, x: Any, nu: int, ext: Any) -> Any:
    t, c, k = self._eval_args
    return at_places(t, c, k, x, nu, self.ext if ext is None else ext)


def _derived_univariate(self: Any, n: int) -> Any:
    return interpolate.UnivariateSpline._from_tck(
        _derived_fitpack(self._eval_args, n), 1 if self.ext == 3 else self.ext
    )


def _summed_univariate(self: Any, n: int) -> Any:
    return interpolate.UnivariateSpline._from_tck(_derived_fitpack(self._eval_args, -n), self.ext)


def _integral_of_univariate(self: Any, a: Any, b: Any) -> Any:
    t, c, k = self._eval_args
    return integral(t, c, k, a, b, False)[()]


def _derived_fitpack(tck: Any, n: int) -> Any:
    t, c, k = tck
    t, c, k = derived_splines(t, c, k, n) if n >= 0 else summed(t, c, k, -n)
    return t, c[: len(t) - k - 1] if len(c) > len(t) else np.concatenate([c, np.zeros(len(t) - len(c))]), k


FITPACK: dict[str, Making] = {
    **dict.fromkeys(("make_interp_spline", "make_lsq_spline", "make_smoothing_spline"), _linear),
    "splrep": _by_name(_splrep), "splev": _by_name(_splev), "splint": _by_name(_splint),
    "splder": _by_name(_splder), "splantider": _by_name(_splantider),
}  # fmt: skip
"""By name of a function of `scipy.interpolate`, what makes what stands for it."""


def of_fitpack(module: Any) -> Iterator[tuple[type, str, Making]]:
    """The methods of FITPACK's splines that record."""
    univariate = functools.partial(method, _has_recorded_spline)
    for kind in (module.UnivariateSpline, module.InterpolatedUnivariateSpline, module.LSQUnivariateSpline):
        yield kind, "__init__", constructor(_univariate, "x", "w", "t", "bbox")
    yield module.UnivariateSpline, "__call__", univariate(_of_univariate)
    yield module.UnivariateSpline, "derivative", univariate(_derived_univariate)
    yield module.UnivariateSpline, "antiderivative", univariate(_summed_univariate)
    yield module.UnivariateSpline, "roots", univariate(refused("UnivariateSpline.roots"))
    yield module.UnivariateSpline, "integral", univariate(_integral_of_univariate)
