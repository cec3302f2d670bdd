"""What is written into an array, in its dtype: NumPy casts what is assigned, whatever that loses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import ops
from ops.core.differentiate import dtype_of

from ...base.dtypes import kind_of
from ...base.tensor import Face, Tensor
from .leaving import user_frame
from .unwrapping import holds_face, stacked


def source_of(value: Any, dtype: Any = None) -> Any:
    """What is written, as a tensor or a plain array; a plain number in `dtype`, into which it has to fit."""
    if isinstance(value, Face):
        return value._tensor
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple)) and holds_face(value):
        return stacked(value)
    if dtype is None or isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    return np.array(value, dtype)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as numbers of a dtype, as NumPy casts what is assigned."""
    if value.dtype == dtype:
        return value
    if not isinstance(value, Tensor):
        return value.astype(dtype)
    if value.dtype.kind == "c" and kind_of(dtype) not in "cb":
        text = "Casting complex values to real discards the imaginary part"
        warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=user_frame()[1])
        value = ops.real(value)
    return ops.cast(value, dtype=dtype)


def in_loop(ufunc: np.ufunc, inputs: tuple[Any, ...], dtype: Any, casting: Any) -> tuple[Any, ...]:
    """The inputs of a ufunc in the dtypes of the loop that NumPy runs, for results of `dtype` if that is not None.

    Raises:
        TypeError: if there is no such loop, or inputs may not be cast to what it takes.
    """
    known = (bool, int, float, complex)
    weak = known[1:]
    given: list[Any] = [
        type(x) if type(x) in weak else getattr(x, "dtype", None) or np.asarray(x).dtype for x in inputs
    ]
    wanted: dict[str, Any] = (
        {} if dtype is None else {"signature": (*[None] * ufunc.nin, *[dtype_of(dtype)] * ufunc.nout)}
    )
    loop = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout), casting=casting, **wanted)
    return tuple([
        x if type(x) in known else x.astype(taken) if hasattr(x, "astype") else np.asarray(x, taken)
        for x, taken in zip(inputs, loop)
    ])  # fmt: skip
