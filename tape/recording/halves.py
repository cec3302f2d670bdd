"""16-bit floating point: numbers stored in 16 bits, computed with in 32, rounded once per op.

Tensors of float16 and bfloat16 are of the class `Narrow`, which applies an op to the numbers in
float32 and rounds what comes out.  So a sum, a matrix product or a function of several steps does
not lose digits on its way, and NumPy need not know bfloat16.  Arrays of float16 are NumPy's: it computes with them as
they are.  A record holds the numbers in 16
bits, and a rule computes in 32 too (see `tape.history.propagate`).
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from ops import Op

from ..base.dtypes import float16, float32, is_narrow, kind_of
from ..base.tensor import Narrow, Tensor
from .recorder import bind, forward_of, lift


def lift_narrow(x: Any) -> Any:
    """What the forward function of an op gets for an operand, which may be narrow."""
    return x._data if type(x) is Narrow else lift(x)


def bind_narrow(op: Op, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply an op to operands of which at least one is a tensor of 16-bit numbers."""
    as_numpy_does = get_ident() in OF_ARRAYS and not any(type(x) is Narrow and x.dtype != float16 for x in operands)
    as_it_is = as_numpy_does or op.name in SEEING_TO_IT
    return bind(op, operands, params, lift_narrow, forward_of if as_it_is else in_32_bits)


SEEING_TO_IT = frozenset({"replay"})
"""Ops that are made of others, each of which was recorded with its 16-bit numbers in 32 (`tape.program`)."""

OF_ARRAYS: set[int] = set()
"""The threads in which the ops that are being applied are those of an array's operator, or of NumPy's function."""


def as_of_arrays(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function of tensors gives where these stand for arrays: NumPy itself computes with their 16-bit numbers.

    bfloat16, which NumPy does not know, stays what it is for tensors.
    """
    return _applied(True, function, args, kwargs)


def as_of_tensors(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function of the user's gives that is called amid one of an array's: its tensors are what they are."""
    return _applied(False, function, args, kwargs)


def _applied(of_arrays: bool, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function gives while this thread is, or is not, among those whose ops are an array's; then as before."""
    ident = get_ident()
    if (ident in OF_ARRAYS) is of_arrays:
        return function(*args, **kwargs)
    begin, end = (OF_ARRAYS.add, OF_ARRAYS.discard) if of_arrays else (OF_ARRAYS.discard, OF_ARRAYS.add)
    begin(ident)
    try:
        return function(*args, **kwargs)
    finally:
        end(ident)


def are_narrow(xs: Iterable[Any]) -> bool:
    """Whether one of some operands is a tensor of 16-bit numbers."""
    return any(isinstance(x, Tensor) and x._spec.narrow for x in xs)


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
        return tuple([rounded(part, values) for part in z]) if isinstance(z, tuple) else rounded(z, values)

    return evaluate


def wide(x: Any) -> Any:
    """An array of 16-bit numbers in 32 bits; anything else as it is."""
    dtype = getattr(x, "dtype", None)
    return x.astype(float32) if dtype is not None and is_narrow(dtype) else x


def rounded(z: Any, values: Sequence[Any]) -> Any:
    """A result of operands of which some have 16 bits, in its dtype."""
    dtype = result_dtype(z.dtype, values)
    return z if dtype == z.dtype else z.astype(dtype)


def result_dtype(computed: np.dtype[Any], values: Sequence[Any]) -> np.dtype[Any]:
    """The dtype of a result that was computed in 32 bits or more; complex ones and whole numbers stay what they are.

    It is PyTorch's: what has axes decides, and what has none only where nothing with axes is of floating point; whole
    numbers never do.
    """
    dtypes = [(x.dtype, np.ndim(x) > 0) for x in values if hasattr(x, "dtype")]
    if computed.kind != "f" or any(dtype.kind == "c" for dtype, _ in dtypes):
        return computed
    floats = [(dtype, has_axes) for dtype, has_axes in dtypes if kind_of(dtype) == "f"]
    dtype = reduce(common, [dtype for dtype, has_axes in floats if has_axes] or [dtype for dtype, _ in floats])
    return dtype if is_narrow(dtype) else computed


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
