"""The methods of arrays that change them in place."""

from __future__ import annotations

import operator
from typing import Any, SupportsIndex

from .attributes import Attributes
from .face_base import numpy
from .leaving import refusal


class Changes(Attributes):
    """The methods of `numpy.ndarray` that change it."""

    __slots__ = ()

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")

    def fill(self, value: Any) -> None:
        """Set every element to one number."""
        self[...] = value

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Values at places counted through the flattened array."""
        numpy.put(self, indices, values, mode)

    def sort(
        self, axis: SupportsIndex = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
    ) -> None:
        """Sort in place."""
        self[...] = numpy.sort(self, operator.index(axis), kind)

    def partition(self, kth: Any, axis: SupportsIndex = -1, kind: str = "introselect", order: Any = None) -> None:
        """Partition in place."""
        places = numpy.argpartition(self, kth, operator.index(axis), kind)
        self[...] = numpy.take_along_axis(self, places, operator.index(axis))

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """Another shape, ``new_shape``, for the same memory.

        Raises:
            ValueError: for another number of elements: memory that is recorded keeps its size.
        """
        shape = new_shape[0] if len(new_shape) == 1 else new_shape
        if numpy.empty(shape).size != self.size:
            raise ValueError("cannot resize an array that is recorded; use np.resize, which gives another one")
        self.shape = shape

    def setfield(self, val: Any, dtype: Any, offset: SupportsIndex = 0) -> None:
        """Refused: part of an element's bytes has no derivative.

        Raises:
            TypeError: always.
        """
        raise refusal("setfield()")

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Whether the array can be written; what else it says of the memory cannot be changed.

        Raises:
            ValueError: if something else should be changed.
        """
        if uic or (align is not None and not align):
            raise ValueError("only the flag write of an array that is recorded can be changed")
        if write is not None:
            self._tensor._readonly = not write
