"""The reverse sweep under anomaly mode: after each step, what it wrote is searched for nan."""

from __future__ import annotations

from ..machine.state import (
    COLUMNS, CONSTANT, ELEMENTS, G, G_STRIDE, MODE, OUT, SOURCE, STEP_BYTES, SUM,
)  # fmt: skip
from .address import call, get, load_f32, load_f64, load_word, put
from .jitting import inner

IS_PRODUCT = 2
FEW = 16


@inner
def has_written_nan(step, scratch, kernels):  # type: ignore[no-untyped-def]
    """Whether one of the numbers that a step has written is nan; `scratch` is a step for the kernels that count."""
    source, out, count = get(step, SOURCE), get(step, OUT), get(step, ELEMENTS)
    if source & IS_PRODUCT:
        count *= get(step, COLUMNS)
    elif get(step, MODE) & SUM:
        count = 1
    if count < FEW:
        found = False
        for k in range(count):
            value = load_f32(out + 4 * k) if source & 1 else load_f64(out + 8 * k)
            found |= value != value
        return found
    put(scratch, CONSTANT, 0)
    put(scratch, ELEMENTS, count)
    put(scratch, G, out)
    put(scratch, G_STRIDE, 8 >> (source & 1))
    call(get(kernels, source & 1), scratch)
    return get(scratch, CONSTANT) != 0


def checked_sweep(steps, first, end, scratch, kernels):  # type: ignore[no-untyped-def]
    """Run the steps from `first` on, until one has written nan: which one; `end` if none has."""
    for k in range(first, end):
        step = steps + k * STEP_BYTES
        call(load_word(step), step)
        if has_written_nan(step, scratch, kernels):
            return k
    return end
