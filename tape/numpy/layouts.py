"""How results lie in memory, where an op, or what stands for several, would leave them otherwise than NumPy does.

Most ops hand NumPy the arrays themselves, so that results lie as NumPy's do; others compute the same numbers in another
way.  Who reads memory (``ravel("K")``, `np.nditer`) would see that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ops.algebra.contraction import LARGE

from ..base.tensor import Face
from ..base.tree import leaves_of, transform
from .arrays.face import Array, array
from .arrays.leaving import plain
from .arrays.memory_order import copied, is_in_order, is_known, leave_layout_open, lying_like, outline


def _as_it(x: Any, *_: Any, **__: Any) -> Any:
    return np.empty_like(x)


def _by_columns_or_not(x: Any, *_: Any, **__: Any) -> Any:
    return np.empty((2,) * x.ndim, x.dtype, "F" if x.flags.fnc else "C")


def _reduced(x: Any, axis: Any = None, *_: Any, keepdims: Any = False, **__: Any) -> Any:
    return np.sum(np.zeros_like(x), plain(axis), keepdims=keepdims)


def _by_itself(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: function(x, *plain(args), **plain(kwargs))


def _delete(x: Any, obj: Any, axis: Any = None) -> Any:
    return np.delete(x, plain(obj), plain(axis))


LAYOUTS: dict[Any, tuple[int, str, Callable[..., Any]]] = {
    np.sort: (0, "a", _as_it), np.partition: (0, "a", _as_it), np.gradient: (0, "f", _as_it),
    np.unwrap: (0, "p", _as_it), np.polyval: (1, "x", _as_it), np.pad: (0, "array", _by_columns_or_not),
    np.insert: (0, "arr", _by_columns_or_not), np.delete: (0, "arr", _delete),
    np.average: (0, "a", _reduced), np.median: (0, "a", _reduced),
    **dict.fromkeys((np.nanmax, np.nanmin, np.nanmean, np.nanstd, np.nanvar), (0, "a", _reduced)),
    **{f: (0, "a", _by_itself(f)) for f in (np.nanquantile, np.nanpercentile, np.round)},
    np.stack: (0, "arrays", np.stack),
}  # fmt: skip
"""By function, the place and name of the argument whose layout counts, and an array that lies as the result does."""

IN_ORDER = frozenset({np.select, np.choose, np.linalg.cholesky})
"""Functions whose results lie in row-major order, whatever the arguments do."""


def as_numpy_lays(function: Any, result: Any, args: Any, kwargs: Any) -> Any:
    """A result of a function, lying in memory as NumPy's does, if it is known how the arguments lie."""
    if function is np.einsum:
        return _as_sums_of_products_lie(result, args, kwargs)
    if function not in LAYOUTS and function not in IN_ORDER:
        return result
    found = [x for x in leaves_of([result]) if isinstance(x, Array) and x.ndim > 1]
    if not found:
        return result
    if function in IN_ORDER:
        return transform(lambda x: _relaid(x, _ordered), result)
    place, name, lay = LAYOUTS[function]
    given = args[place] if len(args) > place else kwargs[name]
    looked = [x for x in leaves_of([given]) if _has_axes(x)]
    if not all(_is_known(x) for x in looked):
        for x in found:
            leave_layout_open(x._tensor)
        return result
    if all(_is_in_order(x) for x in looked):
        return result
    named = {key: x for key, x in kwargs.items() if key != name}
    like = lay(transform(_outline, given), *args[place + 1 :], **named)
    return transform(lambda x: _relaid(x, lambda tensor: lying_like(tensor, like)), result)


def _as_sums_of_products_lie(result: Any, args: Any, kwargs: Any) -> Any:
    """What `np.einsum` gives, in the order of what it gives of short arrays whose axes lie in the same order.

    The op looks for a good order of contraction where that pays, and NumPy where it is told to: of more than two arrays
    it depends on their lengths which that is.
    """
    arrays = [x for x in args if isinstance(x, (Face, np.ndarray))]
    optimize = kwargs.get("optimize", False)
    is_as_computed = not optimize and sum(map(_size, arrays)) <= LARGE
    if not isinstance(result, Array) or result.ndim < 2 or is_as_computed or (optimize and len(arrays) > 2):
        return result
    if not all(map(_is_known, arrays)):
        leave_layout_open(result._tensor)
        return result
    how = {key: kwargs[key] for key in ("optimize", "order") if key in kwargs}
    like = np.einsum(*[_short(x) if isinstance(x, (Face, np.ndarray)) else x for x in args], **how)
    return _relaid(result, lambda tensor: lying_like(tensor, like))


def _size(x: Any) -> int:
    return int(x._tensor._spec.size if isinstance(x, Face) else x.size)


def _short(x: Any) -> Any:
    """A part of an array that lies as one does, of length 2 at most along each axis."""
    seen = _outline(x)
    return seen[(slice(2),) * seen.ndim]


def _has_axes(x: Any) -> bool:
    """Whether something has several axes, which may lie in several orders."""
    return len(x._tensor._spec.shape) > 1 if isinstance(x, Face) else np.ndim(x) > 1


def _relaid(x: Any, lay: Callable[[Any], Any]) -> Any:
    if not isinstance(x, Array) or x.ndim < 2:
        return x
    tensor = lay(x._tensor)
    return x if tensor is x._tensor else array(tensor)


def _ordered(tensor: Any) -> Any:
    return tensor if not is_known(tensor) or is_in_order(tensor) else copied(tensor, "C")


def _is_known(x: Any) -> bool:
    return not isinstance(x, Face) or is_known(x._tensor)


def _is_in_order(x: Any) -> bool:
    return is_in_order(x._tensor) if isinstance(x, Face) else bool(x.flags.c_contiguous)


def _outline(x: Any) -> Any:
    return outline(x._tensor) if isinstance(x, Face) else x
