"""Arrays that are written into: ``y[i] = …``, ``y += …``, ``out=``, `np.add.at`, `np.copyto` and the like.

An array writes through its tensor, whose memory its views share and which records the change.  NumPy casts what is
assigned to the array's dtype, whatever that loses; what is computed in place it casts within a kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import ops

from ..batch import active
from ..history import components
from ..level import live
from ..tensor import Face, Tensor
from ..version import renew
from ..views import is_related
from .creation import gathered
from .face import Array, Number, bare, face, plain, tensor_of
from .leaving import refusal


def assign(y: Array, index: Any, value: Any) -> None:
    """``y[index] = value``."""
    index = bare(index)
    value = cast(source_of(value), y._tensor._spec.dtype)
    hold(y, value)
    target = y._tensor
    for part in components(target):
        if type(part) is Tensor:
            renew(part)
    if type(value) is not Tensor or value._spec.shape or index is not Ellipsis:
        target[index] = value
    else:
        target.copy_(value)


def source_of(value: Any) -> Any:
    """What is written, as a tensor or a plain array."""
    if isinstance(value, Face):
        return value._tensor
    if isinstance(value, Tensor):
        return value
    return bare(gathered(value)) if isinstance(value, (list, tuple)) else np.asarray(value)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as numbers of a dtype, as NumPy casts what is assigned."""
    if value.dtype == dtype:
        return value
    if not isinstance(value, Tensor):
        return value.astype(dtype)
    if value.dtype.kind == "c" and dtype.kind != "c":
        warnings.warn(
            "Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning, stacklevel=4
        )
        value = ops.real(value)
    return ops.cast(value, dtype=dtype)


def hold(y: Array, value: Any) -> None:
    """Let an array have lanes before something that has some is written into it.

    Raises:
        TypeError: if others share its memory, who would not see them.
    """
    for level in active():
        if isinstance(value, Tensor) and level.has(value) and not level.has(y._tensor):
            if is_related(y._tensor):
                raise refusal("a value that vmap maps over is written into an array that has views, or is one")
            y._tensor = level.layer(ops.clone(level.full(live(y._tensor))))


def store(out: Any, result: Any, name: str, where: Any = True) -> Any:
    """Put a result into ``out=``, cast within its kind.

    Raises:
        TypeError: if it does not fit its dtype, or `out` is a plain array and the result carries a gradient.
    """
    if isinstance(out, tuple):
        out = out[0]
    if not isinstance(out, Face):
        np.copyto(out, plain(result, f"{name}(out=…) into an array that was not made in this function"), where=where)
        return out
    source, dtype = source_of(result), out._tensor._spec.dtype
    if not np.can_cast(source.dtype, dtype, "same_kind"):
        raise np._core._exceptions._UFuncOutputCastingError(  # type: ignore[attr-defined]
            getattr(np, name, np.add), "same_kind", source.dtype, dtype, 0
        )
    if np.broadcast_shapes(source.shape, out.shape) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape "
            f"{np.broadcast_shapes(source.shape, out.shape)}"
        )
    if where is not True:
        source = ops.where(bare(where), source, out._tensor)
    assign(out, ..., face(source) if isinstance(source, Tensor) else source)
    return out


def augmented(ufunc: np.ufunc) -> Callable[[Array, Any], Array]:
    """``y += x`` and the like."""

    def change(self: Array, other: Any) -> Any:
        if isinstance(other, Tensor):
            return NotImplemented
        return store(self, ufunc(self, other), ufunc.__name__)

    return change


def at(ufunc: np.ufunc, y: Any, index: Any, *others: Any) -> None:
    """``ufunc.at(y, index, x)``: in place, and once for each time that a place is named."""
    index = bare(index)
    numbers = np.arange(y.size).reshape(y.shape)[plain(index, f"np.{ufunc.__name__}.at")]
    places = np.atleast_1d(numbers).ravel()
    operands = [np.broadcast_to(x, np.shape(numbers)).reshape(-1) for x in others]
    order = np.argsort(places, kind="stable")
    first = np.flatnonzero(np.diff(places[order], prepend=-1))
    turn = np.empty(len(places), dtype=int)  # the how manieth time a place is named
    turn[order] = np.arange(len(places)) - np.repeat(first, np.diff(first, append=len(places)))
    flat = y.flat
    for k in range(int(turn.max(initial=-1)) + 1):
        now = np.flatnonzero(turn == k)
        flat[places[now]] = ufunc(flat[places[now]], *[x[now] for x in operands])


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """`np.copyto`."""
    source = source_of(src)
    if not np.can_cast(source.dtype, dst.dtype, casting) and not isinstance(src, (int, float, complex)):
        raise TypeError(
            f"Cannot cast array data from {source.dtype!r} to {dst.dtype!r} according to the rule '{casting}'"
        )
    if not isinstance(dst, Face):
        raise refusal("np.copyto into an array that was not made in this function")
    if where is not True:
        source = ops.where(bare(where), source, dst._tensor)
    assign(dst, ..., face(source) if isinstance(source, Tensor) else source)


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """`np.put`: values at places counted through the flattened array, again from the first where they run out."""
    _written(a, "np.put")
    places = np.asarray(plain(ind)).ravel()
    if mode != "raise":
        places = np.clip(places, 0, a.size - 1) if mode == "clip" else places % a.size
    values = _repeated(v, len(places))
    if len(places):
        a.flat[places] = values


def place(arr: Any, mask: Any, vals: Any) -> None:
    """`np.place`: values, in order, where a mask holds."""
    _written(arr, "np.place")
    places = np.flatnonzero(np.asarray(plain(mask)))
    if len(places):
        arr.flat[places] = _repeated(vals, len(places))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """`np.putmask`: at each place where a mask holds the value of that place, values repeated as often as needed."""
    _written(a, "np.putmask")
    places = np.flatnonzero(np.asarray(plain(mask)))
    if len(places):
        a.flat[places] = _repeated(values, a.size)[places]


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """`np.fill_diagonal`."""
    _written(a, "np.fill_diagonal")
    places = np.arange(a.size).reshape(a.shape)
    marked = np.zeros(a.shape, dtype=bool)
    np.fill_diagonal(marked, True, wrap=wrap)
    places = places[marked]
    a.flat[places] = _repeated(val, len(places))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """`np.put_along_axis`."""
    _written(arr, "np.put_along_axis")
    numbers = np.arange(arr.size).reshape(arr.shape)
    places = np.take_along_axis(numbers, np.asarray(plain(indices)), axis)
    arr.flat[places.ravel()] = np.broadcast_to(values, places.shape).reshape(-1)


def _repeated(values: Any, n: int) -> Any:
    """The first `n` of some values, which begin anew where they run out."""
    flat = np.ravel(face_of(values))
    return flat[np.arange(n) % flat.size]


def face_of(x: Any) -> Any:
    """Anything as an array."""
    return x if isinstance(x, (Face, np.ndarray)) else face(tensor_of(bare(gathered(x))))


def _written(a: Any, name: str) -> None:
    if type(a) is Number or not isinstance(a, Face):
        raise refusal(f"{name} into an array that was not made in this function")


CHANGES: dict[Any, Callable[..., None]] = {
    np.copyto: copyto, np.put: put, np.place: place, np.putmask: putmask, np.fill_diagonal: fill_diagonal,
    np.put_along_axis: put_along_axis,
}  # fmt: skip
"""NumPy's functions that change their first argument."""
