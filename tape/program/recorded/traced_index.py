"""Indices with arrays of whole numbers that are being recorded: the arrays are operands, so that others serve as well.

What else an index consists of, masks and single numbers too, is part of the program, and holds for its values only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import ops
from ops.core.batching_index import SLOT

from ...base.tensor import Tensor
from ...recording.level import innermost, read, write


class ArrayIndex:
    """Reads and writes where such arrays are part of an index."""

    def __call__(self, x: Any, index: Any) -> Any:
        """``x[index]``."""
        if innermost(index if type(index) is tuple else (index,)) is not None:
            return read(x, index)
        form, arrays = _form(index)
        return ops.lookup(x, *arrays, form=form)

    def write(self, x: Any, index: Any, value: Any) -> Any:
        """`x` with a value put at an index."""
        if innermost(index if type(index) is tuple else (index,)) is not None:
            return write(x, index, value)
        form, arrays = _form(index)
        return ops.overwrite(x, value, *arrays, form=form)


AT_PLACES = ArrayIndex()
BOUNDS = frozenset({int, type(None)})
"""The kinds of ends of slices, and of the steps in them, that are themselves in every way if they are equal."""


def basic_key(index: Any) -> Any:
    """Something hashable that is equal for equal indices of integers and slices only; None for others."""
    if type(index) is slice:
        kinds = {type(index.start), type(index.stop), type(index.step)}
        return (slice, index.start, index.stop, index.step) if kinds <= BOUNDS else None
    if type(index) is not tuple:
        return None
    key: list[Any] = []
    for p in index:
        if type(p) is slice and {type(p.start), type(p.stop), type(p.step)} <= BOUNDS:
            key.append((p.start, p.stop, p.step))
        elif type(p) is int:
            key.append(p)
        else:
            return None
    return tuple(key)


def is_places(part: Any) -> bool:
    """Whether a part of an index is an array of whole numbers whose values are not known while a function is recorded.

    A number without axes is not: with it reading gives a view, and loops that count are unrolled.
    """
    return isinstance(part, Tensor) and part._index_reader() is AT_PLACES


def has_places(index: Any) -> bool:
    """Whether such an array is part of an index, or one that differs from lane to lane."""
    parts = index if type(index) is tuple else (index,)
    return any(isinstance(part, Tensor) and part._index_reader() is not None for part in parts)


def _form(index: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """The form of an index (see `ops.shapes.places`), and its arrays; masks as the numbers that they mean."""
    form: list[Any] = []
    arrays: list[Any] = []
    for part in index if type(index) is tuple else (index,):
        if is_places(part):
            found: tuple[Any, ...] = (part,)
        elif isinstance(part, (Tensor, np.ndarray, list)):
            value = np.array(part.numpy(force=True) if isinstance(part, Tensor) else part)
            if not value.ndim and value.dtype != np.bool_:
                form.append(value[()])
                continue
            found = np.nonzero(value) if value.dtype == np.bool_ and value.ndim else (value,)
        else:
            form.append(part)
            continue
        arrays += found
        form += [SLOT] * len(found)
    return tuple(form), arrays
