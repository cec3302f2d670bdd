"""Guards: values that Python was told while a function was recorded, and what a replay says where one does not hold."""

from __future__ import annotations

from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from ...base.location import Location, locate


class Guard(NamedTuple):
    """A value that Python was told while a function was recorded.

    Attributes:
        row: the record that made the value.
        seen: what it was.
        what: how Python asked, such as ``bool()``.
        code, lasti: the user's line.
    """

    row: int
    seen: Any
    what: str
    code: CodeType
    lasti: int

    @property
    def location(self) -> Location:
        return locate(self.code, self.lasti)

    def holds(self, value: Any) -> bool:
        """Whether the value is what it was."""
        return same(value, self.seen)


class GuardMissed(RuntimeError):
    """A replay met another value than the one that the recorded list holds for.

    Attributes:
        index: which guard.
        value: what was met.
    """

    def __init__(self, index: int, guard: Guard, value: Any):
        super().__init__(index, guard, value)
        self.index, self.guard, self.value = index, guard, value

    def __str__(self) -> str:
        guard = self.guard
        return (
            f"the recorded list holds only while {guard.what} gives {shown(guard.seen)}, and for these inputs it "
            f"gives {shown(self.value)}.\n  asked at {guard.location}\n"
            "Call the function through tape.compile, which records every path taken, or choose with tape.where()."
        )


def shown(value: Any) -> str:
    """A value in a message."""
    return repr(np.asarray(value).item() if np.size(value) == 1 else value)


def same(value: Any, seen: Any) -> bool:
    """Whether a value is exactly what it was: 0.0 is not -0.0, and nan is nan."""
    if type(seen) is np.bool_ or type(seen) is bool:
        return bool(value == seen)
    seen, value = np.asarray(seen), np.asarray(value)
    if value.shape != seen.shape or value.dtype != seen.dtype:
        return False
    if seen.dtype.kind not in "fc":
        return bool(np.array_equal(value, seen))
    return bool(np.array_equal(value, seen, equal_nan=True)) and _signs(value, seen)


def _signs(value: np.ndarray, seen: np.ndarray) -> bool:
    """Whether equal numbers have equal signs where they are zero."""
    if np.all(seen):
        return True
    pairs = ((value.real, seen.real), (value.imag, seen.imag)) if seen.dtype.kind == "c" else ((value, seen),)
    return all(np.array_equal(np.signbit(x), np.signbit(y)) for x, y in pairs)


ROUNDING = {8: 1e-13, 4: 1e-5, 2: 1e-2}
"""By the bytes of a number, the relative difference that may come from kernels, which round otherwise than NumPy."""


def near(value: Any, seen: Any) -> bool:
    """Whether two values of floating-point numbers differ by rounding alone."""
    seen, value = np.asarray(seen), np.asarray(value)
    if value.shape != seen.shape or value.dtype != seen.dtype or seen.dtype.kind not in "fc":
        return False
    bytes_each = seen.real.dtype.itemsize
    return bool(np.allclose(value, seen, rtol=ROUNDING.get(bytes_each, 1e-13), atol=0.0, equal_nan=True))
