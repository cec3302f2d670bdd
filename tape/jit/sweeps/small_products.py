"""The kernel of small matrix products, whose adjoints are matrix products again.

BLAS is faster for large matrices, and Python's way there is short by comparison; for small ones
the way is most of the time, so they stay in the sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..machine.address import get, load_f32, load_f64, store_f32, store_f64
from ..machine.state import (
    COLUMNS, ELEMENTS, INNER, LEFT, LEFT_COLUMN, LEFT_ROW, MODE, OUT, RIGHT, RIGHT_COLUMN, RIGHT_ROW, STORE,
)  # fmt: skip


def product(load: Any, store: Any, item: int) -> Callable[[int], None]:
    """out[i, j] (=, +=) Σₗ left[i, l] right[l, j], for strided matrices, summed in float64."""

    def multiply(step):  # type: ignore[no-untyped-def]
        out = get(step, OUT)
        for i in range(get(step, ELEMENTS)):
            for j in range(get(step, COLUMNS)):
                total = 0.0
                a, b = get(step, LEFT) + i * get(step, LEFT_ROW), get(step, RIGHT) + j * get(step, RIGHT_COLUMN)
                for _ in range(get(step, INNER)):
                    total += load(a) * load(b)
                    a += get(step, LEFT_COLUMN)
                    b += get(step, RIGHT_ROW)
                store(out, total if get(step, MODE) & STORE else total + load(out))
                out += item

    return multiply


product_f64, product_f32 = product(load_f64, store_f64, 8), product(load_f32, store_f32, 4)
