"""``x[index]``: reading by index, recorded."""

from __future__ import annotations

import warnings
from _thread import get_ident
from collections.abc import Iterator
from typing import Any

import numpy as np

import ops

from ..base.spec import spec, spec_of
from ..base.tensor import Face, Tensor, Theme
from .inference import alike
from .laying import is_array, laid_as_picked
from .recorder import LARGE, getframe, new
from .short_views import WHOLE, is_plain, view, views
from .views import WATCH, views_of
from .wengert import EVER_INFERRED, LISTS, current

SELECT, GETITEM = ops.select.code, ops.getitem
NUMBER = spec((), np.dtype(np.float64))
float64 = np.float64


class LayeredIndex(Exception):
    """Part of an index is a tensor of a transformation, which reads by it in its own way.

    Attributes:
        read: ``read(x, index)``.
    """

    def __init__(self, read: Any):
        self.read = read


def unbound(x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along one axis, which disappears."""
    if not is_plain(x) or not -x._spec.ndim <= axis < x._spec.ndim:
        return ops.unbind(x, axis=axis)
    value = x._data
    return views(ops.unbind, x, tuple(np.moveaxis(value, axis, 0) if axis else value), {"axis": axis})


class IndexMethods(Theme):
    """Elements by index."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Tensor:
        """``x[index]`` for any index that NumPy takes; indices may be tensors.

        One integer is the fast path, written like the closures of `record`.

        Raises:
            IndexError: if the index is out of range, or there are more indices than axes.

        >>> import tape
        >>> x = tape.arange(6.0).reshape(2, 3)
        >>> x[1, ::2], x[0][x[0] > 0]
        (tensor([3., 5.]), tensor([1., 2.]))
        """
        if type(index) is not int:
            if is_plain(self):
                part = self._data[index] if type(index) is slice else _basic(self, index)
                if part is not None:
                    return view(GETITEM, self, part, {"index": index})
            z = self._read(index)
            is_settled = z._spec.ndim < 2 or getattr(z, "_of", None) is not None  # or a view
            return z if is_settled else laid_as_picked(z, self, index)
        spec = self._spec
        if not spec.shape:
            raise IndexError("a tensor without axes cannot be indexed by a number; use .item() to read its value")
        value, ref = self._data[index], self._node
        try:
            wengert = LISTS[get_ident()]
        except KeyError:
            wengert = current()
        spec = NUMBER if type(value) is float64 else spec_of(value)
        result = new(spec.tensor)
        result._data = value
        result._spec = spec
        try:
            result._among = self._views
        except AttributeError:
            result._among = views_of(self)
        if WATCH.on:
            self._views.note(result)
        if ref is None or not wengert.recording or (ref is True and EVER_INFERRED and self._inference):
            result._node = None
            result._of = self, index, wengert.recording
            return alike(result, self) if EVER_INFERRED else result
        result._of = self
        if ref is True:
            ref = self
        if index < 0:
            index += self._spec.shape[0]
        result._node = handle = wengert.next()
        where = wengert.where
        if where is None:
            frame = getframe(1)
            where = frame.f_code, frame.f_lasti
        wengert.extend((handle, SELECT, ref, None, None, None, None, (index,), spec, *where))
        if spec.nbytes > LARGE:
            wengert.account(spec.nbytes)
        if handle > wengert.limit:
            wengert.scan()
        return result

    def __iter__(self) -> Iterator[Tensor]:
        """The entries along the first axis, views of the tensor that `unbind` gives.

        Raises:
            TypeError: of a tensor without axes.
        """
        if not self._spec.shape:
            raise TypeError("iteration over a 0-d tensor; use .item() to read its value")
        return iter(unbound(self))

    def _read(self, index: Any) -> Tensor:
        """``x[index]`` for any index but one integer; what is picked lies in memory as NumPy has it."""
        index = without_faces(index)
        if type(index) is list:
            index = parts_of_list(index)
        try:
            plain = plain_index(index, own=self._node is not None and current().recording)
        except LayeredIndex as layered:
            return layered.read(self, index)
        return ops.getitem(self, index=plain)


BASIC = frozenset({int, slice, type(None), type(Ellipsis)})
"""Kinds of the parts of an index that picks a view."""


def _basic(x: Tensor, index: Any) -> Any:
    """What an index that picks a view, not of a single element, gives of a plain tensor with axes; None of others."""
    kinds: set[Any] = set(map(type, index)) if type(index) is tuple else {type(index)}
    z = x._data[index] if kinds <= BASIC and kinds != WHOLE else None
    return z if type(z) is np.ndarray and z.ndim else None


def without_faces(index: Any) -> Any:
    """An index with the tensors of arrays that are recorded."""
    if isinstance(index, Face):
        return index._tensor
    kind = type(index)
    if (kind is tuple or kind is list) and any(isinstance(part, Face) for part in index):
        return kind([part._tensor if isinstance(part, Face) else part for part in index])
    return index


def parts_of_list(index: list[Any]) -> Any:
    """A list as an index: of numbers it is an array; of lists, slices or tensors a tuple, as PyTorch reads it.

    NumPy would read lists of numbers in a list as one array, so it warns.
    """
    if is_array(index):
        return index
    warnings.warn(
        "a list of lists, slices or tensors as an index is read as one index for each axis: x[[i, j]] as x[i, j].\n"
        "Say which you mean: x[tuple(index)], or x[tape.tensor(index)] for an array of places along the first axis.",
        stacklevel=3,
    )
    return tuple(index)


def plain_index(index: Any, own: bool = False) -> Any:
    """An index with tensors as their values; in `own` memory where a record is to hold it."""
    if isinstance(index, (tuple, list)):
        parts = [plain_index(i, own) for i in index]
        return tuple(parts) if isinstance(index, tuple) else parts
    if isinstance(index, Tensor) and (read := index._index_reader()) is not None:
        raise LayeredIndex(read)
    value = index._data if isinstance(index, Tensor) else index
    return value.copy() if own and isinstance(value, np.ndarray) else value
