"""What the themes of the array face have in common: they hold a tensor, and make further faces of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from ...base.tensor import Face, Tensor
from .memory_order import settled

Axis = SupportsIndex | tuple[SupportsIndex, ...] | None

numpy: Any = np
"""NumPy, whose functions take faces, of which its stubs know nothing."""

absent: Any = numpy._NoValue


FACES: set[type] = set()
"""The classes of faces: `Array`, `Number` and its kinds."""


class Base(Face):
    """A face, as the themes of its attributes and methods see it."""

    __slots__ = ()

    if TYPE_CHECKING:  # given by the rooms about reading and writing
        __getitem__: Any
        __setitem__: Any
        __iter__: Any

    @staticmethod
    def _array(tensor: Tensor) -> Any:
        """A tensor as an array, also without axes."""
        raise NotImplementedError

    @staticmethod
    def _face(tensor: Tensor) -> Any:
        """A tensor as an array, or as a number if it has no axes."""
        raise NotImplementedError

    @staticmethod
    def _python(tensor: Tensor) -> Any:
        """A tensor without axes as a number of Python's."""
        raise NotImplementedError

    @property
    def _is_array(self) -> bool:
        """Whether this is an array, which can be written into, and not a number."""
        raise NotImplementedError

    def _viewed(self, tensor: Tensor) -> Any:
        """A view of this as an array; numbers share no memory with what is made of them, and stay numbers."""
        return self._array(tensor) if self._is_array else self._face(settled(tensor))

    def _like(self, tensor: Tensor) -> Any:
        """A tensor as a face of this one's kind."""
        return self._array(tensor) if self._is_array else self._face(tensor)


def told(**named: Any) -> dict[str, Any]:
    """The arguments that say something."""
    silent = {name: value for name, value in named.items() if value is absent or (value is None and name != "where")}
    if named.get("keepdims") is False:
        silent["keepdims"] = False
    return {name: value for name, value in named.items() if name not in silent}
