"""Index maps: which element of its operand an op reads for each of its result, as offsets and strides.

An op that is a view says so in the strides of what NumPy gives for an operand that lies so.  Where a declaration says
at which indices an op reads (`Hints.part`) or puts its operands (`Hints.puts`), the map follows from these.  Another op
whose transposes are views of the adjoint puts its operands into places of its result, or adds them up there; what is
found so is tried out on numbers before it is believed.  An op of the user's is not asked: its function may raise for
the numbers of one call or another, and so is called with them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ops import Op
from ops.core.batching_index import is_number, parts_of
from ops.core.own import is_own

from ...base.spec import Spec, row_major


class View(NamedTuple):
    """A look at memory: bytes to its beginning, and strides in bytes."""

    offset: int
    strides: tuple[int, ...]


class CopyAxis(NamedTuple):
    """Of a copy: how many places, and the bytes from one to the next in z and in x."""

    n: int
    z: int
    x: int


class Puts(NamedTuple):
    """z[views[i]] += xᵢ, where z begins as zeros; each place gets one number if it is not `adds`."""

    views: list[View]
    adds: bool
    complete: bool


def outline(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """An array that lies so, in memory that nobody touches, and that memory, which begins where the array does.

    It begins in the middle where strides are negative; then the memory is as large again on that side.
    """
    ends = [(n - 1) * s for n, s in zip(shape, strides) if n]
    low, high = sum(e for e in ends if e < 0), sum(e for e in ends if e > 0) + dtype.itemsize
    memory = np.empty(high - low, np.uint8)
    return np.ndarray(shape, dtype, memory, -low, strides), memory


def part_of(
    shape: Sequence[int], strides: Sequence[int], indices: Sequence[Any]
) -> tuple[View, tuple[int, ...]] | None:
    """How indices, one applied after the other, look at an array, and the shape of that.

    None if it is empty, or unless all indices are integers, slices, None and one ellipsis.
    """
    found = _of_numbers_and_slices(shape, strides, indices[0]) if len(indices) == 1 else None
    if found is not None:
        return found
    axes, offset = list(zip(shape, strides)), 0
    for index in indices:
        parts = parts_of(index)
        named = sum([part is not None and part is not Ellipsis for part in parts])
        dots = sum([part is Ellipsis for part in parts])
        if named > len(axes) or dots > 1:
            return None
        made: list[tuple[int, int]] = []
        at = 0
        for part in parts if dots else (*parts, Ellipsis):
            if part is None:
                made.append((1, 0))
                continue
            if part is Ellipsis:
                end = at + len(axes) - named
                made += axes[at:end]
                at = end
                continue
            n, stride = axes[at]
            at += 1
            if type(part) is slice:
                chosen = range(n)[part]
                made.append((len(chosen), stride * chosen.step))
                offset += stride * chosen.start if chosen else 0
            elif is_number(part):
                offset += stride * range(n)[part]
            else:
                return None
        axes = made
    if not all(n for n, _ in axes):
        return None
    return View(offset, tuple([stride for _, stride in axes])), tuple([n for n, _ in axes])


def _of_numbers_and_slices(
    shape: Sequence[int], strides: Sequence[int], index: Any
) -> tuple[View, tuple[int, ...]] | None:
    """The same for one index of plain integers and slices, the commonest; None for any other, and for what is empty."""
    parts = index if type(index) is tuple else (index,)
    count = len(parts)
    if count > len(shape) or 0 in shape:
        return None
    offset, lengths, steps = 0, [], []
    for part, n, stride in zip(parts, shape, strides):
        if type(part) is int:
            offset += stride * (part if 0 <= part < n else range(n)[part])
        elif type(part) is slice:
            chosen = range(n)[part]
            if not chosen:
                return None
            offset += stride * chosen.start
            lengths.append(len(chosen))
            steps.append(stride * chosen.step)
        else:
            return None
    return View(offset, (*steps, *strides[count:])), (*lengths, *shape[count:])


def seen(found: Any, array: np.ndarray, memory: np.ndarray) -> View | None:
    """How something looks at an array's memory, None if it does not."""
    if type(found) is not np.ndarray or found.dtype != array.dtype:
        return None
    start, begin = found.ctypes.data, memory.ctypes.data
    if not begin <= start < begin + max(memory.nbytes, 1) or not found.size:
        return None
    if found is not array and not np.may_share_memory(found, memory):
        return None
    return View(start - array.ctypes.data, found.strides)


def view_of(op: Op, params: dict[str, Any], operand: Spec, strides: tuple[int, ...], result: Spec) -> View | None:
    """How the result of a view looks at its operand; None if for such an operand it is none."""
    if not operand.size or operand.dtype != result.dtype or is_own(op):
        return None
    indices = op.part_of(params)
    part = None if indices is None else part_of(operand.shape, strides, indices)
    if part is not None:
        return part[0] if part[1] == result.shape else None
    if not op.is_view(params):
        return None
    array, memory = outline(operand.shape, strides, operand.dtype)
    if not operand.ndim:
        array = array.reshape(())
    found = _forward(op, (array,), params)
    if not result.ndim and np.ndim(found) == 0:  # NumPy gives a number for an element
        return _element(op, params, operand, strides)
    if np.shape(found) != result.shape:
        return None
    return seen(found, array, memory)


def _forward(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    with np.errstate(all="ignore"):
        return op.forward(*operands, **params)


def _element(op: Op, params: dict[str, Any], operand: Spec, strides: tuple[int, ...]) -> View | None:
    """Which element of its operand an op gives: by its number, which is not 0: the imaginary part of a real one is."""
    numbers = np.arange(1, operand.size + 1).reshape(operand.shape)
    found = np.asarray(_forward(op, (numbers[()] if operand.ndim else numbers,), params))
    if found.dtype != numbers.dtype or not 1 <= found <= operand.size:
        return None
    index = np.unravel_index(int(found) - 1, operand.shape)
    return View(int(sum(int(i) * s for i, s in zip(index, strides))), ())


def puts_of(op: Op, params: dict[str, Any], operands: Sequence[Spec], result: Spec) -> Puts | None:
    """How a linear op puts its operands into its result, None unless that is all it does."""
    if not result.size or any(spec.dtype != result.dtype for spec in operands) or not is_linear(op):
        return None
    declared = _declared(op.puts_at(params), operands, result)
    if declared is not None:
        return declared
    g, memory = outline(result.shape, row_major(result.shape, result.dtype.itemsize), result.dtype)
    given = [np.empty(spec.shape, spec.dtype) for spec in operands]
    views = []
    for i, spec in enumerate(operands):
        try:
            with np.errstate(all="ignore"):
                bar = op.vjp(i, g, op.environment(given, None, params), spec.shape, spec.dtype)
        except Exception:  # it may read the values of its operands
            return None
        view = seen(np.asarray(bar), g, memory) if np.shape(bar) == spec.shape and spec.size else None
        if view is None:
            return None
        views.append(view)
    return _tried(op, params, operands, result, views)


def _declared(indices: Sequence[Any] | None, operands: Sequence[Spec], result: Spec) -> Puts | None:
    """The puts of an op that says at which indices of its result; None where these are not integers and slices."""
    if indices is None or len(indices) != len(operands):
        return None
    strides, views = row_major(result.shape, result.dtype.itemsize), []
    count, adds = np.zeros(result.shape, np.int32), False
    for spec, index in zip(operands, indices):
        found = part_of(result.shape, strides, [index])
        if found is None or not spec.size or broadcast(found[1], spec.shape) != spec.shape:
            return None
        view, extra = found[0], spec.ndim - len(found[1])
        adds = adds or spec.shape != found[1]  # also where there is one number to add up: 0.0 + −0.0 is 0.0
        repeated = [0 if n != m else s for n, m, s in zip(found[1], spec.shape[extra:], view.strides)]
        views.append(View(view.offset, (0,) * extra + tuple(repeated)))
        parts = parts_of(index)
        count[parts if any(p is Ellipsis for p in parts) else (*parts, ...)] += spec.size // math.prod(found[1])
    return Puts(views, adds or bool((count > 1).any()), bool((count > 0).all()))


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that shapes have together, None if they have none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


def _tried(op: Op, params: dict[str, Any], operands: Sequence[Spec], result: Spec, views: list[View]) -> Puts | None:
    """The puts of an op, if they give what the op gives for some whole numbers."""
    rng = np.random.default_rng(0)
    given = [rng.integers(1, 1 << 20, spec.shape).astype(np.float64) for spec in operands]
    if result.dtype.kind == "c":
        given = [x + 1j * rng.integers(1, 1 << 20, x.shape) for x in given]
    z, item = np.zeros(result.size, np.result_type(np.float64, *given)), result.dtype.itemsize
    count = np.zeros(result.size, np.int64)
    for x, view in zip(given, views):
        places = np.full(x.shape, view.offset // item)
        for axis, stride in enumerate(view.strides):
            places += (np.arange(x.shape[axis]) * (stride // item)).reshape(-1, *(1,) * (x.ndim - 1 - axis))
        np.add.at(z, places.ravel(), x.ravel())
        np.add.at(count, places.ravel(), 1)
    try:
        found = _forward(op, [x if x.ndim else x[()] for x in given], params)
    except Exception:  # an op may take no such numbers
        return None
    if np.shape(found) != result.shape or not np.array_equal(np.ravel(found), z):
        return None
    adds = bool((count > 1).any())
    if result.dtype.kind in "fc" and (signs_kept(op, params, operands, result).ravel()[count > 0] == adds).any():
        if adds:
            return None
        adds = True  # it adds to zeros, be it one number
    return Puts(views, adds, bool((count > 0).all()))


def signs_kept(op: Op, params: dict[str, Any], operands: Sequence[Spec], result: Spec) -> np.ndarray:
    """By place of the result, whether operands of nothing but −0.0 give −0.0 there, in both parts of complex numbers.

    A copy does, and a sum that begins with its first element; one that begins with zero does not.
    """
    given = [np.full(s.shape, complex(-0.0, -0.0) if s.dtype.kind == "c" else -0.0, s.dtype)[()] for s in operands]
    z = np.asarray(_forward(op, given, params))
    found: np.ndarray = np.signbit(z.real) & np.signbit(z.imag) if z.dtype.kind == "c" else np.signbit(z)
    return found


def is_linear(op: Op) -> bool:
    """Whether an op of the library's with one result is linear in each operand, and in all of them together."""
    return op.kind == "linear" and op.outputs == 1 and bool(op.rules) and all(op.rules) and not is_own(op)


def axes_of(shape: Sequence[int], z: Sequence[int], x: Sequence[int], by_source: bool = False) -> list[CopyAxis]:
    """A copy of such strides as few axes, the innermost first: axes of length 1 go, neighbours become one.

    Innermost is what lies closest in z, or in x (`by_source`).
    """
    axes = [CopyAxis(*axis) for axis in zip(shape, z, x) if axis[0] != 1]
    if len(axes) < 2:
        return axes or [CopyAxis(1, 0, 0)]
    axes.sort(key=lambda a: (abs(a.x), abs(a.z)) if by_source else (abs(a.z), abs(a.x)))
    made: list[CopyAxis] = []
    for axis in axes:
        last = made[-1] if made else None
        if last is not None and axis.z == last.n * last.z and axis.x == last.n * last.x:
            made[-1] = CopyAxis(last.n * axis.n, last.z, last.x)
        else:
            made.append(axis)
    return _longest_first(made)


SHORT = 8
"""A row of fewer numbers takes longer to begin than to go through."""


def _longest_first(axes: list[CopyAxis]) -> list[CopyAxis]:
    """The axes, the longest innermost where rows would be short."""
    if len(axes) < 2 or axes[0].n >= SHORT:
        return axes
    longest = max(range(len(axes)), key=lambda a: axes[a].n)
    if axes[longest].n < 2 * axes[0].n:
        return axes
    return [axes[longest], *axes[:longest], *axes[longest + 1 :]]


def axes_of_pairs(to: np.ndarray, source: np.ndarray, item: int) -> list[CopyAxis] | None:
    """The axes of a copy of single elements, None if these lie in no regular way."""
    axes: list[CopyAxis] = []
    while len(to) > 1:
        dz, dx = int(to[1] - to[0]), int(source[1] - source[0])
        breaks = np.flatnonzero((np.diff(to) != dz) | (np.diff(source) != dx))
        n = int(breaks[0]) + 1 if len(breaks) else len(to)
        if len(to) % n or len(axes) > 6:
            return None
        steps = np.arange(n)
        rows, columns = to.reshape(-1, n), source.reshape(-1, n)
        if (rows - rows[:, :1] != dz * steps).any() or (columns - columns[:, :1] != dx * steps).any():
            return None
        axes.append(CopyAxis(n, dz * item, dx * item))
        to, source = rows[:, 0], columns[:, 0]
    return axes or [CopyAxis(1, 0, 0)]
