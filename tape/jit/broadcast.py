"""How the operands of an elementwise record lie in its result, when broadcasting made it larger.

The result is cut into `blocks` of equal `length`, so that within a block an operand either has an
element for each of the block's, or one for all:

========  =====================  ===================  ==============================
pattern   example                from block to block  within a block
========  =====================  ===================  ==============================
FULL      (3, 4) in (3, 4)       the next elements    element by element
TILE      (4,) in (3, 4)         the same elements    element by element
REPEAT    (3, 1) in (3, 4)       the next element     one element for all
SCALAR    () in (3, 4)           the same element     one element for all
========  =====================  ===================  ==============================

Any other pattern is left to Python.
"""

from __future__ import annotations

from ..row import SPEC, XV, X
from .address import get, load_u32, load_word, put
from .compiled import inner
from .layout import ARRAY_DIMS, ARRAY_NDIM, TYPE
from .objects import field, int_value, locate, owned
from .state import (
    ARRAY_TYPE, BLOCKS, LENGTH, NONE, PATTERNS, SPEC_SHAPE, TENSOR_SPEC, TENSOR_TYPE, TUPLE_ITEMS,
)  # fmt: skip

FULL, TILE, REPEAT, SCALAR, NO_PATTERN = range(5)
MOST_BLOCKS = 128


@inner
def spec_of_ref(state, ref, before):  # type: ignore[no-untyped-def]
    """The spec object of an operand, or NONE."""
    if owned(state, ref):
        return field(state, locate(state, ref, before), SPEC)
    if load_word(ref + TYPE) == get(state, TENSOR_TYPE):
        return load_word(ref + get(state, TENSOR_SPEC))
    return get(state, NONE)


@inner
def length_at(state, shape, axis):  # type: ignore[no-untyped-def]
    """Length of an axis of a shape: a tuple, or an array whose own shape is meant."""
    if load_word(shape + TYPE) == get(state, ARRAY_TYPE):
        return load_word(load_word(shape + ARRAY_DIMS) + 8 * axis)
    return int_value(load_word(shape + get(state, TUPLE_ITEMS) + 8 * axis))


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
        return FULL, 0
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


@inner
def cut(state, position, size):  # type: ignore[no-untyped-def]
    """Cut a record's result into blocks that suit both operands; whether that is possible."""
    result = load_word(field(state, position, SPEC) + get(state, SPEC_SHAPE))
    length = 0
    for side in range(2):
        kind, asked = operand_pattern(state, position, side, result)
        if kind == NO_PATTERN or (asked and length and asked != length):
            return False
        if asked:
            length = asked
        put(state, PATTERNS + side, FULL if kind == SCALAR and size == 1 else kind)
    put(state, LENGTH, length if length else size)
    put(state, BLOCKS, size // length if length else 1)
    return get(state, BLOCKS) <= MOST_BLOCKS


@inner
def pattern_size(state, side):  # type: ignore[no-untyped-def]
    """Number of elements of an operand that lies as the cut says: not so if its ``.data`` was replaced."""
    kind = get(state, PATTERNS + side)
    size = get(state, LENGTH) if kind == FULL or kind == TILE else 1
    return size * get(state, BLOCKS) if kind == FULL or kind == REPEAT else size


@inner
def block_stride(kind, length, item):  # type: ignore[no-untyped-def]
    """Bytes from an operand's part in one block to its part in the next."""
    return length * item if kind == FULL else item if kind == REPEAT else 0


@inner
def element_stride(kind, item):  # type: ignore[no-untyped-def]
    """Bytes from one element of an operand to the next within a block."""
    return item if kind == FULL or kind == TILE else 0
