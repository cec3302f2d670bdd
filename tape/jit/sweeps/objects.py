"""Reading rows and the objects in them, jitted."""

from __future__ import annotations

from ...base.row import HANDLE, WIDTH
from .address import get, load_u32, load_word
from .jitting import inner
from ..machine.object_layout import INT_DIGITS, INT_TAG, LIST_ITEMS, TYPE
from ..machine.state import DIGIT_SHIFT, INT_TYPE, NUMBER, ROWS, SHIFT, TUPLE_ITEMS, TUPLE_TYPE

ROW_BYTES = 8 * WIDTH
THREAD_SHIFT = 40


@inner
def int_value(state, address):  # type: ignore[no-untyped-def]
    """Value of a non-negative int below 2**60."""
    low = load_u32(address + INT_DIGITS)
    if load_word(address + INT_TAG) >> get(state, DIGIT_SHIFT) < 2:
        return low
    return low | load_u32(address + INT_DIGITS + 4) << 30


@inner
def is_small(state, address):  # type: ignore[no-untyped-def]
    """Whether an int is one that `int_value` can read: not negative, at most two digits."""
    tag, shift = load_word(address + INT_TAG), get(state, DIGIT_SHIFT)
    is_negative = tag < 0 if shift == 0 else tag & 3 == 2
    return not is_negative and tag >> shift <= 2


@inner
def field(state, position, index):  # type: ignore[no-untyped-def]
    """Address of the object in a field of a row."""
    return load_word(load_word(get(state, ROWS) + LIST_ITEMS) + position * ROW_BYTES + 8 * index)


@inner
def owned(state, ref):  # type: ignore[no-untyped-def]
    """Whether an operand is a record of this list."""
    return load_word(ref + TYPE) == get(state, INT_TYPE) and int_value(state, ref) >> THREAD_SHIFT == get(state, NUMBER)


@inner
def locate(state, ref, before):  # type: ignore[no-untyped-def]
    """Position of the record with this handle, which lies before position `before`."""
    handle = int_value(state, ref)
    position = handle - get(state, SHIFT)
    if 0 <= position < before and field(state, position, HANDLE) == ref:
        return position
    low, high = 0, before
    while low < high:
        middle = (low + high) >> 1
        if int_value(state, field(state, middle, HANDLE)) < handle:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def operand_count(state, x):  # type: ignore[no-untyped-def]
    """Number of operand references in a row whose field X is `x`."""
    return load_word(x + 16) if load_word(x + TYPE) == get(state, TUPLE_TYPE) else 2


@inner
def operand_at(state, x, y, index):  # type: ignore[no-untyped-def]
    """Operand reference `index` of a row whose fields X and Y are `x` and `y`."""
    if load_word(x + TYPE) == get(state, TUPLE_TYPE):
        return load_word(x + get(state, TUPLE_ITEMS) + 8 * index)
    return x if index == 0 else y
