"""16-bit floating point: numbers stored in 16 bits, computed with in 32, rounded once per op.

Tensors of float16 and bfloat16 are of the class `Narrow`, which applies an op to the numbers in
float32 and rounds what comes out.  So a sum, a matrix product or a function of several steps does
not lose digits on its way, and NumPy need not know bfloat16.  A record holds the numbers in 16
bits, and a rule computes in 32 too (see `tape.history.propagate`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, reduce
from types import FrameType
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
        if params.get("dtype") is not None:
            return z
        return tuple([rounded(part, values, op) for part in z]) if isinstance(z, tuple) else rounded(z, values, op)

    return evaluate


def wide(x: Any) -> Any:
    """An array of 16-bit numbers in 32 bits; anything else as it is."""
    dtype = getattr(x, "dtype", None)
    return x.astype(float32) if dtype is not None and is_narrow(dtype) else x


def rounded(z: Any, values: Sequence[Any], op: Op) -> Any:
    """A result of operands of which some have 16 bits, in its dtype."""
    dtype = result_dtype(z.dtype, values, op)
    return z if dtype == z.dtype else z.astype(dtype)


def result_dtype(computed: np.dtype[Any], values: Sequence[Any], op: Op) -> np.dtype[Any]:
    """The dtype of a result that was computed in 32 bits or more; complex ones and whole numbers stay what they are.

    Of tensors as PyTorch has it: arrays decide, and what has no axes only where no array is of floating point; whole
    numbers never do.  Of arrays as NumPy has it: all dtypes join, but for numbers of Python's, and for places, which
    leave a result what it is.  bfloat16, which NumPy does not know, goes by PyTorch.
    """
    dtypes = [(x.dtype, np.ndim(x) > 0) for x in values if hasattr(x, "dtype")]
    if computed.kind != "f" or any(dtype.kind == "c" for dtype, _ in dtypes):
        return computed
    floats = [(dtype, has_axes) for dtype, has_axes in dtypes if kind_of(dtype) == "f"]
    theirs = reduce(common, [dtype for dtype, has_axes in floats if has_axes] or [dtype for dtype, _ in floats])
    dtype = reduce(common, [dtype for dtype, _ in floats])
    bits = max((8 * dtype.itemsize for dtype, _ in dtypes if dtype.kind in "iu"), default=0)
    if not is_narrow(dtype) or (bits >= 32 and computed.itemsize > 4) or (bits == 16 and op.kind == "elementwise"):
        dtype = computed
    if dtype != theirs and not (all(kind.kind == "f" for kind, _ in floats) and _is_for_arrays()):
        dtype = theirs
    return dtype if is_narrow(dtype) else computed


def _is_for_arrays() -> bool:
    """Whether it is the array face that applies this op: asked where the answer matters, which is next to never."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        package, _, room = str(frame.f_globals.get("__name__")).partition(".")
        if package not in LIBRARIES:
            return False
        if package == "tape" and room.startswith("numpy"):
            return True
        frame = frame.f_back
    return False


LIBRARIES = frozenset({"tape", "ops", "numpy", "scipy"})
"""Packages whose code may stand between what the user calls and an op."""


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
