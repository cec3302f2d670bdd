"""``x.flat``: the elements of an array one after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .face import plain


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
        self._next += 1
        return self[self._next - 1]

    @property
    def index(self) -> int:
        """The number of the element that comes next."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """Its place along each axis."""
        return tuple(map(int, np.unravel_index(self._next, self.base.shape)))

    def copy(self) -> Any:
        """A copy of the elements in a row."""
        return self.base.flatten()

    def _places(self, index: Any) -> Any:
        return np.unravel_index(np.arange(self.base.size)[plain(index)], self.base.shape)

    def __getitem__(self, index: Any) -> Any:
        if not self.base.ndim:
            return self.base.reshape(1)[index]
        found = self.base[self._places(index)]
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        places = self._places(index)
        shape = np.shape(places[0]) if places else ()
        if shape and np.ndim(value) and np.size(value) != np.prod(shape):
            n = int(np.prod(shape))
            value = np.ravel(value)[np.arange(n) % max(1, np.size(value))]
        self.base[places] = np.reshape(value, shape) if np.ndim(value) and np.shape(value) != shape else value

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.base.ravel(), dtype=dtype)


def set_flat(array: Any, value: Any) -> None:
    """``x.flat = value``: repeated where it is too short."""
    Flat(array)[...] = value
