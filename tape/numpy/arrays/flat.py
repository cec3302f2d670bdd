"""``x.flat``: the elements of an array one after another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .leaving import plain
from .unwrapping import tensor_of


class Flat:
    """The elements of an array in row-major order: read and written by number, slice, mask or array of numbers."""

    __slots__ = ("_next", "base")

    def __init__(self, base: Any):
        self.base, self._next = base, 0

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._next >= self.base.size:
            raise StopIteration
        k = self._next
        found = self[k]
        self._next = k + 1
        return found

    @property
    def index(self) -> int:
        """The number of the element that comes next."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """Its place along each axis."""
        lengths = np.cumprod([1, *self.base.shape[:0:-1]])[::-1]
        return tuple([int(self._next // max(1, n) % max(1, k)) for n, k in zip(lengths, self.base.shape)])

    def copy(self) -> Any:
        """A copy of the elements in a row."""
        return self.base.flatten()

    def _places(self, index: Any) -> Any:
        return np.unravel_index(np.arange(self.base.size)[plain(index)], self.base.shape or (1,))

    def _whole(self) -> Any:
        """The array itself; one without axes as one of a single element on the same memory."""
        return self.base if self.base.ndim else self.base.reshape(1)

    def __getitem__(self, index: Any) -> Any:
        self._next = 0  # as NumPy's begins anew, too
        return self._whole()[self._places(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write; values begin anew where they run out.

        Raises:
            ValueError: if there are no values.
        """
        places = self._places(index)
        if isinstance(index, (int, slice)):
            self._next = 0
        shape = np.shape(places[0])
        if isinstance(value, (list, tuple)):
            value = self.base._array(tensor_of(value))
        if np.ndim(value):
            n = math.prod(shape)
            if n and not np.size(value):
                raise ValueError("Error setting single item of array." if not shape else "no values to write")
            value = np.reshape(np.ravel(value)[np.arange(n) % max(1, np.size(value))], shape)
        self._whole()[places] = value

    def __lt__(self, other: Any) -> Any:
        return self.copy() < other

    def __le__(self, other: Any) -> Any:
        return self.copy() <= other

    def __gt__(self, other: Any) -> Any:
        return self.copy() > other

    def __ge__(self, other: Any) -> Any:
        return self.copy() >= other

    def __eq__(self, other: Any) -> Any:
        return self.copy() == other

    def __ne__(self, other: Any) -> Any:
        return self.copy() != other

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.base.ravel(), dtype=dtype)
