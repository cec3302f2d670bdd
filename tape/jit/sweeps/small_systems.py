"""Steps for systems with few unknowns, which a call of LAPACK costs more than, and what triangular ones need."""

from __future__ import annotations

from collections.abc import Callable

from .address import get, load_f64, put, store_f64
from .jitting import inner
from .numbers import C64, C128, F32, F64, NumberKind

SINGULAR = 1e-12
"""A pivot that is so much smaller than the largest element is left to LAPACK, which says what is singular."""


@inner
def pivot_row(a, n, k):  # type: ignore[no-untyped-def]
    """The row at or below k with the largest element in column k."""
    found, most = k, abs(load_f64(a + 8 * (n * k + k)))
    for i in range(k + 1, n):
        size = abs(load_f64(a + 8 * (n * i + k)))
        if size > most:
            found, most = i, size
    return found


@inner
def swap(a, n, i, j):  # type: ignore[no-untyped-def]
    """Exchange two rows."""
    for k in range(n):
        x, y = a + 8 * (n * i + k), a + 8 * (n * j + k)
        value = load_f64(x)
        store_f64(x, load_f64(y))
        store_f64(y, value)


@inner
def subtract(a, n, i, k, first, factor):  # type: ignore[no-untyped-def]
    """Take a multiple of row k from row i, from a column on."""
    for j in range(first, n):
        at = a + 8 * (n * i + j)
        store_f64(at, load_f64(at) - factor * load_f64(a + 8 * (n * k + j)))


@inner
def solve_one(a, n, z, columns):  # type: ignore[no-untyped-def]
    """Solve a z = z in place, by elimination with partial pivoting; whether no pivot was too small."""
    most = 0.0
    for k in range(n * n):
        most = max(most, abs(load_f64(a + 8 * k)))
    for k in range(n):
        row = pivot_row(a, n, k)
        if row != k:
            swap(a, n, row, k)
            swap(z, columns, row, k)
        pivot = load_f64(a + 8 * (n * k + k))
        if not abs(pivot) > SINGULAR * most:
            return False
        for i in range(k + 1, n):
            factor = load_f64(a + 8 * (n * i + k)) / pivot
            subtract(a, n, i, k, k + 1, factor)
            subtract(z, columns, i, k, 0, factor)
    for k in range(n - 1, -1, -1):
        pivot = load_f64(a + 8 * (n * k + k))
        for j in range(columns):
            at = z + 8 * (columns * k + j)
            store_f64(at, load_f64(at) / pivot)
        for i in range(k):
            subtract(z, columns, i, k, 0, load_f64(a + 8 * (n * i + k)))
    return True


def solve(step):  # type: ignore[no-untyped-def]
    """Solve systems in place: how many, how many unknowns and right-hand sides, where the matrices and the right-hand
    sides are, in row-major order, and a flag that is raised where LAPACK has to say whether a matrix is singular."""
    n, columns, a, z = get(step, 1), get(step, 2), get(step, 3), get(step, 4)
    for _ in range(get(step, 0)):
        if not solve_one(a, n, z, columns):
            put(get(step, 5), 0, 1)
        a += 8 * n * n
        z += 8 * n * columns


def _diagonal(number: NumberKind) -> Callable[[int], None]:
    """Raise a flag if a diagonal has a zero: how many elements, where they are, the bytes between them, the flag."""
    load = number.load

    def check(step):  # type: ignore[no-untyped-def]
        for k in range(get(step, 0)):
            if load(get(step, 1) + k * get(step, 2)) == 0:
                put(get(step, 3), 0, 1)

    return check


check_diagonal_f64, check_diagonal_f32 = _diagonal(F64), _diagonal(F32)
check_diagonal_c128, check_diagonal_c64 = _diagonal(C128), _diagonal(C64)
