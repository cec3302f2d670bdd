"""The convolutions of `scipy.signal` on recorded arrays, which may have several axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..constructors import CONSTRUCTORS, as_array

FEW = 256
"""Numbers in the smaller array up to which each is multiplied by the other array; of more, spectra are multiplied."""
PADDED = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}
"""By boundary of `convolve2d`, the mode of `np.pad`."""


def _full(a: Any, k: Any) -> Any:
    """The convolution of two arrays of as many axes, at all places where they overlap."""
    if a.ndim == 1:
        return np.convolve(a, k)
    a, k = (k, a) if k.size > a.size else (a, k)
    shape = tuple([m + n - 1 for m, n in zip(a.shape, k.shape)])
    if k.size > FEW and "c" not in (a.dtype.kind, k.dtype.kind):
        axes = tuple(range(a.ndim))
        return np.fft.irfftn(np.fft.rfftn(a, shape, axes) * np.fft.rfftn(k, shape, axes), shape, axes)
    out = CONSTRUCTORS["zeros"](shape, np.result_type(a.dtype, k.dtype))
    for place in np.ndindex(*k.shape):
        out[tuple([slice(p, p + n) for p, n in zip(place, a.shape)])] += a * k[place]
    return out


def _part(full: Any, shape: tuple[int, ...], later: int = 0) -> Any:
    """The middle of an array; where there are two, the `later` one."""
    begin = [(m - n + later) // 2 for m, n in zip(full.shape, shape)]
    return full[tuple([slice(b, b + n) for b, n in zip(begin, shape)])]


def _is_inside(small: Any, large: Any) -> bool:
    return all(m <= n for m, n in zip(small.shape, large.shape))


def _convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    a, k = as_array(in1), as_array(in2)
    if not a.ndim or a.ndim != k.ndim or not a.size or not k.size:
        return NotImplemented
    if mode == "full":
        return _full(a, k)
    if mode == "same":
        return _part(_full(a, k), a.shape)
    if mode != "valid" or not (_is_inside(k, a) or _is_inside(a, k)):
        return NotImplemented
    return _part(_full(a, k), tuple([abs(m - n) + 1 for m, n in zip(a.shape, k.shape)]))


def _fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    a, k = as_array(in1), as_array(in2)
    if axes is not None or {a.dtype.kind, k.dtype.kind} <= set("biu"):  # of integers SciPy makes floats
        return NotImplemented
    return _convolve(a, k, mode)


def _reversed(k: Any) -> Any:
    k = as_array(k)
    return np.conj(np.flip(k)) if k.dtype.kind == "c" else np.flip(k)


def _correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    if mode == "valid" and not _is_inside(as_array(in2), as_array(in1)):
        return NotImplemented
    return _convolve(in1, _reversed(in2), mode)


def _convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    return _on_planes(as_array(in1), as_array(in2), mode, boundary, fillvalue, 0)


def _on_planes(a: Any, k: Any, mode: str, boundary: str, fillvalue: Any, later: int) -> Any:
    if a.ndim != 2 or k.ndim != 2 or boundary not in PADDED or mode not in ("full", "same", "valid"):
        return NotImplemented
    if mode == "valid":
        return _convolve(a, k, mode)
    if not a.size or not k.size:
        return NotImplemented
    more = {"constant_values": fillvalue} if boundary == "fill" else {}
    padded: Any = np.pad(a, [(n - 1, n - 1) for n in k.shape], PADDED[boundary], **more)  # type: ignore[call-overload]
    found = _part(_full(padded, k), tuple([m + n - 1 for m, n in zip(a.shape, k.shape)]))
    return found if mode == "full" else _part(found, a.shape, later)


def _correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    if mode == "valid" and not _is_inside(as_array(in2), as_array(in1)):
        return NotImplemented
    return _on_planes(as_array(in1), _reversed(in2), mode, boundary, fillvalue, 1)


SIGNAL: dict[str, Callable[..., Any]] = {
    "convolve": _convolve, "fftconvolve": _fftconvolve, "correlate": _correlate, "convolve2d": _convolve2d,
    "correlate2d": _correlate2d,
}  # fmt: skip
"""What stands for the functions of `scipy.signal`; NotImplemented for arguments that are not covered."""
