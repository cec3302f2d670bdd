"""How much to compile: what a group costs in each tier, and when the next one pays.

A tier is left once what was spent in it comes to what the next one costs to compile.  So whoever stops
calling early has compiled little, and in the end no more than twice the cost of the best choice was paid.
"""

from __future__ import annotations

from typing import Any, Protocol


INTERPRET, QUICK, OPTIMISED = "interpret", "quick", "optimised"
TIERS = (INTERPRET, QUICK, OPTIMISED)

COMPILE = {QUICK: 10e-6, OPTIMISED: 90e-6}
"""Seconds that compiling takes for each record."""
NUMBER = {INTERPRET: 3.2e-9, QUICK: 0.6e-9, OPTIMISED: 0.4e-9}
"""Seconds that a replay takes for each record of numbers."""
CALL, ELEMENT = 7e-7, 6e-10
"""Seconds that NumPy takes for each record of arrays, and for each of its elements."""
WIDE, SAVED = 5e-4, 3e-11
"""Seconds that compiling for two registers at a time takes for each record of arrays, and saves for each element."""
MANY = 1 << 18
"""So many elements are taken two registers at a time from the first."""
FEW = 100
"""So many records of numbers that the interpreter has no instructions for are compiled, little, at once."""
AT_ONCE = 0.1
"""A kernel of arrays that takes fewer seconds to compile is compiled before it first runs."""


class Work(Protocol):
    """What is asked of a group of records: how many there are, how many a compiler sees, and of how many numbers."""

    rows: Any

    @property
    def rows_to_compile(self) -> int: ...

    @property
    def size(self) -> int: ...


def first_tier(group: Work) -> str:
    """The tier that a group begins in."""
    if group.size == 1 or group.rows_to_compile * COMPILE[OPTIMISED] > AT_ONCE:
        return INTERPRET
    return OPTIMISED if group.size >= MANY else QUICK


def next_tier(group: Work, tier: str, one_by_one: bool = False) -> tuple[str, int] | None:
    """The tier after this one, and the number of replays in this one after which it pays; None after the last.

    Meanwhile NumPy evaluates a group of arrays, and one of numbers if told so (`one_by_one`).
    """
    if tier == OPTIMISED:
        return None
    if group.size > 1 and tier == QUICK:
        return OPTIMISED, int(group.rows_to_compile * WIDE / (max(len(group.rows), 1) * group.size * SAVED)) + 1
    quickly = group.size == 1 and tier == INTERPRET and group.rows_to_compile * COMPILE[OPTIMISED] > AT_ONCE
    following = QUICK if quickly else OPTIMISED
    numbers = group.size == 1 and not one_by_one
    gain = NUMBER[tier] - NUMBER[following] if numbers else CALL + ELEMENT * group.size
    return following, int(group.rows_to_compile * COMPILE[following] / (max(len(group.rows), 1) * gain)) + 1
