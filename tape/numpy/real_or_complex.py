"""`np.emath`: functions whose results are complex where they have to be, which the numbers decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .constructors import as_array


def _widened(x: Any, lies_outside: Callable[[Any], Any]) -> Any:
    """An argument as complex numbers if one of them lies outside of where a function is real."""
    x = as_array(x)
    if x.dtype.kind != "c" and bool(np.any(lies_outside(x))):
        return x.astype(np.result_type(x.dtype, np.complex64))
    return x


def _is_negative(x: Any) -> Any:
    return x < 0


def _is_beyond_one(x: Any) -> Any:
    return np.abs(x) > 1


def _of_one(compute: Any, lies_outside: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda x: compute(_widened(x, lies_outside))


def logn(n: Any, x: Any) -> Any:
    """`np.emath.logn`."""
    return np.log(_widened(x, _is_negative)) / np.log(_widened(n, _is_negative))


def power(x: Any, p: Any) -> Any:
    """`np.emath.power`."""
    p = as_array(p)
    if p.dtype.kind in "iu" and bool(np.any(p < 0)):
        p = p * 1.0
    return np.power(_widened(x, _is_negative), p)


REAL_OR_COMPLEX: dict[Any, Callable[..., Any]] = {
    **{getattr(np.emath, name): _of_one(getattr(np, name), _is_negative) for name in ("sqrt", "log", "log2", "log10")},
    **{getattr(np.emath, n): _of_one(getattr(np, n), _is_beyond_one) for n in ("arccos", "arcsin", "arctanh")},
    np.emath.logn: logn, np.emath.power: power,
}  # fmt: skip
"""What answers for the functions of `np.emath`."""
