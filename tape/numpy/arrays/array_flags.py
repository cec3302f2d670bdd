"""``x.flags``: how an array lies in memory, and whether it may be written."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.tensor import Face
from ...recording.views import base_of


class ArrayFlags:
    """What `numpy.ndarray.flags` says, of an array of the same layout; to be writeable or not is said of this one."""

    __slots__ = ("_of", "_shown")

    def __init__(self, of: Face, shown: Any):
        object.__setattr__(self, "_of", of)
        object.__setattr__(self, "_shown", shown)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._shown)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shown, name)

    def __getitem__(self, name: str) -> Any:
        return self._shown[name]

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(np.empty(1).flags, name, value)  # NumPy's own error
        if name == "writeable":
            writeable(self._of, bool(value))

    def __setitem__(self, name: Any, value: Any) -> None:
        np.empty(1).flags[name] = value
        if name in ("W", "WRITEABLE"):
            writeable(self._of, bool(value))

    def __eq__(self, other: Any) -> bool:
        return bool(self._shown == (other._shown if type(other) is ArrayFlags else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._shown)


def writeable(x: Any, value: bool) -> None:
    """Let an array be written, or not.

    Raises:
        ValueError: if it is a number, or a view of what must not be written.
    """
    tensor = x._tensor
    above = base_of(tensor)
    if value and tensor._readonly and (not x._is_array or above is not tensor):
        raise ValueError("cannot set WRITEABLE flag to True of this array")
    tensor._readonly = not value
