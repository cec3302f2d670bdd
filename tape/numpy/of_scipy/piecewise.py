"""Piecewise polynomials by NumPy's functions, which record where a place, a coefficient or a knot is recorded.

Which piece a place lies in is found by its number alone: in a compiled function by a search in each call.  At a knot
the derivative is that of the piece in which SciPy counts it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import ops

from ..arrays.face import faces
from ..arrays.face_base import numpy
from ..arrays.unwrapping import bare, holds_face


def taken(x: Any, place: Any, axis: int = 0) -> Any:
    """`np.take`, which asks nobody but the array."""
    return faces(ops.take(bare(x), bare(place), axis=axis)) if holds_face([x, place]) else np.take(x, place, axis)


def _behind(x: Any, ndim: int) -> Any:
    """An array with further axes behind, along which it is the same."""
    return numpy.reshape(x, (*np.shape(x), *(1,) * ndim))


def _within(at: Any, first: Any, last: Any, extrapolate: Any) -> tuple[Any, Any]:
    """Places, moved by periods where a function has one; and where there is no value, None for nowhere."""
    if extrapolate == "periodic":
        return first + (at - first) % (last - first), None
    return at, None if extrapolate else (at < first) | (at > last)


def _without(value: Any, outside: Any) -> Any:
    return value if outside is None else np.where(_behind(outside, value.ndim - np.ndim(outside)), np.nan, value)


def of_powers(c: Any, x: Any, at: Any, nu: int = 0, extrapolate: Any = True) -> Any:
    """The derivative of order `nu` of Σ c[m, i] (at − x[i])^(k−m), for x[i] ≤ at < x[i + 1].

    Args:
        c: of shape (k + 1, n, …), for `x` of shape (n + 1,), which ascends.
        at: of any shape, which the result has, followed by the last axes of `c`.
    """
    at, outside = _within(at, x[0], x[-1], extrapolate)
    place = np.clip(np.searchsorted(x, at, "right") - 1, 0, len(x) - 2)
    rows, ndim = taken(c, place, axis=1), c.ndim - 2
    step = _behind(at - taken(x, place), ndim)
    degree = len(c) - 1
    value = 0.0 * rows[0] + 0.0 * step
    for m in range(degree - nu + 1):
        value = value * step + math.perm(degree - m, nu) * rows[m]
    return _without(value, outside)


def derived_powers(c: Any, nu: int) -> Any:
    """The coefficients of the derivative of order `nu`."""
    degree = len(c) - 1
    if nu > degree:
        return 0.0 * c[:1]
    return (
        _behind(np.array([math.perm(degree - m, nu) for m in range(degree - nu + 1)], float), c.ndim - 1)
        * (c[: degree - nu + 1])
    )


def summed_powers(c: Any, x: Any) -> Any:
    """The coefficients of the integral from the first knot on."""
    count = len(c)
    c = c / _behind(np.arange(count, 0.0, -1.0), c.ndim - 1)
    steps = _behind(np.diff(x), c.ndim - 2)
    whole = 0.0
    for m in range(count):
        whole = (whole + c[m]) * steps
    before = np.cumsum(whole, axis=0)
    return np.concatenate([c, np.concatenate([0.0 * before[:1], before[:-1]])[None]])


def between(value: Any, whole: Any, ends: tuple[Any, Any], first: Any, last: Any, extrapolate: Any) -> Any:
    """An integral between two places, by that from the first knot on, which is `whole` over one period."""
    if extrapolate != "periodic":
        return value(ends[1]) - value(ends[0])
    low, high = [np.floor((end - first) / (last - first)) * whole + value(end) for end in ends]
    return high - low


def basis(t: Any, k: int, at: Any) -> tuple[Any, Any]:
    """Which k + 1 splines of degree k are not 0 at each place, and their values; both have one axis more.

    Beyond the ends those of the first and the last piece go on.
    """
    place = np.clip(np.searchsorted(t, at, "right") - 1, k, len(t) - k - 2)
    right = [taken(t, place + j) - at for j in range(1, k + 1)]
    left = [at - taken(t, place + 1 - j) for j in range(1, k + 1)]
    return _behind(place - k, 1) + np.arange(k + 1), _recurrence(right, left, 1.0 + 0.0 * at)


def even_basis(k: int, at: Any) -> tuple[Any, Any]:
    """The same for splines that are centred at whole numbers, which they are numbered by."""
    middle = at if k % 2 else at + 0.5
    place = np.floor(middle)
    part = middle - place
    values = _recurrence([j - part for j in range(1, k + 1)], [part + j for j in range(k)], 1.0 + 0.0 * part)
    return _behind(place.astype(int) - k // 2, 1) + np.arange(k + 1), values


def _recurrence(right: list[Any], left: list[Any], one: Any) -> Any:
    """Cox's and de Boor's, by the distances from a place to the next knots on the right and on the left."""
    found = [one]
    for j in range(1, len(right) + 1):
        saved: Any = 0.0
        for r in range(j):
            part = found[r] / (right[r] + left[j - 1 - r])
            found[r] = saved + right[r] * part
            saved = left[j - 1 - r] * part
        found.append(saved)
    return np.stack(found, axis=-1)


def derived_splines(t: Any, c: Any, k: int, nu: int) -> tuple[Any, Any, int]:
    """The derivative of order `nu` of Σ c[i] Bᵢ, in the splines of degree k − nu on fewer knots."""
    for _ in range(nu):
        n = len(t) - k - 1
        if k == 0:
            return t, 0.0 * c, 0
        width = t[k + 1 : k + n] - t[1:n]
        width = _behind(np.where(width > 0, width, np.inf), c.ndim - 1)
        t, c, k = t[1:-1], k * (c[1:n] - c[: n - 1]) / width, k - 1
    return t, c, k


def summed_splines(t: Any, c: Any, k: int) -> tuple[Any, Any, int]:
    """The integral of Σ c[i] Bᵢ from the first knot on, in splines of the next degree."""
    n = len(t) - k - 1
    parts = np.cumsum(c[:n] * _behind(t[k + 1 :] - t[:n], c.ndim - 1), axis=0) / (k + 1)
    behind = [parts[-1:]] * (len(c) - n + 1)
    return np.concatenate([t[:1], t, t[-1:]]), np.concatenate([0.0 * parts[:1], parts, *behind]), k + 1


def of_splines(t: Any, c: Any, k: int, at: Any, nu: int = 0, extrapolate: Any = True) -> Any:
    """The derivative of order `nu` of Σ c[i] Bᵢ, for splines of degree k on the knots `t`.

    Args:
        c: of shape (n, …), n ≥ len(t) − k − 1.
        at: of any shape, which the result has, followed by the last axes of `c`.
    """
    at, outside = _within(at, t[k], t[len(t) - k - 1], extrapolate)
    t, c, k = derived_splines(t, c, k, nu)
    return _without(of_products(c, [basis(t, k, at)]), outside)


def of_products(c: Any, bases: Sequence[tuple[Any, Any]]) -> Any:
    """Σ c[i(a), j(b), …] u(a) v(b) … over what stands last in the places i, j, … and the weights u, v, … of each axis.

    Args:
        c: with one axis for each of `bases`, and any more behind.
        bases: arrays of places and of weights, of any shape and one axis behind.
    """
    at, ndim, more = bases[0][0].ndim - 1, len(bases), c.shape[len(bases) :]
    place: Any = 0
    for axis, (places, _) in enumerate(bases):
        place = place * c.shape[axis] + _alone(places, at, axis, ndim)
    value = taken(numpy.reshape(c, (-1, *more)), place)
    for axis in reversed(range(ndim)):
        weights = _alone(bases[axis][1], at, axis, axis + 1)
        value = (value * _behind(weights, len(more))).sum(at + axis)
    return value


def _alone(x: Any, at: int, axis: int, ndim: int) -> Any:
    """An array whose last axis is one among `ndim`, behind the first `at`."""
    return numpy.reshape(x, (*x.shape[:at], *(1,) * axis, x.shape[-1], *(1,) * (ndim - 1 - axis)))
