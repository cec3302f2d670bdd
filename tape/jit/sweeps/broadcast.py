"""How the operands of an elementwise record lie in its result, when broadcasting made it larger.

The result is cut into `blocks` of equal `length`, so that within a block an operand either has an
element for each of the block's, or one for all:

========  =====================  ===================  ==============================
pattern   example                from block to block  within a block
========  =====================  ===================  ==============================
EVERY     (3, 4) in (3, 4)       the next elements    element by element
TILE      (4,) in (3, 4)         the same elements    element by element
REPEAT    (3, 1) in (3, 4)       the next element     one element for all
SCALAR    () in (3, 4)           the same element     one element for all
========  =====================  ===================  ==============================

Any other pattern is left to Python.
"""

from __future__ import annotations

from ...base.row import SPEC, XV, X
from .address import get, load_u32, load_word, put
from .steps import spec_of_ref
from .jitting import inner
from ..machine.object_layout import ARRAY_DIMS, ARRAY_NDIM, TYPE
from .objects import field, int_value
from .slots import spec_row
from ..machine.state import (
    ARRAY_TYPE, BLOCKS, CUT, EVERY, LENGTH, NO_PATTERN, NONE, PATTERNS, POSITION, REPEAT, SCALAR, SPEC_SHAPE, TILE,
    TUPLE_ITEMS,
)  # fmt: skip

MOST_BLOCKS = 128


@inner
def length_at(state, shape, axis):  # type: ignore[no-untyped-def]
    """Length of an axis of a shape: a tuple, or an array whose own shape is meant."""
    if load_word(shape + TYPE) == get(state, ARRAY_TYPE):
        return load_word(load_word(shape + ARRAY_DIMS) + 8 * axis)
    return int_value(state, load_word(shape + get(state, TUPLE_ITEMS) + 8 * axis))


@inner
def axes_of(state, shape):  # type: ignore[no-untyped-def]
    """Number of axes of a shape."""
    if load_word(shape + TYPE) == get(state, ARRAY_TYPE):
        return load_u32(shape + ARRAY_NDIM)
    return load_word(shape + 16)


@inner
def pattern(state, shape, result):  # type: ignore[no-untyped-def]
    """Pattern of one shape within another, and the length of block that it asks for (0: any)."""
    n, m = axes_of(state, shape), axes_of(state, result)
    size, total = 1, 1
    for axis in range(n):
        size *= length_at(state, shape, axis)
    for axis in range(m):
        total *= length_at(state, result, axis)
    if size == total:
        return EVERY, 0
    if size == 1:
        return SCALAR, 0
    if size == 0 or total % size:
        return NO_PATTERN, 0
    agree = 0
    while agree < n and length_at(state, shape, n - 1 - agree) == length_at(state, result, m - 1 - agree):
        agree += 1
    rest = 1
    for axis in range(n - agree):
        rest *= length_at(state, shape, axis)
    if rest == 1:
        return TILE, size
    agree = 0
    while agree < n and n == m and length_at(state, shape, agree) == length_at(state, result, agree):
        agree += 1
    rest = 1
    for axis in range(agree, n):
        rest *= length_at(state, shape, axis)
    return (REPEAT, total // size) if rest == 1 else (NO_PATTERN, 0)


@inner
def operand_pattern(state, position, side, result):  # type: ignore[no-untyped-def]
    """Pattern of an operand: by its saved value if that is an array, else by its spec."""
    ref, value = field(state, position, X + side), field(state, position, XV + side)
    if load_word(value + TYPE) == get(state, ARRAY_TYPE):
        return pattern(state, value, result)
    if ref == get(state, NONE) or value != get(state, NONE):
        return SCALAR, 0
    spec = spec_of_ref(state, ref, position)
    if spec == get(state, NONE):
        return NO_PATTERN, 0
    return pattern(state, load_word(spec + get(state, SPEC_SHAPE)), result)


def cut(state):  # type: ignore[no-untyped-def]
    """Cut the result of the record at POSITION into blocks that suit both operands; whether that is possible."""
    position = get(state, POSITION)
    spec = field(state, position, SPEC)
    result, size = load_word(spec + get(state, SPEC_SHAPE)), get(spec_row(state, spec), 0)
    length = 0
    for side in range(2):
        kind, asked = operand_pattern(state, position, side, result)
        if kind == NO_PATTERN or (asked and length and asked != length):
            return False
        if asked:
            length = asked
        put(state, PATTERNS + side, EVERY if kind == SCALAR and size == 1 else kind)
    put(state, LENGTH, length or size)
    put(state, BLOCKS, size // length if length else 1)
    put(state, CUT, position)
    return get(state, BLOCKS) <= MOST_BLOCKS
