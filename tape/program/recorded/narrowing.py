"""16-bit numbers while a function is recorded: each op on them is recorded as `tape.recording.halves` evaluates it.

The operands are cast to 32 bits, the op is applied, and what comes out is cast back: three records of
their own, so that kernels, passes and adjoints need to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import REGISTRY, Op

from ...base.dtypes import float32
from ...recording.halves import SEEING_TO_IT, result_dtype
from .trace import Trace

CAST = REGISTRY["cast"]
AS_THEY_ARE = SEEING_TO_IT | {"cast", "output"}


def in_32_bits(trace: Trace, op: Op, numbers: tuple[int, ...], params: dict[str, Any]) -> Sequence[int]:
    """Record an op on records of which some hold 16-bit numbers: the record of each of its results."""
    operands = None
    if op.is_view(params) or op.name in AS_THEY_ARE:
        row = trace.apply(op, numbers, params)
    else:
        row = trace.apply(op, tuple([_wide(trace, k) for k in numbers]), params)
        operands = None if params.get("dtype") is not None else [_like(trace, k) for k in numbers]
    rows = (row,) if op.outputs == 1 else trace.outputs(row)
    return rows if operands is None else [_rounded(trace, k, operands) for k in rows]


def _rounded(trace: Trace, row: int, operands: Sequence[Any]) -> int:
    """A result in the dtype that an op gives of such operands, if that has 16 bits."""
    spec = trace.spec(row)
    if spec is None:
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
