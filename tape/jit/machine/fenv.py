"""The processor's flags of floating-point errors, by the functions of C's ``<fenv.h>``.

A flag that was raised stays until it is taken down, so that one look tells of all that was computed since: one for all
steps of a sweep.  NumPy takes them down before and after each of its loops.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import NamedTuple

from ...base.locks import once

ALL = 0x1F
"""The flags of all kinds of errors; on some processors with the one that tells that a result is inexact."""
DIVIDE, OVER, INVALID = 1, 2, 8
"""What NumPy calls the kinds of errors where it calls a function for them (``numpy/npy_math.h``)."""


class Fenv(NamedTuple):
    """How the flags are read and taken down.

    Attributes:
        clear, test, again: C's ``feclearexcept``, ``fetestexcept`` and ``feraiseexcept``.
        bits: by NumPy's number of a kind of error, the processor's flag.
    """

    clear: Callable[[int], int]
    test: Callable[[int], int]
    again: Callable[[int], int]
    bits: dict[int, int]

    @property
    def addresses(self) -> list[int]:
        """Where the three functions are."""
        return [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in self[:3]]  # type: ignore[arg-type]

    def forget(self) -> None:
        """Take all flags down."""
        self.clear(ALL)

    def raised(self) -> int:
        """The kinds of errors since the flags were taken down last."""
        found = self.test(ALL)
        return sum([kind for kind, bit in self.bits.items() if found & bit]) if found else 0

    def flags(self, kinds: int) -> int:
        """The flags of some kinds of errors."""
        return sum([bit for kind, bit in self.bits.items() if kinds & kind])


@once
def fenv() -> Fenv | None:
    """The flags here; None where C's functions are not found, or do not tell a zero divided by from other errors."""
    try:
        library = ctypes.PyDLL(None)
        clear, test, again = library.feclearexcept, library.fetestexcept, library.feraiseexcept
        log, exp = library.log, library.exp
    except (OSError, AttributeError, TypeError):  # Windows has no library without a name
        return None
    for function in (log, exp):
        function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double

    def raised_by(function: Callable[[float], float], x: float) -> int:
        clear(ALL)
        function(x)
        return int(test(ALL))

    inexact = raised_by(exp, 0.5)
    seen = raised_by(log, 0.0), raised_by(exp, 1e4), raised_by(log, -1.0)
    clear(ALL)
    bits = [flag & ~inexact for flag in seen]
    if any(bit.bit_count() != 1 for bit in bits) or len(set(bits)) < len(bits):
        return None
    return Fenv(clear, test, again, dict(zip((DIVIDE, OVER, INVALID), bits)))
