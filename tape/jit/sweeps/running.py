"""Steps that go along axes: extremes and products, and sums and products so far.

Their words are those of `tape.jit.sweeps.strided`.
"""

from __future__ import annotations

from ..machine.address import get, load_f32, load_f64, store_f32, store_f64
from ..machine.jitting import inner
from .strided import AXES, ROWS, Z, X, advance


@inner
def joined_f64(step, how):  # type: ignore[no-untyped-def]
    """z[…] = max, min or product of z[…] and x[…]; nan is greater and less than all."""
    z, x = get(step, Z), get(step, X)
    n, z_step, x_step = get(step, AXES), get(step, AXES + 1), get(step, AXES + 2)
    for _ in range(get(step, ROWS)):
        for k in range(n):
            at, value = z + k * z_step, load_f64(x + k * x_step)
            if how == 2:
                store_f64(at, load_f64(at) * value)
            elif value != value or (value > load_f64(at) if how == 0 else value < load_f64(at)):
                store_f64(at, value)
        dz, dx = advance(step)
        z += dz
        x += dx


def greatest_f64(step):  # type: ignore[no-untyped-def]
    """z[…] = max(z[…], x[…])."""
    joined_f64(step, 0)


def least_f64(step):  # type: ignore[no-untyped-def]
    """z[…] = min(z[…], x[…])."""
    joined_f64(step, 1)


def times_f64(step):  # type: ignore[no-untyped-def]
    """z[…] *= x[…]."""
    joined_f64(step, 2)


@inner
def running_f64(step, multiplies):  # type: ignore[no-untyped-def]
    """Along the first axis the sum or product so far."""
    z, x = get(step, Z), get(step, X)
    n, z_step, x_step = get(step, AXES), get(step, AXES + 1), get(step, AXES + 2)
    for _ in range(get(step, ROWS)):
        total = load_f64(x)
        store_f64(z, total)
        for k in range(1, n):
            value = load_f64(x + k * x_step)
            total = total * value if multiplies else total + value
            store_f64(z + k * z_step, total)
        dz, dx = advance(step)
        z += dz
        x += dx


def running_sum_f64(step):  # type: ignore[no-untyped-def]
    """The sum so far."""
    running_f64(step, False)


def running_product_f64(step):  # type: ignore[no-untyped-def]
    """The product so far."""
    running_f64(step, True)


@inner
def joined_f32(step, how):  # type: ignore[no-untyped-def]
    """z[…] = max, min or product of z[…] and x[…]; nan is greater and less than all."""
    z, x = get(step, Z), get(step, X)
    n, z_step, x_step = get(step, AXES), get(step, AXES + 1), get(step, AXES + 2)
    for _ in range(get(step, ROWS)):
        for k in range(n):
            at, value = z + k * z_step, load_f32(x + k * x_step)
            if how == 2:
                store_f32(at, load_f32(at) * value)
            elif value != value or (value > load_f32(at) if how == 0 else value < load_f32(at)):
                store_f32(at, value)
        dz, dx = advance(step)
        z += dz
        x += dx


def greatest_f32(step):  # type: ignore[no-untyped-def]
    """z[…] = max(z[…], x[…])."""
    joined_f32(step, 0)


def least_f32(step):  # type: ignore[no-untyped-def]
    """z[…] = min(z[…], x[…])."""
    joined_f32(step, 1)


def times_f32(step):  # type: ignore[no-untyped-def]
    """z[…] *= x[…]."""
    joined_f32(step, 2)


@inner
def running_f32(step, multiplies):  # type: ignore[no-untyped-def]
    """Along the first axis the sum or product so far."""
    z, x = get(step, Z), get(step, X)
    n, z_step, x_step = get(step, AXES), get(step, AXES + 1), get(step, AXES + 2)
    for _ in range(get(step, ROWS)):
        total = load_f32(x)
        store_f32(z, total)
        for k in range(1, n):
            value = load_f32(x + k * x_step)
            total = total * value if multiplies else total + value
            store_f32(z + k * z_step, total)
        dz, dx = advance(step)
        z += dz
        x += dx


def running_sum_f32(step):  # type: ignore[no-untyped-def]
    """The sum so far."""
    running_f32(step, False)


def running_product_f32(step):  # type: ignore[no-untyped-def]
    """The product so far."""
    running_f32(step, True)
