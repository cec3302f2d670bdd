"""Steps that go along axes: what the loop of a ufunc makes of them, and sums and products so far.

Their words are those of `tape.jit.sweeps.strided`.
"""

from __future__ import annotations

from collections.abc import Callable

from .address import call_loop, get, put
from .jitting import inner
from .numbers import C64, C128, F32, F64, NumberKind
from .strided import AXES, NDIM, ROWS, Z, X, advance, by_rows


def fold(step):  # type: ignore[no-untyped-def]
    """z[…] = f(z[…], x[…]) by the loop of a ufunc, where places of z may come several times.

    After the counters come the loop, what it is given, three words for its operands, how many there are in a row, and
    the bytes from one to the next in z, in x and in z.
    """
    z, x = get(step, Z), get(step, X)
    for _ in range(get(step, ROWS)):
        join(step, z, x)
        dz, dx = advance(step)
        z += dz
        x += dx


@inner
def join(step, z, x):  # type: ignore[no-untyped-def]
    """One row of these by the loop."""
    loop = AXES + 4 * get(step, NDIM)
    operands = step + 8 * (loop + 2)
    put(operands, 0, z)
    put(operands, 1, x)
    put(operands, 2, z)
    call_loop(get(step, loop), operands, operands + 24, operands + 32, get(step, loop + 1))


def extreme(number: NumberKind, greatest: bool) -> Callable[[int], None]:
    """The same for rows so short that to call a loop takes longer than to go through them, each with a place of z.

    Which of several zeros or nan an extreme is, the loop alone knows: as in NumPy it joins all but the first element to
    that one.  Nan is looked for first: to compare it raises the processor's flag.
    """
    load, store = number.load, number.store

    def kernel(step):  # type: ignore[no-untyped-def]
        z, x, n, x_step = get(step, Z), get(step, X), get(step, AXES), get(step, AXES + 2)
        for _ in range(get(step, ROWS)):
            plain = True
            for k in range(n):
                plain &= load(x + k * x_step) == load(x + k * x_step)
            found = load(x)
            if plain:
                for k in range(1, n):
                    value = load(x + k * x_step)
                    found = value if (value > found if greatest else value < found) else found
            store(z, found)
            if n > 1 and not (plain and found != 0.0):
                store(z, load(x))
                join(step, z, x + x_step)
            dz, dx = advance(step)
            z += dz
            x += dx

    return kernel


largest_f64, largest_f32 = extreme(F64, True), extreme(F32, True)
smallest_f64, smallest_f32 = extreme(F64, False), extreme(F32, False)


def running(number: NumberKind, multiplies: bool) -> Callable[[int], None]:
    """Along the first axis the sum or product so far."""
    load, store = number.load, number.store

    @inner
    def run(_step, n, z, z_step, x, x_step):  # type: ignore[no-untyped-def]
        total = load(x)
        store(z, total)
        for k in range(1, n):
            value = load(x + k * x_step)
            total = total * value if multiplies else total + value
            store(z + k * z_step, total)

    return by_rows(run)


running_sum_f64, running_sum_f32 = running(F64, False), running(F32, False)
running_sum_c128, running_sum_c64 = running(C128, False), running(C64, False)
running_product_f64, running_product_f32 = running(F64, True), running(F32, True)
running_product_c128, running_product_c64 = running(C128, True), running(C64, True)
