"""Steps for the adjoints of small matrix products."""

from __future__ import annotations

from ...base.row import SPEC, XV, X
from .address import get, load_u32, load_word, put
from .broadcast import axes_of
from .jitting import inner
from ..machine.object_layout import ARRAY_DIMS, ARRAY_NDIM, TYPE
from .lower import consume, wanted
from .objects import field
from .slots import claim, find_slot, slot_at, slot_of
from ..machine.state import (
    ADDRESS, ARRAY_TYPE, COLUMNS, FRESH, GO, INNER, KIND, LEFT, MOST_PRODUCTS, NONE, POSITION, PRODUCT, RELEASED,
    RIGHT, SIZE, SPEC_SHAPE, STOP, STORE,
)  # fmt: skip
from .steps import begin_step
from .values import array_size, readable, value_address


@inner
def matrix_rows(value, side):  # type: ignore[no-untyped-def]
    """Rows of a matrix; a vector is a column as the right factor (of side 0), a row as the left."""
    if load_u32(value + ARRAY_NDIM) == 2:
        return load_word(load_word(value + ARRAY_DIMS))
    return array_size(value) if side == 0 else 1


@inner
def check_product(state, position, side, size, kind, target_size):  # type: ignore[no-untyped-def]
    """Whether the adjoint of one factor of a matrix product is a product of small plain matrices."""
    value = field(state, position, XV + 1 - side)
    if value == get(state, NONE):
        return RELEASED
    if load_word(value + TYPE) != get(state, ARRAY_TYPE) or not readable(state, value, kind):
        return STOP
    ndim = load_u32(value + ARRAY_NDIM)
    result = axes_of(state, load_word(field(state, position, SPEC) + get(state, SPEC_SHAPE)))
    total = array_size(value)
    if ndim == 0 or ndim > 2 or (side == 1 and result > ndim) or total == 0 or size == 0:
        return STOP
    rows = matrix_rows(value, side)
    shared = total // rows if side == 0 else rows
    other = total // shared
    if size % shared or target_size != size // shared * other or size * other > MOST_PRODUCTS:
        return STOP
    return GO


@inner
def put_matrix(step, word, address, row, column):  # type: ignore[no-untyped-def]
    """Where a step finds a matrix, and the bytes from row to row and from column to column."""
    put(step, word, address)
    put(step, word + 1, row)
    put(step, word + 2, column)


@inner
def emit_product(state, position, side, own, target):  # type: ignore[no-untyped-def]
    """Append the step x̄ += g yᵀ (side 0) or ȳ += xᵀ g (side 1)."""
    g, x_bar = slot_at(state, own), slot_at(state, target)
    kind = get(x_bar, KIND)
    item, value = 8 >> kind, field(state, position, XV + 1 - side)
    rows = matrix_rows(value, side)
    columns = array_size(value) // rows
    mode = STORE if get(x_bar, FRESH) else 0
    put(x_bar, FRESH, 0)
    if side == 0:
        step = begin_step(state, PRODUCT + kind, get(g, SIZE) // columns, get(x_bar, ADDRESS), mode)
        put_matrix(step, LEFT, get(g, ADDRESS), columns * item, item)
        put_matrix(step, RIGHT, value_address(state, value), item, columns * item)
        put(step, INNER, columns)
        put(step, COLUMNS, rows)
    else:
        step = begin_step(state, PRODUCT + kind, columns, get(x_bar, ADDRESS), mode)
        width = get(g, SIZE) // rows
        put_matrix(step, LEFT, value_address(state, value), item, columns * item)
        put_matrix(step, RIGHT, get(g, ADDRESS), width * item, item)
        put(step, INNER, rows)
        put(step, COLUMNS, width)


def lower_product(state):  # type: ignore[no-untyped-def]
    """Lower the matrix product at POSITION, if it is small and plain; says what hinders it."""
    position = get(state, POSITION)
    own = slot_of(state, position)
    size, kind = get(slot_at(state, own), SIZE), get(slot_at(state, own), KIND)
    for side in range(2):
        ref = field(state, position, X + side)
        if wanted(state, ref, position):
            found = find_slot(state, ref, position)
            status = check_product(state, position, side, size, kind, found[2])
            if status != GO:
                return status
    for side in range(2):
        ref = field(state, position, X + side)
        if wanted(state, ref, position):
            emit_product(state, position, side, own, claim(state, ref, position))
    consume(state)
    return GO
