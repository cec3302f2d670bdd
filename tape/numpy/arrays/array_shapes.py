"""Arrays in other shapes, views where NumPy gives views, and copies in NumPy's orders."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

import numpy as np

import ops

from .attributes import Attributes
from .face_base import Axis, numpy
from .leaving import plain
from .memory_order import copied, in_a_row, resolved


class Shapes(Attributes):
    """The methods of `numpy.ndarray` that give its elements in another shape."""

    __slots__ = ()

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The elements in another shape: lengths one by one, or a tuple, as ``shape``.

        Raises:
            ValueError: if they do not fit, or would have to be copied and must not be.
        """
        lengths = plain(shape[0] if len(shape) == 1 else shape)
        lengths = tuple(lengths) if isinstance(lengths, (tuple, list, np.ndarray)) else (lengths,)
        if order == "K":
            raise ValueError("order 'K' is not permitted for reshaping")
        if resolved(self._tensor, order) == "F":
            return self.transpose().reshape(lengths[::-1], copy=copy).transpose()
        tensor = copied(self._tensor, "C") if copy else self._tensor
        made = ops.reshape(tensor, shape=tuple(map(operator.index, lengths)))
        if copy is False and made._memory() is not tensor._memory():
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return self._viewed(made)

    def ravel(self, order: str = "C") -> Any:
        """The elements in a row, a view where they lie so."""
        return self._viewed(in_a_row(self._tensor, order))

    def flatten(self, order: str = "C") -> Any:
        """A copy of the elements in a row."""
        return self._array(copied(in_a_row(self._tensor, order)))

    def transpose(self, *axes: Any) -> Any:
        """The array with its ``axes`` in another order, all reversed without, a view."""
        return self._viewed(numpy.transpose(self, axes[0] if len(axes) == 1 else axes or None)._tensor)

    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> Any:
        """The array with two axes exchanged, a view."""
        return self._viewed(numpy.swapaxes(self, axis1, axis2)._tensor)

    def squeeze(self, axis: Axis = None) -> Any:
        """The array without axes of length 1, a view."""
        return self._viewed(numpy.squeeze(self, axis)._tensor)

    def diagonal(self, offset: SupportsIndex = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1) -> Any:
        """The elements on a diagonal, not to be written."""
        return numpy.diagonal(self, offset, axis1, axis2)

    def copy(self, order: str = "C") -> Any:
        """A copy, in row-major order unless another is asked for."""
        return self._like(copied(self._tensor, order))

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), self.copy("K"))
