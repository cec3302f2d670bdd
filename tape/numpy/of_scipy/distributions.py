"""Densities and distribution functions of `scipy.stats` on recorded arrays.

SciPy's methods sort their arguments by what lies in the support, in plain arrays.  A distribution's own formulas
(``_logpdf``, ``_cdf`` and so on) are written in ufuncs, which record.  So the sorting is done here, and the formulas
are SciPy's; one that asks for plain arrays refuses what carries a gradient, as elsewhere.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ops

from ...base.rooms import Room
from ...base.tensor import Face
from ..arrays.explaining import has_lanes
from ..arrays.face import array, face, faces, stop_gradient
from ..arrays.face_base import numpy
from ..arrays.leaving import carries, refusal
from ..arrays.unwrapping import bare, holds_face, tensor_of
from ..constructors import as_array, gathered, recordable
from ..mathematics import holds
from .recorded_parts import Making

OUTSIDE: dict[str, tuple[float, float]] = {
    "pdf": (0.0, 0.0), "logpdf": (-np.inf, -np.inf), "pmf": (0.0, 0.0), "logpmf": (-np.inf, -np.inf),
    "cdf": (0.0, 1.0), "logcdf": (-np.inf, 0.0), "sf": (1.0, 0.0), "logsf": (0.0, -np.inf),
}  # fmt: skip
"""By method, what it is below and above the support."""
SCALED = {"pdf": lambda p, scale: p / scale, "logpdf": lambda p, scale: p - np.log(scale)}
"""The methods whose results depend on the scale itself."""
CONTINUOUS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
DISCRETE = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")


def of_stats(module: Any) -> Iterator[tuple[type, str, Making]]:
    """The methods of SciPy's distributions that record."""
    for name in CONTINUOUS:
        yield module.rv_continuous, name, _method(name, _answer)
    for name in DISCRETE:
        yield module.rv_discrete, name, _method(name, _answer)
    for name in ("ppf", "isf"):
        yield module.rv_continuous, name, _method(name, _quantile)
    yield next(kind for kind in module.rv_continuous.__mro__ if "rvs" in vars(kind)), "rvs", _drawn
    for name, formulas in FORMULAS.items():
        kind = type(getattr(module, name))
        for method, formula in formulas.items():
            if method in vars(kind):
                yield kind, method, _by_formula(formula)
    normal = type(module.multivariate_normal)
    yield normal, "logpdf", _normal(lambda log: log)
    yield normal, "pdf", _normal(np.exp)
    yield normal, "entropy", _entropy_of_normal
    dirichlet = type(module.dirichlet)
    yield dirichlet, "logpdf", _dirichlet(lambda log: log)
    yield dirichlet, "pdf", _dirichlet(np.exp)


special = Room("scipy.special")


def _by_logarithm(self: Any, x: Any, *shapes: Any) -> Any:
    return np.exp(getattr(self, "_logpmf" if hasattr(self, "_logpmf") else "_logpdf")(x, *shapes))


def _at_most(self: Any, k: Any, n: Any, p: Any) -> Any:
    left = n - np.floor(k)
    return np.where(left > 0, special.betainc(np.maximum(left, 1), np.floor(k) + 1, 1 - p), 1.0)


def _more(self: Any, k: Any, n: Any, p: Any) -> Any:
    left = n - np.floor(k)
    return np.where(left > 0, special.betaincc(np.maximum(left, 1), np.floor(k) + 1, 1 - p), 0.0)


def _as_f(y: Any, m: Any, n: Any) -> Any:
    return n * y / (m * (1 - y))


FORMULAS: dict[str, dict[str, Callable[..., Any]]] = {
    "beta": {
        "_pdf": _by_logarithm, "_ppf": lambda self, q, a, b: special.betaincinv(a, b, q),
        "_isf": lambda self, q, a, b: 1 - special.betaincinv(b, a, q),
    },
    "f": {
        "_cdf": lambda self, x, m, n: special.betainc(m / 2, n / 2, m * x / (m * x + n)),
        "_sf": lambda self, x, m, n: special.betainc(n / 2, m / 2, n / (m * x + n)),
        "_ppf": lambda self, q, m, n: _as_f(special.betaincinv(m / 2, n / 2, q), m, n),
    },
    "chi2": {"_isf": lambda self, q, n: 2 * special.gammainccinv(n / 2, q)},
    "cauchy": {
        "_ppf": lambda self, q: np.tan(np.pi * (q - 0.5)), "_isf": lambda self, q: np.tan(np.pi * (0.5 - q)),
    },
    "binom": {"_pmf": _by_logarithm, "_cdf": _at_most, "_sf": _more},
    "nbinom": {
        "_pmf": _by_logarithm, "_cdf": lambda self, k, n, p: special.betainc(n, np.floor(k) + 1, p),
        "_sf": lambda self, k, n, p: special.betaincc(n, np.floor(k) + 1, p),
    },
    "poisson": {
        "_cdf": lambda self, k, mu: special.gammaincc(np.floor(k) + 1, mu),
        "_sf": lambda self, k, mu: special.gammainc(np.floor(k) + 1, mu),
    },
}  # fmt: skip
"""By distribution and method, the formulas where SciPy's own is in C code that has no derivative."""


def _by_formula(formula: Callable[..., Any]) -> Making:
    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self: Any, *args: Any) -> Any:
            return (formula if holds_face(args) else original)(self, *args)

        return method

    return making


def _method(name: str, answer: Callable[..., Any]) -> Making:
    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        first = [*inspect.signature(original).parameters][1]  # x; k of a whole number, q of a share

        @functools.wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if holds_face([*args, *kwargs.values()]) and (args or first in kwargs):
                named = dict(kwargs)
                x, *shapes = args or [named.pop(first)]
                result = answer(self, name, _array(gathered(x)), *shapes, **named)
                if result is not NotImplemented:
                    return result
            return original(self, *args, **kwargs)

        return method

    return making


def _answer(self: Any, name: str, x: Any, *args: Any, **kwargs: Any) -> Any:
    """What a method gives, NotImplemented where the parameters are none of the distribution."""
    shapes, loc, scale = _arguments(self, *args, **kwargs)
    y = (x - loc) / scale if name in SCALED or not name.endswith("mf") else x - loc
    y = y.astype(np.promote_types(y.dtype, float), copy=False)
    if not _all(scale > 0) or not all(_all(c) for c in _conditions(self, shapes)):
        return NotImplemented
    low, high = self._get_support(*shapes)
    inside = _inside(y, low, high, name)
    if inside is None:
        return _finished(self, name, y, shapes, scale)
    below, above = OUTSIDE[name]
    if has_lanes(inside):
        y_inside = np.where(inside, y, _somewhere(low, high, name))
        outside = np.where(np.isnan(y), np.nan, np.where(y < low, below, above))
        return np.where(inside, _finished(self, name, y_inside, shapes, scale), outside)
    parts = [face(tensor_of(p)) for p in np.broadcast_arrays(*map(_array, (y, *shapes, scale)))]
    outside = np.where(np.isnan(parts[0]), np.nan, np.where(parts[0] < low, below, above))
    result = outside * array(tensor_of(np.ones(parts[0].shape)))
    if np.any(inside):
        y, *shapes, scale = [p[inside] for p in parts]
        result[inside] = _finished(self, name, y, tuple(shapes), scale)
    return result if result.ndim else result[()]


def chosen_by_lanes(original: Callable[..., Any]) -> Callable[..., Any]:
    """`apply_where` of SciPy's: one formula where a condition holds, another or a number elsewhere.

    SciPy selects by masks what each of them gets.  Where lanes differ in the condition both get everything, and what is
    not chosen has no effect on gradients.
    """

    @functools.wraps(original)
    def choose(cond: Any, args: Any, f1: Any, f2: Any = None, /, **named: Any) -> Any:
        if not has_lanes(cond):
            return original(cond, args, f1, f2, **named)
        given = args if isinstance(args, tuple) else (args,)
        with np.errstate(all="ignore"):  # SciPy computes neither where it is not chosen
            return np.where(cond, f1(*given), named["fill_value"] if f2 is None else f2(*given))

    return choose


def _drawn(original: Callable[..., Any]) -> Callable[..., Any]:
    """`rvs`: SciPy moves and stretches what it has drawn, which records; with other parameters it draws in C code."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if holds_face([*args, *kwargs.values()]):
            named = (self.shapes or "").replace(",", " ").split()
            shapes = [*args[: self.numargs], *[kwargs[name] for name in named if name in kwargs]]
            if any(isinstance(x, Face) and carries(x._tensor) for x in shapes):
                raise refusal("a parameter beside loc and scale", f"scipy.stats.{self.name}.rvs")
        return original(self, *args, **kwargs)

    return method


def _quantile(self: Any, name: str, q: Any, *args: Any, **kwargs: Any) -> Any:
    """What `ppf` or `isf` gives of shares between 0 and 1, NotImplemented of others."""
    shapes, loc, scale = _arguments(self, *args, **kwargs)
    if not (_all(q > 0) and _all(q < 1) and _all(scale > 0) and all(_all(c) for c in _conditions(self, shapes))):
        return NotImplemented
    return getattr(self, f"_{name}")(q, *shapes) * scale + loc


def _arguments(self: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
    """Shapes, loc and scale, of which a number counts as an array in dtypes: beside it, 32 bits are not enough."""
    shapes, loc, scale = self._parse_args(*args, **kwargs)
    return shapes, _array(loc), _array(scale)


def _array(x: Any) -> Any:
    return x if isinstance(x, Face) else np.asarray(x)


def _all(condition: Any) -> bool:
    """Whether something holds everywhere, in all lanes."""
    return holds(lambda c: c, condition)


def _conditions(self: Any, shapes: tuple[Any, ...]) -> list[Any]:
    """What must hold of the parameters: SciPy's default is that all are positive."""
    default = next(vars(kind)["_argcheck"] for kind in type(self).__mro__[::-1] if "_argcheck" in vars(kind))
    if type(self)._argcheck is default:
        return [x > 0 for x in shapes]
    return [self._argcheck(*shapes)]


def _inside(y: Any, low: Any, high: Any, name: str) -> Any:
    """Where the formula holds, None for everywhere."""
    if all(not isinstance(end, Face) and np.all(np.isinf(end)) for end in (low, high)):
        return None
    inside = (y >= low) & (y <= high) & ((np.floor(y) == y) | (not name.endswith("pmf")))
    return None if _all(inside) else inside


def _somewhere(low: Any, high: Any, name: str) -> Any:
    """A point within the support, for the formula where it does not hold; nothing comes of it."""
    starts, ends = np.isfinite(low), np.isfinite(high)
    first, last = np.where(starts, low, 0.0), np.where(ends, high, 0.0)
    middle = (first + last) / 2
    point = np.where(starts & ends, middle, np.where(starts, first + 1, np.where(ends, last - 1, 0.0)))
    return np.floor(point) if name.endswith("mf") else point


def _finished(self: Any, name: str, y: Any, shapes: tuple[Any, ...], scale: Any) -> Any:
    """The distribution's own formula, with its scale."""
    found = getattr(self, f"_{name}")(y, *shapes)
    return SCALED[name](found, scale) if name in SCALED else found


def _normal(finish: Callable[[Any], Any]) -> Making:
    """`scipy.stats.multivariate_normal`; of the covariance SciPy reads the lower triangle, and so does this."""

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self: Any, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
            if not holds_face([x, mean, cov]):
                return original(self, x, mean, cov, allow_singular)
            given = [None if y is None else as_array(y).astype(float) for y in (x, mean, cov)]
            parts = _singular if allow_singular and np.ndim(cov) == 2 else _regular
            return finish(_log_normal(parts, *given))

        return method

    return making


Parts = tuple[Any, Any, Any]


def _log_normal(parts: Callable[..., Parts], x: Any, mean: Any, cov: Any) -> Any:
    """−(k log 2π + log det Σ + dᵀ Σ⁻¹ d)/2 with d = x − mean; Σ has the rank k.

    Raises:
        LinAlgError: if Σ is not positive definite.
        ValueError: if it may be singular, and is not positive semidefinite.
    """
    n = max(np.size(mean) if mean is not None and np.ndim(mean) else 1, np.shape(cov)[-1] if np.ndim(cov) else 1)
    mean = np.zeros(n) if mean is None else mean
    x = numpy.reshape(x, (-1, 1)) if n == 1 and np.ndim(x) == 1 else x
    apart = x - mean
    rank, log_det, squares = parts(cov, n, numpy.reshape(apart, (-1, n)).T)
    found = -0.5 * (rank * np.log(2 * np.pi) + log_det + squares)
    found = np.squeeze(numpy.reshape(found, np.shape(apart)[:-1]))
    return found if found.ndim else found[()]


def _regular(cov: Any, n: int, apart: Any) -> Parts:
    """The rank n, log det Σ and dᵀ Σ⁻¹ d, by Σ = L Lᵀ."""
    root = _root_of(cov, n)
    whitened = numpy.linalg.solve(root, apart)
    return n, _log_det(root), (whitened * whitened).sum(0)


def _singular(cov: Any, n: int, apart: Any) -> Parts:
    """The same within what Σ spans; beside that, dᵀ Σ⁻¹ d is infinite.  What is small counts as 0, as SciPy has it."""
    cov = np.tril(cov) + np.tril(cov, -1).T
    s, share = numpy.linalg.eigvalsh(stop_gradient(cov)), 1e6 * np.finfo(float).eps
    least = share * np.max(np.abs(s))
    if not _all(s >= -least):
        raise ValueError("The input matrix must be symmetric positive semidefinite.")
    inverse = faces(ops.pinv(bare(cov), rcond=share))
    spanned = cov @ inverse
    log_det = numpy.linalg.slogdet(cov + np.eye(n) - spanned)[1]
    is_inside = ((stop_gradient(apart - spanned @ apart)) ** 2).sum(0) < (1e3 * least) ** 2
    return (s > least).sum(), log_det, np.where(is_inside, (apart * (inverse @ apart)).sum(0), np.inf)


def _root_of(cov: Any, n: int) -> Any:
    """L of Σ = L Lᵀ, whose diagonal may be given alone, or one number for all of it."""
    if np.ndim(cov) == 2:
        return numpy.linalg.cholesky(np.tril(cov) + np.tril(cov, -1).T)
    return numpy.linalg.cholesky(recordable(np.eye(n)) * cov)


def _log_det(root: Any) -> Any:
    return 2 * np.log(numpy.diagonal(root)).sum()


def _entropy_of_normal(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, mean: Any = None, cov: Any = 1) -> Any:
        if not holds_face([mean, cov]):
            return original(self, mean, cov)
        n = max(np.size(mean) if mean is not None else 1, np.shape(cov)[-1] if np.ndim(cov) else 1)
        return 0.5 * (n * (np.log(2 * np.pi) + 1) + _log_det(_root_of(as_array(cov).astype(float), n)))

    return method


def _dirichlet(finish: Callable[[Any], Any]) -> Making:
    """`scipy.stats.dirichlet`: log p = Σ (αₖ − 1) log xₖ + log Γ(Σ αₖ) − Σ log Γ(αₖ)."""

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def method(self: Any, x: Any, alpha: Any) -> Any:
            if not holds_face([x, alpha]):
                return original(self, x, alpha)
            x, alpha = (as_array(y).astype(float) for y in (x, alpha))
            if x.ndim not in (1, 2) or alpha.ndim != 1 or len(alpha) - len(x) not in (0, 1):
                return original(self, x, alpha)
            if len(x) < len(alpha):
                x = np.concatenate((x, 1 - x.sum(0, keepdims=True)))
            if not _is_on_simplex(x, alpha):
                raise ValueError(
                    "dirichlet: alpha must be positive, and the entries of x between 0 and 1, with a sum of 1; 0 is no "
                    "entry where alpha is less than 1"
                )
            logs = faces(ops.xlogy(bare(alpha - 1), bare(x.T))).T.sum(0)
            found = np.squeeze(logs + _log_gamma(alpha.sum()) - _log_gamma(alpha).sum())
            return finish(found if found.ndim else found[()])

        return method

    return making


def _is_on_simplex(x: Any, alpha: Any) -> bool:
    """Whether SciPy takes these entries and parameters."""
    least = np.where(alpha < 1, np.nextafter(0.0, 1.0), 0.0).reshape(-1, *(1,) * (x.ndim - 1))
    return _all(alpha > 0) and _all((x >= least) & (x <= 1)) and _all(np.abs(x.sum(0) - 1) <= 1e-9)


def _log_gamma(x: Any) -> Any:
    return faces(ops.lgamma(bare(x)))
