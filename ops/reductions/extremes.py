"""Largest and smallest elements, order and rank.

Two conventions at ties, both PyTorch's: `amax`, `amin` and the extreme of a whole array split the
gradient evenly; an op that also gives indices passes all of it to the element it selected, the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.batching import along, whole
from ..core.domain import Case
from ..core.hints import Hints
from ..core.op import Op, composite, general, ready
from ..pointwise.comparison import eq, isnan, logical_and, logical_or
from ..pointwise.selection import where
from ..shapes.index import gather, scatter_add
from ..shapes.queries import all
from ..shapes.shape import reshape, squeeze, unsqueeze
from ..shapes.sums import REDUCTIONS, Axis, kept, sum


def _distinct(*shapes_and_params: tuple[tuple[int, ...], dict[str, Any]]):  # type: ignore[no-untyped-def]
    """Cases whose elements lie well apart: at a tie the ops of this room have a kink."""

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for shape, params in shapes_and_params:
            size = int(np.prod(shape, dtype=int))
            values = 0.5 * (rng.permutation(size) - size // 2) + 0.2 * rng.random(size)
            yield (values.reshape(shape),), params

    return cases


def _ties(x: Any, z: Any, axis: Axis, spread: bool = True) -> tuple[Any, Any]:
    """Which elements are equal to the extreme, and how many of them there are; nan is equal to nan here.

    If nan is `spread`, the extreme is nan wherever an element is.
    """
    z = kept(z, x.shape, axis)
    mask = logical_or(eq(x, z), isnan(x) if spread else logical_and(isnan(x), isnan(z)))
    return mask, sum(mask * np.ones((), z.dtype), axis=axis, keepdims=True)


def _evenly(g: Any, x: Any, z: Any, axis: Axis, spread: bool = True) -> Any:
    """To each element that is equal to the extreme its share of the adjoint."""
    mask, count = _ties(x, z, axis, spread)
    return mask * (kept(g, x.shape, axis) / count)


def _mean_of_ties(x: Any, z: Any, x_dot: Any, axis: Axis, keepdims: bool, spread: bool = True) -> Any:
    mask, count = _ties(x, z, axis, spread)
    return sum(x_dot * (mask * (1.0 / count)), axis=axis, keepdims=keepdims)


def _extreme(
    name: str, find: Callable[..., Any], doc: str, reduces: Any = None, spread: bool = True, **facts: Any
) -> Op:
    return general(
        name, lambda x, *, axis=None, keepdims=False: find(x, axis=axis, keepdims=keepdims),
        lambda g, x, z, axis: _evenly(g, x, z, axis, spread),
        jvp=lambda x, z, x_dot, axis, keepdims: _mean_of_ties(x, z, x_dot, axis, keepdims, spread),
        cases=_distinct(*REDUCTIONS), doc=doc, batch=along("axis"), hints=Hints(reduces=reduces), **facts,
    )


amax = _extreme("amax", np.maximum.reduce, "Largest element over axes; ties share the gradient evenly.", np.maximum)
amin = _extreme("amin", np.minimum.reduce, "Smallest element over axes; ties share the gradient evenly.", np.minimum)


def _without_nan(name: str, ufunc: np.ufunc, reduce: Op, worst: float, doc: str) -> Op:
    """Declare an extreme of what is not nan; where there is nothing else it is nan, to which no gradient flows."""
    return general(
        name, lambda x, *, axis=None, keepdims=False: ufunc.reduce(x, axis=axis, keepdims=keepdims),
        lambda g, x, z, axis: _evenly(where(isnan(z), 0.0, g), x, z, axis, False),
        jvp=lambda x, z, x_dot, axis, keepdims: where(isnan(z), 0.0, _mean_of_ties(x, z, x_dot, axis, keepdims, False)),
        cases=_distinct(*REDUCTIONS), doc=doc, batch=along("axis"),
        hints=Hints(reduces=ufunc, made_of=lambda x, axis, keepdims: _of_the_others(x, reduce, worst, axis, keepdims)),
    )


def _of_the_others(x: Any, reduce: Op, worst: float, axis: Axis, keepdims: bool) -> Any:
    """An extreme of what is not nan, in ops; it may choose another of two zeros than NumPy's loops do."""
    missing = isnan(x)
    z = reduce(where(missing, worst, x), axis=axis, keepdims=keepdims)
    return where(all(missing, axis=axis, keepdims=keepdims), float("nan"), z)


largest_number = _without_nan(
    "largest_number", np.fmax, amax, -np.inf, "Largest element over axes that is not nan; ties share."
)
smallest_number = _without_nan(
    "smallest_number", np.fmin, amin, np.inf, "Smallest element over axes that is not nan; ties share."
)


def _both_evenly(g: Any, x: Any, z: Any, axis: Axis) -> Any:
    """To each element that is equal to an extreme its share of that one's adjoint."""
    bars = [_evenly(g[i], x, z[i], axis) for i in (0, 1) if g[i] is not None]
    return bars[0] if len(bars) == 1 else bars[0] + bars[1]


min_and_max = general(
    "min_and_max",
    lambda x, *, axis=None, keepdims=False: (np.min(x, axis, None, keepdims), np.max(x, axis, None, keepdims)),
    lambda g, x, z, axis: _both_evenly(g, x, z, axis),
    jvp=lambda x, z, x_dot, axis, keepdims: tuple([_mean_of_ties(x, part, x_dot, axis, keepdims) for part in z]),
    outputs=2, node="AminmaxBackward0", cases=_distinct(*REDUCTIONS), batch=along("axis"),
    doc="Smallest and largest element over axes, as one operation; ties share the gradient evenly.",
)


def _whole(name: str, find: Callable[..., Any], node: str, doc: str, extreme: Op) -> Op:
    return general(
        name, lambda x: find(x), lambda g, x, z: _evenly(g, x, z, None),
        jvp=lambda x, z, x_dot: _mean_of_ties(x, z, x_dot, None, False),
        node=node, cases=_distinct(((2, 3), {}), ((), {})), doc=doc, batch=whole(f"a{name[:3]}"),
        hints=Hints(made_of=lambda x: extreme(x)),
    )


max_all = _whole("max_all", np.max, "MaxBackward1", "Largest element of all; ties share the gradient evenly.", amax)
min_all = _whole("min_all", np.min, "MinBackward1", "Smallest element of all; ties share the gradient evenly.", amin)


def _select(x: Any, indices: Any, axis: int, keepdims: bool = True) -> tuple[Any, Any]:
    """Values at indices along an axis, and the indices; without the axis unless `keepdims`."""
    x = np.asarray(x)
    values = x[indices] if x.ndim == 1 else np.take_along_axis(x, indices, axis)
    if keepdims:
        return values, indices
    return values.squeeze(axis)[()], indices.squeeze(axis)[()]


def _give_back(g: Any, z: Any, x_shape: tuple[int, ...], axis: int, keepdims: bool = True) -> Any:
    """The adjoint of the values, at the places they were selected from."""
    values, indices = g[0], z[1]
    if not keepdims:
        values, indices = unsqueeze(values, axis=axis), unsqueeze(indices, axis=axis)
    return scatter_add(np.zeros(x_shape, values.dtype), indices, values, axis=axis)


def _follow(x_dot: Any, z: Any, axis: int, keepdims: bool = True) -> tuple[Any, None]:
    """The tangents of the selected elements."""
    if keepdims:
        return gather(x_dot, z[1], axis=axis), None
    return squeeze(gather(x_dot, unsqueeze(z[1], axis=axis), axis=axis), axis=axis), None


def _lower_median(x: Any, axis: int) -> Any:
    """Index of the first element that equals the lower median; of the first nan where there is one."""
    x = np.asarray(x)
    middle = np.take(np.sort(x, axis=axis), [(x.shape[axis] - 1) // 2], axis=axis)
    missing = np.isnan(x)
    found = np.where(missing.any(axis=axis, keepdims=True), missing, x == middle)
    return np.argmax(found, axis=axis, keepdims=True)


def _lower_nanmedian(x: Any, axis: int) -> Any:
    """Index of the first element that equals the lower median of those that are not nan; of the first nan of nans."""
    x = np.asarray(x)
    missing = np.isnan(x)
    count = np.sum(~missing, axis=axis, keepdims=True)
    middle = np.take_along_axis(np.sort(x, axis=axis), np.maximum(count - 1, 0) // 2, axis=axis)
    return np.argmax(np.where(count == 0, missing, x == middle), axis=axis, keepdims=True)


def _most_frequent(x: Any, axis: int) -> Any:
    """Index of the last of the elements that occur most often; of those that do so equally often, of the smallest."""
    order = np.moveaxis(_order(x, axis, descending=False), axis, -1)
    values = np.take_along_axis(np.moveaxis(np.asarray(x), axis, -1), order, -1)
    places = np.arange(values.shape[-1])
    begins = np.ones(values.shape, bool)
    begins[..., 1:] = values[..., 1:] != values[..., :-1]
    since = places - np.maximum.accumulate(np.where(begins, places, 0), -1)
    return np.moveaxis(np.take_along_axis(order, np.argmax(since, -1, keepdims=True), -1), -1, axis)


def _over(find: Callable[..., Any]) -> Callable[..., Any]:
    """The element over some axes, or all, that is found along one axis."""

    def forward(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        x = np.asarray(x)
        axes = range(x.ndim) if axis is None else [k % x.ndim for k in (axis if isinstance(axis, tuple) else (axis,))]
        rest = [k for k in range(x.ndim) if k not in axes]
        flat = np.transpose(x, (*rest, *axes)).reshape(*[x.shape[k] for k in rest], -1)
        z = np.take_along_axis(flat, find(flat, -1), -1)[..., 0]
        return z.reshape([1 if k in axes else n for k, n in enumerate(x.shape)]) if keepdims else z[()]

    return forward


def _selected(s: Any, x: Any, places: Any, axis: int, keepdims: bool = True) -> tuple[Any, Any]:
    """The steps of `_select`."""
    values = s.read(x, s.along(x, places, axis))
    return (values, places) if keepdims else (s.squeezed(values, axis), s.squeezed(places, axis))


def _extreme_steps(greatest: bool) -> Callable[..., Any]:
    def steps(s: Any, x: Any, axis: int, keepdims: bool) -> tuple[Any, Any]:
        return _selected(s, x, s.place_of_extreme(x, axis, greatest, True), axis, keepdims)

    return steps


def _one_along(name: str, find: Callable[..., Any], node: str, doc: str, steps: Any = None) -> Op:
    """Declare an op that selects one element along an axis and gives (values, indices)."""
    return general(
        name, lambda x, *, axis=-1, keepdims=False: _select(x, find(x, axis), axis, keepdims),
        lambda g, z, x_shape, axis, keepdims: _give_back(g, z, x_shape, axis, keepdims),
        jvp=lambda x_dot, z, axis, keepdims: _follow(x_dot, z, axis, keepdims),
        node=node, outputs=2, integers=1, doc=doc, batch=along("axis"),
        cases=_distinct(((2, 3), {"axis": 0}), ((2, 3), {"axis": -1, "keepdims": True}), ((4,), {})),
        hints=Hints(steps=steps),
    )


max_along = _one_along(
    "max_along", lambda x, axis: np.asarray(x).argmax(axis, keepdims=True), "MaxBackward0",
    "Largest element along an axis, and its index: the first one at a tie.", _extreme_steps(greatest=True),
)
min_along = _one_along(
    "min_along", lambda x, axis: np.asarray(x).argmin(axis, keepdims=True), "MinBackward0",
    "Smallest element along an axis, and its index: the first one at a tie.", _extreme_steps(greatest=False),
)
median_along = _one_along(
    "median_along", _lower_median, "MedianBackward1",
    "Lower median along an axis, and its index: the first one at a tie.",
)
nanmedian_along = _one_along(
    "nanmedian_along", _lower_nanmedian, "NanmedianBackward1",
    "Lower median along an axis of what is not nan, and its index: the first one at a tie.",
)
mode = _one_along(
    "mode", _most_frequent, "ModeBackward0",
    "The element that occurs most often along an axis, the smallest of several, and its index: the last one at a tie.",
)
median_all = _extreme(
    "median_all", _over(_lower_median), "Lower median over axes; ties share the gradient evenly.",
    node="MedianBackward0",
)
nanmedian_all = _extreme(
    "nanmedian_all", _over(_lower_nanmedian),
    "Lower median over axes of what is not nan; ties share the gradient evenly.", spread=False,
    node="NanmedianBackward0",
)


def _running(find: Callable[..., Any]) -> Callable[..., Any]:
    """Running extremes along an axis, and the index of each: the last one at a tie, as in PyTorch."""

    def forward(x: Any, *, axis: int = -1) -> tuple[Any, Any]:
        x = np.asarray(x)
        if x.ndim == 0:
            return x[()], np.int64(0)
        values = find.accumulate(x, axis=axis)  # type: ignore[attr-defined]
        places = np.arange(x.shape[axis]).reshape([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)])
        held = (x == values) | (np.isnan(x) & np.isnan(values))
        return values, np.maximum.accumulate(np.where(held, places, 0), axis=axis)

    return forward


def _running_steps(s: Any, x: Any, axis: int, greatest: bool) -> Any:
    places = s.places_so_far(x, axis, greatest)
    return s.read(x, s.along(x, places, axis)), places


def _running_extreme(name: str, find: Callable[..., Any], doc: str) -> Op:
    return general(
        name, _running(find),
        lambda g, z, x_shape, axis: reshape(g[0], shape=()) if x_shape == () else _give_back(g, z, x_shape, axis),
        jvp=lambda x_dot, z, axis: (x_dot, None) if z[1].ndim == 0 else _follow(x_dot, z, axis),
        outputs=2, integers=1, cases=_distinct(((5,), {}), ((3, 4), {"axis": 0}), ((), {})), doc=doc,
        batch=along("axis"),
        hints=Hints(
            accumulates=find, steps=lambda s, x, axis: _running_steps(s, x, axis, greatest=find is np.maximum)
        ),
    )


cummax = _running_extreme("cummax", np.maximum, "Running maximum along an axis, and the index of each.")
cummin = _running_extreme("cummin", np.minimum, "Running minimum along an axis, and the index of each.")


def _order(x: Any, axis: int, descending: bool) -> Any:
    x = np.asarray(x)
    if not descending:
        return x.argsort(axis=axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


def _topk(x: Any, *, k: int, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    order = _order(x, axis, descending=largest)
    if not 0 <= k <= order.shape[axis]:
        raise ValueError(f"topk needs 0 ≤ k ≤ {order.shape[axis]}, the length of axis {axis}; got k={k}")
    return _select(x, np.take(order, range(k), axis), axis)


def _kthvalue(x: Any, *, k: int, axis: int = -1, keepdims: bool = False) -> tuple[Any, Any]:
    order = _order(x, axis, descending=False)
    if not 1 <= k <= order.shape[axis]:
        raise ValueError(f"kthvalue needs 1 ≤ k ≤ {order.shape[axis]}, the length of axis {axis}; got k={k}")
    return _select(x, np.take(order, [k - 1], axis), axis, keepdims)


def _topk_steps(s: Any, x: Any, k: int, axis: int, largest: bool) -> Any:
    return _selected(s, x, s.first(s.order(x, axis, descending=largest), axis, 0, k), axis)


def _kthvalue_steps(s: Any, x: Any, k: int, axis: int, keepdims: bool) -> Any:
    return _selected(s, x, s.first(s.order(x, axis), axis, k - 1, k), axis, keepdims)


sort = general(
    "sort", lambda x, *, axis=-1, descending=False: _select(x, _order(x, axis, descending), axis),
    lambda g, z, x_shape, axis: _give_back(g, z, x_shape, axis), jvp=lambda x_dot, z, axis: _follow(x_dot, z, axis),
    outputs=2, integers=1, cases=_distinct(((4,), {}), ((3, 2), {"axis": 0, "descending": True})),
    batch=along("axis"), lies="operand",
    hints=Hints(steps=lambda s, x, axis, descending: _selected(s, x, s.order(x, axis, descending), axis)),
    doc="The elements in order along an axis, equal ones in their first order, and the indices they had.",
)


def _with_signs(values: Any, indices: Any, theirs: Callable[[], Any]) -> tuple[Any, Any]:
    """Values and their indices, with the values of NumPy's own where zeros of both signs may stand in another order."""
    return (values if values.all() else theirs()), indices


def _as_numpy_sorts(x: Any, axis: int) -> tuple[Any, Any]:
    values, indices = _select(x, _order(x, axis, False), axis)
    return _with_signs(values, indices, lambda: np.sort(x, axis=axis))


def _moved(name: str, find: Callable[..., Any], doc: str, params: dict[str, Any], steps: Any = None) -> Op:
    """Declare an op that puts the elements along an axis in another order, and gives (values, indices)."""
    return general(
        name, find,
        lambda g, z, x_shape, axis: _give_back(g, z, x_shape, axis), jvp=lambda x_dot, z, axis: _follow(x_dot, z, axis),
        outputs=2, integers=1, cases=_distinct(((4,), params), ((3, 2), {**params, "axis": 0})),
        batch=along("axis"), lies="operand", hints=Hints(steps=steps), doc=doc,
    )


in_order = _moved(
    "in_order", lambda x, *, axis=-1: _as_numpy_sorts(x, axis),
    "The elements in order along an axis, and indices that they had; zeros of both signs as `np.sort` leaves them.", {},
    lambda s, x, axis: _selected(s, x, s.order(x, axis, alike=True), axis),
)


def _partitioned(x: Any, *, kth: Any, axis: int = -1, kind: Any = "introselect") -> tuple[Any, Any]:
    """By rank: `np.partition` and `np.argpartition` need not leave what lies before and behind in one order."""
    values = np.partition(x, kth, axis, kind)
    ranks = np.argsort(np.argsort(values, axis, kind="stable"), axis)
    return values, np.take_along_axis(np.argsort(x, axis, kind="stable"), ranks, axis)


partitioned = _moved(
    "partitioned", _partitioned,
    "The elements as `np.partition` leaves them along an axis, and indices that they had.", {"kth": 1},
)

topk = general(
    "topk", _topk,
    lambda g, z, x_shape, axis: _give_back(g, z, x_shape, axis), jvp=lambda x_dot, z, axis: _follow(x_dot, z, axis),
    outputs=2, integers=1, cases=_distinct(((4,), {"k": 2}), ((3, 2), {"k": 1, "axis": 0, "largest": False})),
    hints=Hints(steps=_topk_steps),
    batch=along("axis"),
    doc="The k largest (or smallest) elements along an axis, in order, and their indices.",
)

kthvalue = general(
    "kthvalue", _kthvalue,
    lambda g, z, x_shape, axis, keepdims: _give_back(g, z, x_shape, axis, keepdims),
    jvp=lambda x_dot, z, axis, keepdims: _follow(x_dot, z, axis, keepdims),
    outputs=2, integers=1, cases=_distinct(((4,), {"k": 2}), ((3, 2), {"k": 1, "axis": 0, "keepdims": True})),
    hints=Hints(steps=_kthvalue_steps),
    batch=along("axis"),
    doc="The k-th smallest element along an axis (k from 1), and its index.",
)


def _max(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Largest element of all, or (values, indices) along an axis."""
    return max_all(ready(x)) if axis is None else max_along(ready(x), axis=axis, keepdims=keepdims)


def _min(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Smallest element of all, or (values, indices) along an axis."""
    return min_all(ready(x)) if axis is None else min_along(ready(x), axis=axis, keepdims=keepdims)


def _median(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Lower median of all elements, or (values, indices) along an axis."""
    return median_all(ready(x)) if axis is None else median_along(ready(x), axis=axis, keepdims=keepdims)


def _nanmedian(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Lower median of all elements but nan, or (values, indices) along an axis."""
    return nanmedian_all(ready(x)) if axis is None else nanmedian_along(ready(x), axis=axis, keepdims=keepdims)


max = composite("max", _max, lies="rows")
min = composite("min", _min, lies="rows")
median = composite("median", _median, lies="rows")
nanmedian = composite("nanmedian", _nanmedian, lies="rows")


def _aminmax(x: Any, axis: int | None = None, keepdims: bool = False) -> tuple[Any, Any]:
    """Smallest and largest element over axes, all where None; ties share the gradient evenly."""
    x = ready(x)
    return amin(x, axis=axis, keepdims=keepdims), amax(x, axis=axis, keepdims=keepdims)


aminmax = composite("aminmax", _aminmax, lies="rows")
