"""Products of vectors that are one product of matrices with zeros, where something in these is not finite.

Zeros beside infinite elements give nan in a product of matrices, where a vector has nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .address import get, load_u32, store_u32
from .jitting import inner
from .numbers import C64, C128, F32, F64, NumberKind

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


def again(number: NumberKind, all_finite: Any, parts: int = 1) -> Callable[[int], None]:
    """A kernel that computes the sum once more, one product after the other, unless all numbers are finite.

    The words: how many products there are, rows and columns of z, where z, the left vectors (each as long as a column
    of z) and the right ones are; then for each product where its rows begin and end and how far apart they are, and
    the same of its columns.  Complex numbers have two `parts`.
    """
    item, load, store, _ = number

    def kernel(step):  # type: ignore[no-untyped-def]
        count, rows, columns = get(step, 0), get(step, 1), get(step, 2)
        z, left, right = get(step, 3), get(step, 4), get(step, 5)
        if all_finite(parts * count * rows, left) and all_finite(parts * count * columns, right):
            return
        for k in range(rows * columns * item // 4):
            store_u32(z + 4 * k, 0)
        for k in range(count):
            at = step + 8 * (6 + 6 * k)
            for i in range(get(at, 0), get(at, 1), get(at, 2)):
                x = left + item * (k * rows + i)
                for j in range(get(at, 3), get(at, 4), get(at, 5)):
                    at_z = z + item * (i * columns + j)
                    store(at_z, load(at_z) + load(x) * load(right + item * (k * columns + j)))

    return kernel


again_f64, again_f32 = again(F64, all_finite_f64), again(F32, all_finite_f32)
again_c128, again_c64 = again(C128, all_finite_f64, 2), again(C64, all_finite_f32, 2)


def by_vectors(number: NumberKind, all_finite: Any, parts: int = 1) -> Callable[[int], None]:
    """A kernel that multiplies a matrix by one vector after the other, unless all numbers of the result are finite.

    The words: how many vectors there are, rows and columns of x, where z, the vectors (each as long as a column of x)
    and x are, the bytes from row to row and from column to column of x; then for each vector from which row to which
    it goes.
    """
    item, load, store, _ = number

    def kernel(step):  # type: ignore[no-untyped-def]
        count, rows, columns = get(step, 0), get(step, 1), get(step, 2)
        z, vectors, x = get(step, 3), get(step, 4), get(step, 5)
        x_row, x_column = get(step, 6), get(step, 7)
        if all_finite(parts * count * columns, z):
            return
        for k in range(count * columns * item // 4):
            store_u32(z + 4 * k, 0)
        for k in range(count):
            at = step + 8 * (8 + 2 * k)
            for i in range(get(at, 0), get(at, 1)):
                v = vectors + item * (k * rows + i)
                for j in range(columns):
                    at_z = z + item * (k * columns + j)
                    store(at_z, load(at_z) + load(v) * load(x + i * x_row + j * x_column))

    return kernel


by_vectors_f64, by_vectors_f32 = by_vectors(F64, all_finite_f64), by_vectors(F32, all_finite_f32)
by_vectors_c128, by_vectors_c64 = by_vectors(C128, all_finite_f64, 2), by_vectors(C64, all_finite_f32, 2)


def by_chain(number: NumberKind, all_finite: Any, parts: int = 1) -> Callable[[int], None]:
    """A kernel that multiplies two matrices once more, unless all numbers of the result are finite: then a product is 0
    where its factor in the one is, whatever the other is.

    The words: rows of x, its columns, columns of y, where z is and the bytes from row to row, where x is and the bytes
    from row to row and from column to column, the same of y, and whether y is the one.
    """
    item, load, store, _ = number

    def kernel(step):  # type: ignore[no-untyped-def]
        rows, inner, columns = get(step, 0), get(step, 1), get(step, 2)
        z, z_row, x, x_row, x_column = get(step, 3), get(step, 4), get(step, 5), get(step, 6), get(step, 7)
        y, y_row, y_column, turned = get(step, 8), get(step, 9), get(step, 10), get(step, 11)
        found = True
        for i in range(rows):
            found = found and all_finite(parts * columns, z + i * z_row)
        if found:
            return
        for i in range(rows):
            for j in range(columns):
                at = z + i * z_row + j * item
                for k in range(item // 4):
                    store_u32(at + 4 * k, 0)
                nothing = load(at)
                for k in range(inner):
                    one, other = load(x + i * x_row + k * x_column), load(y + k * y_row + j * y_column)
                    if (other if turned else one) != nothing:
                        store(at, load(at) + one * other)

    return kernel


by_chain_f64, by_chain_f32 = by_chain(F64, all_finite_f64), by_chain(F32, all_finite_f32)
by_chain_c128, by_chain_c64 = by_chain(C128, all_finite_f64, 2), by_chain(C64, all_finite_f32, 2)
