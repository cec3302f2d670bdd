"""Functions of NumPy's that are made of others, written in NumPy: least squares, polynomials, sets.

NumPy's own code for these hands its arguments to C code on the way, so it cannot be run on recorded arrays.  What
chooses by numbers (a rank, which values occur) decides as plain numbers do; the results are recorded.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ops.batching import LanesDiffer

from ..tensor import Face
from .attributes import readonly
from .creation import gathered
from .face import Recorded
from .leaving import plain, refusal
from .systems import symmetric
from .unwrapping import holds_face


def as_array(x: Any) -> Any:
    """An argument as an array, recorded where something in it is."""
    return gathered(x) if holds_face(x) else np.asarray(x)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """`np.linalg.lstsq`: by the pseudo-inverse, whose rule also holds where the matrix has not full rank."""
    a, b = as_array(a), as_array(b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise np.linalg.LinAlgError(f"lstsq needs a matrix and one or two axes; got {a.ndim} and {b.ndim}")
    m, n = a.shape
    if b.shape[0] != m:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    precision = float(np.finfo(np.result_type(a, b, np.float32)).eps)
    rcond = precision * max(m, n) if rcond is None else precision if rcond == -1 else rcond
    s = np.linalg.svd(a, compute_uv=False)
    rank = int(np.sum(s > rcond * np.max(s))) if min(m, n) else 0
    x = np.linalg.pinv(a, rcond) @ b
    if rank < n or m <= n:
        return x, np.empty(0, x.real.dtype), np.int32(rank), s
    misfit = np.sum(np.abs(a @ x - b) ** 2, axis=0)
    return x, misfit if b.ndim == 2 else np.reshape(misfit, 1), np.int32(rank), s


def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:  # fmt: skip
    """`np.polyfit`."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1 or x.size == 0 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        raise TypeError(f"polyfit needs a vector x and as many values y; got shapes {x.shape} and {y.shape}")
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    left, right = np.vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        left, right = left * w[:, None], right * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    c, misfit, rank, s = np.linalg.lstsq(left, right, rcond)
    c = (c.T / scale).T
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if full:
        return c, misfit, rank, s, rcond
    if not cov:
        return c
    spread = np.linalg.inv(left.T @ left) / np.multiply.outer(scale, scale)
    if cov != "unscaled" and len(x) <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance matrix")
    factor: Any = 1 if cov == "unscaled" else misfit / (len(x) - order)
    return c, spread * factor if y.ndim == 1 else spread[:, :, None] * factor


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """`np.trim_zeros`."""
    filt, trim = as_array(filt), trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(filt.ndim) if axis is None else np.atleast_1d(axis).tolist()
    index: list[Any] = [slice(None)] * filt.ndim
    for k in axes:
        others = tuple(i for i in range(filt.ndim) if i != k % filt.ndim)
        (held,) = np.nonzero(np.any(filt != 0, axis=others))
        start = int(held[0]) if len(held) else filt.shape[k]
        stop = int(held[-1]) + 1 if len(held) else 0 if "f" not in trim else filt.shape[k]
        index[k] = slice(start if "f" in trim else None, stop if "b" in trim else None)
    return filt[tuple(index)]


def roots(p: Any) -> Any:
    """`np.roots`: the eigenvalues of the companion matrix."""
    p = np.atleast_1d(as_array(p))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    (held,) = np.nonzero(p)
    if not len(held):
        return np.array([])
    zeros = len(p) - int(held[-1]) - 1
    p = p[int(held[0]) : int(held[-1]) + 1]
    if len(p) < 2:
        return np.zeros(zeros)
    companion = np.vstack([-(p[1:] / p[0])[None], np.eye(len(p) - 2, len(p) - 1, dtype=p.dtype)])
    found = np.linalg.eigvals(companion)
    return np.hstack([found, np.zeros(zeros, found.dtype)])


def poly(seq_of_zeros: Any) -> Any:
    """`np.poly`: the coefficients of the polynomial with these roots, or the characteristic one of a matrix."""
    zeros = np.atleast_1d(as_array(seq_of_zeros))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        zeros = np.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    made: Any = np.ones(1, zeros.dtype)
    for k in range(len(zeros)):
        made = np.convolve(made, gathered([1.0, -zeros[k]], made.dtype))
    if made.dtype.kind != "c":
        return made
    below, above = np.sort(zeros[np.imag(zeros) > 0]), np.sort(np.conj(zeros[np.imag(zeros) < 0]))
    return made.real.copy() if np.array_equal(below, above) else made


def polyder(p: Any, m: Any = 1) -> Any:
    """`np.polyder`."""
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = as_array(p)
    for _ in range(int(m)):
        p = p[:-1] * np.arange(len(p) - 1, 0, -1)
    return p


def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """`np.polyint`."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p, constants = as_array(p), np.atleast_1d(as_array(0.0 if k is None else k))
    constants = constants if len(constants) > 1 else np.repeat(constants, int(m))
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(int(m)):
        p = np.concatenate([p / np.arange(len(p), 0, -1), constants[i : i + 1]])
    return p


def _of_one_length(a1: Any, a2: Any) -> Any:
    a1, a2 = (np.atleast_1d(as_array(a)) for a in (a1, a2))
    n = max(len(a1), len(a2))
    return [np.concatenate([np.zeros(n - len(a), a.dtype), a]) for a in (a1, a2)]


def polyadd(a1: Any, a2: Any) -> Any:
    """`np.polyadd`."""
    a1, a2 = _of_one_length(a1, a2)
    return a1 + a2


def polysub(a1: Any, a2: Any) -> Any:
    """`np.polysub`."""
    a1, a2 = _of_one_length(a1, a2)
    return a1 - a2


def polymul(a1: Any, a2: Any) -> Any:
    """`np.polymul`."""
    return np.convolve(as_array(a1), as_array(a2))


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """`np.take` with places that wrap around, or stop at the ends."""
    if mode not in ("wrap", "clip") or out is not None:
        return NotImplemented
    a = as_array(a) if axis is not None else np.ravel(as_array(a))
    n = a.shape[axis or 0]
    places = plain(indices)
    places = np.mod(places, n) if mode == "wrap" else np.clip(places, 0, n - 1)
    return np.take(a, places, axis or 0)


def _rows_of(function: Any) -> Callable[..., Any]:
    """`np.cov` or `np.corrcoef` of two sets of variables: of both as one."""

    def answer(x: Any, y: Any = None, rowvar: bool = True, *rest: Any, **named: Any) -> Any:
        if y is None:
            return NotImplemented
        x, y = (np.atleast_2d(as_array(a)) for a in (x, y))
        both = [a.T if not rowvar and a.shape[0] != 1 else a for a in (x, y)]
        return function(np.concatenate(both), None, True, *rest, **named)

    return answer


def reduceat(ufunc: np.ufunc, x: Any, indices: Any, axis: int = 0, **named: Any) -> Any:
    """``ufunc.reduceat``: from each place to the next one, or what stands there if that is none later."""
    x, places = np.moveaxis(as_array(x), axis, 0), np.asarray(plain(indices)).tolist()
    if any(not 0 <= k < len(x) for k in places):
        raise IndexError(f"index out-of-bounds in {ufunc.__name__}.reduceat [0, {len(x)})")
    parts = [
        ufunc.reduce(x[start:stop], axis=0, **named) if start < stop else x[start]
        for start, stop in zip(places, [*places[1:], len(x)])
    ]
    return np.moveaxis(np.stack(parts), 0, axis)


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """`np.unique`: of equal values the first is taken, to which the gradient flows."""
    ar = as_array(ar)
    if axis is not None:
        rows = np.unique(np.reshape(_numbers_of_rows(np.moveaxis(ar, axis, 0)), -1), True, True, True)
        found = (np.take(ar, rows[1], axis), *rows[1:])
    else:
        found = _unique(np.ravel(ar), equal_nan)
        found = (*found[:2], np.reshape(found[2], ar.shape), found[3])
    wanted = [x for x, keep in zip(found, (True, return_index, return_inverse, return_counts)) if keep]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


def _unique(flat: Any, equal_nan: bool) -> tuple[Any, ...]:
    """The values, first places, numbers of the values, and counts of a vector."""
    order = np.argsort(flat, kind="stable")
    in_order = flat[order]
    differs = in_order[1:] != in_order[:-1]
    if equal_nan:
        differs = differs & ~(np.isnan(in_order[1:]) & np.isnan(in_order[:-1]))
    is_first = np.concatenate([np.ones(min(1, len(flat)), bool), differs])
    (starts,) = np.nonzero(is_first)
    inverse = (np.cumsum(is_first) - 1)[np.argsort(order, kind="stable")]
    counts = np.diff(np.concatenate([starts, [len(flat)]]))
    return in_order[starts], order[starts], inverse, counts


def _numbers_of_rows(rows: Any) -> Any:
    """The place of each row in the order of all of them; equal ones have one number."""
    rows = np.reshape(rows, (rows.shape[0], -1))
    order = np.lexsort(tuple([rows[:, k] for k in range(rows.shape[1])][::-1]))
    in_order = rows[order]
    numbers = np.concatenate([np.zeros(1, int), np.cumsum(np.any(in_order[1:] != in_order[:-1], axis=1))])
    return numbers[np.argsort(order, kind="stable")]


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:  # fmt: skip
    """`np.lib.stride_tricks.sliding_window_view`, which is not to be written."""
    lengths = np.atleast_1d(window_shape).tolist()
    axes = list(range(x.ndim)) if axis is None else [k % x.ndim for k in np.atleast_1d(axis).tolist()]
    if writeable:
        raise refusal("sliding_window_view(writeable=True)")
    if len(lengths) != len(axes) or any(n < 0 or n > x.shape[k] for n, k in zip(lengths, axes)):
        raise ValueError(f"a window of shape {tuple(lengths)} does not fit the axes {axes} of shape {x.shape}")
    for n, k in zip(lengths, axes):
        places = np.arange(x.shape[k] - n + 1)[:, None] + np.arange(n)
        x = np.moveaxis(np.take(x, places, k), k + 1, -1)
    return readonly(x)


COMPOSED: dict[Any, Callable[..., Any]] = {
    np.linalg.lstsq: lstsq, np.polyfit: polyfit, np.trim_zeros: trim_zeros, np.roots: roots, np.poly: poly,
    np.polyder: polyder, np.polyint: polyint, np.polyadd: polyadd, np.polysub: polysub, np.polymul: polymul,
    np.unique: unique, np.take: take, np.cov: _rows_of(np.cov), np.corrcoef: _rows_of(np.corrcoef),
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
}  # fmt: skip
"""What answers for such a function of NumPy's; NotImplemented, if an op does for these arguments."""


def _is_upper(function: Any, rest: Any, named: dict[str, Any]) -> bool:
    return bool(named["upper"]) if "upper" in named else str((*rest, named.get("UPLO", "L"))[0]).upper() == "U"


def promoted(function: Any, args: Any) -> Any:
    """The arguments of a function that NumPy computes in another dtype than that of its argument."""
    if function in WIDER and args:
        return tuple([_wider(x, WIDER[function]) if k < 2 else x for k, x in enumerate(args)])
    if function in BY_SHARES and len(args) > 1 and np.ndim(args[1]):
        return (_wider(args[0], np.dtype(float)), *args[1:])
    return args


def _wider(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(np.promote_types(x.dtype, dtype)) if isinstance(x, Recorded) else x


WIDER = {np.cov: np.dtype(float), np.corrcoef: np.dtype(float), np.vander: np.dtype(int)}
"""Functions that compute in a dtype that has room for this one as well."""

BY_SHARES = frozenset({np.quantile, np.percentile, np.nanquantile, np.nanpercentile})
"""Functions that compute in double precision if they are asked for several shares at once."""


def with_one_triangle(function: Any, args: Any, kwargs: Any) -> Any:
    """The arguments of a function that reads one triangle of a matrix, with the matrix that this stands for."""
    if not args or not (function in TRIANGULAR or kwargs.get("hermitian") is True):
        return args
    a, *rest = args
    is_upper = function in TRIANGULAR and _is_upper(function, rest, kwargs)
    shape = a._tensor._spec.shape if isinstance(a, Face) else ()
    return (symmetric(a, not is_upper), *rest) if len(shape) > 1 and shape[-1] == shape[-2] else args


TRIANGULAR = frozenset({np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh})
"""Functions that read one triangle of a matrix."""


def real_if_all_are(found: Any, a: Any) -> Any:
    """Eigenvalues, and vectors, of a real matrix: real if all values are, as NumPy gives them.

    Lanes cannot be asked, and stay complex.
    """
    values = found[0] if isinstance(found, tuple) else found
    if as_array(a).dtype.kind == "c" or values.dtype.kind != "c":
        return found
    try:
        if not np.all(np.imag(values) == 0.0):
            return found
    except LanesDiffer:
        return found
    return type(found)(*map(np.real, found)) if isinstance(found, tuple) else np.real(found)


SPECTRA = frozenset({np.linalg.eig, np.linalg.eigvals})
"""Functions whose results are real if all eigenvalues are."""
