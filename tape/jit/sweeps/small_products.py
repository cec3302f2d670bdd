"""The kernel of small matrix products, whose adjoints are matrix products again.

BLAS is faster for large matrices, and Python's way there is short by comparison; for small ones
the way is most of the time, so they stay in the sweep.
"""

from __future__ import annotations

from collections.abc import Callable

from .address import get
from .numbers import C64, C128, F32, F64, NumberKind
from ..machine.state import (
    COLUMNS, ELEMENTS, INNER, LEFT, LEFT_COLUMN, LEFT_ROW, MODE, OUT, RIGHT, RIGHT_COLUMN, RIGHT_ROW, STORE,
)  # fmt: skip


def product(number: NumberKind) -> Callable[[int], None]:
    """out[i, j] (=, +=) Σₗ left[i, l] right[l, j], for strided matrices, summed in double precision."""
    item, load, store, zero = number

    def multiply(step):  # type: ignore[no-untyped-def]
        out = get(step, OUT)
        for i in range(get(step, ELEMENTS)):
            for j in range(get(step, COLUMNS)):
                total = zero
                a, b = get(step, LEFT) + i * get(step, LEFT_ROW), get(step, RIGHT) + j * get(step, RIGHT_COLUMN)
                for _ in range(get(step, INNER)):
                    total += load(a) * load(b)
                    a += get(step, LEFT_COLUMN)
                    b += get(step, RIGHT_ROW)
                store(out, total if get(step, MODE) & STORE else total + load(out))
                out += item

    return multiply


product_f64, product_f32, product_c128, product_c64 = product(F64), product(F32), product(C128), product(C64)
