"""The tensor: a NumPy array that remembers the record which made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ops import Operators

if TYPE_CHECKING:
    from .spec import Spec


class Tensor(Operators):
    """An array of numbers that takes part in differentiation.

    A tensor holds its value (`_data`: an array, or a NumPy scalar where it has no axes), its
    place in the history (`_node`: None where no gradient flows, True for a leaf that requires
    grad, else the handle of its record) and its `Spec`.  Everything else is rarely used and
    lives in the instance dictionary over the defaults below.
    """

    __slots__ = ("__dict__", "__weakref__", "_data", "_node", "_spec")

    _data: Any
    _node: Any
    _spec: Spec
    _counted = False
    _grad: Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        return self._spec.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._spec.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._spec.ndim

    def __repr__(self) -> str:
        return f"tensor({self._data})"
