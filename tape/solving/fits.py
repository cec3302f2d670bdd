"""Least squares of `scipy.optimize` on recorded values: `least_squares`, `leastsq`, `curve_fit`, `nnls`.

SciPy finds the parameters with plain numbers.  Their derivatives are those of the place at which the slope of the sum
of squares is 0, with respect to all that the function reads, and to the data.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..func import jacfwd
from ..numpy.arrays.face import stop_gradient
from ..numpy.arrays.face_base import numpy
from ..numpy.arrays.unwrapping import holds_face
from ..numpy.constructors import as_array
from .differential_equations import Lanes, Plain, arguments, numbers
from .roots_and_integrals import at_root, ends_of, refused, slope_of

LOSSES: dict[str, Callable[[Any], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0),
    "huber": lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.where(z <= 1.0, 1.0, z)) - 1.0),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}
"""What is summed in the place of squares of residuals."""


def _as_it_is(known: Any, recorded: Any) -> Any:
    """What SciPy has found, with derivatives."""
    return known + (recorded - stop_gradient(recorded))


def _found(name: str, original: Callable[..., Any], functions: dict[str, Any], given: dict[str, Any]) -> Any:
    """What SciPy's function gives of plain numbers."""
    try:
        return original(**numbers(given) | functions)
    except Lanes:
        raise refused(name, "computes for one lane of vmap at a time", "Call it in a loop.") from None


def _half_squares(residual: Callable[[Any], Any], loss: str = "linear", scale: Any = 1.0) -> Callable[[Any], Any]:
    return lambda p: 0.5 * (scale * scale * LOSSES[loss]((residual(p) / scale) ** 2)).sum()


def least_squares(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`scipy.optimize.least_squares`, with derivatives of ``x``, ``fun``, ``cost`` and ``jac``.

    Raises:
        TypeError: with a loss of the user's; in lanes of vmap; if what is found is no minimum.
    """
    given, name = arguments(original, args, kwargs), "scipy.optimize.least_squares"
    fun, more, named = given.pop("fun"), given["args"], given["kwargs"] or {}
    more = more if isinstance(more, tuple) else (more,)
    plain = Plain(fun)
    functions = {k: Plain(given.pop(k)) for k in ("jac", "loss", "callback") if callable(given.get(k))}
    rest = {k: given.pop(k) for k in ("args", "kwargs")}
    found = _found(name, original, functions | {"fun": plain} | rest, given)
    bounds = ends_of(given["bounds"])
    if not plain.is_recorded and not holds_face([bounds, given["f_scale"]]):
        return found
    if "loss" in functions:
        raise refused(name, "has no derivatives with a loss of one's own", "Minimise the sum with minimize.")
    residual = lambda p: numpy.reshape(as_array(fun(p, *more, **named)), (-1,))  # noqa: E731
    cost = _half_squares(residual, given["loss"], given["f_scale"])
    x = found.x = at_root(slope_of(cost), found.x, name, _where_any(bounds))
    found.fun, found.cost = _as_it_is(found.fun, residual(x)), _as_it_is(found.cost, cost(x))
    found.grad = _as_it_is(found.grad, slope_of(cost)(x))
    if type(found.jac) is np.ndarray and given["loss"] == "linear":
        found.jac = _as_it_is(found.jac, jacfwd(residual)(x))
    else:
        del found["jac"]  # which SciPy has scaled, or keeps without its zeros
    return found


def _where_any(bounds: tuple[Any, ...]) -> tuple[Any, ...]:
    return bounds if holds_face(bounds) or any(np.any(np.isfinite(end)) for end in bounds) else ()


def leastsq(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`scipy.optimize.leastsq`, with derivatives of the parameters and of their covariance.

    Raises:
        TypeError: in lanes of vmap; if what is found is no minimum.
    """
    given, name = arguments(original, args, kwargs), "scipy.optimize.leastsq"
    func, more = given.pop("func"), given.pop("args")
    more = more if isinstance(more, tuple) else (more,)
    plain = Plain(func)
    functions = {"Dfun": Plain(given.pop("Dfun"))} if given["Dfun"] is not None else {}
    found = _found(name, original, functions | {"func": plain, "args": more}, given)
    if not plain.is_recorded:
        return found
    residual = lambda p: numpy.reshape(as_array(func(p, *more)), (-1,))  # noqa: E731
    x = at_root(slope_of(_half_squares(residual)), found[0], name)
    if not given["full_output"]:
        return (x, *found[1:])
    covariance, info = found[1], found[2]
    info["fvec"] = _as_it_is(info["fvec"], residual(x))
    if covariance is not None:
        covariance = _as_it_is(covariance, _inverse(jacfwd(residual)(x)))
    return (x, covariance, info, *found[3:])


def _inverse(jacobian: Any) -> Any:
    return np.linalg.inv(jacobian.T @ jacobian)


def curve_fit(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`scipy.optimize.curve_fit`, with derivatives of the parameters and of their covariance.

    Raises:
        TypeError: with a loss or ``nan_policy="omit"``; in lanes of vmap; if what is found is no minimum.
    """
    given, name = arguments(original, args, kwargs), "scipy.optimize.curve_fit"
    f, more = given.pop("f"), given.pop("kwargs")
    plain = Plain(f)
    vars(plain)["__wrapped__"] = f  # SciPy counts its parameters
    functions = {"jac": Plain(given.pop("jac"))} if callable(given["jac"]) else {}
    found = _found(name, original, functions | {"f": plain}, given | more)
    data = given["xdata"], given["ydata"], given["sigma"], ends_of(given["bounds"])
    if not plain.is_recorded and not holds_face(data):
        return found
    if given["nan_policy"] == "omit" or more.get("loss", "linear") != "linear":
        raise refused(name, "has derivatives of the sum of squares alone", "Leave data out by hand, without a loss.")
    xdata, ydata, sigma, bounds = [as_array(x) if holds_face(x) and k < 3 else x for k, x in enumerate(data)]
    residual = _residual(f, xdata if not isinstance(xdata, (list, tuple)) else np.asarray(xdata), ydata, sigma)
    cost = _half_squares(residual)
    p = at_root(slope_of(cost), found[0], name, _where_any(bounds))
    covariance = found[1]
    if np.all(np.isfinite(covariance)):
        spread = _inverse(jacfwd(residual)(p))
        if not given["absolute_sigma"]:
            spread = spread * (2.0 * cost(p) / (as_array(ydata).size - len(found[0])))
        covariance = _as_it_is(covariance, spread)
    if given["full_output"]:
        found[2]["fvec"] = _as_it_is(found[2]["fvec"], residual(p))
    return (p, covariance, *found[2:])


def _residual(f: Callable[..., Any], xdata: Any, ydata: Any, sigma: Any) -> Callable[[Any], Any]:
    apart = lambda p: as_array(f(xdata, *p)) - ydata  # noqa: E731
    if sigma is None:
        return apart
    sigma = as_array(sigma)
    if sigma.ndim < 2:
        return lambda p: apart(p) / sigma
    return lambda p: numpy.linalg.solve(numpy.linalg.cholesky(sigma), apart(p))


def nnls(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """`scipy.optimize.nnls`: where the solution is positive it is that of the least squares of these columns.

    Raises:
        TypeError: in lanes of vmap.
    """
    given = inspect.signature(original).bind(*args, **kwargs).arguments
    a, b = given["A"], given["b"]
    found = _found("scipy.optimize.nnls", original, {}, given)
    if not holds_face([a, b]):
        return found
    a, b, positive = as_array(a), numpy.reshape(as_array(b), (-1,)), found[0] > 0
    if not positive.any():
        return found[0], _as_it_is(found[1], numpy.linalg.norm(b))
    x = numpy.linalg.lstsq(a[:, positive], b, rcond=None)[0]
    rest = numpy.linalg.norm(a[:, positive] @ x - b)
    return _as_it_is(found[0], np.eye(len(positive))[:, positive] @ x), _as_it_is(found[1], rest)
