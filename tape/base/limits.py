"""The limits of number types: ``finfo`` and ``iinfo``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .dtypes import check_dtype, get_default_dtype, kind_of


class finfo:
    """What a floating point type can hold; that of a complex type's parts.

    Attributes:
        bits: bits of a number.
        eps: the distance from 1 to the next larger number.
        max, min: the largest number, and its negative.
        tiny, smallest_normal: the smallest positive number with all its digits.
        resolution: 10 to the minus the number of decimal digits.
        dtype: the type's name.

    >>> finfo(np.float16).max, finfo(np.float32).eps
    (65504.0, 1.1920928955078125e-07)
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float

    def __init__(self, type: Any = None):
        dtype = check_dtype(type) or get_default_dtype()
        if kind_of(dtype) not in "fc":
            raise TypeError(f"finfo() describes floating point types; {dtype} holds integers: use iinfo()")
        source = np.finfo if dtype.kind in "fc" else import_module("ml_dtypes").finfo
        found = source(dtype)
        self.bits, self.dtype = int(found.bits), str(found.dtype)
        for name in ("eps", "max", "min", "resolution", "smallest_normal", "tiny"):
            setattr(self, name, float(getattr(found, name)))

    def __repr__(self) -> str:
        return _shown(self)


class iinfo:
    """What an integer type can hold.

    Attributes:
        bits: bits of a number.
        max, min: the largest and the smallest number.
        dtype: the type's name.

    >>> iinfo(np.int8)
    iinfo(bits=8, dtype=int8, max=127, min=-128)
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any):
        dtype = check_dtype(type)
        if dtype is None or dtype.kind not in "iu":
            raise TypeError(f"iinfo() describes integer types; got {dtype}. For floating point types use finfo()")
        found = np.iinfo(dtype)
        self.bits, self.dtype, self.max, self.min = found.bits, str(dtype), int(found.max), int(found.min)

    def __repr__(self) -> str:
        return _shown(self)


def _shown(info: Any) -> str:
    return f"{type(info).__name__}({', '.join(f'{name}={getattr(info, name)}' for name in info.__slots__)})"
