"""The values that rules read, as an address and a stride."""

from __future__ import annotations

from .address import get, load_u32, load_word
from .compiled import inner
from .layout import ARRAY_DATA, ARRAY_DESCR, ARRAY_DIMS, ARRAY_FLAGS, ARRAY_NDIM, PLAIN_ARRAY, SCALAR_VALUE, TYPE
from .state import ARRAY_TYPE, FLOAT32_DESCR, FLOAT32_TYPE, FLOAT64_DESCR, FLOAT64_TYPE, FLOAT_TYPE

UNSUITABLE = -1


@inner
def array_size(array):  # type: ignore[no-untyped-def]
    """Number of elements of an array."""
    size, dims = 1, load_word(array + ARRAY_DIMS)
    for axis in range(load_u32(array + ARRAY_NDIM)):
        size *= load_word(dims + 8 * axis)
    return size


@inner
def value_stride(state, value, size, kind):  # type: ignore[no-untyped-def]
    """Bytes between elements for a kernel over `size` elements: 0 for a scalar, −1 if unsuitable."""
    type_ = load_word(value + TYPE)
    item = 8 >> kind
    if type_ == get(state, ARRAY_TYPE):
        if load_word(value + ARRAY_DESCR) != get(state, FLOAT64_DESCR + kind):
            return UNSUITABLE
        if load_u32(value + ARRAY_FLAGS) & PLAIN_ARRAY != PLAIN_ARRAY:
            return UNSUITABLE
        n = array_size(value)
        return item if n == size else 0 if n == 1 else UNSUITABLE
    if type_ == get(state, FLOAT64_TYPE + kind) or (kind == 0 and type_ == get(state, FLOAT_TYPE)):
        return item if size == 1 else 0
    return UNSUITABLE


@inner
def value_address(state, value):  # type: ignore[no-untyped-def]
    """Address of the first element of a suitable value."""
    if load_word(value + TYPE) == get(state, ARRAY_TYPE):
        return load_word(value + ARRAY_DATA)
    return value + SCALAR_VALUE
