"""Numbers taken apart into mantissa and exponent, and put together: `np.frexp`, `np.ldexp`, the remainder of IEEE 754.

Exponents are integers and have no derivative; with them fixed, the rest is linear in the number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.tensor import Face
from .face_base import numpy


def ldexp(x: Any, exponent: Any) -> Any:
    """``x * 2**exponent``, in up to three steps, so that no power is beyond what a float can be.

    A step down is so short, and the last one so long, that numbers below the normal ones are rounded once.
    """
    places: Any = exponent if isinstance(exponent, Face) else np.asarray(exponent)
    if places.dtype.kind not in "iub":
        np.ldexp(1.0, np.ones((), places.dtype)[()])  # NumPy's own error
    places = places.astype(int)
    kind = numpy.result_type(getattr(x, "dtype", float), np.float16)
    if kind == np.float16:
        return numpy.astype(ldexp(numpy.astype(x, np.float32), places), kind)
    of, known = np.finfo(kind), not isinstance(places, Face)
    lowest, highest, down = int(of.minexp), int(of.maxexp) - 1, int(of.minexp) + of.nmant + 1
    for _ in range(2):
        step = numpy.where(places < lowest, down, numpy.where(places > highest, highest, 0))
        if not known or step.any():
            x, places = x * _power_of_two(step, kind), places - step
    return x * _power_of_two(numpy.clip(places, lowest, highest), kind)


def _power_of_two(exponent: Any, kind: np.dtype[Any]) -> Any:
    if isinstance(exponent, Face):
        return numpy.power(kind.type(2.0), numpy.astype(exponent, kind))
    return np.ldexp(kind.type(1.0), exponent)


def fabs(x: Any) -> Any:
    """The absolute value as a float, whatever the dtype."""
    (kind, _) = np.fabs.resolve_dtypes((x.dtype, None))  # NumPy's own error
    return numpy.abs(x if x.dtype == kind else numpy.astype(x, kind))


def frexp(x: Any) -> Any:
    """The mantissa, of at least a half and less than one, and the exponent."""
    np.frexp(np.ones((), x.dtype))  # NumPy's own error
    size = numpy.abs(x)
    is_usual = (size > 0) & numpy.isfinite(size)
    size = numpy.where(is_usual, size, 1.0)
    exponent = (numpy.floor(numpy.log2(size)) + 1.0).astype(int)
    mantissa = ldexp(size, -exponent)  # which is off by one power where the logarithm was rounded over an integer
    exponent = exponent + (mantissa >= 1.0) - (mantissa < 0.5)
    exponent = numpy.where(is_usual, exponent, 0)
    return ldexp(x, -exponent), exponent.astype(np.intc)[()]


def remainder(x: Any, y: Any) -> Any:
    """What is left of `x` beside the nearest multiple of `y`, at a tie the even one; exactly, as `math` has it."""
    size, step = numpy.abs(x), numpy.abs(y)
    left = numpy.fmod(size, step)
    over = step - left
    even = left - 2.0 * numpy.fmod(0.5 * (size - left), step)
    found = numpy.where(left < over, left, numpy.where(left > over, -over, even))
    found = numpy.where(numpy.isinf(y) & numpy.isfinite(x), size, found)
    return numpy.copysign(1.0, x) * found


COMPOSED_UFUNCS: dict[np.ufunc, Callable[..., Any]] = {np.frexp: frexp, np.ldexp: ldexp, np.fabs: fabs}
"""What answers for such a ufunc of NumPy's."""
