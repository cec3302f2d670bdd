"""Functions of NumPy's that call one of the user's for many elements, one after another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays.leaving import refusal
from .arrays.unwrapping import holds_face
from .constructors import gathered

_vectorize = np.vectorize.__call__


@functools.wraps(_vectorize)
def vectorize(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A call of an `np.vectorize` object on recorded arrays."""
    if not holds_face(args) and not holds_face(list(kwargs.values())):
        return _vectorize(self, *args, **kwargs)
    if self.signature is not None:
        raise refusal("np.vectorize with a signature")
    excluded = set(self.excluded)
    varying = [k for k in range(len(args)) if k not in excluded]
    named = [k for k in kwargs if k not in excluded]
    arrays: Any = np.broadcast_arrays(*[gathered(args[k]) for k in varying], *[gathered(kwargs[k]) for k in named])
    shape = arrays[0].shape

    def call(place: tuple[int, ...]) -> Any:
        here: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        here.update((k, x[place]) for k, x in zip([*varying, *named], arrays))
        return self.pyfunc(*[here.pop(k) for k in range(len(args))], **here)

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
        return tuple([_shaped([r[k] for r in results], shape, self.otypes, k) for k in range(len(results[0]))])
    return _shaped(results, shape, self.otypes, 0)


def _shaped(results: list[Any], shape: tuple[int, ...], types: str | None, k: int) -> Any:
    """Results one after another as an array, of the dtype that was asked for or that of the first."""
    dtype = np.dtype(types[k]) if types else np.asarray(results[0]).dtype if not holds_face(results[0]) else None
    flat = gathered(results) if holds_face(results) else np.array(results, dtype)
    dtype = dtype or results[0].dtype
    return (flat if flat.dtype == dtype else flat.astype(dtype)).reshape(shape)


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


CALLING: dict[Any, Callable[..., Any]] = {np.apply_along_axis: apply_along_axis, np.apply_over_axes: apply_over_axes}
"""NumPy's functions that call one of the user's."""
