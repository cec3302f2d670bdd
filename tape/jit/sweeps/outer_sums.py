"""Sums of outer products that are one product of matrices with zeros, where something in these is not finite.

Zeros beside infinite elements give nan in a product of matrices, where the sum has nothing.
"""

from __future__ import annotations

from ..machine.address import get, load_f32, load_f64, load_u32, store_f32, store_f64
from ..machine.jitting import inner

EXPONENT_F64, EXPONENT_F32 = 0x7FF0000000000000, 0x7F800000
"""The bits of the exponent, all of which infinite numbers and nan have."""


@inner
def all_finite_f64(n, x):  # type: ignore[no-untyped-def]
    """Whether n numbers are."""
    found = 0
    for k in range(n):
        found |= (get(x, k) & EXPONENT_F64) == EXPONENT_F64
    return found == 0


@inner
def all_finite_f32(n, x):  # type: ignore[no-untyped-def]
    """The same for float32."""
    found = 0
    for k in range(n):
        found |= (load_u32(x + 4 * k) & EXPONENT_F32) == EXPONENT_F32
    return found == 0


def again_f64(step):  # type: ignore[no-untyped-def]
    """Compute the sum once more, one product after the other, unless all numbers are finite.

    The words: how many products there are, rows and columns of z, where z, the left vectors (each as long as a column
    of z) and the right ones are; then for each product where its rows begin and end and how far apart they are, and
    the same of its columns.
    """
    count, rows, columns, z, left, right = (
        get(step, 0),
        get(step, 1),
        get(step, 2),
        get(step, 3),
        get(step, 4),
        get(step, 5),
    )
    if all_finite_f64(count * rows, left) and all_finite_f64(count * columns, right):
        return
    for k in range(rows * columns):
        store_f64(z + 8 * k, 0.0)
    for k in range(count):
        at = step + 8 * (6 + 6 * k)
        for i in range(get(at, 0), get(at, 1), get(at, 2)):
            x = load_f64(left + 8 * (k * rows + i))
            for j in range(get(at, 3), get(at, 4), get(at, 5)):
                to = z + 8 * (i * columns + j)
                store_f64(to, load_f64(to) + x * load_f64(right + 8 * (k * columns + j)))


def again_f32(step):  # type: ignore[no-untyped-def]
    """The same for float32."""
    count, rows, columns, z, left, right = (
        get(step, 0),
        get(step, 1),
        get(step, 2),
        get(step, 3),
        get(step, 4),
        get(step, 5),
    )
    if all_finite_f32(count * rows, left) and all_finite_f32(count * columns, right):
        return
    for k in range(rows * columns):
        store_f32(z + 4 * k, 0.0)
    for k in range(count):
        at = step + 8 * (6 + 6 * k)
        for i in range(get(at, 0), get(at, 1), get(at, 2)):
            x = load_f32(left + 4 * (k * rows + i))
            for j in range(get(at, 3), get(at, 4), get(at, 5)):
                to = z + 4 * (i * columns + j)
                store_f32(to, load_f32(to) + x * load_f32(right + 4 * (k * columns + j)))
