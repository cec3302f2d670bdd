"""Roots, minima and integrals of functions of the user's, of which SciPy computes plain numbers.

SciPy's number is the value.  Its derivatives, by whatever the function reads, are those of Newton's steps from there,
or of a sum over the intervals into which SciPy has divided the integral: nothing has to be said of what is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.rooms import Room
from ..func import grad, jacfwd
from ..numpy.arrays.face import stop_gradient
from ..numpy.arrays.face_base import numpy
from ..numpy.arrays.leaving import Left, asked
from ..numpy.arrays.unwrapping import holds_face
from ..numpy.constructors import as_array
from ..numpy.mathematics import holds
from ..recording.wengert import current
from .differential_equations import Lanes, Plain, arguments, is_small, numbers

STEPS = 4
"""Newton's steps from a root.  Each doubles the order to which derivatives are right: these give the first fifteen."""
RULES = [np.polynomial.legendre.leggauss(n) for n in (20, 14)]
"""Nodes and weights on [−1, 1] of a sum, and of one that is close to it where both are exact."""


def refused(name: str, why: str, instead: str) -> Left:
    return Left(f"{name} {why}.\n  at {asked()[0]}\n{instead}")


HOLDING = (
    "constraints", "eqcons", "f_eqcons", "ieqcons", "f_ieqcons", "integrality", "vectorized"
)  # fmt: skip
"""Arguments by which the place that is found need not be a root, or the function is one of several places."""


def solved(original: Callable[..., Any], args: Any, kwargs: Any, residual: Any) -> Any:
    """What a function of `scipy.optimize` gives, with the derivatives of the place at which ``residual(f)`` is 0.

    A bound holds an unknown that would go beyond it, which is as far as the bound then.

    Raises:
        TypeError: for a place that constraints may hold; in lanes of vmap; if it is no root.
    """
    name, given = f"scipy.optimize.{original.__name__}", arguments(original, args, kwargs)
    unknown = next(iter(given))
    function = given[unknown]
    if original.__name__ == "basinhopping":
        given |= given["minimizer_kwargs"] or {}
    more = given.get("args", ())
    more = more if isinstance(more, tuple) else (more,)
    plain, bound = Plain(function), inspect.signature(original).bind(*args, **kwargs)
    try:
        for k, x in bound.arguments.items():
            bound.arguments[k] = Plain(x) if callable(x) else x if k == "args" else numbers(x)
        bound.arguments[unknown] = plain
        found = original(*bound.args, **bound.kwargs)
        bounds = (given["x1"], given["x2"]) if "x2" in given else given.get("bounds")
        bounds = ends_of(bounds, original.__name__ not in ("minimize_scalar", "fminbound"))
        if not plain.is_recorded and not holds_face(bounds):
            return found
    except Lanes:
        raise refused(name, "computes for one lane of vmap at a time", "Call it in a loop.") from None
    held = [k for k in HOLDING if np.size(given.get(k) or ())]
    if held:
        raise refused(name, f"has no derivatives with {', '.join(held)}", "Substitute, or solve for a root.")
    gives_slope = given.get("jac") is True or (given.get("fprime") is None and not given.get("approx_grad", True))
    value = lambda x: as_array(function(x, *more)[0] if gives_slope else function(x, *more))  # noqa: E731
    is_result, first = hasattr(found, "success") or hasattr(found, "root"), found
    if is_result:
        first = found.x if hasattr(found, "x") else found.root
    elif isinstance(found, tuple):
        first = found[0]
    x = at_root(residual(value), first, name, bounds)
    if is_result:
        found["x" if hasattr(found, "x") else "root"] = x
        if "fun" in found and residual is slope_of:
            found.fun = found.fun + _no_number(value(x), found.fun)
        return found
    if isinstance(found, tuple) and residual is slope_of and original.__name__ != "fmin_tnc":
        return (x, found[1] + _no_number(value(x), found[1]), *found[2:])
    return (x, *found[1:]) if isinstance(found, tuple) else x


def _no_number(value: Any, like: Any) -> Any:
    """0, with the derivatives of a value."""
    return numpy.reshape(value - stop_gradient(value), np.shape(like))


def ends_of(bounds: Any, in_pairs: bool = False) -> tuple[Any, ...]:
    """The least and the largest values of all unknowns, which some functions have in pairs; nothing of no bounds."""
    if bounds is None or (isinstance(bounds, (tuple, list)) and not bounds):
        return ()
    if hasattr(bounds, "lb"):
        return bounds.lb, bounds.ub
    if not in_pairs:
        return tuple(map(as_array, bounds))
    none = np.array([-np.inf, np.inf])
    sides = [[none[k] if pair[k] is None else pair[k] for pair in bounds] for k in (0, 1)]
    return tuple(map(as_array, sides))


NEAR, STILL = 1e-3, 1e-4
"""How near a bound an unknown lies that the bound holds, and how far from there it would go if it did not."""


def _held(f: Callable[[Any], Any], x: Any, bounds: tuple[Any, ...]) -> tuple[Any, Any]:
    """Which unknowns bounds hold, against a slope of what is minimised, and the values of these bounds."""
    slope, steep = numbers(f(x)), numbers(jacfwd(f)(x))
    low, high = [np.broadcast_to(np.asarray(numbers(end), float), x.shape) for end in bounds]
    is_moving = np.abs(slope) > STILL * (1 + np.abs(x)) * np.abs(steep if not x.ndim else np.diagonal(steep))
    near = [np.abs(x - end) <= NEAR * (1 + np.where(np.isinf(end), 0.0, np.abs(end))) for end in (low, high)]
    at_low, at_high = near[0] & (slope > 0) & is_moving, near[1] & (slope < 0) & is_moving
    ends = [np.broadcast_to(as_array(end), x.shape) for end in bounds]
    return at_low | at_high, np.where(at_low, ends[0], np.where(at_high, ends[1], 0.0))


def at_root(f: Callable[[Any], Any], known: Any, name: str, bounds: tuple[Any, ...] = ()) -> Any:
    """A root as it is known, with derivatives by what the function reads.

    Args:
        bounds: ends of what the unknowns may be, if the function is the slope of what is minimised.

    Raises:
        TypeError: if there is none.
    """
    x: Any = np.asarray(known, float)
    if bounds:
        held, base = _held(f, x, bounds)
        if np.any(held):
            spread, free = np.eye(x.size)[:, np.ravel(~held)], ~held
            inner = lambda u: f(base + (spread @ u).reshape(x.shape))[free]  # noqa: E731
            beside = at_root(inner, x[free], name) if np.any(free) else np.zeros(0)
            x = base + (spread @ beside).reshape(x.shape)
            x = known + (x - stop_gradient(x))
            return x if np.ndim(known) else x[()]
    for _ in range(STEPS):
        y, slope = f(x), jacfwd(f)(x)
        step = y / slope if not x.ndim else np.linalg.solve(slope.reshape(x.size, x.size), y.reshape(x.size))
        x = x - (step := step.reshape(x.shape))
    far, last = np.abs(stop_gradient(x) - known), np.abs(stop_gradient(step))
    if not holds(lambda share: share < 1.0, (far / 1e-3 + last / 1e-10) / (1 + np.abs(known))):
        raise refused(name, "has found no root, or a multiple one, without derivatives", "Look at what it returned.")
    x = known + (x - stop_gradient(x))
    return x if np.ndim(known) else x[()]


def root(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function that looks for a root."""
    return solved(original, args, kwargs, lambda f: f)


def fixed_point(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`scipy.optimize.fixed_point`."""
    return solved(original, args, kwargs, lambda f: lambda x: f(x) - x)


def minimum(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function that looks for a minimum, which is a root of the gradient unless a bound or a constraint holds it."""
    return solved(original, args, kwargs, slope_of)


def slope_of(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return grad(lambda x: f(x).reshape(()))


def quad(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`scipy.integrate.quad`.

    Raises:
        TypeError: with a weight; in lanes of vmap; where SciPy has extrapolated.
    """
    given = arguments(original, args, kwargs)
    function, more = given["func"], given["args"]
    more = more if isinstance(more, tuple) else (more,)
    plain = Plain(function)
    try:
        rest = {k: numbers(x) for k, x in given.items() if k not in ("func", "args")}
        found = original(plain, **rest, args=more)
        if not plain.is_recorded and not holds_face([given["a"], given["b"]]):
            return found
    except Lanes:
        raise refused("scipy.integrate.quad", "computes for one lane of vmap at a time", "Call it in a loop.") from None
    if given["weight"] is not None or given["complex_func"]:
        raise refused("scipy.integrate.quad", "has derivatives without weight and complex_func", "Write f(x) w(x) out.")
    info = original(plain, **rest | {"full_output": 1}, args=more)[2]
    ends = np.stack([info["alist"][: info["last"]], info["blist"][: info["last"]]], axis=1)
    scaled, ends = _scaled(given["a"], given["b"], ends, lambda x: as_array(function(x, *more)))
    for _ in range(7):
        mark = current().next()
        sums = [[w / 2 * (hi - lo) * scaled((lo + hi + (hi - lo) * x) / 2) for lo, hi in ends for x, w in zip(*rule)]
                for rule in RULES]  # fmt: skip
        value, close = (np.sum(np.stack(parts)) for parts in sums)
        if is_small([value - close], sums[0], mark):
            near = 1e-6 * abs(found[0]) + 99 * found[1]
            if holds(lambda beyond: beyond <= 0.0, np.abs(stop_gradient(value) - found[0]) - near):
                return found[0] + (value - stop_gradient(value)), *found[1:]
            break
        middle = ends.mean(axis=1)
        ends = np.stack([np.concatenate([ends[:, 0], middle]), np.concatenate([middle, ends[:, 1]])], axis=1)
    raise refused(
        "scipy.integrate.quad", "has extrapolated, or the derivative is rougher than the integrand",
        "Substitute so that the integrand is smooth, or write the sum out with np.polynomial.legendre.leggauss.",
    )  # fmt: skip


integrate = Room("scipy.integrate")


def dblquad(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`scipy.integrate.dblquad`."""
    given = arguments(original, args, kwargs)
    edge = lambda end: end if callable(end) else lambda *_: end  # noqa: E731
    low, high = edge(given["gfun"]), edge(given["hfun"])
    ranges = [lambda y, *_: (low(y), high(y)), (given["a"], given["b"])]
    options = [{"epsabs": given["epsabs"], "epsrel": given["epsrel"]}] * 2
    return _nested(original, args, kwargs, given["func"], ranges, options, given["args"])


def nquad(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`scipy.integrate.nquad`, with derivatives in one and two dimensions."""
    given = arguments(original, args, kwargs)
    ranges, options = list(given["ranges"]), given["opts"]
    if callable(options) or (isinstance(options, (list, tuple)) and any(map(callable, options))) or len(ranges) > 2:
        return original(*args, **kwargs)
    options = list(options) if isinstance(options, (list, tuple)) else [options or {}] * len(ranges)
    return _nested(original, args, kwargs, given["func"], ranges, options, given["args"] or ())


def _nested(
    original: Callable[..., Any], args: Any, kwargs: Any, func: Any, ranges: list[Any], options: list[Any], more: Any
) -> Any:
    more = more if isinstance(more, tuple) else (more,)
    plain = inspect.signature(original).bind(*args, **kwargs)
    told = [Plain(func)]
    for k, x in plain.arguments.items():
        if k == "ranges":
            x = [Plain(r) if callable(r) else r for r in x]  # noqa: PLW2901
            told += [r for r in x if isinstance(r, Plain)]
        elif callable(x) and k != "func":
            told.append(Plain(x))
            x = told[-1]  # noqa: PLW2901
        plain.arguments[k] = told[0] if k == "func" else x if k == "args" else numbers(x)
    found = original(*plain.args, **plain.kwargs)
    ends = [r for r in ranges if not callable(r)]
    if not any(f.is_recorded for f in told) and not holds_face([ends, more]):
        return found

    def over(k: int, behind: tuple[Any, ...]) -> Any:
        """The integral over the first k + 1 variables."""
        low, high = ranges[k](*behind, *more) if callable(ranges[k]) else ranges[k]
        inner = (lambda x: func(x, *behind, *more)) if k == 0 else (lambda x: over(k - 1, (x, *behind)))
        return quad(integrate.quad, inner, low, high, **options[k])[0]

    value = over(len(ranges) - 1, ())
    return found[0] + _no_number(value, found[0]), *found[1:]


def _scaled(a: Any, b: Any, ends: Any, f: Callable[[Any], Any]) -> tuple[Callable[[float], Any], Any]:
    """The integrand as a function on [0, 1], and the intervals there, which QUADPACK has of infinite ones already."""
    low, high = numbers((a, b))
    if np.isinf(low) and np.isinf(high):
        sign = 1.0 if low < high else -1.0
        return lambda t: sign * (f((1 - t) / t) + f((t - 1) / t)) / t**2, ends
    if np.isinf(high) or np.isinf(low):
        start, end = (a, high) if np.isinf(high) else (b, low)
        away, sign = np.sign(end), np.sign(high - low)
        return lambda t: sign * f(start + away * (1 - t) / t) / t**2, ends
    if low == high:
        return lambda t: (b - a) * f(a + (b - a) * t), np.array([[0.0, 1.0]])
    return lambda t: (b - a) * f(a + (b - a) * t), np.sort((ends - low) / (high - low), axis=1)
