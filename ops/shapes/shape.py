"""Ops that move numbers without changing them, and their transposes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core import batching
from ..core.differentiate import dtype_of
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import composite, linear, ready, shape_of
from .sums import broadcast_to, sum_to

reshape = linear(
    "reshape", lambda x, *, shape: np.reshape(x, shape), lambda g, x_shape: reshape(g, shape=x_shape),
    node="ViewBackward0", numpy=(np.reshape,), view=True,
    cases=cases_of(((2, 3), {"shape": (3, 2)}), ((6,), {"shape": (2, -1)}), ((), {"shape": (1,)})),
    hints=Hints(motion="same"),
    batch=batching.reshaping,
    doc="The same numbers in another shape; one length may be −1.",
)

squeeze = linear(
    "squeeze", lambda x, *, axis=None: np.squeeze(x, axis), lambda g, x_shape: reshape(g, shape=x_shape),
    node=lambda axis: f"SqueezeBackward{0 if axis is None else 2 if np.size(axis) > 1 else 1}",
    numpy=(np.squeeze,), cases=cases_of(((1, 3, 1), {}), ((1, 3, 1), {"axis": -1}), ((1, 2, 1), {"axis": (0, 2)})),
    hints=Hints(motion="same"), view=True,
    batch=batching.squeezing,
    doc="Without the axes of length 1, or without those named.",
)

def _unsqueeze(x: Any, *, axis: Any) -> Any:
    if type(axis) is int and 0 <= axis <= x.ndim:
        return x[(slice(None),) * axis + (None,)]
    return np.expand_dims(x, axis)


unsqueeze = linear(
    "unsqueeze", _unsqueeze, lambda g, x_shape: reshape(g, shape=x_shape),
    numpy=(np.expand_dims,), cases=cases_of(((3,), {"axis": 0}), ((2, 3), {"axis": (0, -1)}), ((), {"axis": 0})),
    hints=Hints(motion="same"), view=True,
    batch=batching.unsqueezing,
    doc="With new axes of length 1 at the positions `axis` of the result.",
)


def _inverse(axes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if axes is None else tuple(int(k) for k in np.argsort([a % len(axes) for a in axes]))


permute = linear(
    "permute", lambda x, *, axes=None: x.transpose(axes), lambda g, axes: permute(g, axes=_inverse(axes)),
    numpy=(np.transpose,), cases=cases_of(((2, 3, 4), {"axes": (2, 0, 1)}), ((2, 3), {"axes": (-1, 0)}), ((2, 3), {})),
    view=True,
    batch=batching.permuting,
    doc="The axes in another order; reversed where `axes` is None.",
)

transpose = linear(
    "transpose", lambda x, *, axis1=0, axis2=1: np.swapaxes(x, axis1, axis2),
    lambda g, axis1, axis2: transpose(g, axis1=axis1, axis2=axis2),
    numpy=(np.swapaxes,), cases=cases_of(((2, 3, 4), {"axis1": 0, "axis2": -1}), ((2, 3), {"axis1": 1, "axis2": 0})),
    view=True,
    batch=batching.along("axis1", "axis2"),
    doc="Two axes exchanged.",
)

t = linear(
    "t", lambda x: np.transpose(x), lambda g: t(g), node="TBackward0", cases=cases_of(((2, 3), {}), ((2,), {})),
    view=True,
    batch=batching.permuting,
    doc="The transposed matrix; a vector is left as it is.",
)

mT = linear(  # noqa: N816  (the name that NumPy and PyTorch give it)
    "mT", lambda x: np.swapaxes(x, -1, -2), lambda g: mT(g), node="TransposeBackward0",
    numpy=(np.matrix_transpose, np.linalg.matrix_transpose), cases=cases_of(((2, 3, 4), {})),
    view=True,
    batch=batching.trailing(2),
    doc="The transposed matrices of a stack.",
)

flip = linear(
    "flip", lambda x, *, axis=None: np.flip(x, axis), lambda g, axis: flip(g, axis=axis),
    numpy=(np.flip,), cases=cases_of(((2, 3), {"axis": 0}), ((2, 3), {"axis": (0, 1)}), ((2, 3), {})),
    batch=batching.along("axis"), lies="operand",
    doc="The order of the elements reversed along some axes, or along all.",
)


def _negative(shift: Any) -> Any:
    return tuple(-s for s in shift) if isinstance(shift, tuple) else -shift


roll = linear(
    "roll", lambda x, *, shift, axis=None: np.roll(x, shift, axis),
    lambda g, shift, axis: roll(g, shift=_negative(shift), axis=axis),
    numpy=(np.roll,),
    cases=cases_of(
        ((2, 3), {"shift": 1}), ((2, 3), {"shift": -1, "axis": 1}), ((2, 3), {"shift": (1, 2), "axis": (0, 1)})
    ),
    batch=batching.rolling,
    doc="The elements moved along axes; what leaves at one end enters at the other.",
)


def _shift(x: Any, *, by: int, axis: int = 0) -> Any:
    x = np.asarray(x)
    z = np.zeros_like(x)
    n = x.shape[axis]
    source, target = np.moveaxis(x, axis, 0), np.moveaxis(z, axis, 0)
    if by >= 0:
        target[min(by, n) :] = source[: max(n - by, 0)]
    else:
        target[: max(n + by, 0)] = source[min(-by, n) :]
    return z


shift = linear(
    "shift", _shift, lambda g, by, axis: shift(g, by=-by, axis=axis),
    cases=cases_of(((4,), {"by": 1}), ((2, 3), {"by": -2, "axis": 1}), ((2,), {"by": 5})),
    batch=batching.along("axis"),
    doc="The elements moved along one axis; what leaves is lost, zeros enter.",
)


def _repeat_transpose(g: Any, x_shape: tuple[int, ...], reps: Any) -> Any:
    reps = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    n = max(len(reps), len(x_shape))
    reps, lengths = (1,) * (n - len(reps)) + reps, (1,) * (n - len(x_shape)) + x_shape
    pairs = tuple(k for pair in zip(reps, lengths) for k in pair)
    kept = tuple(k for length in lengths for k in (1, length))
    return reshape(sum_to(reshape(g, shape=pairs), shape=kept), shape=x_shape)


repeat = linear(
    "repeat", lambda x, *, reps: np.tile(x, reps), _repeat_transpose,
    numpy=(np.tile,),
    cases=cases_of(((2, 3), {"reps": (2, 1)}), ((3,), {"reps": (2, 2)}), ((2, 3), {"reps": 2}), ((), {"reps": 3})),
    batch=batching.tiling,
    doc="x laid out several times along each axis, as tiles.",
)

clone = linear(
    "clone", lambda x: np.array(x) if shape_of(x) else np.asarray(x)[()], lambda g: g,
    numpy=(np.copy,), cases=cases_of(((2, 3), {}), ((), {})),
    hints=Hints(motion="same"),
    batch=batching.elementwise, lies="operand",
    doc="A copy.",
)


def _cast(x: Any, *, dtype: Any) -> Any:
    x, dtype = np.asarray(x), dtype_of(dtype)
    discards = x.dtype.kind == "c" and dtype.kind not in "cb"
    return (x.real if discards else x).astype(dtype)[()]


cast = linear(
    "cast", _cast, lambda g, x_dtype: cast(g, dtype=x_dtype),
    node="ToCopyBackward0", numpy=(np.astype,) if hasattr(np, "astype") else (),
    cases=cases_of(((3,), {"dtype": np.dtype("float64")}), ((), {"dtype": np.dtype("float64")})),
    batch=batching.elementwise, lies="operand", hints=Hints(steps=lambda s, x, dtype: s.cast(x, dtype_of(dtype))),
    doc="The same numbers in another dtype; of complex numbers the real part where that is real.",
)


def _movedim(a: Any, source: Any, destination: Any) -> Any:
    """The axes `source` moved to the positions `destination`, the others kept in order."""
    a = ready(a)
    order = np.moveaxis(np.empty(tuple(range(len(a.shape)))), source, destination).shape
    return permute(a, axes=order)


movedim = composite("movedim", _movedim, numpy=(np.moveaxis,))


def _flatten(a: Any, start: int = 0, end: int = -1) -> Any:
    """The axes from `start` to `end` laid end to end in one."""
    a = ready(a)
    shape = a.shape or (1,)
    if isinstance(start, str):
        raise TypeError(f"flatten() takes the first and the last axis, and goes row by row; got the order {start!r}")
    start, end = start % len(shape), end % len(shape)
    return reshape(a, shape=(*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


flatten = composite("flatten", _flatten)

ravel = composite(
    "ravel", lambda a: reshape(ready(a), shape=(-1,)), numpy=(np.ravel,), doc="All elements in one axis, row by row."
)


def _broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Every one of ``args`` broadcast to the shape of all."""
    shape = np.broadcast_shapes(*map(shape_of, args))
    return tuple(a if shape_of(a) == shape else broadcast_to(a, shape=shape) for a in args)


broadcast_arrays = composite("broadcast_arrays", _broadcast_arrays, numpy=(np.broadcast_arrays,))


def size_of(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """Number of elements along some axes."""
    return math.prod(shape[a] for a in axes)
