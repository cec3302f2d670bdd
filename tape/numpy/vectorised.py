"""Functions of NumPy's that call one of the user's for many elements, one after another."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ops.core.differentiate import dtype_of

from ..base.tensor import Face
from .arrays.array_text import numbers_of, with_texts
from .arrays.face import AnyNumber, Recorded, array
from .arrays.leaving import plain, still
from .arrays.memory_order import lying_like, outline
from .arrays.unwrapping import holds_face
from .constructors import as_array, gathered
from .mathematics import holds

_vectorize = np.vectorize.__call__


@functools.wraps(_vectorize)
def vectorize(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of an `np.vectorize` object on recorded arrays."""
    if not holds_face(args) and not holds_face(list(kwargs.values())):
        return _vectorize(self, *args, **kwargs)
    excluded = set(self.excluded)
    if self.signature is not None:
        return _with_signature(self, args, kwargs)
    varying = [k for k in range(len(args)) if k not in excluded]
    named = [k for k in kwargs if k not in excluded]
    given = [*[args[k] for k in varying], *[kwargs[k] for k in named]]
    parts = list(map(gathered, given))

    def call(elements: list[Any]) -> Any:
        here: dict[Any, Any] = {**dict(enumerate(args)), **kwargs, **dict(zip([*varying, *named], elements))}
        return self.pyfunc(*[here.pop(k) for k in range(len(args))], **here)

    if not parts:
        return call([])
    arrays: Any = np.broadcast_arrays(*parts)
    shape = arrays[0].shape
    like = _together(parts, shape)
    places = list(np.ndindex(shape))
    if self.otypes is not None:
        kinds, results = [dtype_of(kind) for kind in self.otypes], []
    elif places:  # NumPy sees from the first call what the function gives, and hands its own numbers to that one alone
        first = call([x[places[0]] for x in arrays])
        kinds = [_kind(part) for part in (first if isinstance(first, tuple) else (first,))]
        results = [first] if self.cache else []
    else:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    arrays = [np.broadcast_to(_of_pythons(x), shape) for x in given]
    results += [call([x.item(*place) for x in arrays]) for place in places[len(results) :]]
    if len(kinds) == 1:
        return _shaped(results, like, kinds[0])
    return tuple([_shaped([r[k] for r in results], like, kind) for k, kind in enumerate(kinds)])


def _kind(x: Any) -> np.dtype[Any]:
    """The dtype of the array that NumPy makes of something, texts in it of any length."""
    return np.dtype((x if isinstance(x, Recorded) else np.asarray(gathered(x))).dtype.char)


def _of_pythons(x: Any) -> Any:
    """A copy of an array, whose elements are Python's numbers: all integers and truth values are told at once.

    What stands for itself, or in a list, is handed over as it is.
    """
    if not holds_face(x):
        return np.array(x, object)
    if isinstance(x, AnyNumber):
        return _objects([x]).reshape(())
    if isinstance(x, Recorded):
        return x.copy() if x._tensor._spec.inexact else still(x._tensor).numpy(force=True)
    return _objects(list(_leaves(x))).reshape(gathered(x).shape)


def _leaves(x: Any) -> Iterator[Any]:
    """What NumPy makes an array of objects of."""
    if isinstance(x, (list, tuple)):
        for part in x:
            yield from _leaves(part)
    else:
        part = _of_pythons(x)
        yield from [part.item(*place) for place in np.ndindex(part.shape)]


def _together(parts: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    """An array that lies in memory as what NumPy computes of some, one element after the other."""
    if len(shape) < 2:
        return np.empty(shape)
    dense = [np.empty_like(outline(x._tensor) if isinstance(x, Face) else x) for x in parts]
    return np.nditer([*dense, None], ["zerosize_ok"]).operands[-1]


def _with_signature(self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of an object that takes and gives arrays with axes of their own, such as ``(n),(n)->()``."""
    cores, outputs = [_CORES.findall(side) for side in self.signature.split("->")]
    cores = [tuple(filter(None, re.split(r"[\s,]+", core))) for core in cores]
    excluded, loops = set(self.excluded), []
    sizes: dict[str, int] = {}
    keys = [k for k in (*range(len(args)), *kwargs) if k not in excluded]
    given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
    if len(keys) != len(cores):
        raise TypeError(f"wrong number of positional arguments: expected {len(cores)!r}, got {len(keys)!r}")
    for k, core in zip(keys, cores):
        given[k] = as_array(given[k])
        at = given[k].ndim - len(core)
        if at < 0:
            raise ValueError(f"{given[k].ndim}-dimensional argument has not the core dimensions {core!r}")
        for name, size in zip(core, given[k].shape[at:]):
            if sizes.setdefault(name, size) != size:
                raise ValueError(f"inconsistent size for core dimension {name!r}: {size!r} vs {sizes[name]!r}")
        loops.append(given[k].shape[:at])
    loop = np.broadcast_shapes(*loops)
    for k, core in zip(keys, cores):
        given[k] = np.broadcast_to(given[k], loop + tuple([sizes[name] for name in core]))

    def call(place: tuple[int, ...]) -> tuple[Any, ...]:
        here = {k: x[place] if k in keys else x for k, x in given.items()}
        found = self.pyfunc(*[here.pop(k) for k in range(len(args))], **here)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(outputs):
            raise ValueError(f"wrong number of outputs from pyfunc: expected {len(outputs)!r}, got {len(found)!r}")
        return found

    results = [call(place) for place in np.ndindex(*loop)]
    if not results:
        return _vectorize(self, *plain(args), **plain(kwargs))  # it has no elements, and raises or gives none
    made = [_joined([r[k] for r in results], loop, self.otypes and self.otypes[k]) for k in range(len(outputs))]
    return made[0] if len(made) == 1 else tuple(made)


_CORES = re.compile(r"\(([^)]*)\)")


def _joined(results: list[Any], loop: tuple[int, ...], kind: str | None) -> Any:
    """Arrays one after another as one, of the dtype that was asked for or that of the first."""
    results = [as_array(r) for r in results]
    joined: Any = np.stack([r.astype(kind or results[0].dtype) for r in results])
    return with_texts(joined.reshape(loop + results[0].shape))


def _shaped(results: list[Any], like: np.ndarray, dtype: np.dtype[Any]) -> Any:
    """Results one after another as an array of some dtype.

    It has the shape of another array, and lies in memory as that does.
    """
    found = _fitted(results, dtype) if holds_face(results) else with_texts(_objects(results).astype(dtype))
    found = found.reshape(like.shape)
    if found.ndim < 2:
        return found
    if isinstance(found, Face):
        return array(lying_like(found._tensor, like))
    laid = np.empty_like(like, found.dtype)
    laid[...] = found
    return with_texts(laid)


def _fitted(results: list[Any], dtype: np.dtype[Any]) -> Any:
    """Results, some of which are recorded, as an array of a dtype; NumPy converts them one by one, as objects."""
    for kind in {r.dtype for r in results if isinstance(r, Recorded)}:
        if kind.kind == "c":
            np.ones(1, kind).astype(object).astype(dtype)  # which is no real number
        if kind.kind == "f" and dtype.kind in "iu":
            _check_range(gathered([r for r in results if isinstance(r, Recorded) and r.dtype == kind]), dtype)
    return gathered([r if isinstance(r, Face) else _objects([r]).astype(dtype)[0] for r in results], dtype)


def _check_range(x: Any, dtype: np.dtype[Any]) -> None:
    """Raise what NumPy raises of numbers that no integer of a dtype can hold."""
    least, most = float(np.iinfo(dtype).min) - 1.0, float(np.iinfo(dtype).max) + 1.0
    if not holds(lambda numbers: (numbers > least) & (numbers < most), x):
        numbers_of(x).astype(object).astype(dtype)


def _objects(things: list[Any]) -> np.ndarray:
    made = np.empty(len(things), object)
    for k, thing in enumerate(things):
        made[k] = thing
    return made


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.apply_along_axis`."""
    moved = np.moveaxis(arr, axis, -1)
    outer = moved.shape[:-1]
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [func1d(moved[place], *args, **kwargs) for place in np.ndindex(outer)]
    made = gathered(results) if holds_face(results) else np.asarray(results)
    inner = made.shape[1:]
    made = made.reshape(outer + inner)
    axis %= arr.ndim
    for k in range(len(inner)):  # what each gave lies where the axis was
        made = np.moveaxis(made, len(outer) + k, axis + k)
    return with_texts(made)


def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """`np.apply_over_axes`."""
    value = a
    for k in np.atleast_1d(axes).tolist():
        axis = np.lib.array_utils.normalize_axis_index(k, a.ndim)
        found = func(value, axis)
        value = found if found.ndim == value.ndim else np.expand_dims(found, axis)
    return value


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """`np.piecewise`: each function is given the elements that its condition holds for, if there are any."""
    x = as_array(x)
    if np.isscalar(condlist) or (not isinstance(condlist[0], (list, np.ndarray)) and x.ndim):
        condlist = [condlist]
    shape, x = x.shape, np.atleast_1d(x)
    conditions = [np.atleast_1d(as_array(c)).astype(bool) for c in condlist]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~functools.reduce(np.logical_or, conditions))
    elif len(funclist) != len(conditions):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    found = np.zeros_like(x)
    for condition, function in zip(conditions, funclist):
        if not callable(function):
            found[condition] = function
        elif (some := x[condition]).size > 0:
            found[condition] = function(some, *args, **kw)
    return found.reshape(shape)


CALLING: dict[Any, Callable[..., Any]] = {
    np.apply_along_axis: apply_along_axis, np.apply_over_axes: apply_over_axes, np.piecewise: piecewise,
}  # fmt: skip
"""NumPy's functions that call one of the user's."""
