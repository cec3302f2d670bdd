"""Arrays that are written into: ``y[i] = …``, ``y += …``, ``out=``, `np.add.at`, `np.copyto` and the like.

An array writes through its tensor, whose memory its views share and which records the change.  NumPy casts what is
assigned to the array's dtype, whatever that loses; what is computed in place it casts within a kind.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

import ops

from ..base.location import in_library
from ..base.tensor import Face, Narrow, Tensor
from ..base.tree import leaves_of
from ..recording.level import Layer, active, components, live, memories
from ..recording.renewing import renew
from .array_reading import plain_index
from .arrays.beside_tensors import refuse, require_no_history
from .arrays.casting import cast, source_of
from .arrays.explaining import explained, has_lanes, rehearsed
from .arrays.face import AnyNumber, Array, array, face
from .arrays.face_base import numpy
from .arrays.gaining_lanes import hold, move_together
from .arrays.instead import NOT_MADE_HERE
from .arrays.leaving import carries, plain, refusal
from .arrays.lent import lent_of
from .arrays.outputs import store
from .arrays.unwrapping import bare, has_tensor, holds_face, tensor_of
from .names.callee import callee


def assign(y: Array, index: Any, value: Any) -> None:
    """``y[index] = value``.

    Raises:
        ValueError: if the value does not fit, or the array is not to be written.
    """
    target = y._tensor
    if isinstance(value, Tensor) or (type(value) in (list, tuple) and has_tensor(value)):
        refuse("a tensor is written into an array", value)
    if target._readonly:
        raise ValueError("assignment destination is read-only")
    given, dtype = index, target._spec.dtype
    try:
        index = plain_index(index)
        source = cast(source_of(value, dtype), dtype)
        del target
        move(y, source)
        if active():
            for part in (source, *leaves_of(index)):
                hold(y, part)
        target = y._tensor
        seen = lent_of(target)
        if seen:  # whoever looks there is to see it: the memory stays, and a record that saved it will say so
            _unseen(target, (source, *leaves_of(index)), any(how.is_copy for how in seen))
        else:
            for part in components(target):
                if type(part) is Tensor or type(part) is Narrow:
                    renew(part)
        if type(source) is not Tensor or source._spec.shape or index is not Ellipsis:
            target[index] = source
        else:
            target.copy_(source)
    except Exception as error:
        explained(error, np.ndarray.__setitem__, (y, given, value), {})


def set_item(y: Array, index: Any, value: Any) -> None:
    """``y[index] = value`` where the code says so, or somebody's C code does.

    Raises:
        TypeError: if it is C code that puts a row in the place of another, which it may hold as well, as ``shuffle``
            does: it takes a row of what is no array of its own kind for an object, and here it is a view.
    """
    if type(value) is Array and type(index) is int and value.ndim:
        frame = sys._getframe(1)
        by_c_code = _is_called(frame.f_code, frame.f_lasti)
        if by_c_code and not set(memories(y._tensor)).isdisjoint(memories(value._tensor)):
            raise refusal("swapping its rows, which are views")
    assign(y, index, value)


@cache
def _is_called(code: CodeType, lasti: int) -> bool:
    """Whether what writes an item at an instruction is C code that this calls, not the instruction itself."""
    if code.co_code[lasti] in STORING or in_library(code.co_filename):
        return False
    return callee(code, lasti)[1] not in ("__setitem__", "setitem")


STORING = frozenset(code for name, code in dis.opmap.items() if name.startswith("STORE_SUBSCR"))
"""Instructions that write an item."""


def _unseen(target: Tensor, sources: tuple[Any, ...], by_copy: bool) -> None:
    """Check that nobody loses what is written by looking at an array's bare numbers, or at a copy of them.

    Raises:
        TypeError: if somebody would.
    """
    recorded = [x for x in (target, *sources) if isinstance(x, Tensor)]
    for part in (part for x in recorded for part in components(x)):
        part._refuse_recording("an array was written of which plain numbers were taken before, and are still in use")
    if by_copy:
        raise TypeError(
            "an array cannot be written while windows of it (sliding_window_view) are in use that are a copy here, for "
            "it lies backwards in memory, or is being recorded.\nWrite before you take the windows, or take "
            "them of a copy: sliding_window_view(x.copy(), n)."
        )
    if any(map(carries, recorded)):
        raise refusal("of the array plain numbers were taken before, which are still in use", "a write")


def move(y: Array, source: Any) -> None:
    """Let an array that stands for a record move before something that moves is written into it.

    Its tensor cannot become another one under whoever else holds it: the arrays that do, and those that look at its
    memory, go on with others.  Where they are not known the write refuses to be recorded.
    """
    if not isinstance(source, Layer) or not hasattr(y._tensor, "_row") or not y._tensor._spec.inexact:
        return
    source = live(source)
    if not source._moves():
        return
    if sys.getrefcount(y._tensor) <= ALONE and not y._tensor._is_shared():
        y._tensor = source._moving(y._tensor)
    else:
        move_together(y, source)


ALONE = 2
"""References to a tensor that only an array holds, and the call that counts them."""


def augmented(ufunc: np.ufunc) -> Callable[[Array, Any], Array]:
    """``y += x`` and the like."""

    def change(self: Array, other: Any) -> Any:
        if isinstance(other, Tensor):
            refuse("a tensor is written into an array", other)
            require_no_history(other)
            other = face(other)
        return store(self, ufunc(self, other), ufunc.__name__, broadcast=ufunc.signature is None)

    return change


def at(ufunc: np.ufunc, y: Any, index: Any, *others: Any) -> None:
    """``ufunc.at(y, index, x)``: in place, and once for each time that a place is named."""
    what = f"np.{ufunc.__name__}.at {NOT_MADE_HERE}"
    if not holds_face(y):
        ufunc.at(y, *plain((index, *others), what))
        return
    written(y, what)
    if any(isinstance(x, Face) and isinstance(live(x._tensor), Layer) for x in leaves_of(index)):
        _at_in_lanes(ufunc, y, index, *others)
        return
    rehearsed(ufunc.at, (y, index, *others), {})
    numbers = np.arange(y.size).reshape(y.shape)[plain(index, f"np.{ufunc.__name__}.at")]
    places = np.atleast_1d(numbers).ravel()
    operands: list[Any] = [np.broadcast_to(x, np.shape(numbers)).reshape(-1) for x in others]
    flat = y.flat
    if _adds(ufunc, y) and np.result_type(y.dtype, operands[0].dtype) == y.dtype:
        cells, which = np.unique(places, return_inverse=True)
        flat[cells] = _with_sums(ufunc, flat[cells], which, operands[0])
        return
    taken = [
        (places[now], [x[now] for x in operands]) for now in _turns(places)
    ]  # before y, which they may see, changes
    for now, xs in taken:
        flat[now] = ufunc(flat[now], *xs)


def _at_in_lanes(ufunc: np.ufunc, y: Any, index: Any, *others: Any) -> None:
    """The same at places that differ from lane to lane: sums at once, anything else one place after the other."""
    numbers = array(tensor_of(np.arange(y.size).reshape(y.shape)))[index]
    places = np.reshape(numbers, -1)
    operands: list[Any] = [np.reshape(np.broadcast_to(x, np.shape(numbers)), -1) for x in others]
    first = np.zeros(len(places), int)
    ufunc.at(np.ones(1, y.dtype), first, *[np.ones(len(places), x.dtype) for x in operands])  # what NumPy raises
    flat = y.flatten()
    if _adds(ufunc, y):
        flat = _with_sums(ufunc, flat, places, operands[0])
    else:
        for k in range(len(places)):
            flat[places[k]] = ufunc(flat[places[k]], *[x[k] for x in operands])
    assign(y, ..., np.reshape(flat, y.shape))


def _adds(ufunc: np.ufunc, y: Array) -> bool:
    """Whether a ufunc adds to an array, or takes away from it, so that one record does that at all places."""
    return ufunc in (np.add, np.subtract) and y.dtype.kind in "fc"


def _with_sums(ufunc: np.ufunc, flat: Array, places: Any, x: Any) -> Array:
    """A vector with numbers added at places, or taken away, one after the other."""
    x = x if ufunc is np.add else -x
    return array(ops.scatter_add(*bare((flat, places, x.astype(flat.dtype))), axis=0))


def _turns(places: np.ndarray) -> list[np.ndarray]:
    """Which entries name a place for the first time, which for the second, …"""
    order = np.argsort(places, kind="stable")
    first = np.flatnonzero(np.diff(places[order], prepend=-1))
    turn = np.empty(len(places), dtype=int)
    turn[order] = np.arange(len(places)) - np.repeat(first, np.diff(first, append=len(places)))
    return [np.flatnonzero(turn == k) for k in range(int(turn.max(initial=-1)) + 1)]


def change(function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    """A function of NumPy's that changes its first argument, an array that is recorded.

    Raises:
        TypeError: if that is a plain array, and what is written into it carries a gradient.
    """
    target = args[0] if args else next(iter(kwargs.values()))
    if not isinstance(target, Face):
        function(*plain(args, _named(function)), **plain(kwargs, _named(function)))
        return
    written(target, _named(function))
    rehearsed(function, args, kwargs)
    CHANGES[function](*args, **kwargs)


def _named(function: Callable[..., Any]) -> str:
    return f"np.{function.__name__} {NOT_MADE_HERE}"


def written(a: Any, name: str) -> None:
    """Check that something is an array that can be written.

    Raises:
        TypeError: if it is a number, or a plain array.
    """
    if isinstance(a, AnyNumber):
        raise TypeError(f"{name}: argument must be an array, not a number")
    if not isinstance(a, Face):
        raise refusal(f"{name} {NOT_MADE_HERE}")


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """`np.copyto`."""
    source = source_of(src)
    if where is not True:
        source = ops.where(bare(where), source, dst._tensor)
    assign(dst, ..., array(source) if isinstance(source, Tensor) else source)


PLACING = {0: "clip", 1: "wrap", 2: "raise"}
"""What to do with places that are not there, by the numbers that NumPy has for that."""


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """`np.put`: values at places counted through the flattened array, again from the first where they run out."""
    places = np.ravel(ind) if has_lanes(ind) else np.asarray(plain(ind)).ravel().astype(np.intp)
    mode = PLACING.get(mode, mode)
    if mode != "raise":
        places = np.clip(places, 0, a.size - 1) if mode == "clip" else places % a.size
    values = _repeated(v, len(places))
    if len(places):
        a.flat[places] = values


def place(arr: Any, mask: Any, vals: Any) -> None:
    """`np.place`: values, in order, where a mask holds.

    Raises:
        TypeError: if the values lie in the same memory, which NumPy reads after it has written there.
    """
    if isinstance(vals, Face) and not set(memories(vals._tensor)).isdisjoint(memories(arr._tensor)):
        raise TypeError("np.place: the values lie in the array that they are put into; give it a copy: vals.copy()")
    mask = _truth(mask)
    if has_lanes(mask):
        holds, values = np.ravel(mask), _flat(vals)
        turn = np.mod(np.cumsum(holds) - 1, values.size)
        np.copyto(arr, np.reshape(values[turn], arr.shape), "unsafe", np.reshape(holds, arr.shape))
        return
    places = np.flatnonzero(np.asarray(plain(mask)))
    if len(places):
        arr.flat[places] = _repeated(vals, len(places))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """`np.putmask`: at each place where a mask holds the value of that place, values repeated as often as needed."""
    mask = _truth(mask)
    if has_lanes(mask):
        everywhere = np.reshape(_repeated(values, a.size), a.shape)
        np.copyto(a, everywhere, "unsafe", np.reshape(mask, a.shape))
        return
    places = np.flatnonzero(np.asarray(plain(mask)))
    if len(places):
        a.flat[places] = _repeated(values, a.size)[places]


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """`np.fill_diagonal`."""
    places = np.arange(a.size).reshape(a.shape)
    marked = np.zeros(a.shape, dtype=bool)
    np.fill_diagonal(marked, True, wrap=wrap)
    places = places[marked]
    a.flat[places] = _repeated(val, len(places))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """`np.put_along_axis`."""
    if axis is None and has_lanes(indices):
        arr.flat[indices] = values
        return
    if axis is None or not holds_face(indices):
        numbers = np.arange(arr.size).reshape(arr.shape)
        places = np.take_along_axis(numbers, np.asarray(plain(indices)), axis)
        arr.flat[places.ravel()] = np.broadcast_to(values, places.shape).reshape(-1)
        return
    np.put_along_axis(np.empty(arr.shape), np.zeros(indices.shape, indices.dtype), 0, axis)  # what NumPy raises of such
    index: list[Any] = list(np.ogrid[tuple([slice(n) for n in arr.shape])])
    index[axis] = indices
    arr[tuple(index)] = values


def _repeated(values: Any, n: int) -> Any:
    """The first `n` of some values, which begin anew where they run out."""
    flat = _flat(values)
    return flat[np.arange(n) % flat.size]


def _truth(mask: Any) -> Any:
    """A mask as truth values, which have no derivative."""
    return face(ops.ne(mask._tensor, 0)) if isinstance(mask, Face) else mask


def _flat(values: Any) -> Any:
    return numpy.ravel(array(tensor_of(values)) if holds_face(values) else values)


CHANGES: dict[Any, Callable[..., None]] = {
    np.copyto: copyto, np.put: put, np.place: place, np.putmask: putmask, np.fill_diagonal: fill_diagonal,
    np.put_along_axis: put_along_axis,
}  # fmt: skip
"""NumPy's functions that change their first argument."""
Array.__setitem__ = set_item
