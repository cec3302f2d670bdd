"""``x[index] = value``: writing at an index, recorded where a gradient flows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import ops
from ops import REGISTRY

from ..base.tensor import Face, Tensor, Theme
from ..recording.creation import array_of, check_numbers, value_of
from ..recording.functionalising import last_of
from ..recording.indexing import parts_of_list, plain_index, without_faces
from ..recording.recorder import operand, user_frame
from ..recording.version import increment
from ..recording.views import base_of
from ..recording.wengert import current
from .inplace import adopted
from .rebase import afresh, append, check_free, is_tracked, rebase, reread
from .repeated import assign, repeats
from .writing import check_writeable, refreshed, spare, unlocked

INDEX_PUT = REGISTRY["index_put"]
OPERATION = "x[index] = value"


class AssignmentMethods(Theme):
    """Elements overwritten by index."""

    __slots__ = ()

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write numbers, or a tensor with a history, at any index that NumPy takes.

        Raises:
            RuntimeError: if the value does not fit, or the tensor cannot be changed in place.
            IndexError: if the index is out of range.

        >>> import tape
        >>> x, w = tape.zeros(3), tape.tensor(2.0, requires_grad=True)
        >>> x[1] = w * w
        >>> x.sum().backward()
        >>> x, w.grad
        (tensor([0., 4., 0.], grad_fn=<CopySlices>), tensor(4.))
        """
        if isinstance(value, Face):
            value = value._tensor
        elif isinstance(value, (list, tuple)):
            value = value_of(value)
        elif (type(value) is int or type(value) is float) and not self._spec.narrow:
            check_numbers(value, self._spec.dtype, OPERATION)
        index = without_faces(index)
        parts = index if type(index) is tuple else (index,)
        places = [part for part in parts if isinstance(part, Tensor) and part._index_reader() is not None]
        adopted(self, OPERATION, (value, *places))
        if not self._write_at(index, value):
            self._alter(OPERATION, _with_value_at, (index, value), {})


def _with_value_at(tensor: Tensor, index: Any, value: Any) -> Tensor:
    return tensor._with_value_at(index, value)


def write_at(tensor: Tensor, index: Any, value: Any) -> bool:
    """``tensor[index] = value`` for a plain tensor: the place alone is written, and one record says so."""
    index = plain_index(parts_of_list(index) if type(index) is list else index, own=True)
    if isinstance(value, Tensor) and value._node is not None and not tensor._spec.inexact:
        value = value.detach()  # what is rounded to a whole number, or asked whether it is zero, moves nothing
    if repeats(tensor):
        assign(tensor, index, value if isinstance(value, Tensor) else array_of(value, exact=True), OPERATION)
        return True
    tracked = is_tracked(tensor, (value,))
    if tracked:
        check_free(tensor, OPERATION)
    value = _fitted(tensor, index, value)
    wengert, where = current(), current().where
    last = last_of(wengert)
    if not tracked:
        _write(tensor, index, value, last)
        reread(tensor)
        return True
    wengert.where = where or user_frame(sys._getframe(1))
    try:
        refs = operand(afresh(tensor)), operand(value)
        _write(tensor, index, value, last)
        rebase(tensor, append(INDEX_PUT, refs, {"index": index}, tensor._spec))
    finally:
        wengert.where = where
    return True


def _fitted(tensor: Tensor, index: Any, value: Any) -> Any:
    """A value without leading axes of length 1 that the place does not have."""
    value = value if isinstance(value, Tensor) else array_of(value, exact=True)
    if value.dtype.kind == "c" and tensor.dtype.kind != "c":
        raise RuntimeError(f"complex numbers do not fit into a tensor of {tensor.dtype}; take their .real")
    if value.ndim and value.shape[0] == 1 and (extra := value.ndim - np.ndim(tensor._data[index])) > 0:
        lead = value.shape[:extra]
        if all(n == 1 for n in lead):
            return ops.reshape(value, shape=tuple(value.shape[extra:]))
    return value


def _write(tensor: Tensor, index: Any, value: Any, last: int) -> None:
    check_writeable(tensor, OPERATION)
    if not tensor._spec.shape and index is Ellipsis:
        index = ()
    spare(base_of(tensor))
    try:
        unlocked(tensor)[index] = np.asarray(value._data) if isinstance(value, Tensor) else value
    except ValueError as error:
        shape = np.shape(tensor._data[index])
        raise RuntimeError(
            f"{OPERATION}: a value of shape {tuple(value.shape)} does not fit a place of shape {shape}"
        ) from error
    refreshed(tensor, OPERATION, last)
    increment(tensor, OPERATION, last)
