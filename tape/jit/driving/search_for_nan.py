"""Python's half of the sweep under anomaly mode: steps that have written nan are looked at closer."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ops import REGISTRY, Symbol

from ...base.locks import once
from ...base.row import SPEC, XV
from ...history.anomaly import blame, has_nan, nan_error
from ...history.propagate import contributions
from ...recording.wengert import op_of
from ..emission.kernels import KERNELS
from ..emission.lanes import kernel_module
from ..machine.machine_code import compile_kernel
from ..machine.state import (
    BLOCK, CONSTANT, G, LEFT, MATRIX, MODE, MOTION, OUT, RIGHT, SOURCE, STEP_WORDS, STORE, SUM,
)  # fmt: skip
from ..machine.workspace import address_of
from ..emission.function_of_words import entry


@once
def counter(bits: int) -> tuple[int, Any]:
    """Address of the kernel that counts the nan among numbers, and the engine that owns it."""
    g = Symbol("g")
    engine, address = compile_kernel(kernel_module(REGISTRY["where"](g != g, 1.0, 0.0), bits))
    return address, engine


def run(sweep: Any, first: int, count: int) -> None:
    """Run so many steps of a sweep from one on; look closer at each that has written nan."""
    steps = sweep.work.steps
    scratch = np.zeros(STEP_WORDS, dtype=np.int64)
    scratch[OUT], scratch[MODE] = address_of(scratch[CONSTANT:]), SUM | STORE
    kernels = np.array([counter(64)[0], counter(32)[0]])
    checked_sweep = entry("checked", "checked_sweep", 5)
    k, end = first, first + count
    while (k := checked_sweep(address_of(steps), k, end, address_of(scratch), address_of(kernels))) < end:
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
