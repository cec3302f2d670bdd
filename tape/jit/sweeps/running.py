"""Steps that go along axes: extremes and products, and sums and products so far.

Their words are those of `tape.jit.sweeps.strided`.  Each is written once, for the loads and stores of either width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..machine.address import get, load_f32, load_f64, store_f32, store_f64
from .strided import AXES, ROWS, Z, X, advance

GREATEST, LEAST, PRODUCT = range(3)
F64, F32 = (load_f64, store_f64), (load_f32, store_f32)


def joined(load: Any, store: Any, how: int) -> Callable[[int], None]:
    """z[…] = max, min or product of z[…] and x[…]; nan is greater and less than all."""

    def join(step):  # type: ignore[no-untyped-def]
        z, x = get(step, Z), get(step, X)
        n, z_step, x_step = get(step, AXES), get(step, AXES + 1), get(step, AXES + 2)
        for _ in range(get(step, ROWS)):
            for k in range(n):
                at, value = z + k * z_step, load(x + k * x_step)
                if how == PRODUCT:
                    store(at, load(at) * value)
                elif value != value or (value > load(at) if how == GREATEST else value < load(at)):
                    store(at, value)
            dz, dx = advance(step)
            z += dz
            x += dx

    return join


def running(load: Any, store: Any, multiplies: bool) -> Callable[[int], None]:
    """Along the first axis the sum or product so far."""

    def run(step):  # type: ignore[no-untyped-def]
        z, x = get(step, Z), get(step, X)
        n, z_step, x_step = get(step, AXES), get(step, AXES + 1), get(step, AXES + 2)
        for _ in range(get(step, ROWS)):
            total = load(x)
            store(z, total)
            for k in range(1, n):
                value = load(x + k * x_step)
                total = total * value if multiplies else total + value
                store(z + k * z_step, total)
            dz, dx = advance(step)
            z += dz
            x += dx

    return run


greatest_f64, greatest_f32 = joined(*F64, GREATEST), joined(*F32, GREATEST)
least_f64, least_f32 = joined(*F64, LEAST), joined(*F32, LEAST)
times_f64, times_f32 = joined(*F64, PRODUCT), joined(*F32, PRODUCT)
running_sum_f64, running_sum_f32 = running(*F64, False), running(*F32, False)
running_product_f64, running_product_f32 = running(*F64, True), running(*F32, True)
