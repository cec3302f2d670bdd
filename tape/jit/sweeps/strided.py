"""Steps that move numbers between places given by strides, and add them up there.

The words of a step: bytes of a number, how many axes, where z and x are, how many rows; then for each axis, the
innermost first, how many places there are and the bytes from one to the next in z and in x; then a counter for each
axis, which is 0 before and after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .address import (
    get, load_byte, load_f64, load_u32, load_word, put, store_byte, store_f64, store_u32,
)  # fmt: skip
from .jitting import inner
from .numbers import C64, C128, F32, F64, NumberKind

ITEM, NDIM, Z, X, ROWS, AXES = range(6)


@inner
def counters(step):  # type: ignore[no-untyped-def]
    """Where the counters are."""
    return step + 8 * (AXES + 3 * get(step, NDIM))


@inner
def advance(step):  # type: ignore[no-untyped-def]
    """Count one row on; how far z and x move."""
    at, z, x = counters(step), 0, 0
    for d in range(1, get(step, NDIM)):
        count = get(at, d) + 1
        z += get(step, AXES + 3 * d + 1)
        x += get(step, AXES + 3 * d + 2)
        if count < get(step, AXES + 3 * d):
            put(at, d, count)
            return z, x
        put(at, d, 0)
        z -= count * get(step, AXES + 3 * d + 1)
        x -= count * get(step, AXES + 3 * d + 2)
    return z, x


def by_rows(row: Any) -> Callable[[int], None]:
    """A kernel that does the same with each row: given the step, how many elements, and where those of z and x are."""

    def kernel(step):  # type: ignore[no-untyped-def]
        z, x = get(step, Z), get(step, X)
        n, z_step, x_step = get(step, AXES), get(step, AXES + 1), get(step, AXES + 2)
        for _ in range(get(step, ROWS)):
            row(step, n, z, z_step, x, x_step)
            dz, dx = advance(step)
            z += dz
            x += dx

    return kernel


@inner
def place_row(item, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
    """Copy a row."""
    if item == 8:
        if z_step == 8 and x_step == 8:
            for k in range(n):
                put(z, k, get(x, k))
        else:
            for k in range(n):
                put(z + k * z_step, 0, load_word(x + k * x_step))
    elif item == 16:
        for k in range(n):
            put(z + k * z_step, 0, load_word(x + k * x_step))
            put(z + k * z_step, 1, load_word(x + k * x_step + 8))
    elif item == 4:
        for k in range(n):
            store_u32(z + k * z_step, load_u32(x + k * x_step))
    else:
        for k in range(n):
            for byte in range(item):
                store_byte(z + k * z_step + byte, load_byte(x + k * x_step + byte))


@inner
def copy_row(step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
    """z[…] = x[…]."""
    place_row(get(step, ITEM), n, z, z_step, x, x_step)


place = by_rows(copy_row)


def fill(step):  # type: ignore[no-untyped-def]
    """The same eight bytes again and again: how many bytes, where, and which."""
    count, z, pattern = get(step, 0), get(step, 1), get(step, 2)
    for k in range(count // 8):
        put(z, k, pattern)
    for k in range(count // 8 * 8, count):
        store_byte(z + k, pattern >> (8 * (k & 7)))


@inner
def total_f64(n, x, step):  # type: ignore[no-untyped-def]
    """The sum of a row, in four sums that are added at the end."""
    a = b = c = d = -0.0
    whole = n // 4 * 4
    for k in range(0, whole, 4):
        a += load_f64(x + k * step)
        b += load_f64(x + (k + 1) * step)
        c += load_f64(x + (k + 2) * step)
        d += load_f64(x + (k + 3) * step)
    for k in range(whole, n):
        a += load_f64(x + k * step)
    return (a + b) + (c + d)


@inner
def add_row_f64(_step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
    """z[…] += x[…], where places of z may come several times."""
    if z_step == 0:
        store_f64(z, load_f64(z) + total_f64(n, x, x_step))
    else:
        for k in range(n):
            store_f64(z + k * z_step, load_f64(z + k * z_step) + load_f64(x + k * x_step))


def adding(number: NumberKind) -> Callable[[int], None]:
    """The same for other dtypes; a row is summed in double precision."""
    load, store, nothing = number.load, number.store, -number.zero

    @inner
    def add_row(_step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
        if z_step == 0:
            total = nothing
            for k in range(n):
                total += load(x + k * x_step)
            store(z, load(z) + total)
        else:
            for k in range(n):
                store(z + k * z_step, load(z + k * z_step) + load(x + k * x_step))

    return by_rows(add_row)


accumulate_f64, accumulate_f32 = by_rows(add_row_f64), adding(F32)
accumulate_c128, accumulate_c64 = adding(C128), adding(C64)


def clearing(number: NumberKind) -> Callable[[int], None]:
    """z[…] = 0 where x[…] is 0."""
    load, store, nothing = number.load, number.store, number.zero

    @inner
    def clear_row(_step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
        for k in range(n):
            if load(x + k * x_step) == 0:
                store(z + k * z_step, nothing)

    return by_rows(clear_row)


clear_f64, clear_f32, clear_c128, clear_c64 = clearing(F64), clearing(F32), clearing(C128), clearing(C64)


@inner
def chosen(step, item):  # type: ignore[no-untyped-def]
    """The elements of x or of y, of so many bytes."""
    strides, c, x, y, z = get(step, 3), get(step, 4), get(step, 5), get(step, 6), get(step, 7)
    for _ in range(load_word(get(step, 2))):
        place_row(item, 1, z, 0, x if load_byte(c) else y, 0)
        c += get(strides, 0)
        x += get(strides, 1)
        y += get(strides, 2)
        z += get(strides, 3)


def choose(step):  # type: ignore[no-untyped-def]
    """z[…] = x[…] where a truth value holds, else y[…].

    The words are those of `tape.jit.emission.sweep_steps.loop`: 0, the bytes of an element, where their number is,
    where the bytes from one to the next are, and where the truth values, x, y and z are.
    """
    item = get(step, 1)
    if item == 16:
        chosen(step, 16)
    elif item == 8:
        chosen(step, 8)
    else:
        chosen(step, item)


def somewhere(step):  # type: ignore[no-untyped-def]
    """Whether one of so many truth values holds: how many, where z and they are."""
    found = 0
    for k in range(get(step, 0)):
        found |= load_byte(get(step, 2) + k)
    store_byte(get(step, 1), 1 if found else 0)
