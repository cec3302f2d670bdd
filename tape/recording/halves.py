"""16-bit floating point: numbers stored in 16 bits, computed with in 32, rounded once per op.

Tensors of float16 and bfloat16 are of the class `Narrow`, which applies an op to the numbers in
float32 and rounds what comes out.  So a sum, a matrix product or a function of several steps does
not lose digits on its way, and NumPy need not know bfloat16.  A record holds the numbers in 16
bits, and a rule computes in 32 too (see `tape.history.propagate`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from ops import Op

from ..base.dtypes import float32, is_narrow, kind_of
from ..base.tensor import Narrow
from .recorder import bind, forward_of, lift


def lift_narrow(x: Any) -> Any:
    """What the forward function of an op gets for an operand, which may be narrow."""
    return x._data if type(x) is Narrow else lift(x)


def bind_narrow(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply an op to operands of which at least one is a tensor of 16-bit numbers."""
    return bind(op, operands, params, lift_narrow, in_32_bits)


@cache
def in_32_bits(op: Op) -> Callable[..., Any]:
    """The function that evaluates an op on values of which some have 16 bits."""
    forward = forward_of(op)

    def evaluate(*values: Any, **params: Any) -> Any:
        if op.is_view(params):
            return forward(*values, **params)
        z = forward(*map(wide, values), **params)
        dtype = None if params.get("dtype") is not None else result_dtype(values)
        if dtype is None or not is_narrow(dtype):
            return z
        return tuple([rounded(part, dtype) for part in z]) if isinstance(z, tuple) else rounded(z, dtype)

    return evaluate


def wide(x: Any) -> Any:
    """An array of 16-bit numbers in 32 bits; anything else as it is."""
    dtype = getattr(x, "dtype", None)
    return x.astype(float32) if dtype is not None and is_narrow(dtype) else x


def rounded(z: Any, dtype: np.dtype[Any]) -> Any:
    """A result in its dtype, if it is a floating point number at all."""
    return z.astype(dtype) if z.dtype.kind == "f" else z


def result_dtype(values: Sequence[Any]) -> np.dtype[Any] | None:
    """The dtype of a floating point result, as PyTorch has it; None where an operand is complex.

    Arrays decide; numbers, and tensors without axes, only where no array is of floating point.
    """
    dtypes = [(x.dtype, np.ndim(x) > 0) for x in values if hasattr(x, "dtype")]
    if any(dtype.kind == "c" for dtype, _ in dtypes) or any(type(x) is complex for x in values):
        return None
    floats = [(dtype, has_axes) for dtype, has_axes in dtypes if kind_of(dtype) == "f"]
    deciding = [dtype for dtype, has_axes in floats if has_axes] or [dtype for dtype, _ in floats]
    return reduce(common, deciding)


def common(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of two floating point ones together: float32 for float16 and bfloat16, as neither holds the other.

    >>> float16 = np.dtype(np.float16)
    >>> common(float16, np.dtype(np.float32)), common(float16, float16)
    (dtype('float32'), dtype('float16'))
    """
    if a == b:
        return a
    return np.promote_types(*[float32 if is_narrow(dtype) else dtype for dtype in (a, b)])


Narrow.__bind__ = staticmethod(bind_narrow)  # type: ignore[method-assign]
