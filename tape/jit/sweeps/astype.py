"""Steps that turn numbers of one dtype into those of another, as NumPy's ``astype`` does.

Their words are those of `tape.jit.sweeps.strided`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .address import (
    load_byte, load_f32, load_f64, load_u32, load_word, put, store_byte, store_f32, store_f64,
)  # fmt: skip
from .jitting import inner
from .strided import by_rows

SIGN = 1 << 31


@inner
def load_int(address):  # type: ignore[no-untyped-def]
    """A whole number."""
    return load_word(address)


@inner
def load_short_int(address):  # type: ignore[no-untyped-def]
    """A whole number of 32 bits, the first of which is its sign."""
    return (load_u32(address) ^ SIGN) - SIGN


@inner
def load_truth(address):  # type: ignore[no-untyped-def]
    """A truth value as a whole number."""
    return load_byte(address)


@inner
def store_int(address, value):  # type: ignore[no-untyped-def]
    """A whole number."""
    put(address, 0, value)


@inner
def store_truth(address, value):  # type: ignore[no-untyped-def]
    """Whether a number is not 0."""
    store_byte(address, 1 if value != 0 else 0)


@inner
def store_double(address, value):  # type: ignore[no-untyped-def]
    """A number in double precision."""
    store_f64(address, float(value))


@inner
def store_single(address, value):  # type: ignore[no-untyped-def]
    """A number in single precision."""
    store_f32(address, value)


def _cast(load: Any, store: Any) -> Callable[[Any], None]:
    """z[…] = x[…], each as a number of another dtype."""

    @inner
    def cast(_step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
        for k in range(n):
            store(z + k * z_step, load(x + k * x_step))

    return by_rows(cast)


f64_of_f32 = _cast(load_f32, store_double)
f32_of_f64 = _cast(load_f64, store_single)
f64_of_int = _cast(load_int, store_double)
f32_of_int = _cast(load_int, store_single)
f64_of_short = _cast(load_short_int, store_double)
f32_of_short = _cast(load_short_int, store_single)
int_of_short = _cast(load_short_int, store_int)
f64_of_bool = _cast(load_truth, store_double)
f32_of_bool = _cast(load_truth, store_single)
int_of_bool = _cast(load_truth, store_int)
bool_of_f64 = _cast(load_f64, store_truth)
bool_of_f32 = _cast(load_f32, store_truth)
bool_of_int = _cast(load_int, store_truth)
