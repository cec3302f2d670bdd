"""Questions of equality and closeness: how many, which and whether all, made of comparisons in compiled programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import along, elementwise
from ..core.hints import Hints
from ..core.op import plain
from ..pointwise.comparison import eq, isfinite, isnan, le, logical_and, logical_or, ne
from ..pointwise.selection import abs
from ..shapes.queries import all
from ..shapes.sums import Axis, sum


def _count(x: Any, axis: Axis, keepdims: bool) -> Any:
    return sum(x if x.dtype == np.bool_ else ne(x, 0.0), axis=axis, keepdims=keepdims)


count_nonzero = plain(
    "count_nonzero",
    lambda x, *, axis=None, keepdims=False: np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims)),
    numpy=(np.count_nonzero,), complex=True, batch=along("axis"),
    hints=Hints(made_of=_count),
    doc="Number of nonzero elements over axes.",
)


def _are_close(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: Any) -> Any:
    """`np.isclose` in ops; not of truth values, which NumPy makes numbers of first."""
    if np.bool_ in (getattr(x, "dtype", None), getattr(y, "dtype", None)):
        return None
    near = logical_and(le(abs(x - y), atol + rtol * abs(y)), isfinite(y))
    found = logical_or(near, eq(x, y))
    return logical_or(found, logical_and(isnan(x), isnan(y))) if equal_nan else found


def _are_all_close(x: Any, y: Any, rtol: Any, atol: Any, equal_nan: Any) -> Any:
    close = _are_close(x, y, rtol, atol, equal_nan)
    return None if close is None else all(close)


def _are_equal(x: Any, y: Any, equal_nan: Any) -> Any:
    """`np.array_equal` in ops, of arrays of one shape."""
    return None if equal_nan or x.shape != y.shape else all(eq(x, y))


isclose = plain(
    "isclose", lambda x, y, *, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(x, y, rtol, atol, equal_nan),
    numpy=(np.isclose,), complex=True, batch=elementwise, lies="operands", hints=Hints(made_of=_are_close),
    doc="Whether |x − y| ≤ atol + rtol |y|, elementwise.",
)
allclose = plain(
    "allclose",
    lambda x, y, *, rtol=1e-5, atol=1e-8, equal_nan=False: np.bool_(np.allclose(x, y, rtol, atol, equal_nan)),
    numpy=(np.allclose,), complex=True,
    hints=Hints(made_of=_are_all_close),
    doc="Whether |x − y| ≤ atol + rtol |y| everywhere.",
)
array_equal = plain(
    "array_equal", lambda x, y, *, equal_nan=False: np.bool_(np.array_equal(x, y, equal_nan)),
    numpy=(np.array_equal,), complex=True, hints=Hints(made_of=_are_equal),
    doc="Whether x and y have the same shape and elements.",
)
