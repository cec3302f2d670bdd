"""NumPy's ways to choose among arrays, and to put arrays together or take parts out of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.op import composite, joining, ready, ready_or_number, shape_of
from ..pointwise.arithmetic import fmod, remainder
from ..pointwise.comparison import eq, floor_divide, gt, isinf, isnan, logical_not, logical_or, ne
from ..pointwise.selection import trunc, where
from ..reductions.extremes import partitioned
from ..shapes.index import getitem, index_add, index_put, masked_choice, masked_place, take
from ..shapes.joining import along, cat, stack, unbind
from ..shapes.queries import bincount, zeros_like
from ..shapes.shape import broadcast_arrays, cast, clone, movedim, ravel, reshape
from ..shapes.sums import broadcast_to


def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """At each place the first of the choices whose condition holds, or the default."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"select needs as many conditions as choices, at least one; got {len(condlist)} and {len(choicelist)}"
        )
    z = default
    for condition, choice in [*zip(condlist, choicelist)][::-1]:
        z = where(ready(condition), ready(choice), z)
    return z


numpy_select = composite("numpy_select", _select, numpy=(np.select,))


def _choose(a: Any, choices: Sequence[Any]) -> Any:
    """At each place the choice whose number stands there."""
    choices = [choices[k] for k in range(len(choices))]
    dtype = np.result_type(*map(joining, choices))
    a, *choices = broadcast_arrays(ready(a), *map(ready, choices))
    np.choose(np.empty(0, a.dtype), [np.empty(0)])  # what NumPy raises of numbers that are not whole
    numbers = np.asarray(a)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < len(choices)):
        raise ValueError(f"choose needs numbers from 0 to {len(choices) - 1}; got {numbers.min()} to {numbers.max()}")
    z = choices[0]
    for k, choice in enumerate(choices[1:], 1):
        z = where(eq(a, k), choice, z)
    return z if z.dtype == dtype else cast(z, dtype=dtype)


choose = composite("choose", _choose, numpy=(np.choose,))


def _piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """What the last of the functions (or numbers) whose condition holds gives; one more is for everywhere else.

    Each function is called with the elements at which its condition holds, if there are any, and ``args``.
    """
    x = ready(x)
    if not isinstance(condlist, (list, tuple)):
        condlist = unbind(condlist) if len(shape_of(condlist)) > x.ndim else [condlist]
    elif len(condlist) and np.isscalar(condlist[0]):
        condlist = [condlist]
    shape, x = x.shape, x if x.ndim else reshape(x, shape=(1,))
    masks = [broadcast_to(ne(ready(c), 0), shape=x.shape) for c in condlist]
    if len(funclist) not in (len(masks), len(masks) + 1):
        raise ValueError(
            f"piecewise needs {len(masks)} functions for {len(masks)} conditions, or one more for everywhere else; "
            f"got {len(funclist)}"
        )
    if len(funclist) > len(masks):
        masks.append(logical_not(functools.reduce(logical_or, masks)))
    z: Any = zeros_like(x)
    for mask, f in zip(masks, funclist):
        part = f
        if callable(f):
            some = masked_choice(x, mask)
            if not some.shape[0]:
                continue
            found = ready(f(some, *args, **kw))
            part = masked_place(broadcast_to(found, shape=some.shape), mask)
        z = where(mask, part, z)
    z = z if z.dtype == x.dtype else cast(z, dtype=x.dtype)
    return z if z.shape == shape else reshape(z, shape=shape)


piecewise = composite("piecewise", _piecewise, numpy=(np.piecewise,))


def _heaviside(x1: Any, x2: Any) -> Any:
    """The step function: 0 below 0, 1 above, and x2 at 0."""
    xs = ready_or_number(x1), ready_or_number(x2)
    kinds = [getattr(x, "dtype", type(x)) for x in xs]
    if any(kind is complex or getattr(kind, "kind", "") == "c" for kind in kinds):
        raise TypeError("heaviside has no meaning for complex numbers; take the .real part")
    dtype = np.heaviside.resolve_dtypes((*[np.dtype(bool) if kind is bool else kind for kind in kinds], None))[0]
    x1, x2 = [x if x.dtype == dtype else cast(x, dtype=dtype) for x in map(ready, xs)]
    step = where(isnan(x1), x1, cast(gt(x1, 0.0), dtype=x1.dtype))
    return where(eq(x1, 0.0), x2, step)


numpy_heaviside = composite("numpy_heaviside", _heaviside, numpy=(np.heaviside,))


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """The quotient rounded down, and the remainder."""
    return floor_divide(x, y), remainder(x, y)


divmod = composite("divmod", _divmod, numpy=(np.divmod,))


def _modf(x: Any) -> tuple[Any, Any]:
    """Fraction and whole part, both with the sign of x."""
    x = ready(x)
    if x.dtype.kind != "f":
        x = cast(x, dtype=np.result_type(x.dtype, np.float16))
    finite = where(isinf(x), cast(where(gt(x, 0.0), 0.0, -0.0), dtype=x.dtype), x)
    return fmod(finite, 1.0), trunc(x)


modf = composite("modf", _modf, numpy=(np.modf,))


def _block(arrays: Any) -> Any:
    """An array put together from nested lists of blocks: the innermost side by side, along the last axis."""
    depth, ndim = _depth(arrays), 0
    if not depth:
        return clone(ready(arrays))
    for block in _blocks(arrays):
        ndim = max(ndim, len(shape_of(block)))
    return _joined(arrays, 0, depth, max(ndim, depth))


def _depth(arrays: Any) -> int:
    depths = {1 + _depth(part) for part in arrays} if isinstance(arrays, list) else {0}
    if len(depths) != 1:
        raise ValueError("block needs lists that are nested to the same depth everywhere, none of them empty")
    return depths.pop()


def _blocks(arrays: Any) -> list[Any]:
    return [block for part in arrays for block in _blocks(part)] if isinstance(arrays, list) else [arrays]


def _joined(arrays: Any, level: int, depth: int, ndim: int) -> Any:
    if level == depth:
        block = ready(arrays)
        return reshape(block, shape=(*(1,) * (ndim - block.ndim), *block.shape))
    return cat([_joined(part, level + 1, depth, ndim) for part in arrays], axis=level - depth)


block = composite("block", _block, numpy=(np.block,))


def _plain(obj: Any) -> Any:
    """Places along an axis as a slice or an array."""
    if isinstance(obj, slice):
        return obj
    places = np.asarray(obj)
    return places if places.size else places.astype(int)


def _delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """What is left when some places along an axis, or of the flattened array, are taken out."""
    arr, axis = (ravel(arr), 0) if axis is None else (ready(arr), axis)
    return take(arr, np.delete(np.arange(arr.shape[axis]), _plain(obj)), axis=axis)


delete = composite("delete", _delete, numpy=(np.delete,))


def _insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """The array with values before some places along an axis, or of the flattened array."""
    arr, axis = (ravel(arr), 0) if axis is None else (ready(arr), axis % np.ndim(arr))
    n, values = arr.shape[axis], ready(values)
    values = values if values.dtype == arr.dtype else cast(values, dtype=arr.dtype)
    places = np.arange(n)[obj] if isinstance(obj, slice) else _plain(obj)
    places = np.flatnonzero(places) if places.dtype == np.bool_ else places
    new = np.where(places < 0, places + n, places)
    if places.size == 1:
        values = reshape(values, shape=(*(1,) * (arr.ndim - values.ndim), *values.shape))
        values = movedim(values, 0, axis) if not places.ndim else values
        new = new.reshape(()) + np.arange(values.shape[axis])
    else:
        new[np.argsort(new, kind="stable")] += np.arange(new.size)
    shape = tuple(n + new.size if k == axis else length for k, length in enumerate(arr.shape))
    old = np.setdiff1d(np.arange(shape[axis]), new)
    z = index_put(np.zeros(shape, arr.dtype), arr, index=along(axis, arr.ndim, old))
    return index_put(z, values, index=along(axis, arr.ndim, new))


insert = composite("insert", _insert, numpy=(np.insert,))


def _compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """The places along an axis, or of the flattened array, at which a condition holds."""
    a, axis = (ravel(a), 0) if axis is None else (ready(a), axis)
    holds = np.asarray(condition if isinstance(condition, (np.ndarray, list, tuple)) else condition != 0)
    if holds.ndim != 1:
        raise ValueError(f"condition must be a 1-d array; it has {holds.ndim} axes")
    return take(a, np.flatnonzero(holds), axis=axis)


compress = composite("compress", _compress, numpy=(np.compress,))


def _resize(a: Any, new_shape: Any) -> Any:
    """The elements, again and again, in another shape."""
    a, shape = ravel(a), (new_shape,) if isinstance(new_shape, (int, np.integer)) else tuple(new_shape)
    if not a.shape[0]:
        return np.zeros(shape, a.dtype)
    return take(a, np.arange(np.prod(shape, dtype=int)).reshape(shape) % a.shape[0], axis=0)


numpy_resize = composite("numpy_resize", _resize, numpy=(np.resize,))


def _bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each integer occurs, or the sum of the weights where it does."""
    if weights is None:
        return bincount(x, minlength=minlength)
    x, weights = np.asarray(x, None if np.size(x) else int), ready(weights)
    counts = np.bincount(x, minlength=minlength)  # which raises what NumPy raises
    if weights.shape != x.shape:
        raise ValueError(f"bincount needs as many weights as integers, and got {weights.shape} and {x.shape}")
    return index_add(np.zeros(counts.size), x, weights, axis=0) if x.size else counts


numpy_bincount = composite("numpy_bincount", _bincount, numpy=(np.bincount,))


def _apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of each vector along an axis, and ``args``; what it gives lies in the place of that axis."""
    arr = movedim(ready(arr), axis, -1)
    lengths = arr.shape[:-1]
    rows = [ready(func1d(getitem(arr, index=at), *args, **kwargs)) for at in np.ndindex(*lengths)]
    z = reshape(stack(*rows, axis=0), shape=(*lengths, *rows[0].shape))
    n = rows[0].ndim
    return movedim(z, tuple(range(-n, 0)), tuple(range(axis % arr.ndim, axis % arr.ndim + n))) if n else z


apply_along_axis = composite("apply_along_axis", _apply_along_axis, numpy=(np.apply_along_axis,))


def _partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Any:
    """The elements as far sorted that those at the places `kth` stand where they would in order."""
    a, axis = (ravel(a), 0) if axis is None else (ready(a), axis)
    kth = kth if isinstance(kth, int) else np.asarray(kth).tolist()
    return partitioned(a, kth=kth, axis=axis, kind=kind)[0]


numpy_partition = composite("numpy_partition", _partition, numpy=(np.partition,))
