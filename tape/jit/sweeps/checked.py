"""The reverse sweep under anomaly mode: after each step, what it wrote is searched for nan."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ops import REGISTRY, Symbol

from ...base.locks import once
from ...history.anomaly import blame, has_nan
from ...history.anomaly import nan_error
from ...history.propagate import contributions
from ...base.row import SPEC, XV
from ...recording.wengert import op_of
from ..machine.address import call, get, load_f32, load_f64, load_word, put
from ..machine.jitting import entry, inner
from ..machine.machine_code import compile_kernel
from ..emission.kernels import KERNELS
from ..emission.lanes import kernel_module
from ..machine.state import (
    BLOCK, COLUMNS, CONSTANT, ELEMENTS, LEFT, G_STRIDE, MATRIX, MODE, MOTION, OUT, RIGHT, SOURCE, STEP_WORDS, STORE,
    SUM, G,
)  # fmt: skip
from ..machine.workspace import address_of

STEP_BYTES = 8 * STEP_WORDS
IS_PRODUCT = 2
FEW = 16


@once
def counter(bits: int) -> tuple[int, Any]:
    """Address of the kernel that counts the nan among numbers, and the engine that owns it."""
    g = Symbol("g")
    engine, address = compile_kernel(kernel_module(REGISTRY["where"](g != g, 1.0, 0.0), bits))
    return address, engine


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


@entry
def checked_sweep(steps, first, end, scratch, kernels):  # type: ignore[no-untyped-def]
    """Run the steps from `first` on, until one has written nan: which one; `end` if none has."""
    for k in range(first, end):
        step = steps + k * STEP_BYTES
        call(load_word(step), step)
        if has_written_nan(step, scratch, kernels):
            return k
    return end


def run(sweep: Any, first: int, count: int) -> None:
    """Run so many steps of a sweep from one on; look closer at each that has written nan."""
    steps = sweep.work.steps
    scratch = np.zeros(STEP_WORDS, dtype=np.int64)
    scratch[OUT], scratch[MODE] = address_of(scratch[CONSTANT:]), SUM | STORE
    kernels = np.array([counter(64)[0], counter(32)[0]])
    k, end = first, first + count
    while (k := int(checked_sweep(address_of(steps), k, end, address_of(scratch), address_of(kernels)))) < end:
        row = sweep.row_of_step(k)
        examine(row, steps, k, sweep.positions(row))
        k += 1


def examine(row: list[Any], steps: np.ndarray, k: int, positions: tuple[int, ...]) -> None:
    """Raise if the rule of a record, one of whose steps has written nan, gives nan.

    Where it does not, the nan is the sum of infinite adjoints, and the next record's rule will be told off for it.
    """
    g = adjoint_read(row, steps, k)
    with np.errstate(all="ignore"):
        for i, _, bar in contributions(row, g, positions, False):
            if has_nan(bar):
                error = nan_error(row, g, i, bar)
                blame(row, error)
                raise error


def adjoint_read(row: list[Any], steps: np.ndarray, k: int) -> Any:
    """The adjoint of a record, from where the steps of the record read it: of all its blocks."""
    motion = KERNELS.ops[op_of(row).code, MOTION]
    while k and steps[k - 1, SOURCE] >> 2 == steps[k, SOURCE] >> 2:
        k -= 1
    word = G
    if motion == MATRIX:
        word = RIGHT if steps[k, LEFT] == address_of(np.asarray(row[XV])) else LEFT
    elif motion == BLOCK and steps[k, G] == address_of(steps[k, CONSTANT:]):
        k += 1  # the first step writes zeros around the block
    spec = row[SPEC]
    memory = (ctypes.c_char * spec.nbytes).from_address(int(steps[k, word]))
    return np.frombuffer(bytes(memory), spec.dtype).reshape(spec.shape)[()]
