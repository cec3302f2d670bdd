"""Reading at an index, and the transpose: adding at an index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core import batching_index as rules
from ..core.batching import along, dynamic_by
from ..core.batching_index import parts_of
from ..core.domain import Case, cases_of
from ..core.hints import Hints
from ..core.op import composite, is_complex, linear, ready
from .shape import broadcast_arrays, ravel, reshape
from .sums import broadcast_to, sum_to

_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def is_basic(index: Any) -> bool:
    """Whether an index is made of slices and integers alone, so that no element is read twice."""
    for p in parts_of(index):
        if type(p) not in _BASIC and not (isinstance(p, (slice, int, np.integer)) and not isinstance(p, bool)):
            return False
    return True


def is_plain(index: Any) -> bool:
    """Whether an index is made of integers and slices, no more than one for each axis."""
    return is_basic(index) and not any(p is None or p is Ellipsis for p in parts_of(index))


def _scatter(x: Any, *, index: Any, shape: tuple[int, ...]) -> Any:
    x = np.asarray(x)
    z = np.zeros(shape, dtype=x.dtype)
    if is_basic(index) or getattr(index, "dtype", None) == np.bool_:
        z[index] = x
    else:
        np.add.at(z, index, x)
    return z


select = linear(
    "select", lambda x, *, index: x[index], lambda g, x_shape, index: scatter(g, index=index, shape=x_shape),
    cases=cases_of(((4,), {"index": 2}), ((3, 2), {"index": -1})),
    hints=Hints(motion="block", part=lambda index: (index,)), view=True,
    batch=rules.selecting,
    doc="x[i] for one integer i along the first axis.",
)

scatter = linear(
    "scatter", _scatter, lambda g, index: getitem(g, index=index),
    node="IndexPutBackward0",
    cases=cases_of(
        ((2,), {"index": np.array([1, 1]), "shape": (3,)}),
        ((3,), {"index": slice(0, 3), "shape": (4,)}),
        ((1,), {"index": np.array([True, False]), "shape": (2,)}),
    ),
    hints=Hints(
        puts=lambda index: (index,), large=True,
        steps=lambda s, x, index, shape: s.add(z := s.zeros(shape, x.spec.dtype), s.at(z, index), x),
    ),
    batch=rules.scattering,
    doc="Zeros of the given shape with x added at an index; repeated indices add up.",
)


def _collect(*xs: Any, places: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    z = np.zeros(shape, np.result_type(*xs))
    for x, index in zip(xs, places):
        if type(index) is int or is_basic(index):
            z[index] += x
        else:
            np.add.at(z, index, x)
    return z


def _collected(g: Any, i: int, places: tuple[Any, ...]) -> Any:
    index = places[i]
    if index is Ellipsis:
        return g
    return select(g, index=index) if type(index) is int else getitem(g, index=index)


def _collect_steps(s: Any, *xs: Any, places: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    z = s.zeros(shape, np.result_type(*(x.spec.dtype for x in xs)))
    for x, index in zip(xs, places):
        s.add(z, s.at(z, index), x)
    return z


collect = linear(
    "collect", _collect, _collected,
    node="IndexPutBackward0",
    cases=cases_of(
        ([(2,), (2, 2), (3, 2)], {"places": (-1, slice(1, 3), ...), "shape": (3, 2)}),
        ([(3,), ()], {"places": (np.array([1, 1, 0]), 1), "shape": (2,)}),
        ([(2,), (1,)], {"places": ((slice(0, 4, 2),), np.array([False, True, False])), "shape": (3,)}),
    ),
    batch=rules.collecting, hints=Hints(puts=lambda places: places, steps=_collect_steps),
    doc="Zeros of the given shape with every x added at its place, an index; where places overlap they add up.",
)


def _node(index: Any) -> str:
    """PyTorch applies an index part by part; the node is that of the last part."""
    if not is_basic(index):
        return "IndexBackward0"
    last = next((p for p in reversed(parts_of(index)) if p is not Ellipsis and p != slice(None)), None)
    if last is None and any(p is None for p in parts_of(index)):
        return "UnsqueezeBackward0"
    if last is None and not any(isinstance(p, slice) for p in parts_of(index)):
        return "AliasBackward0"
    return "SelectBackward0" if isinstance(last, (int, np.integer)) else "SliceBackward0"


def _index_cases(rng: np.random.Generator) -> Iterator[Case]:
    x = rng.standard_normal((3, 4, 2))
    for index in (
        (1, slice(None, None, 2)), (Ellipsis, 0), (None, slice(1, None)), np.array([0, 2, 2]),
        x[..., 0] > 0, (slice(None), np.array([[0, 1], [1, 1]])), (np.array([0, 1]), slice(None), np.array([1, 1])),
        slice(None, None, -1), [0, -1], (0, 0, 0), (slice(0, 0),),
    ):  # fmt: skip
        yield (x,), {"index": index}


getitem = linear(
    "getitem", lambda x, *, index: x[index], lambda g, x_shape, index: scatter(g, index=index, shape=x_shape),
    node=_node, cases=_index_cases, view=is_basic,
    hints=Hints(part=lambda index: (index,), steps=lambda s, x, index: s.read(x, s.at(x, index))),
    batch=rules.selecting,
    doc="x[index] for any index that NumPy takes: slices, integers, arrays, masks, mixed.",
)


def check_kinds(x: Any, y: Any, what: str) -> None:
    """Raise where complex numbers are to be put among real ones."""
    if is_complex(y) and x.dtype.kind != "c":
        raise RuntimeError(f"{what} needs y to fit x, and x is {x.dtype} while y is complex; convert x first")


def _index_put(x: Any, y: Any, *, index: Any, accumulate: bool = False) -> Any:
    x = np.asarray(x)
    z = np.array(x, dtype=np.result_type(x, y) if x.dtype.kind not in "fc" else x.dtype)
    check_kinds(z, y, "x[index] = y")
    if accumulate:
        np.add.at(z, index, y)
    else:
        z[index] = y
    return z


def _overwrite(g: Any, index: Any, accumulate: bool) -> Any:
    return g if accumulate else index_put(g, 0.0, index=index)


def _last_writer(shape: tuple[int, ...], index: Any) -> Any:
    """Mask of the values put at an index that are still there when all have been put; None for all of them."""
    if is_basic(index):
        return None
    cells = np.arange(np.prod(shape, dtype=int)).reshape(shape)[index]
    owner = np.empty(shape, dtype=int)
    owner[index] = np.arange(cells.size).reshape(cells.shape)
    return owner[index] == np.arange(cells.size).reshape(cells.shape)


def _written(g: Any, y_shape: tuple[int, ...], index: Any, accumulate: bool) -> Any:
    bar = getitem(g, index=index)
    stays = None if accumulate else _last_writer(g.shape, index)
    if stays is not None and not stays.all():
        bar = bar * stays
    if bar.shape == y_shape:
        return bar
    spare = len(y_shape) - len(bar.shape)  # axes in front, of length 1, that assigning leaves away
    bar = sum_to(bar, shape=y_shape[max(spare, 0) :])
    return reshape(bar, shape=y_shape) if spare > 0 else bar


def _put_cases(rng: np.random.Generator) -> Iterator[Case]:
    x = rng.standard_normal((3, 4))
    for index, shape in (((1,), (4,)), ((slice(1, 3), 0), ()), (x > 0, ()), (np.array([0, 2, 0]), (3, 4))):
        for accumulate in (False, True):
            yield (x, np.asarray(rng.standard_normal(shape))), {"index": index, "accumulate": accumulate}


index_put = linear(
    "index_put", _index_put, _overwrite, _written, cases=_put_cases,
    node=lambda index, accumulate: "CopySlices" if is_basic(index) and not accumulate else "IndexPutBackward0",
    batch=rules.putting,
    hints=Hints(
        part=lambda index, accumulate: None if accumulate else (index,),
        steps=lambda s, x, y, index, accumulate: s.put(z := s.copy(x), s.at(z, index), y, accumulate),
    ),
    doc="""x with the values y put at an index, or added there: x[index] = y without changing x.

    Where an index repeats the last value stays, and only that one gets a gradient.
    """,
)


def cells_along(indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The index arrays that read ``x[i, j, indices[i, j, k], …]`` with the indices along one axis."""
    grid = list(np.ogrid[tuple(map(slice, indices.shape))])
    grid[axis] = indices
    return tuple(grid)


def _gather(x: Any, indices: Any, *, axis: int = -1) -> Any:
    return np.asarray(x)[cells_along(np.asarray(indices), axis)]


def _scatter_add(x: Any, indices: Any, source: Any, *, axis: int = -1) -> Any:
    z = np.array(x)
    check_kinds(z, source, "scatter_add(x, y)")
    np.add.at(z, cells_along(np.asarray(indices), axis), source)
    return z


def _gather_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield (rng.standard_normal((3, 4)), np.array([[0, 2, 1, 1], [0, 0, 1, 2]])), {"axis": 0}
    yield (rng.standard_normal((3, 4)), np.array([[3, 3], [0, 1]])), {"axis": 1}
    yield (rng.standard_normal(3), np.array([-1, 0])), {}


def _scatter_add_steps(s: Any, x: Any, indices: Any, source: Any, axis: int) -> Any:
    z = s.copy(x)
    return s.add(z, s.along(z, indices, axis), source)


def _scatter_add_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield (rng.standard_normal((3, 4)), np.array([[0, 2, 1, 1]]), rng.standard_normal((1, 4))), {"axis": 0}
    yield (rng.standard_normal(3), np.array([-1, 0, 0, 2]), rng.standard_normal(4)), {}


gather = linear(
    "gather", _gather,
    lambda g, x_shape, indices, axis: scatter_add(np.zeros(x_shape, g.dtype), indices, g, axis=axis), None,
    hints=Hints(steps=lambda s, x, indices, axis: s.read(x, s.along(x, indices, axis)), raises=slice(1, 2)),
    cases=_gather_cases,
    batch=along("axis"),
    doc="z[i, j] = x[indices[i, j], j] for axis 0, and so on: one element chosen along an axis at each place.",
)

scatter_add = linear(
    "scatter_add", _scatter_add,
    lambda g: g, None, lambda g, indices, axis: gather(g, indices, axis=axis),
    cases=_scatter_add_cases, hints=Hints(steps=_scatter_add_steps, raises=slice(1, 2)),
    batch=along("axis"),
    doc="x with z[indices[i, j], j] += source[i, j] for axis 0, and so on.",
)


def _take(x: Any, indices: Any, *, axis: int | None = None) -> Any:
    return np.take(x, indices, axis)


def _take_transpose(g: Any, x_shape: tuple[int, ...], indices: Any, axis: int | None) -> Any:
    from_zero = np.zeros(x_shape, g.dtype)
    return index_add(from_zero, indices, g, axis=axis)


def _index_add(x: Any, indices: Any, source: Any, *, axis: int | None = 0) -> Any:
    z = np.array(x)
    check_kinds(z, source, "index_add(x, y)")
    if axis is None:
        np.add.at(z.reshape(-1), np.asarray(indices), source)
    else:
        place: Any = (slice(None),) * (axis % max(z.ndim, 1)) + (np.asarray(indices),)
        np.add.at(z, place, source)
    return z


def _index_add_steps(s: Any, x: Any, indices: Any, source: Any, axis: int | None) -> Any:
    z = s.copy(x)
    s.add(*s.slices(z, indices, axis), source)
    return z


def _take_cases(rng: np.random.Generator) -> Iterator[Case]:
    several, square = np.array([0, 2, 2]), np.array([[1, 0], [3, 3]])
    for indices, axis in ((several, 0), (square, 1), (np.array(5), None), (np.array(-1), 0)):
        yield (rng.standard_normal((3, 4)), indices), {"axis": axis}


def _index_add_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield (rng.standard_normal((3, 2)), np.array([0, 2, 2]), rng.standard_normal((3, 2))), {"axis": 0}
    yield (rng.standard_normal((3, 2)), np.array([1]), rng.standard_normal((3, 1))), {"axis": -1}
    yield (rng.standard_normal((3, 2)), np.array([5, 5]), rng.standard_normal(2)), {"axis": None}


take = linear(
    "take", _take, _take_transpose, None,
    node=lambda axis: "TakeBackward0" if axis is None else "IndexSelectBackward0",
    numpy=(np.take,), cases=_take_cases,
    hints=Hints(steps=lambda s, x, indices, axis: s.read(*s.slices(x, indices, axis)), raises=slice(1, 2)),
    batch=rules.taking,
    doc="Whole slices of x along an axis, chosen by number; elements of the flattened x where `axis` is None.",
)

index_add = linear(
    "index_add", _index_add,
    lambda g: g, None, lambda g, indices, axis: take(g, indices, axis=axis),
    cases=_index_add_cases, hints=Hints(steps=_index_add_steps, raises=slice(1, 2)),
    batch=rules.adding,
    doc="x with the slices of `source` added to the slices of x whose numbers are `indices`.",
)


def _masked_select(x: Any, mask: Any) -> Any:
    return np.asarray(x)[np.asarray(mask)]


def _masked_place(x: Any, mask: Any) -> Any:
    x = np.asarray(x)
    z = np.zeros(np.shape(mask), dtype=x.dtype)
    z[np.asarray(mask)] = x
    return z


def _mask_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield (rng.standard_normal((2, 3)), np.array([[True, False, True], [False, False, True]])), {}
    yield (rng.standard_normal(2), np.array([False, False])), {}


masked_choice = linear(
    "masked_choice", _masked_select, lambda g, mask: masked_place(g, mask), None,
    node="MaskedSelectBackward0", cases=_mask_cases,
    batch=dynamic_by("count_nonzero", 1, by=rules.masking),
    doc="The elements of x at which a mask of the same shape holds, in one axis.",
)

masked_place = linear(
    "masked_place", _masked_place, lambda g, mask: masked_choice(g, mask), None,
    node="MaskedScatterBackward0",
    cases=lambda rng: iter([((rng.standard_normal(2), np.array([[True], [True], [False]])), {})]),
    batch=rules.masking,
    doc="Zeros with the elements of x put, in order, where the mask holds: the transpose of `masked_choice`.",
)


def _broadcast_masked_select(x: Any, mask: Any) -> Any:
    """The elements of x at which the mask holds, in one axis; the two broadcast together."""
    x, mask = broadcast_arrays(ready(x), ready(mask))
    return masked_choice(x, mask)


masked_select = composite("masked_select", _broadcast_masked_select)


def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """NumPy's `take_along_axis`: like `gather`, with the other axes broadcast together."""
    arr, indices = ready(arr), ready(indices)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis %= arr.ndim
    shape = list(np.broadcast_shapes(_without(arr.shape, axis), _without(indices.shape, axis)))
    whole = [broadcast_to(a, shape=(*shape[:axis], a.shape[axis], *shape[axis:])) for a in (arr, indices)]
    return gather(*whole, axis=axis)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]


take_along_axis = composite("take_along_axis", _take_along_axis, numpy=(np.take_along_axis,), lies="rows")


def _repeat_interleave(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element, or each slice along an axis, several times in a row."""
    a = ready(a)
    if axis is None or not a.shape:
        a, axis = ravel(a), 0 if axis is None else axis
    return take(a, np.repeat(np.arange(a.shape[axis]), np.asarray(repeats)), axis=axis)


repeat_interleave = composite("repeat_interleave", _repeat_interleave, numpy=(np.repeat,), lies="rows")


def _extract(condition: Any, arr: Any) -> Any:
    """The elements of the flattened array at which the flattened condition holds."""
    return masked_choice(ravel(arr), np.asarray(condition).ravel() != 0)


extract = composite("extract", _extract, numpy=(np.extract,))
