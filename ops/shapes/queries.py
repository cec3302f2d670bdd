"""Questions about arrays whose answers are integers or booleans, and arrays made after the shape of another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import along, dynamic_by, for_all_lanes, like
from ..core.hints import Hints
from ..core.op import plain

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
    hints=Hints(steps=lambda s, x: s.transposed(s.truths(x))),
)
nonzero = plain(
    "nonzero", lambda x: np.nonzero(x), numpy=(np.nonzero,), outputs=-1,
    complex=True, batch=dynamic_by("count_nonzero"), doc="Indices of the nonzero elements, an array for each axis.",
    hints=Hints(steps=lambda s, x: s.each(s.truths(x))),
)
flatnonzero = plain(
    "flatnonzero", lambda x: np.flatnonzero(x), numpy=(np.flatnonzero,),
    complex=True, batch=dynamic_by("count_nonzero"), doc="Indices of nonzero elements in the flat array.",
    hints=Hints(steps=lambda s, x: s.each(s.truths(s.flat(x)))[0]),
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
    hints=Hints(raises=slice(1, 2), steps=lambda s, x, y, right: s.bins(x, y, right)),
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
