"""Which rows lead from the outputs to the targets, and which is the last to contribute to a leaf that has hooks."""

from __future__ import annotations

from ...base.row import X, Y
from ..machine.object_layout import TYPE
from ..machine.state import FLAG_TABLE, INT_TYPE, LEADS, NONE, PENDING, POSITION, TARGETED, VISITED
from .address import get, load_word, put
from .jitting import inner
from .lower import wanted
from .objects import field, locate, operand_at, operand_count, owned


@inner
def flag(state, position, mask):  # type: ignore[no-untyped-def]
    """Set flags of a row."""
    flags = get(state, FLAG_TABLE)
    put(flags, position, get(flags, position) | mask)


@inner
def has(state, position, mask):  # type: ignore[no-untyped-def]
    """Whether a row has one of these flags."""
    return get(get(state, FLAG_TABLE), position) & mask != 0


@inner
def visit(state, position):  # type: ignore[no-untyped-def]
    """Flag the rows that a row depends on directly."""
    x, y = field(state, position, X), field(state, position, Y)
    for i in range(operand_count(state, x)):
        ref = operand_at(state, x, y, i)
        if ref != get(state, NONE) and owned(state, ref):
            operand = locate(state, ref, position)
            if not has(state, operand, VISITED):
                flag(state, operand, VISITED)
                put(state, PENDING, get(state, PENDING) + 1)


@inner
def leads(state, position):  # type: ignore[no-untyped-def]
    """Whether one of a row's operands is a target or leads to one."""
    x, y = field(state, position, X), field(state, position, Y)
    for i in range(operand_count(state, x)):
        if wanted(state, operand_at(state, x, y, i), position):
            return True
    return False


def mark(state):  # type: ignore[no-untyped-def]
    """Flag the rows that the VISITED ones depend on, then those among them that LEAD to a target.

    PENDING is the number of rows flagged VISITED beforehand, POSITION the last of them.
    """
    first = get(state, POSITION)
    position = first
    while get(state, PENDING) > 0:
        if has(state, position, VISITED):
            put(state, PENDING, get(state, PENDING) - 1)
            visit(state, position)
        position -= 1
    for row in range(position + 1, first + 1):
        if has(state, row, VISITED) and leads(state, row):
            flag(state, row, LEADS)


def find_readers(state, leaves, count, positions):  # type: ignore[no-untyped-def]
    """Fill `positions` with the first of the visited rows that each leaf is an operand of.

    `leaves` are the addresses of `count` leaves, in ascending order.  True if a row was visited that
    has a record of another list among its operands.
    """
    foreign = False
    mask = LEADS if get(state, TARGETED) else VISITED
    for position in range(get(state, POSITION), -1, -1):
        if get(get(state, FLAG_TABLE), position) & mask:
            x, y = field(state, position, X), field(state, position, Y)
            for i in range(operand_count(state, x)):
                ref = operand_at(state, x, y, i)
                if ref == get(state, NONE) or owned(state, ref):
                    continue
                if load_word(ref + TYPE) == get(state, INT_TYPE):
                    foreign = True
                    continue
                low, high = 0, count
                while low < high:
                    middle = (low + high) >> 1
                    if get(leaves, middle) < ref:
                        low = middle + 1
                    else:
                        high = middle
                if low < count and get(leaves, low) == ref:
                    put(positions, low, position)
    return foreign
