"""How results lie in memory, where an op, or what stands for several, would leave them otherwise than NumPy does.

Most ops hand NumPy the arrays themselves, so that results lie as NumPy's do; others compute the same numbers in another
way.  Who reads memory (``ravel("K")``, `np.nditer`) would see that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

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


WHOLE, MANY = 1 << 12, 4
"""Of operands with more elements together, sums of products are tried on so many along each axis."""


def _contracted(operands: Any, *, optimize: Any, **how: Any) -> Any:
    """A sum of products that NumPy makes in pairs, those of the whole operands; of their first places if large."""
    path = np.einsum_path(*operands, optimize=optimize)[0]
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    if sum(x.size for x in arrays) > WHOLE:
        operands = [x[(slice(MANY),) * x.ndim] if isinstance(x, np.ndarray) else x for x in operands]
    return np.einsum(*operands, optimize=path, **how)


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
    in_pairs = function is np.einsum and kwargs.get("optimize")
    if not in_pairs and function not in LAYOUTS and function not in IN_ORDER:
        return result
    found = [x for x in leaves_of([result]) if isinstance(x, Array) and x.ndim > 1]
    if not found:
        return result
    if function in IN_ORDER:
        return transform(lambda x: _relaid(x, _ordered), result)
    place, name, lay = LAYOUTS[function] if not in_pairs else (0, "operands", _contracted)
    args = (args,) if in_pairs else args
    given = args[place] if len(args) > place else kwargs[name]
    looked = [x for x in leaves_of([given]) if _has_axes(x)]
    if not all(_is_known(x) for x in looked):
        for x in found:
            leave_layout_open(x._tensor)
        return result
    if not in_pairs and all(_is_in_order(x) for x in looked):
        return result
    named = {key: x for key, x in kwargs.items() if key != name}
    like = lay(transform(_outline, given), *args[place + 1 :], **named)
    return transform(lambda x: _relaid(x, lambda tensor: lying_like(tensor, like)), result)


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
