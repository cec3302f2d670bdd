"""Names of element types, and which one a Python float becomes."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np

_bool = bool  # the name is taken below
float64 = double = np.dtype(np.float64)
float32 = float = np.dtype(np.float32)
float16 = half = np.dtype(np.float16)
complex128 = cdouble = np.dtype(np.complex128)
complex64 = cfloat = np.dtype(np.complex64)
int64 = long = np.dtype(np.int64)
int32 = int = np.dtype(np.int32)
int16 = short = np.dtype(np.int16)
int8 = np.dtype(np.int8)
uint8 = np.dtype(np.uint8)
bool = np.dtype(np.bool_)

NAMES = (
    "bool", "cdouble", "cfloat", "complex128", "complex64", "double", "float", "float16", "float32", "float64",
    "half", "int", "int16", "int32", "int64", "int8", "long", "short", "uint8",
)  # fmt: skip
"""The names above; rooms that need Python's own ``float`` and ``int`` import this module as one."""


def kind_of(dtype: np.dtype[Any]) -> str:
    """The kind of a dtype, as NumPy calls it, but that bfloat16 is a float (NumPy knows nothing of it)."""
    return "f" if dtype.kind == "V" and dtype.name == "bfloat16" else dtype.kind


NUMERIC = "biufc"
"""The kinds of dtypes whose numbers can be recorded."""


def is_narrow(dtype: np.dtype[Any]) -> _bool:
    """Whether numbers of a dtype are 16-bit floats: stored so, but computed with in float32."""
    return dtype.itemsize == 2 and kind_of(dtype) == "f"


def can_store(dtype: np.dtype[Any], into: np.dtype[Any], casting: Literal["same_kind", "safe"] = "same_kind") -> _bool:
    """Whether numbers of a dtype can be put into an array of another; complex ones not into bfloat16 either."""
    return np.can_cast(dtype, into, casting) and (dtype.kind != "c" or into.kind == "c")


@cache
def bfloat16() -> np.dtype[Any]:
    """The dtype bfloat16: a float32 without its last 16 bits.

    Raises:
        ImportError: if the package is not installed that brings it to NumPy.
    """
    try:
        extended = import_module("ml_dtypes")
    except ImportError as error:
        raise ImportError(
            "tape.bfloat16 needs the package ml_dtypes, which gives NumPy this dtype.\nInstall it with "
            "`pip install ml_dtypes` (or the extra: wengert[bfloat16]), or use tape.float16, which NumPy has."
        ) from error
    return np.dtype(extended.bfloat16)


COMPLEX_OF: dict[Any, np.dtype[Any]] = {float32: complex64, float64: complex128, float16: complex64}
_default = float64


def get_default_dtype() -> np.dtype[Any]:
    """The dtype that Python floats become: float64 unless changed.

    >>> get_default_dtype()
    dtype('float64')
    """
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Choose the dtype that Python floats become.

    Raises:
        TypeError: if the dtype is not a real floating one.
    """
    global _default
    chosen = np.dtype(dtype)
    if kind_of(chosen) != "f":
        raise TypeError(f"the default dtype must be a real floating one, such as tape.float32; got {chosen}")
    _default = chosen


def default_for(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What a dtype that NumPy chose for Python numbers becomes under the current default."""
    if dtype == float64:
        return _default
    if dtype == complex128:
        return COMPLEX_OF.get(_default, complex128)
    return dtype


def check_dtype(dtype: Any) -> np.dtype[Any] | None:
    """A user's ``dtype=`` argument as a NumPy dtype.

    >>> check_dtype("f4"), check_dtype(np.dtypes.Float64DType)
    (dtype('float32'), dtype('float64'))

    Raises:
        TypeError: if it is not a number type.
    """
    if dtype is None:
        return None
    is_class = isinstance(dtype, type) and issubclass(dtype, np.dtype)  # such as np.dtypes.Float64DType
    chosen: np.dtype[Any] = dtype() if is_class else np.dtype(dtype)
    if kind_of(chosen) not in "biufc":
        raise TypeError(f"tensors hold numbers: dtype must be a float, complex, integer or bool type; got {chosen}")
    return chosen
