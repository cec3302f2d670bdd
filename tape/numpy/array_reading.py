"""Reading elements and parts of arrays: views where NumPy gives views, numbers that stay where it gives scalars.

Also what Python asks of a sequence, and of a number that NumPy's scalars answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ops.shapes.index import is_basic

from ..base.tensor import Face, Tensor
from .arrays.face import OF_TENSORS, AnyNumber, Array, Number, face
from .arrays.face_base import numpy
from .arrays.leaving import called_now, number_of, refusal
from .arrays.memory_order import settled
from .arrays.unwrapping import bare, holds_face, stacked

new = object.__new__
PLAIN = frozenset({int, type(None), type(Ellipsis)})
"""The kinds of parts of an index that are as they are."""
ANYWHERE = (tuple, type(Ellipsis), type(None), bool, np.bool_, np.ndarray, Tensor)
"""The kinds of indices that an array without axes takes."""


def read(x: Face, index: Any) -> Any:
    """``x[index]``."""
    tensor = x._tensor
    if type(index) is not int:
        index = plain_index(index)
    if not tensor._spec.shape and not isinstance(index, ANYWHERE):
        if isinstance(x, Number):
            raise IndexError("invalid index to scalar variable.")
        np.empty(())[index]  # NumPy's own error
    z: Tensor = tensor[index] if type(index) is int else tensor._read(index)
    if z._spec.shape or (type(index) is not int and has_ellipsis(index)):
        made: Any = new(Array)
        made._tensor = z if type(x) is Array else settled(z)
        if tensor._readonly and is_basic(index):
            z._readonly = True
        return made
    return face(z if type(z) in OF_TENSORS else settled(z))


def plain_index(index: Any) -> Any:
    """An index with tensors in the place of faces, lists of which are arrays."""
    if type(index) is tuple:
        return tuple([part if type(part) in PLAIN or _is_plain(part) else plain_index(part) for part in index])
    if _is_plain(index):
        return index
    if type(index) is list:
        return stacked(index) if holds_face(index) else np.asarray(index, dtype=None if index else np.intp)
    index = bare(index)
    return int(index) if type(index) is np.int64 else index


def _is_plain(part: Any) -> bool:
    """Whether a part of an index is a slice that is as it is."""
    return type(part) is slice and type(part.start) in PLAIN and type(part.stop) in PLAIN and type(part.step) in PLAIN


def has_ellipsis(index: Any) -> bool:
    """Whether an index has ``...`` in it, so that it gives an array even without axes."""
    return index is Ellipsis or (type(index) is tuple and type(Ellipsis) in map(type, index))


def _length(self: Array) -> int:
    if not self.ndim:
        raise TypeError("len() of unsized object")
    if self.ndim > 1 and called_now() == "shuffle()":  # before NumPy warns of it; by any name: `set_item`
        raise refusal("swapping its rows, which are views")
    return self.shape[0]


def _elements(self: Array) -> Iterator[Any]:
    if not self.ndim:
        raise TypeError("iteration over a 0-d array")
    return (read(self, k) for k in range(self.shape[0]))  # one after another: the loop may write into the array


def _contains(self: Array, element: Any) -> bool:
    return bool(numpy.any(self == element))


def rounded(self: AnyNumber, ndigits: int | None = None) -> Any:
    """``round(x)`` of a number: Python's integer, or rounded to some digits."""
    if self.dtype.kind in "bc":
        return round(numpy.ones((), self.dtype)[()], ndigits)  # NumPy's own error
    return number_of(numpy.round(self), int) if ndigits is None else numpy.round(self, ndigits)


def _refusing(convert: Any) -> Any:
    """`math.floor` and the like of a number: Python's integer, through which no gradient flows."""

    def apply(self: AnyNumber) -> Any:
        if self.dtype.kind == "c":
            return convert(1j)  # Python's own error
        return convert(self._tensor.detach().item() if type(self._tensor) is Tensor else self._tensor.item())

    return apply


for _name, _method in {
    "__getitem__": read, "__len__": _length, "__iter__": _elements, "__contains__": _contains,
}.items():  # fmt: skip
    setattr(Array, _name, _method)
setattr(Number, "__getitem__", read)  # noqa: B010
for _name, _method in {
    "__round__": rounded, "__floor__": _refusing(math.floor), "__ceil__": _refusing(math.ceil),
    "__trunc__": _refusing(math.trunc),
}.items():  # fmt: skip
    setattr(AnyNumber, _name, _method)
