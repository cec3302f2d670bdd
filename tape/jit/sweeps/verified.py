"""Guards as steps: what a replay computed is compared with what was told to Python when it was recorded."""

from __future__ import annotations

from typing import Any

from .address import get, load_byte, load_f32, load_f64, load_u32, load_word, put
from .jitting import inner

BYTES, DOUBLE, SINGLE = range(3)
"""How numbers are compared: whole and true ones by their bytes; of the others 0.0 is not −0.0, and nan is nan."""


def verify(step):  # type: ignore[no-untyped-def]
    """Raise a flag unless numbers are what they were: where the flag is, how many blocks of numbers there are.

    Then for each block: where the numbers are, and those that they were; how many, in bytes where those are compared;
    how they are compared; where the guards are told that they belong to, and how many of these words each has.  The
    flag is the first guard that does not hold, plus one.
    """
    for k in range(2, 2 + 6 * get(step, 1), 6):
        x, seen, n, how = get(step, k), get(step, k + 1), get(step, k + 2), get(step, k + 3)
        found = n
        if how == BYTES:
            found = differing_bytes(x, seen, n)
        elif how == DOUBLE:
            found = differing_doubles(x, seen, n)
        else:
            found = differing_singles(x, seen, n)
        if found < n:
            put(get(step, 0), 0, 1 + get(get(step, k + 4), found * get(step, k + 5)))
            return


@inner
def differing_bytes(x, y, n):  # type: ignore[no-untyped-def]
    """The first of so many bytes that differ, n if none do."""
    whole = n // 8
    for k in range(whole):
        if load_word(x + 8 * k) != load_word(y + 8 * k):
            for i in range(8 * k, 8 * k + 8):
                if load_byte(x + i) != load_byte(y + i):
                    return i
    for i in range(8 * whole, n):
        if load_byte(x + i) != load_byte(y + i):
            return i
    return n


def _differing(size: int, bits: Any, number: Any) -> Any:
    """The first of so many numbers that differ, n if none do."""

    @inner
    def differing(x, y, n):  # type: ignore[no-untyped-def]
        for k in range(n):
            if bits(x + size * k) != bits(y + size * k):
                a, b = number(x + size * k), number(y + size * k)
                if a == a or b == b:
                    return k
        return n

    return differing


differing_doubles, differing_singles = _differing(8, load_word, load_f64), _differing(4, load_u32, load_f32)
