"""Sums of outer products that are one product of matrices with zeros, where something in these is not finite.

Zeros beside infinite elements give nan in a product of matrices, where the sum has nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..machine.address import get, load_f32, load_f64, load_u32, store_f32, store_f64, store_u32
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


@inner
def add_f64(z, x, y):  # type: ignore[no-untyped-def]
    """Add the product of two numbers to a third."""
    store_f64(z, load_f64(z) + load_f64(x) * load_f64(y))


@inner
def add_f32(z, x, y):  # type: ignore[no-untyped-def]
    """The same for float32."""
    store_f32(z, load_f32(z) + load_f32(x) * load_f32(y))


def again(item: int, all_finite: Any, add: Any) -> Callable[[int], None]:
    """A kernel that computes the sum once more, one product after the other, unless all numbers are finite.

    The words: how many products there are, rows and columns of z, where z, the left vectors (each as long as a column
    of z) and the right ones are; then for each product where its rows begin and end and how far apart they are, and
    the same of its columns.
    """

    def kernel(step):  # type: ignore[no-untyped-def]
        count, rows, columns = get(step, 0), get(step, 1), get(step, 2)
        z, left, right = get(step, 3), get(step, 4), get(step, 5)
        if all_finite(count * rows, left) and all_finite(count * columns, right):
            return
        for k in range(rows * columns * item // 4):
            store_u32(z + 4 * k, 0)
        for k in range(count):
            at = step + 8 * (6 + 6 * k)
            for i in range(get(at, 0), get(at, 1), get(at, 2)):
                x = left + item * (k * rows + i)
                for j in range(get(at, 3), get(at, 4), get(at, 5)):
                    add(z + item * (i * columns + j), x, right + item * (k * columns + j))

    return kernel


again_f64, again_f32 = again(8, all_finite_f64, add_f64), again(4, all_finite_f32, add_f32)
