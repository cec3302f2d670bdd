"""The blocks that a result is cut into, and where an operand's part in each of them is.

The patterns are explained in `tape.jit.sweeps.broadcast`, which finds them where operands differ in
shape; here it is seen whether they do.
"""

from __future__ import annotations

from ...base.row import SPEC, XV, X
from ..machine.address import get, load_word, put
from ..machine.jitting import inner
from ..machine.object_layout import TYPE
from .objects import field, locate, owned
from .slots import spec_row
from ..machine.state import (
    ARRAY_TYPE, BLOCKS, EVERY, LENGTH, NONE, PATTERNS, REPEAT, SCALAR, TENSOR_SPEC, TENSOR_TYPE, TILE,
)  # fmt: skip
from .values import array_size


@inner
def spec_of_ref(state, ref, before):  # type: ignore[no-untyped-def]
    """The spec object of an operand, or NONE."""
    if owned(state, ref):
        return field(state, locate(state, ref, before), SPEC)
    if load_word(ref + TYPE) == get(state, TENSOR_TYPE):
        return load_word(ref + get(state, TENSOR_SPEC))
    return get(state, NONE)


@inner
def operand_size(state, position, side):  # type: ignore[no-untyped-def]
    """Number of elements of an operand, −1 if it cannot be told."""
    ref, value = field(state, position, X + side), field(state, position, XV + side)
    if load_word(value + TYPE) == get(state, ARRAY_TYPE):
        return array_size(value)
    if ref == get(state, NONE) or value != get(state, NONE):
        return 1
    spec = spec_of_ref(state, ref, position)
    return get(spec_row(state, spec), 0) if spec != get(state, NONE) else -1


@inner
def uncut(state, position, size):  # type: ignore[no-untyped-def]
    """Whether one block will do: each operand has an element for each of the result's, or one for all."""
    for side in range(2):
        n = operand_size(state, position, side)
        if n != size and n != 1:
            return False
        put(state, PATTERNS + side, EVERY if n == size else SCALAR)
    put(state, LENGTH, size)
    put(state, BLOCKS, 1)
    return True


@inner
def pattern_size(state, side):  # type: ignore[no-untyped-def]
    """Number of elements of an operand that lies as the cut says: not so if its ``.data`` was replaced."""
    kind = get(state, PATTERNS + side)
    size = get(state, LENGTH) if kind == EVERY or kind == TILE else 1
    return size * get(state, BLOCKS) if kind == EVERY or kind == REPEAT else size


@inner
def block_stride(kind, length, item):  # type: ignore[no-untyped-def]
    """Bytes from an operand's part in one block to its part in the next."""
    return length * item if kind == EVERY else item if kind == REPEAT else 0


@inner
def element_stride(kind, item):  # type: ignore[no-untyped-def]
    """Bytes from one element of an operand to the next within a block."""
    return item if kind == EVERY or kind == TILE else 0
