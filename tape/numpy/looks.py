"""NumPy's functions that look at an array in another way: views, so that what is written there is seen here.

Most views come from ops that give views of tensors.  These are the functions for which NumPy gives a view where the op
of that name, which follows PyTorch, gives a copy, or which have no op.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

import ops
from ops.algebra.contraction import look_along

from ..base.errors import note
from ..base.tensor import Tensor
from ..recording.level import components, memories
from .arrays.attributes import readonly
from .arrays.face import Array, Recorded, array
from .arrays.face_base import numpy
from .arrays.leaving import is_foreign, plain, user_frame
from .arrays.lent import copied
from .arrays.unwrapping import bare, tensor_of

BACKWARDS = slice(None, None, -1)


def flip(m: Any, axis: Any = None) -> Any:
    """`np.flip`: backwards along some axes."""
    axes = range(m.ndim) if axis is None else normalize_axis_tuple(axis, m.ndim)
    return m[tuple([BACKWARDS if k in axes else slice(None) for k in range(m.ndim)])]


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """`np.rot90`: a quarter turn is a transpose that is flipped along one of the two axes."""
    first, second = normalize_axis_tuple(axes, m.ndim)
    if k % 4 == 2:
        return flip(m, (first, second))
    if k % 4 == 1:
        return numpy.swapaxes(flip(m, second), first, second)
    return flip(numpy.swapaxes(m, first, second), second) if k % 4 else m[...]


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`np.rollaxis`: an axis moved to before another one."""
    (axis,) = normalize_axis_tuple(axis, a.ndim)
    (start,) = normalize_axis_tuple(start, a.ndim + (start >= 0))
    return np.moveaxis(a, axis, start - (axis < start))


def diag(v: Any, k: int = 0) -> Any:
    """`np.diag` of a matrix; of a vector it gives a new one."""
    return numpy.diagonal(v, k) if np.ndim(v) == 2 else NotImplemented


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **how: Any) -> Any:
    """`np.einsum` of one array of which nothing is summed: its axes in another order, diagonals among them."""
    terms = _terms(operands)
    if terms is None or out is not None or how:
        return NotImplemented
    x, labels, wanted = terms
    looked = look_along(x._tensor, labels, wanted)
    return NotImplemented if looked is None else array(looked)


def _terms(operands: tuple[Any, ...]) -> tuple[Any, list[Any], list[Any]] | None:
    """The array, the names of its axes and of those of the result; None if there are several arrays."""
    if len(operands) == 2 and isinstance(operands[0], str):
        given, arrow, last = operands[0].replace(" ", "").replace("...", "…").partition("->")
        x, labels, wanted = operands[1], list(given), list(last) if arrow else None
    elif len(operands) in (2, 3) and isinstance(operands[1], (list, tuple)):
        x, labels = operands[0], ["…" if name is Ellipsis else name for name in operands[1]]
        wanted = ["…" if name is Ellipsis else name for name in operands[2]] if len(operands) == 3 else None
    else:
        return None
    if type(x) is not Array:
        return None
    if wanted is None:
        wanted = ["…"] * ("…" in labels) + sorted(n for n in labels if n != "…" and labels.count(n) == 1)
    between = [f"…{k}" for k in range(x.ndim - len(labels) + 1)]
    spread = lambda names: [n for name in names for n in (between if name == "…" else [name])]  # noqa: E731
    return x, spread(labels), spread(wanted)


def _splitting(original: Any) -> Callable[..., Any]:
    """`np.split` and its kin: which places each part has, NumPy's own function says."""

    def split(ary: Any, indices_or_sections: Any, axis: int | None = None) -> Any:
        named = {} if axis is None else {"axis": axis}
        (k,) = normalize_axis_tuple(axis or 0 if axis_of is None else axis_of(ary.ndim), ary.ndim)
        lengths = [-1 if j == k else 1 for j in range(ary.ndim)]
        if not ary.size:
            return NotImplemented
        places = np.broadcast_to(np.arange(ary.shape[k]).reshape(lengths), ary.shape)
        parts = [np.moveaxis(part, k, 0) for part in original(places, plain(indices_or_sections), **named)]
        spans = [slice(0, 0) if not part.size else slice(int(part.flat[0]), int(part.flat[-1]) + 1) for part in parts]
        return [ary[(slice(None),) * k + (span,)] for span in spans]

    axis_of = AXES.get(original)
    return split


AXES: dict[Any, Callable[[int], int]] = {
    np.hsplit: lambda ndim: int(ndim > 1), np.vsplit: lambda ndim: 0, np.dsplit: lambda ndim: 2,
}  # fmt: skip
"""By function that knows its axis itself, which that is."""


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """`np.unstack`."""
    return tuple(np.moveaxis(x, axis, 0))


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """`np.nan_to_num` in place."""
    if copy or type(x) is not Array:
        return NotImplemented
    x[...] = numpy.nan_to_num(x, True, nan, posinf, neginf)
    return x if x.ndim else x[()]


def real_if_close(a: Any, tol: float = 100) -> Any:
    """`np.real_if_close` of real numbers: these."""
    if not isinstance(a, Recorded) or a.dtype.kind == "c":
        return NotImplemented
    return a if type(a) is Array else array(ops.clone(a._tensor))


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """`np.meshgrid`: each vector along an axis of its own, the first two exchanged unless these are counted by ij."""
    axes = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        axes[:2] = 1, 0
    along = [array(tensor_of(x)).reshape([-1 if k == axis else 1 for k in range(len(xi))]) for x, axis in zip(xi, axes)]
    found = along if sparse else numpy.broadcast_arrays(*along)
    if sparse and not copy:
        kind: Any = type(np.meshgrid(0.0, sparse=True, copy=False))  # a list, from NumPy 2.5 on a tuple
        return kind(found)
    return tuple([x.copy() if copy else x for x in found])


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """`numpy.lib.stride_tricks.sliding_window_view`.

    Of an array that is being recorded, or lies backwards in memory, it is a copy: as long as that is in use, writes
    into the array are refused.

    Raises:
        ValueError: if the windows do not fit, or are to be written.
    """
    if writeable:
        raise note(ValueError("windows of a recorded array cannot be written; write into the array itself"))
    lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    tensor = x._tensor
    is_record = any(hasattr(part, "_row") for part in components(tensor))
    for k, n in zip(axes, lengths):
        if n < 0 or n > tensor._spec.shape[k]:
            raise ValueError(f"a window of length {n} cannot slide along an axis of length {tensor._spec.shape[k]}")
        tensor = _windows(tensor, k, n) if is_record else tensor.unfold(k, n, 1)
    if tensor is not x._tensor and memories(tensor) != memories(x._tensor):
        copied(tensor, x._tensor)
        for part, whole in zip(components(tensor), components(x._tensor)):
            part._stand_for_view(whole)
    return readonly(array(tensor))


def _windows(x: Tensor, axis: int, n: int) -> Tensor:
    """Windows along an axis, by their places: replayed programs read them where they lie."""
    places = np.add.outer(np.arange(x._spec.shape[axis] - n + 1), np.arange(n))
    places.flags.writeable = False  # so that programs need not look whether they are others
    return bare(np.moveaxis(numpy.take(array(x), places, axis=axis), axis + 1, -1))


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """`np.astype`."""
    return x.astype(dtype, copy=copy)


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """`np.broadcast_arrays`: an array that has the shape of all is given itself.

    One around is so for the user's own code.  In the place of other plain arrays, into which nothing recorded is
    written, stands one to read: SciPy's code makes others like it, and writes recorded values into these; and NumPy,
    which warns of writing there, will give such ones.
    """
    shape = np.broadcast_shapes(*[(x if isinstance(x, np.ndarray) else _to_read(x)).shape for x in args])
    by_user = not is_foreign(user_frame()[0])
    arrays = [x if type(x) is Array or (by_user and _is_plain(x, shape)) else _to_read(x) for x in args]
    return tuple([x if x.shape == shape else array(ops.broadcast_to(tensor_of(x), shape=shape)) for x in arrays])


def _is_plain(x: Any, shape: tuple[int, ...]) -> bool:
    return type(x) is np.ndarray and x.shape == shape


def _to_read(x: Any) -> Array:
    """An array with what is in a plain one, which is not to be written into, or with a number."""
    return readonly(array(tensor_of(x))) if type(x) is np.ndarray else array(ops.clone(tensor_of(x)))


def _of_axes(name: str, least: int) -> Callable[..., Any]:
    """`np.atleast_1d` and its kin: an array with as many axes is given itself."""

    def answer(*arys: Any) -> Any:
        if len(arys) != 1:
            return tuple([getattr(numpy, name)(x) for x in arys])
        return arys[0] if type(arys[0]) is Array and arys[0].ndim >= least else NotImplemented

    return answer


LOOKS: dict[Any, Callable[..., Any]] = {
    np.flip: flip, np.fliplr: partial(flip, axis=1), np.flipud: partial(flip, axis=0), np.rot90: rot90,
    np.rollaxis: rollaxis, np.diag: diag, np.astype: astype,
    np.einsum: einsum, np.nan_to_num: nan_to_num, np.real_if_close: real_if_close, np.meshgrid: meshgrid,
    np.lib.stride_tricks.sliding_window_view: sliding_window_view,
    **{f: _splitting(f) for f in (np.split, np.array_split, *AXES)}, np.unstack: unstack,
    **{getattr(np, name): _of_axes(name, k + 1) for k, name in enumerate(("atleast_1d", "atleast_2d", "atleast_3d"))},
    np.broadcast_arrays: broadcast_arrays,
}  # fmt: skip
"""By function of NumPy's, what gives views of recorded arrays, or NotImplemented where NumPy gives none."""
