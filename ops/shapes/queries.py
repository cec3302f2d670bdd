"""Questions about arrays whose answers are integers or booleans, and arrays made after the shape of another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import along, dynamic_by, elementwise, for_all_lanes, like
from ..core.hints import Hints
from ..core.op import plain
from ..pointwise.comparison import eq, isfinite, isnan, le, logical_and, logical_or, ne
from ..pointwise.selection import abs
from .sums import sum

argmax = plain(
    "argmax", lambda x, *, axis=None, keepdims=False: np.argmax(x, axis=axis, keepdims=keepdims),
    numpy=(np.argmax,), batch=along("axis", flat=True), doc="Index of the first largest element.",
    hints=Hints(steps=lambda s, x, axis, keepdims: s.place_of_extreme(x, axis, True, keepdims)),
)
argmin = plain(
    "argmin", lambda x, *, axis=None, keepdims=False: np.argmin(x, axis=axis, keepdims=keepdims),
    numpy=(np.argmin,), batch=along("axis", flat=True), doc="Index of the first smallest element.",
    hints=Hints(steps=lambda s, x, axis, keepdims: s.place_of_extreme(x, axis, False, keepdims)),
)
def _argsort_steps(s: Any, x: Any, axis: int | None, kind: Any, stable: Any) -> Any:
    """Unless it is asked for, NumPy's order of equal elements is its own: then the step refuses them."""
    unique = not stable and kind not in ("stable", "mergesort")
    return s.order(s.flat(x) if axis is None else x, 0 if axis is None else axis, unique=unique)


argsort = plain(
    "argsort", lambda x, *, axis=-1, kind=None, stable=None: np.argsort(x, axis=axis, kind=kind, stable=stable),
    numpy=(np.argsort,), batch=along("axis", flat=True), doc="Indices that sort along an axis.",
    hints=Hints(steps=_argsort_steps), lies="operand",
)
argpartition = plain(
    "argpartition",
    lambda x, *, kth, axis=-1, kind="introselect": np.argpartition(x, kth, axis, kind),
    numpy=(np.argpartition,), batch=along("axis", flat=True), doc="Indices that partition along an axis.",
)  # fmt: skip


argwhere = plain(
    "argwhere", lambda x: np.argwhere(x), numpy=(np.argwhere,),
    complex=True, batch=dynamic_by("count_nonzero"), lies="columns", doc="Indices of the nonzero elements, a row each.",
)
nonzero = plain(
    "nonzero", lambda x: np.nonzero(x), numpy=(np.nonzero,), outputs=-1,
    complex=True, batch=dynamic_by("count_nonzero"), doc="Indices of the nonzero elements, an array for each axis.",
)
flatnonzero = plain(
    "flatnonzero", lambda x: np.flatnonzero(x), numpy=(np.flatnonzero,),
    complex=True, batch=dynamic_by("count_nonzero"), doc="Indices of nonzero elements in the flat array.",
)
count_nonzero = plain(
    "count_nonzero",
    lambda x, *, axis=None, keepdims=False: np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims)),
    numpy=(np.count_nonzero,), complex=True, batch=along("axis"),
    hints=Hints(made_of=lambda x, axis, keepdims: sum(
        x if x.dtype == np.bool_ else ne(x, 0.0), axis=axis, keepdims=keepdims)),
    doc="Number of nonzero elements over axes.",
)
all = plain(
    "all", lambda x, *, axis=None, keepdims=False: np.all(x, axis=axis, keepdims=keepdims),
    numpy=(np.all,), hints=Hints(reduces=np.logical_and), complex=True, batch=along("axis"),
    doc="Whether all elements are true, over axes.",
)
any = plain(
    "any", lambda x, *, axis=None, keepdims=False: np.any(x, axis=axis, keepdims=keepdims),
    numpy=(np.any,), hints=Hints(reduces=np.logical_or), complex=True, batch=along("axis"),
    doc="Whether some element is true, over axes.",
)
anywhere = plain(
    "anywhere", lambda x: np.bool_(np.any(x)), complex=True, batch=for_all_lanes,
    doc="""Whether some element is true; under `vmap` in any of the lanes, so that a rule can ask whether a case occurs.

    What depends on the answer must be right for the lanes where the case does not occur, too.
    """,
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
array_equiv = plain(
    "array_equiv", lambda x, y: np.bool_(np.array_equiv(x, y)), numpy=(np.array_equiv,),
    complex=True, doc="Whether x and y are equal after broadcasting.",
)
isin = plain(
    "isin", lambda x, y, *, invert=False: np.isin(x, y, invert=invert), numpy=(np.isin,),
    complex=True, doc="Whether each element of x is among those of y.",
)
searchsorted = plain(
    "searchsorted", lambda x, y, *, side="left": np.asarray(np.searchsorted(x, y, side)),
    hints=Hints(steps=lambda s, x, y, side: s.search(x, y, side == "right")),
    numpy=(np.searchsorted,), doc="Where the elements y belong in the sorted array x.",
)
digitize = plain(
    "digitize", lambda x, y, *, right=False: np.asarray(np.digitize(x, y, right)), numpy=(np.digitize,),
    hints=Hints(raises=slice(1, 2)),
    doc="Numbers of the bins, with edges y, that the elements of x fall into.",
)
bincount = plain(
    "bincount", lambda x, *, minlength=0: np.bincount(x, minlength=minlength), batch=dynamic_by("amax"),
    hints=Hints(raises=slice(0, 1)),
    doc="How often each integer occurs.",
)


def _like(make: Any) -> Any:
    def forward(x: Any, *, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
        return make(np.asarray(x), dtype, order, subok, shape)[()]

    return forward


def _made_like(make: Any) -> Any:
    return lambda x, dtype, shape: make(x.shape if shape is None else shape, x.dtype if dtype is None else dtype)


zeros_like = plain(
    "zeros_like", _like(np.zeros_like), numpy=(np.zeros_like,), complex=True, batch=like,
    hints=Hints(made_of=_made_like(np.zeros)),
    doc="Zeros in the shape and dtype of x.",
)
ones_like = plain(
    "ones_like", _like(np.ones_like), numpy=(np.ones_like,), complex=True, batch=like,
    hints=Hints(made_of=_made_like(np.ones)),
    doc="Ones in the shape and dtype of x.",
)
empty_like = plain(
    "empty_like", _like(np.empty_like), numpy=(np.empty_like,),
    complex=True, batch=like, doc="Anything in the shape and dtype of x.",
)
