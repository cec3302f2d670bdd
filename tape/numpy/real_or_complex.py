"""`np.emath`, whose results are complex where the numbers decide so, and complex numbers in order.

NumPy orders them by the real part first.  Which one stands where is decided as of plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .constructors import as_array


def _widened(x: Any, lies_outside: Callable[[Any], Any]) -> Any:
    """An argument as complex numbers if one of them lies outside of where a function is real."""
    x = as_array(x)
    if x.dtype.kind != "c" and bool(np.any(lies_outside(x))):
        return x.astype(np.complex64 if x.dtype.char in "fbhBH" else np.complex128)
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


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """`np.sort` of complex numbers."""
    if a.dtype.kind != "c" or order is not None:
        return NotImplemented
    a, axis = (np.ravel(a), 0) if axis is None else (a, axis)
    places: Any = np.argsort(a, axis, kind) if stable is None else np.argsort(a, axis, stable=stable)
    return np.take_along_axis(a, places, axis)


def sort_complex(a: Any) -> Any:
    """`np.sort_complex`."""
    a = as_array(a)
    return np.sort(a if a.dtype.kind == "c" else a.astype(np.complex64 if a.dtype.char in "bhBH" else np.complex128))


def real_if_close(a: Any, tol: float = 100) -> Any:
    """`np.real_if_close`."""
    a = as_array(a)
    if a.dtype.kind != "c":
        return a
    least = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return a.real if bool(np.all(np.abs(a.imag) < least)) else a


def _extreme(place: Any) -> Callable[..., Any]:
    """`np.max` or `np.min` of complex numbers."""

    def answer(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **named: Any) -> Any:
        a = as_array(a)
        if a.dtype.kind != "c" or named or out is not None or isinstance(axis, tuple):
            return NotImplemented
        if axis is None:
            found = np.ravel(a)[place(a)]
            return np.reshape(found, (1,) * a.ndim) if keepdims is True else found
        found = np.take_along_axis(a, place(a, axis, keepdims=True), axis)
        return found if keepdims is True else np.squeeze(found, axis)[()]  # a number, where no axis is left

    return answer


REAL_OR_COMPLEX: dict[Any, Callable[..., Any]] = {
    **{getattr(np.emath, name): _of_one(getattr(np, name), _is_negative) for name in ("sqrt", "log", "log2", "log10")},
    **{getattr(np.emath, n): _of_one(getattr(np, n), _is_beyond_one) for n in ("arccos", "arcsin", "arctanh")},
    np.emath.logn: logn, np.emath.power: power, np.sort: sort, np.sort_complex: sort_complex,
    np.real_if_close: real_if_close,
    **dict.fromkeys((np.max, np.amax), _extreme(np.argmax)), **dict.fromkeys((np.min, np.amin), _extreme(np.argmin)),
}  # fmt: skip
"""What answers for such a function of NumPy's; NotImplemented, if an op does for these arguments."""
