"""Where a run of records repeats itself: the loops of the user's program, found again in the list.

A program's loop was recorded iteration by iteration.  Where the same ops come again at the same
distance, and their operands lie in the same way, the records are iterations of one body.
"""

from __future__ import annotations

import numpy as np

from ..machine.gradual import Pass, inner

START, PERIOD, COUNT, UNIT, FIELDS = range(5)
"""Words of a loop: its first row, the length of its body, how often it comes, and what repeats within the body."""

LEAST = 3
"""A body comes at least so often."""
BODY = 24
"""Bodies are at least so long: of short ones several make one."""
LONGEST = 2000
"""Bodies are at most so long."""
FACTOR = 1_000_003


@Pass
def find_loops(code, operands, kinds, given, windows, found):  # type: ignore[no-untyped-def]
    """Find loops that do not overlap, in no order; gives how many.

    `operands` are three numbers of values for each row, −1 for none: first come the `given` values, then the
    rows' results.  `kinds` is a number for each value, equal for values that can stand in the same place.
    `windows` are lengths: a repetition shows in so many equal ops, and the first length is looked for first.
    """
    taken = np.zeros(code.size, np.bool_)
    runs = np.empty((code.size // BODY + 1, 3), np.int64)
    loops = 0
    for window in windows:
        for r in range(equal_ops(code, window, taken, runs)):
            start, unit, end = runs[r]
            start += quietest(operands, given, start, unit)
            period = unit * -(-BODY // unit)
            first, count = longest_agreement(operands, kinds, given, start, period, (end - start) // period)
            if count >= LEAST:
                start += first * period
                found[loops] = start, period, count, unit
                taken[start : start + count * period] = True
                loops += 1
    return loops


@inner
def equal_ops(code, window, taken, runs):  # type: ignore[no-untyped-def]
    """Find runs of rows not taken whose ops repeat: first row, distance, end.  Gives how many."""
    count, k, scanned, blocked = 0, 0, 0, -1
    short, until = 0, 0  # up to where a distance is known to lead nowhere
    hashed = window_hashes(code, window)
    size = 16
    while size < 2 * hashed.size:
        size *= 2
    latest = np.full(size, -1, np.int64)
    while k < hashed.size:
        while scanned < k + window:
            if taken[scanned]:
                blocked = scanned
            scanned += 1
        slot = (hashed[k] ^ (hashed[k] >> 29)) & (size - 1)
        while latest[slot] >= 0 and hashed[latest[slot]] != hashed[k]:
            slot = (slot + 1) & (size - 1)
        before, latest[slot] = latest[slot], k
        distance = k - before
        known = distance == short and k < until
        if before > blocked and distance <= LONGEST and not known:
            start, end = before, k
            while start > blocked + 1 and code[start - 1] == code[start - 1 + distance]:
                start -= 1
            while end < code.size and not taken[end] and code[end] == code[end - distance]:
                end += 1
            if end - start >= LEAST * max(distance, BODY):
                runs[count, 0], runs[count, 1], runs[count, 2] = start, distance, end
                count += 1
                k = end
                blocked = end - 1
                continue
            short, until = distance, end
        k += 1
    return count


@inner
def window_hashes(code, window):  # type: ignore[no-untyped-def]
    """A hash of each stretch of `window` ops."""
    hashed = np.empty(max(code.size - window + 1, 0), np.int64)
    power, h = np.int64(1), np.int64(0)  # which wrap around, in Python too
    for _ in range(window):
        power *= FACTOR
    for k in range(code.size):
        h = h * FACTOR + code[k] + 1
        if k >= window:
            h -= (code[k - window] + 1) * power
        if k >= window - 1:
            hashed[k - window + 1] = h
    return hashed


@inner
def quietest(operands, given, start, period):  # type: ignore[no-untyped-def]
    """How far into a body to cut, so that few values of an iteration are needed in the next one."""
    change = np.zeros(2 * period + 1, np.int64)  # of how many values cross, from one cut to the next
    for k in range(start + period, start + 2 * period):
        for i in range(3):
            made = operands[3 * k + i] - given
            if made >= 0 and k - made < period:
                change[made + 1 - start] += 1
                change[k + 1 - start] -= 1
    crossing = np.cumsum(change)
    return np.argmin(crossing[:period] + crossing[period : 2 * period])


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
