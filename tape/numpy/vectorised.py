"""Functions of NumPy's that call one of the user's for many elements, one after another."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ops.core.differentiate import dtype_of

from ..base.tensor import Face
from .arrays.face import array
from .arrays.leaving import plain
from .arrays.memory_order import lying_like, outline
from .arrays.unwrapping import holds_face
from .constructors import as_array, gathered

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
    parts = [*[gathered(args[k]) for k in varying], *[gathered(kwargs[k]) for k in named]]
    arrays: Any = np.broadcast_arrays(*parts)
    shape = arrays[0].shape

    def call(place: tuple[int, ...]) -> Any:
        here: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        here.update((k, x[place]) for k, x in zip([*varying, *named], arrays))
        return self.pyfunc(*[here.pop(k) for k in range(len(args))], **here)

    like = _together(parts, shape)
    places = list(np.ndindex(shape))
    first = [call(place) for place in places[:1]] if self.otypes is None else []  # to see what it gives
    arrays = [x.copy() for x in arrays]  # what the function writes into them from here on, NumPy does not see
    results = first if self.cache else []
    results += [call(place) for place in places[len(results) :]]
    if not results:
        if not self.otypes:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        empty = [np.zeros(shape, kind) for kind in self.otypes]
        return empty[0] if len(empty) == 1 else tuple(empty)
    if isinstance(results[0], tuple):
        return tuple([_shaped([r[k] for r in results], like, self.otypes, k) for k in range(len(results[0]))])
    return _shaped(results, like, self.otypes, 0)


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
    return joined.reshape(loop + results[0].shape)


def _shaped(results: list[Any], like: np.ndarray, types: str | None, k: int) -> Any:
    """Results one after another as an array, of the dtype that was asked for or that of the first.

    It has the shape of another array, and lies in memory as that does.
    """
    dtype = dtype_of(types[k]) if types else np.asarray(results[0]).dtype if not holds_face(results[0]) else None
    flat = gathered(results) if holds_face(results) else np.array(results, dtype)
    dtype = dtype or results[0].dtype
    found = (flat if flat.dtype == dtype else flat.astype(dtype)).reshape(like.shape)
    if found.ndim < 2:
        return found
    if isinstance(found, Face):
        return array(lying_like(found._tensor, like))
    laid = np.empty_like(like, dtype)
    laid[...] = found
    return laid


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
    return made


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
