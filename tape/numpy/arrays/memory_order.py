"""How arrays lie in memory: which of NumPy's orders a copy has, since views of it depend on that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import ops

from ...base.tensor import Face, Tensor
from ...recording.level import Layer, components, live
from ...recording.views import leave
from .leaving import value_of


def strides_of(tensor: Tensor) -> tuple[int, ...]:
    """Elements from one entry to the next along each axis; of one with lanes, as each lane would lie alone."""
    tensor = live(tensor)
    if not isinstance(tensor, Layer):
        return tuple(tensor.stride())
    level: Any = tensor._level
    if not level.in_front:
        return strides_of(tensor._primal)
    lane, *rest = strides_of(tensor._primal)
    apart = abs(lane) * level.n  # where the lanes lie side by side, element by element
    moving = [step for step, length in zip(rest, tensor._spec.shape) if length > 1]
    if lane and moving and all(step % apart == 0 for step in moving):
        return tuple([step // level.n for step in rest])
    return tuple(rest)


def outline(tensor: Tensor) -> np.ndarray:
    """A plain array that lies in memory as a tensor does, whatever its numbers are."""
    dtype = tensor._spec.dtype
    return lying_as(tensor._spec.shape, dtype, [n * dtype.itemsize for n in strides_of(tensor)])


def lying_as(shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int]) -> np.ndarray:
    """A plain array on memory of its own, with so many bytes from one entry to the next along each axis."""
    first = -sum(n * (length - 1) for n, length in zip(strides, shape) if n < 0 and length)
    extent = dtype.itemsize + sum(abs(n) * (length - 1) for n, length in zip(strides, shape) if length)
    return np.ndarray(shape, dtype, np.zeros(max(extent, dtype.itemsize), np.uint8).data, first, strides)


UNWRITTEN = -77
"""What is in a stand-in for an ``out=`` until NumPy writes there: nothing that comes of zeros and ones."""


def unwritten_like(out: Any) -> Any:
    """An array that lies in memory as an ``out=`` does, in which nothing is written yet."""
    if not isinstance(out, np.ndarray):
        return out
    stand_in = outline(out._tensor) if isinstance(out, Face) else lying_as(out.shape, out.dtype, out.strides)
    if stand_in.dtype.kind in "fci":
        stand_in[...] = UNWRITTEN
    stand_in.flags.writeable = out.flags.writeable
    return stand_in


def is_known(tensor: Tensor) -> bool:
    """Whether it is known how a tensor lies in memory: of a large one that is being recorded it may not be."""
    return all(part._has_known_layout() for part in components(tensor))


def leave_layout_open(tensor: Tensor) -> None:
    """Say of a tensor that is being recorded that NumPy may lay it otherwise, so that nobody may be told of it."""
    for part in components(tensor):
        part._leave_layout_open()


def is_in_order(tensor: Tensor) -> bool:
    """Whether a tensor lies in row-major order, without gaps between what is not of length 1."""
    step = 1
    for length, stride in zip(tensor._spec.shape[::-1], strides_of(tensor)[::-1]):
        if length != 1 and stride != step:
            return not tensor._spec.size
        step *= length
    return True


def tell_layout(tensor: Tensor) -> None:
    """What the user's code does from here on may depend on how a tensor lies in memory."""
    for part in components(tensor):
        part._tell_layout()


def shown(x: Face, what: str) -> np.ndarray:
    """The numbers of an array for code that sees how they lie in memory as well.

    Raises:
        TypeError: if they carry a gradient.
    """
    numbers = value_of(x, what)
    tell_layout(x._tensor)
    return numbers


def tell_owner(tensor: Tensor) -> None:
    """What the user's code does from here on may depend on whose memory an array is in, and on who may write there.

    Under a transform it is the function's own, whatever the argument is, so nothing is told of what a layer stands on.
    """
    live(tensor)._tell_owner()


def settled(z: Tensor) -> Tensor:
    """What was read of a number, or an element that was read: a value of its own, which no write reaches."""
    if type(z) is Tensor:
        return ops.clone(z) if z._spec.shape or type(z._data) is np.ndarray else leave(z)
    if isinstance(z, Layer):
        return ops.clone(z)
    return z._at(z._row) if hasattr(z, "_at") and hasattr(z, "_row") else z


def resolved(tensor: Tensor, order: Any) -> str:
    """``"A"`` and ``"K"`` as what they mean for a tensor, where that is ``"C"`` or ``"F"``.

    Raises:
        ValueError: if it is none of NumPy's orders.
        TypeError: if it is no text.
    """
    if order is not None and not isinstance(order, str):
        raise TypeError(f"order must be str, not {type(order).__name__}")
    order = "C" if order is None else str(order).upper()
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    if order == "A":
        tell_layout(tensor)
        flags = outline(tensor).flags
        return "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    return order


def copied(tensor: Tensor, order: Any = "K") -> Tensor:
    """A copy in one of NumPy's orders."""
    order = resolved(tensor, order)
    if order == "F":
        return _turned(copied(_turned(tensor), "C"))
    if order == "K" or len(tensor._spec.shape) < 2:
        return ops.clone(tensor)
    ordered = tensor.contiguous()  # first: a recording may not know whether that is the tensor's own memory
    return ordered if type(tensor) is Tensor and ordered is not tensor else ops.clone(ordered)


def lying_in(tensor: Tensor, order: str) -> Tensor:
    """A tensor that lies in order ``"C"`` or ``"F"`` itself, else a copy, which for other arguments may be none."""
    flags = outline(tensor).flags
    if flags.f_contiguous if order == "F" else flags.c_contiguous:
        return tensor
    return _turned(_turned(tensor).contiguous()) if order == "F" else tensor.contiguous()


def lying_like(tensor: Tensor, wanted: np.ndarray) -> Tensor:
    """A tensor, or a copy of it, without gaps and with its axes in memory in the order in which another array's are."""
    axes = tuple(sorted(range(wanted.ndim), key=lambda k: -abs(wanted.strides[k])))
    turned = ops.permute(tensor, axes=axes)
    if is_in_order(turned):
        return tensor
    turned = ops.permute(copied(turned, "C"), axes=tuple(np.argsort(axes).tolist()))
    return ops.clone(turned)  # with memory of its own


def _turned(tensor: Tensor) -> Tensor:
    return ops.permute(tensor, axes=None)


def visited(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The axes from the slowest to the fastest, as NumPy's iterators go through them.

    Axes along which nothing moves say nothing about the order, so they stay beside their neighbours.
    """
    steps = [abs(step) if length > 1 else 0 for step, length in zip(strides, shape)]
    inner: list[int] = []  # from the fastest on
    for k in reversed(range(len(steps))):
        place = len(inner)
        for i in reversed(range(len(inner))):
            other = steps[inner[i]]
            if steps[k] and other:
                if other <= steps[k]:
                    break
                place = i
        inner.insert(place, k)
    return tuple(reversed(inner))


def in_a_row(tensor: Tensor, order: Any) -> Tensor:
    """The elements one after another in one of NumPy's orders; a view where they lie so without gaps."""
    order = resolved(tensor, order)
    if order == "K":
        tell_layout(tensor)
        if len(tensor._spec.shape) > 1:
            tensor = ops.permute(tensor, axes=visited(tensor._spec.shape, strides_of(tensor)))
    elif order == "F":
        tensor = _turned(tensor)
    # Also where reshape would give a view, NumPy's ravel copies.
    return ops.reshape(lying_in(tensor, "C"), shape=(-1,))
