"""NumPy functions that lay arrays beside one another, turn and part them, and put something around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.op import composite, ready, shape_of
from ..shapes.index import index_put, take
from ..shapes.joining import cat, split
from ..shapes.shape import broadcast_arrays, flip, reshape, transpose


def _at_least(n: int, new: Any):  # type: ignore[no-untyped-def]
    def at_least(*arys: Any) -> Any:
        raised = tuple(a if len(shape_of(a)) >= n else reshape(a, shape=new(shape_of(a))) for a in map(ready, arys))
        return raised[0] if len(raised) == 1 else raised

    return at_least


atleast_1d = composite(
    "atleast_1d", _at_least(1, lambda shape: (1,)), numpy=(np.atleast_1d,), doc="Numbers as vectors of one element."
)
atleast_2d = composite(
    "atleast_2d", _at_least(2, lambda shape: (1, *shape) if shape else (1, 1)), numpy=(np.atleast_2d,),
    doc="Vectors as matrices of one row.",
)
atleast_3d = composite(
    "atleast_3d", _at_least(3, lambda shape: {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]),
    numpy=(np.atleast_3d,), doc="Matrices as arrays of three axes, the last of length 1.",
)


def _raised(tup: Sequence[Any], n: int) -> list[Any]:
    raise_one = {1: atleast_1d, 2: atleast_2d, 3: atleast_3d}[n]
    return [raise_one(a) for a in tup]


def _hstack(tup: Sequence[Any]) -> Any:
    """Arrays side by side: along the second axis, vectors along the first."""
    arrays = _raised(tup, 1)
    return cat(arrays, axis=0 if arrays and arrays[0].ndim == 1 else 1)


def _column_stack(tup: Sequence[Any]) -> Any:
    """Vectors as the columns of a matrix, together with the columns of matrices."""
    return cat([reshape(a, shape=(-1, 1)) if len(shape_of(a)) < 2 else a for a in map(ready, tup)], axis=1)


vstack = composite(
    "vstack", lambda tup: cat(_raised(tup, 2), axis=0), numpy=(np.vstack,), lies="rows",
    doc="Arrays one below the other, vectors as rows.",
)
hstack = composite("hstack", _hstack, numpy=(np.hstack,), lies="rows")
dstack = composite(
    "dstack", lambda tup: cat(_raised(tup, 3), axis=2), numpy=(np.dstack,), lies="rows",
    doc="Arrays one behind the other, in the third axis.",
)
column_stack = composite("column_stack", _column_stack, numpy=(np.column_stack,), lies="rows")


def _append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Values after the end of an array, along an axis or of the flattened array."""
    return cat([arr, values], axis=axis)


append = composite("append", _append, numpy=(np.append,))

fliplr = composite(
    "fliplr", lambda m: flip(ready(m), axis=1), numpy=(np.fliplr,), lies="operand", doc="The second axis reversed."
)
flipud = composite(
    "flipud", lambda m: flip(ready(m), axis=0), numpy=(np.flipud,), lies="operand", doc="The first axis reversed."
)


def _rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Matrices turned by k right angles, from the first of two axes towards the second."""
    m, (first, second) = ready(m), axes
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return flip(m, axis=(first, second))
    turned = flip(m, axis=second) if k % 4 == 1 else m
    turned = transpose(turned, axis1=first, axis2=second)
    return turned if k % 4 == 1 else flip(turned, axis=second)


rot90 = composite("rot90", _rot90, numpy=(np.rot90,))


def _hsplit(ary: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """An array cut along the second axis, a vector along the first."""
    return split(ary, indices_or_sections=indices_or_sections, axis=1 if len(shape_of(ary)) > 1 else 0)


hsplit = composite("hsplit", _hsplit, numpy=(np.hsplit,))


def _vsplit(ary: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """An array cut along the first axis."""
    z: tuple[Any, ...] = split(ary, indices_or_sections=indices_or_sections, axis=0)
    return z


vsplit = composite("vsplit", _vsplit, numpy=(np.vsplit,))


def _meshgrid(*xi: Any, indexing: str = "xy") -> tuple[Any, ...]:
    """Coordinate arrays of a grid, from the coordinates along each axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid takes indexing 'xy' or 'ij', got {indexing!r}")
    n = len(xi)
    axes = [*range(n)]
    if indexing == "xy" and n > 1:
        axes[:2] = 1, 0
    rows = [reshape(ready(x), shape=tuple(-1 if k == axis else 1 for k in range(n))) for x, axis in zip(xi, axes)]
    return broadcast_arrays(*rows)


meshgrid = composite("meshgrid", _meshgrid, numpy=(np.meshgrid,))


def _pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: float = 0.0) -> Any:
    """An array with constants around it, or with its own elements: 'edge', 'reflect', 'symmetric', 'wrap'."""
    if mode not in ("constant", "edge", "reflect", "symmetric", "wrap") or np.ndim(constant_values):
        raise ValueError(
            "pad supports the mode 'constant' with one number, and 'edge', 'reflect', 'symmetric' and 'wrap'; got "
            f"mode={mode!r}" + (f", constant_values={constant_values!r}" if mode == "constant" else "")
        )
    array = ready(array)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    if mode != "constant":
        for axis, width in enumerate(widths):
            places = np.pad(np.arange(array.shape[axis]), tuple(width), mode)  # type: ignore[call-overload]
            array = take(array, places, axis=axis) if width.any() else array
        return array
    shape = tuple(n + int(a + b) for n, (a, b) in zip(array.shape, widths))
    inside = tuple(slice(int(a), int(a) + n) for n, (a, _) in zip(array.shape, widths))
    return index_put(np.full(shape, constant_values, dtype=array.dtype), array, index=inside)


pad = composite("pad", _pad, numpy=(np.pad,))
