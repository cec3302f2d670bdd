"""The scan for dead records, jitted: reference counts read where the objects keep them."""

from __future__ import annotations

from ...base.row import HANDLE, SPEC, X, Y
from .address import get, load_u32, put
from .jitting import inner
from .objects import field, locate, operand_at, operand_count, owned
from .slots import spec_row
from ..machine.state import NONE

REFERENCES = 0
"""Offset of an object's reference count; its low half suffices for a handle."""


@inner
def bump(state, table, position, amount):  # type: ignore[no-untyped-def]
    """Add to the table's entry for each of a row's operands on this list."""
    x, y = field(state, position, X), field(state, position, Y)
    for i in range(operand_count(state, x)):
        ref = operand_at(state, x, y, i)
        if ref != get(state, NONE) and owned(state, ref):
            operand = locate(state, ref, position)
            put(table, operand, get(table, operand) + amount)


def scan(state, counts, keep, rows):  # type: ignore[no-untyped-def]
    """Fill `keep` (a word for each row) with 1 for the rows to keep; bytes that they may hold.

    `counts` is a table of zeros, for the number of rows that refer to each row.
    """
    held = 0
    for position in range(rows):
        bump(state, counts, position, 1)
    for position in range(rows - 1, -1, -1):
        own_references = 1 + get(counts, position)
        if get(keep, position) or load_u32(field(state, position, HANDLE) + REFERENCES) > own_references:
            put(keep, position, 1)
            spec = field(state, position, SPEC)
            if spec != get(state, NONE):
                held += get(spec_row(state, spec), 0) * 8
            bump(state, keep, position, 1)
    return held
