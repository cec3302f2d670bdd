"""Joining arrays, and parting them again."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ..core import batching
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import composite, linear, ready, shape_of
from .index import getitem, select
from .shape import ravel


def along(axis: int, ndim: int, index: Any) -> tuple[Any, ...]:
    """The index that is `index` along one axis and everything along the others."""
    return (slice(None),) * (axis % ndim) + (index,)


def _join_transpose(g: Any, x_shape: tuple[int, ...], i: int, starts: tuple[int, ...], axis: int) -> Any:
    start = starts[i]
    return getitem(g, index=along(axis, len(x_shape), slice(start, start + x_shape[axis])))


join = linear(
    "join", lambda *xs, starts, axis=0: np.concatenate(xs, axis), _join_transpose,
    node="CatBackward0",
    cases=cases_of(
        ([(2, 3), (1, 3)], {"starts": (0, 2)}),
        ([(2, 1), (2, 0), (2, 2)], {"starts": (0, 1, 1), "axis": -1}),
        ([(2,)], {"starts": (0,)}),
    ),
    hints=Hints(growth="none"), batch=batching.along("axis"),
    doc="Arrays one after the other along an existing axis; `cat` works out where each of them starts.",
)


def _cat(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Arrays one after the other along an existing axis; flattened first where `axis` is None.

    >>> cat([[1.0], [2.0, 3.0]])
    array([1., 2., 3.])
    """
    xs = [ready(x) for x in arrays] if axis is not None else [ravel(x) for x in arrays]
    axis = axis or 0
    if not xs:
        raise ValueError("cat needs at least one array, got none")
    lengths = [x.shape[axis] if -x.ndim <= axis < x.ndim else 0 for x in xs]
    return join(*xs, starts=(0, *accumulate(lengths[:-1])), axis=axis)


cat = composite("cat", _cat, numpy=(np.concatenate,), lies="rows")



def _entry(g: Any, x_shape: tuple[int, ...], i: int, axis: int) -> Any:
    axis %= len(x_shape) + 1
    return getitem(g, index=along(axis, len(x_shape) + 1, i)) if axis else select(g, index=i)


COUNTED = frozenset({np.ndarray, np.float64})
PROMOTED = frozenset("biufc")
"""Kinds of dtypes that `np.array` finds as `np.stack` does: it makes objects of what has none in common."""


def _stack(*xs: Any, axis: int = 0) -> np.ndarray:
    """What `np.stack` gives, in row-major order; along the first axis by NumPy's faster loop over a sequence."""
    if axis == 0 and xs and COUNTED.issuperset(map(type, xs)):
        with contextlib.suppress(ValueError):
            z = np.array(xs)
            if z.dtype.kind in PROMOTED and z.dtype.isnative:
                return z
    z = np.stack(xs, axis)
    return z if z.flags.c_contiguous else np.ascontiguousarray(z)


stack = linear(
    "stack", _stack, _entry,
    numpy=(np.stack,), cases=cases_of(([(2, 3), (2, 3)], {}), ([(2,), (2,), (2,)], {"axis": -1}), ([(), ()], {})),
    hints=Hints(growth="none"), batch=batching.along("axis", more=1),
    doc="Arrays of one shape, one after the other along a new axis.",
)


def _unbind_transpose(g: Any, x_shape: tuple[int, ...], x_dtype: Any, axis: int) -> Any:
    part = tuple(np.delete(x_shape, axis).tolist())
    parts = [g[i] for i in range(x_shape[axis])]
    return stack(*(np.zeros(part, x_dtype) if p is None else p for p in parts), axis=axis)


unbind = linear(
    "unbind", lambda x, *, axis=0: tuple(np.moveaxis(x, axis, 0)), _unbind_transpose,
    numpy=(np.unstack,) if hasattr(np, "unstack") else (), outputs=-1, view=True,
    cases=cases_of(((3,), {}), ((2, 3), {"axis": -1})),
    batch=batching.along("axis"),
    hints=Hints(steps=lambda s, x, axis: s.parts(x, axis, None)),
    doc="The slices along one axis, which disappears.",
)


def _split_transpose(g: Any, x_shape: tuple[int, ...], x_dtype: Any, indices_or_sections: Any, axis: int) -> Any:
    lengths = map(len, np.split(np.empty(x_shape[axis]), indices_or_sections))
    parts = []
    for i, n in enumerate(lengths):
        shape = list(x_shape)
        shape[axis] = n
        parts.append(np.zeros(shape, x_dtype) if g[i] is None else g[i])
    return cat(parts, axis=axis)


def _split_steps(s: Any, x: Any, indices_or_sections: Any, axis: int) -> Any:
    return s.parts(x, axis, [len(p) for p in np.split(np.empty(x.spec.shape[axis]), indices_or_sections)])


split = linear(
    "split", lambda x, *, indices_or_sections, axis=0: tuple(np.split(x, indices_or_sections, axis)), _split_transpose,
    numpy=(np.split,), outputs=-1, view=True,
    cases=cases_of(((4,), {"indices_or_sections": 2}), ((2, 5), {"indices_or_sections": (1, 3), "axis": 1})),
    batch=batching.along("axis"),
    hints=Hints(steps=_split_steps),
    doc="x cut along one axis into equal sections, or at the given positions.",
)


def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Any, ...]:
    """x cut along one axis into sections of nearly equal length, or at the given positions."""
    lengths = list(map(len, np.array_split(np.empty(shape_of(ary)[axis]), indices_or_sections)))
    at = tuple(int(k) for k in np.cumsum(lengths[:-1]))
    return split(ary, indices_or_sections=at, axis=axis)


array_split = composite("array_split", _array_split, numpy=(np.array_split,))
