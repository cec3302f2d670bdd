"""The shape of a tensor: a tuple that knows how many elements it stands for."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple[int, ...]):
    """Length of each axis.

    >>> Size([3, 5]), Size([3, 5]).numel()
    (Size([3, 5]), 15)
    """

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))
