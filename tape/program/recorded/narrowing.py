"""16-bit numbers while a function is recorded: each op on them is recorded as `tape.recording.halves` evaluates it.

The operands are cast to 32 bits, the op is applied, and what comes out is cast back: three records of
their own, so that kernels, passes and adjoints need to know nothing of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ops import REGISTRY, Op

from ...base.dtypes import float32
from ...recording.halves import SEEING_TO_IT, result_dtype
from .trace import Trace

CAST = REGISTRY["cast"]
AS_THEY_ARE = SEEING_TO_IT | {"cast", "output"}


def apply_in_32_bits(trace: Trace, op: Op, numbers: tuple[int, ...], params: dict[str, Any]) -> tuple[int, Any]:
    """Record an op on records of which some hold 16-bit numbers: its record, and the operands that say what to round
    to, or None."""
    if op.is_view(params) or op.name in AS_THEY_ARE:
        return trace.apply(op, numbers, params), None
    row = trace.apply(op, tuple([_wide(trace, k) for k in numbers]), params)
    return row, None if params.get("dtype") is not None else [_like(trace, k) for k in numbers]


def rounded(trace: Trace, row: int, operands: Any) -> int:
    """A result in its dtype, if that has 16 bits."""
    spec = trace.spec(row)
    if operands is None or spec is None:
        return row
    dtype = result_dtype(spec.dtype, operands)
    return row if dtype == spec.dtype else trace.apply(CAST, (row,), {"dtype": dtype})


def _wide(trace: Trace, number: int) -> int:
    spec = trace.spec(number)
    if spec is None or not spec.narrow:
        return number
    return trace.apply(CAST, (number,), {"dtype": float32})


def _like(trace: Trace, number: int) -> Any:
    """Something of the dtype of a record, with axes if that has some; a plain number is itself."""
    spec = trace.spec(number)
    if spec is None or trace.is_number(number):
        return trace.values[number]
    return np.empty((1,) if spec.shape else (), spec.dtype)
