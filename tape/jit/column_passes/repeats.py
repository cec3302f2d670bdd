"""Where a run of records repeats itself: the loops of the user's program, found again in the list.

A program's loop was recorded iteration by iteration.  Where the same ops come again at the same
distance, and their operands lie in the same way, the records are iterations of one body.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from .gradual import inner, over

START, PERIOD, COUNT, UNIT, FIELDS = range(5)
"""Words of a loop: its first row, the length of its body, how often it comes, and what repeats within the body."""

LEAST = 3
"""A body comes at least so often."""
BODY = 24
"""Bodies are at least so long: of short ones several make one."""
LONGEST = 2000
"""Bodies are at most so long."""
FACTOR = 1_000_003
INVERSE = pow(FACTOR, -1, 1 << 64)
MIXED = np.uint64(0x9E3779B97F4A7C15)
"""Times this, a number shows in its upper bits."""


def loops(
    code: np.ndarray, operands: np.ndarray, kinds: np.ndarray, given: int, windows: Sequence[int]
) -> list[list[int]]:
    """Loops that do not overlap, in order: the words of each.

    `operands` are three numbers of values for each row, −1 for none: first come the `given` values, then the
    rows' results.  `kinds` is a number for each value, equal for values that can stand in the same place.
    `windows` are lengths: a repetition shows in so many equal ops, and the first length is looked for first.
    """
    most = len(code) // BODY + 1
    taken = np.zeros(len(code), dtype=np.bool_)
    found, runs = np.empty(FIELDS * most, dtype=np.int64), np.empty(3 * most, dtype=np.int64)
    cuts = np.empty(2 * LONGEST + 1, dtype=np.int64)
    count, ops = 0, OpWindows(code)
    for window in windows:
        if len(code) - np.count_nonzero(taken) < max(LEAST * BODY, window + 1):
            continue
        before = ops.latest_alike(window)
        count = find_loops(code, before, operands, kinds, given, window, taken, runs, cuts, found, count)
    return sorted(found[: FIELDS * count].reshape(-1, FIELDS).tolist())


class OpWindows:
    """Windows of a column of ops, told apart by numbers.

    Attributes:
        sums: by row, that of what stands above it, each op times a power of `FACTOR`; so a window's number is a
            difference of two, but for a power of `INVERSE`.
    """

    def __init__(self, code: np.ndarray):
        powers, self.inverses = _powers(len(code).bit_length())
        self.sums = np.zeros(len(code) + 1, dtype=np.uint64)
        np.cumsum((code.astype(np.uint64) + np.uint64(1)) * powers[: len(code)], out=self.sums[1:])

    def latest_alike(self, window: int) -> np.ndarray:
        """For each row that begins a window of ops the latest before it that begins an equal one, −1 for none.

        Unequal windows may, hardly ever, be taken for equal: whoever goes on from here compares the ops.
        """
        count = max(len(self.sums) - window, 0)
        hashes = (self.sums[window:] - self.sums[:-window]) * self.inverses[:count] * MIXED
        # The row in place of the lowest bits, which say least about a window: so equal numbers are sorted by row.
        below = np.uint64((1 << count.bit_length()) - 1)
        keys = np.sort(hashes & ~below | np.arange(count, dtype=np.uint64), kind="stable")
        rows = (keys & below).astype(np.int64)
        same = np.flatnonzero(keys[1:] ^ keys[:-1] <= below)
        before = np.full(count, -1, dtype=np.int64)
        before[rows[same + 1]] = rows[same]
        return before


@lru_cache(maxsize=1)
def _powers(bits: int) -> tuple[np.ndarray, ...]:
    """The powers of `FACTOR` and of `INVERSE`, for columns whose length has so many bits."""
    return tuple(np.cumprod(np.full(1 << bits, f, dtype=np.uint64)) for f in (FACTOR, INVERSE))


@over("llll..?lll.", "taken", "found")
def find_loops(  # type: ignore[no-untyped-def]
    code, before, operands, kinds, given, window, taken, runs, cuts, found, loops
):
    """Find more loops among rows not ``taken``, behind the `loops` that are ``found``; gives how many there are then.

    `before` are the latest rows that begin the same `window` ops; there is room for `runs` and `cuts`.
    """
    for r in range(equal_ops(code, before, window, taken, runs)):
        start, unit, end = runs[3 * r], runs[3 * r + 1], runs[3 * r + 2]
        start += quietest(operands, given, start, unit, cuts)
        period = unit * -(-BODY // unit)
        first, count = longest_agreement(operands, kinds, given, start, period, (end - start) // period)
        if count >= LEAST:
            start += first * period
            at = FIELDS * loops
            found[at], found[at + 1], found[at + 2], found[at + 3] = start, period, count, unit
            for k in range(start, start + count * period):
                taken[k] = True
            loops += 1
    return loops


@inner
def equal_ops(code, before, window, taken, runs):  # type: ignore[no-untyped-def]
    """Find runs of rows not taken whose ops repeat: first row, distance, end.  Gives how many."""
    n, count, k, scanned, blocked = len(code), 0, 0, 0, -1
    short, until = 0, 0  # up to where a distance is known to lead nowhere
    while k < len(before):
        while scanned < k + window:
            if taken[scanned]:
                blocked = scanned
            scanned += 1
        start, end = before[k], k
        distance = end - start
        if start > blocked and distance <= LONGEST and (distance != short or k >= until):
            while start > blocked + 1 and code[start - 1] == code[start - 1 + distance]:
                start -= 1
            while end < n and not taken[end] and code[end] == code[end - distance]:
                end += 1
            if end - start >= LEAST * max(distance, BODY):
                runs[3 * count], runs[3 * count + 1], runs[3 * count + 2] = start, distance, end
                count += 1
                k = end
                blocked = end - 1
                continue
            short, until = distance, end
        k += 1
    return count


@inner
def quietest(operands, given, start, period, change):  # type: ignore[no-untyped-def]
    """How far into a body to cut, so that few values of an iteration are needed in the next one.

    ``change`` has room for how many values more cross a row than the one before, in two iterations.
    """
    for k in range(2 * period + 1):
        change[k] = 0
    for k in range(start + period, start + 2 * period):
        for i in range(3):
            made = operands[3 * k + i] - given
            if made >= 0 and k - made < period:
                change[made + 1 - start] += 1
                change[k + 1 - start] -= 1
    for k in range(1, 2 * period):
        change[k] += change[k - 1]
    best = 0
    for k in range(1, period):
        if change[k] + change[k + period] < change[best] + change[best + period]:
            best = k
    return best


@inner
def longest_agreement(operands, kinds, given, start, period, count):  # type: ignore[no-untyped-def]
    """The longest stretch of iterations that are the same as the middle one: the first of them, and how many."""
    best, longest, length = 0, 0, 0
    like = start + count // 2 * period
    for q in range(count):
        length = length + 1 if agree(operands, kinds, given, start + q * period, like, period) else 0
        if length > longest:
            best, longest = q + 1 - length, length
    return best, longest


@inner
def agree(operands, kinds, given, here, like, period):  # type: ignore[no-untyped-def]
    """Whether the iterations that begin at two rows take their operands from the same places."""
    for k in range(3 * period):
        x, y = operands[3 * here + k], operands[3 * like + k]
        mine, theirs = x - given >= here, y - given >= like
        if mine != theirs or (x < 0) != (y < 0):
            return False
        if mine and x - here != y - like:
            return False
        if x >= 0 and kinds[x] != kinds[y]:
            return False
    return True
