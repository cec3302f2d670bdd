"""Polynomials as NumPy's first functions for them have their coefficients, from the highest power down."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ops

from ..base.tensor import Face
from .arrays.array_text import lanes
from .arrays.leaving import user_frame
from .arrays.unwrapping import bare
from .constructors import as_array, gathered


def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:  # fmt: skip
    """`np.polyfit`."""
    order = int(deg) + 1
    x, y = as_array(x) + 0.0, as_array(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    rcond = len(x) * np.finfo(x.dtype).eps if rcond is None else rcond
    left, right = np.vander(x, order), y
    if w is not None:
        w = as_array(w) + 0.0
        weighted = left * w[:, None], right * (w[:, None] if y.ndim == 2 else w)  # NumPy weights them in place
        left, right = (z.astype(x.dtype, casting="same_kind", copy=False) for z, x in zip(weighted, (left, right)))
    scale = np.sqrt(np.sum(left * left, axis=0))
    left = left / scale
    c, misfit, rank, s = np.linalg.lstsq(left, right, rcond)
    c = (c.T / scale).T
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=user_frame()[1])
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
    p = p if p.dtype.kind in "fc" else p.astype(float)
    (held,) = np.nonzero(p)
    if not len(held):
        return np.array([])
    zeros = len(p) - int(held[-1]) - 1
    p = p[int(held[0]) : int(held[-1]) + 1]
    if len(p) < 2:
        return np.zeros(zeros)
    companion = np.vstack([(-p[1:] / p[0])[None], np.eye(len(p) - 2, len(p) - 1, dtype=p.dtype)])
    found = real_if_all_are(np.linalg.eigvals(companion), companion)
    return np.hstack([found, np.zeros(zeros, found.dtype)])


def real_if_all_are(found: Any, a: Any) -> Any:
    """Eigenvalues, and vectors, of a real matrix: real if all values are.  So are NumPy's up to 2.4, and its roots.

    Lanes cannot be asked, and stay complex.
    """
    values = found[0] if isinstance(found, tuple) else found
    if as_array(a).dtype.kind == "c" or values.dtype.kind != "c":
        return found
    if (isinstance(values, Face) and lanes(values._tensor)) or not np.all(np.imag(values) == 0.0):
        return found
    return type(found)(*map(np.real, found)) if isinstance(found, tuple) else np.real(found)


def poly(seq_of_zeros: Any) -> Any:
    """`np.poly`: the coefficients of the polynomial with these roots, or the characteristic one of a matrix."""
    zeros = np.atleast_1d(as_array(seq_of_zeros))
    if zeros.ndim == 2:
        zeros = real_if_all_are(np.linalg.eigvals(zeros), zeros)
    if not len(zeros):
        return 1.0
    zeros = zeros.astype(zeros.dtype if zeros.dtype.char in "fdFD" else float)
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
    """`np.polymul`, without zeros before the highest power of either."""
    return np.convolve(*[_from_highest_power(a) for a in (a1, a2)])


def _from_highest_power(a: Any) -> Any:
    a = np.atleast_1d(as_array(a))
    while len(a) > 1 and not bool(ops.anywhere(bare(a[0] != 0))):
        a = a[1:]
    return a if len(a) else np.zeros(1, a.dtype)


def polydiv(u: Any, v: Any) -> Any:
    """`np.polydiv`: the quotient and the remainder, without zeros before its highest power."""
    u, v = (np.atleast_1d(as_array(a)) + 0.0 for a in (u, v))
    n = len(v) - 1
    q, rest, scale = [], u.astype(np.result_type(u, v)), 1.0 / v[0]
    for k in range(len(u) - n):
        q.append(scale * rest[k])
        rest = np.concatenate([rest[:k], rest[k : k + n + 1] - q[-1] * v, rest[k + n + 1 :]])
    while len(rest) > 1 and np.allclose(rest[0], 0, rtol=1e-14):
        rest = rest[1:]
    return gathered(q, rest.dtype) if q else np.zeros(1, rest.dtype), rest


POLYNOMIALS: dict[Any, Callable[..., Any]] = {
    np.polyfit: polyfit, np.trim_zeros: trim_zeros, np.roots: roots, np.poly: poly, np.polyder: polyder,
    np.polyint: polyint, np.polyadd: polyadd, np.polysub: polysub, np.polymul: polymul,
    np.polydiv: polydiv,
}  # fmt: skip
"""What answers for these functions of NumPy's."""
