"""The kernel of small matrix products, whose adjoints are matrix products again.

BLAS is faster for large matrices, and Python's way there is short by comparison; for small ones
the way is most of the time, so they stay in the sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..machine.address import get, load_f32, load_f64, store_f32, store_f64
from ..machine.jitting import kernel
from ..machine.state import (
    COLUMNS, ELEMENTS, INNER, LEFT, LEFT_COLUMN, LEFT_ROW, MODE, OUT, RIGHT, RIGHT_COLUMN, RIGHT_ROW, STORE,
)  # fmt: skip


def product_kernel(bits: int) -> Callable[..., Any]:
    """The compiled kernel for float64 or float32."""
    return kernel(product_f64 if bits == 64 else product_f32)


def product_f64(step):  # type: ignore[no-untyped-def]
    """out[i, j] (=, +=) Σₗ left[i, l] right[l, j], for strided float64 matrices."""
    out = get(step, OUT)
    for i in range(get(step, ELEMENTS)):
        for j in range(get(step, COLUMNS)):
            total = 0.0
            a, b = get(step, LEFT) + i * get(step, LEFT_ROW), get(step, RIGHT) + j * get(step, RIGHT_COLUMN)
            for _ in range(get(step, INNER)):
                total += load_f64(a) * load_f64(b)
                a += get(step, LEFT_COLUMN)
                b += get(step, RIGHT_ROW)
            store_f64(out, total if get(step, MODE) & STORE else total + load_f64(out))
            out += 8


def product_f32(step):  # type: ignore[no-untyped-def]
    """The same for float32, summed in float64."""
    out = get(step, OUT)
    for i in range(get(step, ELEMENTS)):
        for j in range(get(step, COLUMNS)):
            total = 0.0
            a, b = get(step, LEFT) + i * get(step, LEFT_ROW), get(step, RIGHT) + j * get(step, RIGHT_COLUMN)
            for _ in range(get(step, INNER)):
                total += load_f32(a) * load_f32(b)
                a += get(step, LEFT_COLUMN)
                b += get(step, RIGHT_ROW)
            store_f32(out, total if get(step, MODE) & STORE else total + load_f32(out))
            out += 4
