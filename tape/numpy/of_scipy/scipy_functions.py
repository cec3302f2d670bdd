"""SciPy's functions that are no ufuncs on recorded arrays.

They are Python code around C, which asks for plain arrays.  A function that some op or function of NumPy's computes as
well is led there while a function of arrays is recorded; called with arguments that this does not cover, or with none
that is recorded, it is SciPy's own, which refuses recorded values (`leaving`).
"""

from __future__ import annotations

import csv
import functools
import inspect
import locale
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import ops

from ...base.rooms import opened
from ...base.tensor import Face
from ..arrays.array_text import read_back
from ..arrays.explaining import numpys_error
from ..arrays.face import faces
from ..arrays.unwrapping import bare, holds_face
from ..constructors import as_array, gathered
from .distances import DISTANCES
from .distributions import chosen_by_lanes, of_stats
from .recorded_parts import Making
from .scipy_grids import GRIDS
from .scipy_interpolate import INTERPOLATE, of_interpolate
from .scipy_linalg import LINALG
from .scipy_ndimage import NDIMAGE
from .scipy_resampling import RESAMPLING
from .scipy_signal import ALONG_AN_AXIS, SIGNAL, along_an_axis
from .sparse_matrices import of_sparse_matrices, spsolve


def recording(compute: Callable[..., Any]) -> Making:
    """Lead a function to `compute` if an argument is recorded; NotImplemented, or other arguments, lead back."""

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not holds_face(args) and not holds_face(list(kwargs.values())):
                return original(*args, **kwargs)
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return original(*args, **kwargs)
            result = compute(*[gathered(x) if type(x) is list else x for x in bound.args], **bound.kwargs)
            if result is not NotImplemented:
                return result
            wrong = numpys_error(original, args, kwargs)  # SciPy's own, rather than a refusal
            if wrong is not None:
                raise wrong
            return original(*args, **kwargs)

        return call

    signature = inspect.signature(compute)
    return making


def of_op(op: Any, *xs: Any, **params: Any) -> Any:
    """An op of recorded arrays, as arrays."""
    return faces(op(*bare(xs), **params))


def _logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    if return_sign:
        return NotImplemented
    if b is None:
        return of_op(ops.logsumexp, a, axis=_all(a, axis), keepdims=keepdims)
    a = np.where(np.equal(b, 0.0), -np.inf, a) if not isinstance(b, Face) else a
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(b * np.exp(a - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=_all(a, axis))


def _all(a: Any, axis: Any) -> Any:
    return tuple(range(np.ndim(a))) if axis is None else axis


def _log_softmax(x: Any, axis: Any = None) -> Any:
    if x.dtype.kind in "fc":
        return x - _logsumexp(x, axis, keepdims=True)
    below = _below_largest(x, axis)
    return below - np.log(np.sum(np.exp(below), axis, keepdims=True))


def _softmax(x: Any, axis: Any = None) -> Any:
    if x.dtype.kind in "fc":
        return np.exp(_log_softmax(x, axis))
    powers = np.exp(_below_largest(x, axis))
    return powers / np.sum(powers, axis, keepdims=True)


def _below_largest(x: Any, axis: Any) -> Any:
    """Whole numbers without the largest, in their dtype, in which they may wrap around."""
    return x - np.max(x, axis, keepdims=True)


def _polygamma(n: Any, x: Any) -> Any:
    if isinstance(n, Face) or np.ndim(n) or int(n) != n or n < 0 or x.dtype.kind == "c":
        return NotImplemented
    found = of_op(ops.polygamma, x.astype(float, copy=False), n=int(n)) if n else _special().psi(x)
    return found.astype(float, copy=False)


def _multigammaln(a: Any, d: Any) -> Any:
    if isinstance(d, Face):
        return NotImplemented
    if a.dtype != np.float64 and _adds_in_doubles(a.dtype):
        a = a.astype(float)
    return of_op(ops.mvlgamma, a, p=int(d)).astype(float, copy=False)


@functools.cache
def _adds_in_doubles(dtype: np.dtype[Any]) -> bool:
    """Whether SciPy's `multigammaln` computes with such numbers in 64 bits, as it does from 1.18 on."""
    return bool(_special().multigammaln(np.full(1, 3, dtype), 1)[0] == _special().multigammaln(3.0, 1))


def _zeta(x: Any, q: Any = None) -> Any:
    return NotImplemented if q is None else of_op(ops.REGISTRY["special_zeta"], x, q)


def _factorial(n: Any, exact: bool = False) -> Any:
    if exact or n.dtype.kind in "bc":
        return NotImplemented
    return np.where(n < 0, 0.0, _special().gamma(n + 1).astype(float, copy=False))


def _comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    N, k = as_array(N), as_array(k)
    if exact or repetition or "c" in (N.dtype.kind, k.dtype.kind):
        return NotImplemented
    return np.where((k <= N) & (N >= 0) & (k >= 0), _special().binom(N, k), 0.0)


def _special() -> Any:
    """SciPy's module, whose ufuncs say in which dtypes they compute; whoever calls one of its functions has it."""
    return sys.modules["scipy.special"]


SPECIAL: dict[str, Callable[..., Any]] = {
    "logsumexp": _logsumexp,
    "log_softmax": _log_softmax,
    "softmax": _softmax,
    "softplus": lambda x: np.logaddexp(0, x),
    "polygamma": _polygamma,
    "multigammaln": _multigammaln,
    "zeta": _zeta,
    "factorial": _factorial,
    "comb": _comb,
}


def _transform(name: str) -> Callable[..., Any]:
    """A function of `scipy.fft` by that of NumPy's: it may do its work elsewhere, and overwrite what is its own."""
    theirs = getattr(np.fft, name)
    if name.endswith("shift"):
        return lambda x, axes=None: theirs(x, axes)
    if name.endswith(("2", "n")):
        axes_of = (-2, -1) if name.endswith("2") else None
        return lambda x, s=None, axes=axes_of, norm=None, overwrite_x=False, workers=None: theirs(x, s, axes, norm)
    return lambda x, n=None, axis=-1, norm=None, overwrite_x=False, workers=None: theirs(x, n, axis, norm)


TRANSFORMS = (
    "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn",
    "irfftn", "fftshift", "ifftshift",
)  # fmt: skip


def _cumulative(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    y = np.moveaxis(as_array(y), axis, -1)
    steps = _steps(x, dx, y.ndim, axis)
    if steps is None or (initial is not None and initial != 0):
        return NotImplemented
    found = np.cumsum(steps * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        found = np.concatenate([np.zeros((*y.shape[:-1], 1)), found], axis=-1)
    return np.moveaxis(found, -1, axis)


def _steps(x: Any, dx: Any, ndim: int, axis: int) -> Any:
    """The distances along the last axis; None for others than of one axis of the integrand."""
    if x is None:
        return dx
    return (
        np.diff(x) if np.ndim(x) == 1 else np.moveaxis(np.diff(x, axis=axis), axis, -1) if np.ndim(x) == ndim else None
    )


def _simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """By parabolas through three points each; of an even number of points SciPy corrects the end, which is not done."""
    y = np.moveaxis(as_array(y), axis, -1)
    steps = _steps(x, dx, y.ndim, axis)
    if steps is None or y.shape[-1] % 2 == 0 or y.shape[-1] < 3:
        return NotImplemented
    before, at, after = y[..., :-2:2], y[..., 1:-1:2], y[..., 2::2]
    if not np.ndim(steps):
        return np.sum(before + 4.0 * at + after, axis=-1) * (steps / 3.0)
    h, k = steps[..., ::2], steps[..., 1::2]
    both = h + k
    return np.sum(both / 6.0 * (before * (2.0 - k / h) + at * both**2 / (h * k) + after * (2.0 - h / k)), axis=-1)


INTEGRALS: dict[str, Callable[..., Any]] = {
    "trapezoid": lambda y, x=None, dx=1.0, axis=-1: np.trapezoid(y, x, dx, axis),
    "cumulative_trapezoid": _cumulative, "simpson": _simpson,
}  # fmt: skip


def _rooms(**functions: dict[str, Callable[..., Any]]) -> dict[str, dict[str, Making]]:
    return {
        f"scipy.{room.replace('__', '.')}": {name: recording(compute) for name, compute in named.items()}
        for room, named in functions.items()
    }


ROOMS: dict[str, dict[str, Making]] = _rooms(
    special=SPECIAL, linalg=LINALG, fft={name: _transform(name) for name in TRANSFORMS},
    sparse__linalg={"spsolve": spsolve}, integrate=INTEGRALS, signal=SIGNAL,
    spatial__distance=DISTANCES, ndimage=NDIMAGE | RESAMPLING, interpolate=GRIDS,
)  # fmt: skip
"""By module of SciPy's and name: what makes the function that stands there while a function of arrays is recorded."""


def _reading(original: Callable[..., Any], *, first: int = 0, found: bool = True) -> Callable[..., Any]:
    """A function that reads numbers from texts, which tells of those that stand for a lost gradient.

    Args:
        first: from which argument on there are texts.
        found: whether what it gives tells what it read.
    """

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        read_back(original.__name__, [*args[first:], *kwargs.values()], result if found else None)
        return result

    return call


_reading_tree = partial(_reading, found=False)
_reading_method = partial(_reading, first=1)


def _reading_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    """`csv.reader`, which makes numbers of what stands without quotes, if it is asked to."""

    @functools.wraps(original)
    def call(lines: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("quoting") == csv.QUOTE_NONNUMERIC:
            lines = list(lines)
            read_back("csv.reader", lines)
        return original(lines, *args, **kwargs)

    return call


def _calling(room: str, name: str) -> Making:
    """A function of SciPy's that calls the user's, which may read recorded values from around it."""

    def making(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(opened(f"tape.solving.{room}"), name)(original, *args, **kwargs)

        return call

    return making


ROOMS["scipy.integrate"] |= {name: _calling("differential_equations", name) for name in ("odeint", "solve_ivp")}
for _room, _names in ALONG_AN_AXIS.items():
    ROOMS.setdefault(_room, {}).update(dict.fromkeys(_names, along_an_axis))
ROOMS["scipy.integrate"] |= {name: _calling("roots_and_integrals", name) for name in ("quad", "dblquad", "nquad")}
ROOMS["scipy.optimize"] = {
    **dict.fromkeys(
        (
            "brentq",
            "brenth",
            "bisect",
            "ridder",
            "toms748",
            "newton",
            "root_scalar",
            "root",
            "fsolve",
            "broyden1",
            "broyden2",
            "anderson",
            "newton_krylov",
            "linearmixing",
            "diagbroyden",
            "excitingmixing",
        ),
        _calling("roots_and_integrals", "root"),
    ),
    **dict.fromkeys(
        (
            "minimize",
            "minimize_scalar",
            "fmin",
            "fmin_powell",
            "fmin_cg",
            "fmin_bfgs",
            "fmin_ncg",
            "fmin_l_bfgs_b",
            "fmin_tnc",
            "fmin_slsqp",
            "fminbound",
            "brent",
            "golden",
            "brute",
            "basinhopping",
            "differential_evolution",
            "dual_annealing",
        ),
        _calling("roots_and_integrals", "minimum"),
    ),
    "fixed_point": _calling("roots_and_integrals", "fixed_point"),
    **{name: _calling("fits", name) for name in ("least_squares", "leastsq", "curve_fit", "nnls")},
}
ROOMS["scipy.interpolate"] |= INTERPOLATE
ROOMS["scipy._lib.array_api_extra"] = {"apply_where": chosen_by_lanes}
ROOMS["json"] = {"loads": _reading, "load": _reading}
ROOMS["ast"] = {"literal_eval": _reading, "parse": _reading_tree}
ROOMS[locale.__name__] = {"atof": _reading}
ROOMS[csv.__name__] = {"reader": _reading_rows}


METHODS: dict[str, Callable[[Any], Iterator[tuple[type, str, Making]]]] = {
    "scipy.sparse": of_sparse_matrices, "scipy.stats": of_stats, "scipy.interpolate": of_interpolate,
    "json": lambda module: iter([(module.JSONDecoder, name, _reading_method) for name in ("decode", "raw_decode")]),
    "configparser": lambda module: iter([(module.RawConfigParser, "getfloat", _reading_method)]),
}  # fmt: skip
"""By module of SciPy's or Python's: the methods of its classes that have doors."""
