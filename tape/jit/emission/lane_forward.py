"""Evaluating an elementwise op on large arrays in lanes, where NumPy's own loop is scalar."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

from ops import Op, Symbol
from ops.core.own import CHANGES

from ..machine.machine_code import compile_kernel
from .kernels import NO_KERNEL
from .lanes import kernel_module
from ..machine.state import ELEMENTS, MODE, OUT, STEP_WORDS, STORE, XV, YV

BITS = {np.dtype(np.float64): 64, np.dtype(np.float32): 32}
KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_int64)


@cache
def kernel(op: Op, bits: int) -> tuple[Any, Any] | None:
    """The op's forward kernel as a function of the address of its step, and the engine that owns it, if it has one."""
    formula = op(*map(Symbol, ("x", "y")[: op.arity]))
    try:
        engine, address = compile_kernel(kernel_module(formula, bits))
    except NO_KERNEL:
        return None
    return KERNEL(address), engine


CHANGES.append(lambda op: kernel.cache_clear())


def evaluate(op: Op, *values: Any) -> np.ndarray | None:
    """z = op(x…) for arrays of one shape and of float64 or float32, and plain numbers; None for anything else."""
    x = values[0]
    bits = BITS.get(x.dtype)
    if bits is None or not all(type(v) is float or fits(v, x) for v in values):
        return None
    made = kernel(op, bits)  # held while it runs, because another thread may clear the cache
    if made is None:
        return None
    z = np.empty(x.shape, x.dtype)
    step = np.zeros(STEP_WORDS, dtype=np.int64)
    step[ELEMENTS], step[OUT], step[MODE] = x.size, z.ctypes.data, STORE
    inputs = [(np.array(v, x.dtype), 0) if type(v) is float else (v, x.itemsize) for v in values]
    for word, (value, stride) in zip((XV, YV), inputs):
        step[word], step[word + 1] = value.ctypes.data, stride
    made[0](step.ctypes.data)
    return z


def fits(value: Any, like: np.ndarray) -> bool:
    """Whether a kernel can read a value element by element beside another."""
    if type(value) is not np.ndarray or value.shape != like.shape or value.dtype != like.dtype:
        return False
    return bool(value.flags.c_contiguous and value.flags.aligned and value.dtype.isnative)
