"""Numbers of the dtypes that kernels compute with: how they are loaded and stored.

A kernel that does the same for each of them is made by a function of a `NumberKind`, once for each; its name ends as
`tape.program.plans.plan_steps.plan_places.SUFFIXES` says.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .address import load_f32, load_f64, store_f32, store_f64
from .jitting import inner


class NumberKind(NamedTuple):
    """A dtype: the bytes of a number, a function of an address, one of an address and a number, and 0 in the double
    precision in which sums are made."""

    item: int
    load: Any
    store: Any
    zero: Any


@inner
def load_c128(address):  # type: ignore[no-untyped-def]
    """A complex number in double precision."""
    return complex(load_f64(address), load_f64(address + 8))


@inner
def load_c64(address):  # type: ignore[no-untyped-def]
    """A complex number in single precision."""
    return complex(load_f32(address), load_f32(address + 4))


@inner
def store_c128(address, value):  # type: ignore[no-untyped-def]
    """Store a complex number in double precision."""
    store_f64(address, value.real)
    store_f64(address + 8, value.imag)


@inner
def store_c64(address, value):  # type: ignore[no-untyped-def]
    """Store a complex number in single precision."""
    store_f32(address, value.real)
    store_f32(address + 4, value.imag)


F64, F32 = NumberKind(8, load_f64, store_f64, 0.0), NumberKind(4, load_f32, store_f32, 0.0)
C128 = NumberKind(16, load_c128, store_c128, 0j)
C64 = NumberKind(8, load_c64, store_c64, 0j)
