"""The convolutions of `scipy.signal` on recorded arrays, of several axes, and functions that are linear along one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays.face_base import numpy
from ..arrays.unwrapping import holds_face
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


BY_ORDER = "median", "maximum", "minimum"
"""What `resample_poly` may take for what is beyond the ends that is not linear."""
LARGEST = 4096
"""Numbers along an axis up to which a linear function is multiplied by as a matrix."""


def along_an_axis(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function of SciPy's that is linear along one axis of a recorded array, with all else plain: as a matrix.

    What SciPy gives of the unit matrix is the matrix, and what it gives of zeros stands beside that.
    """
    signature = inspect.signature(original)
    name = next(name for name in ("x", "data", "input") if name in signature.parameters)
    output = signature.parameters["output"].default if "output" in signature.parameters else None

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return original(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        x = as_array(given[name])
        axis: Any = given.get("axis")
        others = [value for key, value in given.items() if key != name]
        fits = type(axis) is int and -x.ndim <= axis < x.ndim and x.dtype.kind == "f" and 0 < x.shape[axis] <= LARGEST
        is_usual = fits and given.get("zi") is None and given.get("output") is output
        is_usual = is_usual and given.get("padtype") not in BY_ORDER
        if not is_usual or not holds_face([x]) or holds_face(others):
            return original(*args, **kwargs)
        n = x.shape[axis]
        given |= {name: np.eye(n, n + 1, dtype=x.dtype), "axis": 0}  # the last column is zeros
        found = original(*bound.args, **bound.kwargs)
        if type(found) is not np.ndarray:
            return original(*args, **kwargs)
        beside = found[:, n]
        z = numpy.moveaxis(x, axis, -1) @ (found[:, :n] - beside[:, None]).T
        return np.moveaxis(z + beside if np.any(beside) else z, -1, axis)

    return call


ALONG_AN_AXIS = {
    "scipy.signal": (
        "lfilter", "sosfilt", "filtfilt", "sosfiltfilt", "savgol_filter", "detrend", "hilbert", "resample", "decimate",
        "resample_poly", "upfirdn", "czt", "zoom_fft",
    ),
    "scipy.ndimage": ("spline_filter1d",),
    "scipy.fft": ("dct", "idct", "dst", "idst"),
}  # fmt: skip
"""Functions that are linear in one array, along one axis."""


SIGNAL: dict[str, Callable[..., Any]] = {
    "convolve": _convolve, "fftconvolve": _fftconvolve, "correlate": _correlate, "convolve2d": _convolve2d,
    "correlate2d": _correlate2d,
}  # fmt: skip
"""What stands for the functions of `scipy.signal`; NotImplemented for arguments that are not covered."""
