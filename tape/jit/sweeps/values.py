"""The values that rules read, as an address and a stride."""

from __future__ import annotations

from .address import get, load_u32, load_word
from .jitting import inner
from ..machine.object_layout import (
    ARRAY_DATA,
    ARRAY_DESCR,
    ARRAY_DIMS,
    ARRAY_FLAGS,
    ARRAY_NDIM,
    PLAIN_ARRAY,
    SCALAR_VALUE,
    TYPE,
)
from ..machine.state import ARRAY_TYPE, FLOAT64_DESCR, FLOAT64_TYPE, FLOAT_TYPE


@inner
def array_size(array):  # type: ignore[no-untyped-def]
    """Number of elements of an array."""
    size, dims = 1, load_word(array + ARRAY_DIMS)
    for axis in range(load_u32(array + ARRAY_NDIM)):
        size *= load_word(dims + 8 * axis)
    return size


@inner
def readable(state, value, kind):  # type: ignore[no-untyped-def]
    """Whether a kernel can read a value: a plain array or a scalar of that kind."""
    type_ = load_word(value + TYPE)
    if type_ == get(state, ARRAY_TYPE):
        plain = load_u32(value + ARRAY_FLAGS) & PLAIN_ARRAY == PLAIN_ARRAY
        return plain and load_word(value + ARRAY_DESCR) == get(state, FLOAT64_DESCR + kind)
    return type_ == get(state, FLOAT64_TYPE + kind) or type_ == get(state, FLOAT_TYPE)


@inner
def value_size(state, value):  # type: ignore[no-untyped-def]
    """Number of elements of a readable value."""
    return array_size(value) if load_word(value + TYPE) == get(state, ARRAY_TYPE) else 1


@inner
def value_address(state, value):  # type: ignore[no-untyped-def]
    """Address of the first element of a suitable value."""
    if load_word(value + TYPE) == get(state, ARRAY_TYPE):
        return load_word(value + ARRAY_DATA)
    return value + SCALAR_VALUE
