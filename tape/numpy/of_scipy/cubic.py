"""Cubic polynomials through points, as `scipy.interpolate` has them: by the slopes at the points.

Functions of recorded points record, and those of recorded places of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.face_base import numpy
from .scipy_linalg import LINALG


def _columns(x: Any, ndim: int) -> Any:
    return numpy.reshape(x, (-1, *(1,) * (ndim - 1)))


def hermite(x: Any, y: Any, slopes: Any) -> Any:
    """The coefficients of cubic polynomials with given values and slopes, of shape (4, n − 1, …)."""
    h = _columns(np.diff(x), y.ndim)
    secants = np.diff(y, axis=0) / h
    t = (slopes[:-1] + slopes[1:] - 2 * secants) / h
    return np.stack([t / h, (secants - slopes[:-1]) / h - t, slopes[:-1], y[:-1]])


def pchip_slopes(x: Any, y: Any) -> Any:
    """Slopes with which no polynomial rises and falls between two points: harmonic means of secants."""
    h = _columns(np.diff(x), y.ndim)
    m = np.diff(y, axis=0) / h
    if len(y) == 2:
        return np.concatenate([m, m])
    flat = (np.sign(m[1:]) != np.sign(m[:-1])) | (m[1:] == 0) | (m[:-1] == 0)
    before, after = np.where(flat, 1.0, m[:-1]), np.where(flat, 1.0, m[1:])
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    means = np.where(flat, 0.0, (w1 + w2) / (w1 / before + w2 / after))
    return np.concatenate([_end(h[0], h[1], m[0], m[1])[None], means, _end(h[-1], h[-2], m[-1], m[-2])[None]])


def _end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """A slope by three points, unless it turns the wrong way, or is too steep."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    is_steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(is_steep, 3.0 * m0, d))


def akima_slopes(x: Any, y: Any, method: str = "akima") -> Any:
    """Akima's slopes, which weigh the secants on both sides by how much those beyond differ."""
    inner = np.diff(y, axis=0) / _columns(np.diff(x), y.ndim)
    if len(y) == 2:
        return np.concatenate([inner, inner])
    left = 2 * inner[:1] - inner[1:2]
    right = 2 * inner[-1:] - inner[-2:-1]
    m = np.concatenate([2 * left - inner[:1], left, inner, right, 2 * right - inner[-1:]])
    apart = np.abs(np.diff(m, axis=0))
    if method == "makima":
        apart = apart + 0.5 * np.abs(m[1:] + m[:-1])
    after, before = apart[2:], apart[:-2]
    both = after + before
    is_known = both > 1e-9 * np.max(both)
    share = before / np.where(is_known, both, 1.0)
    return np.where(is_known, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


def cubic_slopes(x: Any, y: Any, ends: tuple[Any, Any]) -> Any:
    """The slopes with which the second derivatives are continuous.

    Args:
        ends: what holds at either end: "not-a-knot", "periodic", or the order of a derivative and its value.
    """
    n, h = len(y), _columns(np.diff(x), y.ndim)
    m = np.diff(y, axis=0) / h
    if n == 2:
        ends = tuple([(1, m[0]) if isinstance(end, str) else end for end in ends])  # type: ignore[assignment]
    if n == 3 and ends == ("not-a-knot",) * 2:
        bend = (m[1:] - m[:1]) / (x[2] - x[0])
        return np.concatenate([m[:1] - bend * h[:1], m[:1] + bend * h[:1], m[1:] + bend * h[1:]])
    if n == 3 and ends[0] == "periodic":
        return np.broadcast_to((m / h).sum(0) / (1 / h).sum(0), y.shape)
    rows = 3 * (h[1:] * m[:-1] + h[:-1] * m[1:])
    d = np.diff(x)
    middle = 2 * (d[:-1] + d[1:])
    if ends[0] == "periodic":
        return _periodic(d, rows, middle, 3 * (h[:1] * m[-1:] + h[-1:] * m[:1]))
    first = _end_row(ends[0], x[2:3] - x[:1] if n > 2 else None, d, h, m)
    last = _end_row(ends[1], x[-1:] - x[-3:-2] if n > 2 else None, d[::-1], h[::-1], m[::-1], -1.0)
    above = np.concatenate([np.zeros(1), first[1], d[:-1]])
    below = np.concatenate([d[1:], last[1], np.zeros(1)])
    return _solved(above, np.concatenate([first[0], middle, last[0]]), below, np.concatenate([first[2], rows, last[2]]))


def _end_row(end: Any, both: Any, d: Any, h: Any, m: Any, sign: float = 1.0) -> tuple[Any, Any, Any]:
    """What the first slope is multiplied by, what the second, and the sum; of the other end as seen from there."""
    if end == "not-a-knot":
        wide = _columns(both, m.ndim)
        return d[1:2], both, ((h[:1] + 2 * wide) * h[1:2] * m[:1] + h[:1] ** 2 * m[1:2]) / wide
    order, value = end
    value = np.broadcast_to(value, m[:1].shape)
    if order == 1:
        return np.ones(1), np.zeros(1), value
    return 2 * d[:1], d[:1], 3 * m[:1] * h[:1] - sign * 0.5 * value * h[:1] ** 2


def _periodic(d: Any, rows: Any, middle: Any, first: Any) -> Any:
    """Of a cyclic system the last unknown is put to the other side, and found from the last equation."""
    rows = np.concatenate([first, rows])
    middle = np.concatenate([2 * (d[-1:] + d[:1]), middle])
    n = len(middle)
    above = np.concatenate([np.zeros(1), d[-1:], d[: n - 3]])
    below = np.concatenate([d[1 : n - 1], np.zeros(1)])
    corner = np.concatenate([-d[:1], np.zeros(n - 3), -d[n - 3 : n - 2]])
    one, two = _solved(above, middle[:-1], below, rows[:-1]), _solved(above, middle[:-1], below, corner)
    low, high = d[-2], d[-1]
    last = (rows[-1:] - low * one[:1] - high * one[-1:]) / (middle[-1] + low * two[0] + high * two[-1])
    found = one + last * _columns(two, rows.ndim)
    return np.concatenate([found, last, found[:1]])


def _solved(above: Any, middle: Any, below: Any, rows: Any) -> Any:
    flat = numpy.reshape(rows, (len(rows), -1)) if rows.ndim != 2 else rows
    found = LINALG["solve_banded"]((1, 1), np.stack([above, middle, below]), flat, check_finite=False)
    return numpy.reshape(found, rows.shape)
