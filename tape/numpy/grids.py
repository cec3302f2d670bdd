"""NumPy's objects that are indexed or gone through to make arrays: ``np.r_[…]``, ``np.mgrid[…]``, `np.ndenumerate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.tensor import Face
from .arrays.face import Recorded
from .arrays.leaving import plain, refusal
from .arrays.unwrapping import holds_face
from .constructors import gathered, recordable

JOINER = next(kind for kind in type(np.r_).__mro__ if "__getitem__" in vars(kind))
GRID = next(kind for kind in type(np.mgrid).__mro__ if "__getitem__" in vars(kind))
_join, _grid = vars(JOINER)["__getitem__"], vars(GRID)["__getitem__"]
_enumerate = np.ndenumerate.__init__


def joined(self: Any, key: Any) -> Any:
    """``np.r_[…]`` and ``np.c_[…]``: laid out by NumPy, with numbers of places for the elements."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if not any(map(holds_face, parts)):
        return recordable(_join(self, key), tuple(parts))
    if isinstance(parts[0], str) and parts[0] in ("r", "c"):
        raise refusal(f"np.r_[{parts[0]!r}, …], which makes a matrix,")
    flat, count, kinds = [], 0, []
    for k, part in enumerate(parts):
        if isinstance(part, str):
            continue
        values: Any = _join(self, plain(part)) if isinstance(part, slice) else gathered(part)
        kinds.append(values if isinstance(values, (int, float, complex)) and not isinstance(values, Face)
                     else values.dtype if hasattr(values, "dtype") else np.asarray(values).dtype)  # fmt: skip
        size, shape = np.size(values), np.shape(values)
        parts[k] = np.arange(count, count + size).reshape(shape)[()]
        flat.append(np.ravel(values))
        count += size
    dtype = np.result_type(*kinds)
    return np.concatenate([x.astype(dtype) for x in flat])[_join(self, tuple(parts))]


def grid(self: Any, key: Any) -> Any:
    """``np.mgrid[…]`` and ``np.ogrid[…]``, whose bounds are plain numbers."""
    return recordable(_grid(self, key))


def enumerated(self: Any, arr: Any) -> None:
    """`np.ndenumerate` of a recorded array."""
    if isinstance(arr, Recorded):
        self.iter = arr.flat
    else:
        _enumerate(self, arr)


CLASSES: list[tuple[type, str, Callable[..., Any]]] = [
    (JOINER, "__getitem__", joined), (GRID, "__getitem__", grid), (np.ndenumerate, "__init__", enumerated),
]  # fmt: skip
"""The methods that have doors."""
