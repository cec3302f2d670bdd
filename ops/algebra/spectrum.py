"""Discrete Fourier transforms, as NumPy and PyTorch have them.

Three ops do the work: complex to complex, real to half of a spectrum, and half of a spectrum to real.
The public transforms cut or pad their operand first, with `resize`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.batching import along
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import composite, conjugate, is_complex, linear, ready
from ..shapes.joining import along as place
from ..shapes.parts import complex_cases, real
from ..shapes.shape import roll
from ..shapes.sums import normal_axes

Lengths = Sequence[int] | None
Axes = int | Sequence[int] | None


class TransformError(RuntimeError, ValueError):
    """A transform that is not defined: PyTorch calls it a RuntimeError, NumPy a ValueError."""


SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
"""How the inverse transform must be scaled to get the same factor."""


def _resize(x: Any, *, n: int, axis: int = -1) -> Any:
    x = np.asarray(x)
    kept = x[place(axis, x.ndim, slice(0, n))]
    missing = n - kept.shape[axis]
    widths = [(0, missing if k == axis % x.ndim else 0) for k in range(x.ndim)]
    return np.pad(kept, widths) if missing else np.array(kept)


resize = linear(
    "resize", _resize, lambda g, x_shape, axis: resize(g, n=x_shape[axis], axis=axis),
    node="ConstantPadNdBackward0", batch=along("axis"), hints=Hints(steps=lambda s, x, n, axis: s.resized(x, n, axis)),
    cases=cases_of(((4,), {"n": 2}), ((2, 3), {"n": 5, "axis": 0}), ((3,), {"n": 3})),
    doc="The first n elements along an axis, with zeros after them where there are fewer.",
)


def _c2c(x: Any, *, axes: tuple[int, ...], norm: Any = None, inverse: bool = False) -> Any:
    transform = np.fft.ifft if inverse else np.fft.fft
    for axis in reversed(axes):  # as NumPy does, which rounds the first factor to half precision if x has that
        x = transform(x, axis=axis, norm=norm)
    return x


def _r2c(x: Any, *, axis: int = -1, norm: Any = None) -> Any:
    return np.fft.rfft(_checked_real(x, "rfft"), axis=axis, norm=norm)


def _c2r(x: Any, *, n: int, axis: int = -1, norm: Any = None) -> Any:
    return np.fft.irfft(x, n, axis=axis, norm=norm)


def _c2c_adjoint(g: Any, axes: tuple[int, ...], norm: str | None, inverse: bool) -> Any:
    return fft_c2c(g, axes=axes, norm=SWAPPED[norm], inverse=not inverse)


def _r2c_adjoint(g: Any, x_shape: tuple[int, ...], axis: int, norm: str | None) -> Any:
    """The inverse transform of a spectrum whose other half is 0."""
    whole = resize(g, n=x_shape[axis], axis=axis)
    return real(fft_c2c(whole, axes=(axis,), norm=SWAPPED[norm], inverse=True))


def _c2r_adjoint(g: Any, x_shape: tuple[int, ...], n: int, axis: int, norm: str | None) -> Any:
    """The transform of g, twice where an element of the half spectrum also stands for one of the other half."""
    lengths = [1] * len(x_shape)
    lengths[axis] = -1
    k = np.arange(n // 2 + 1)
    twice = np.where((k == 0) | (2 * k == n), 1.0, 2.0).astype(g.dtype).reshape(lengths)
    bar = fft_r2c(g, axis=axis, norm=SWAPPED[norm]) * twice
    return bar if bar.shape[axis] == x_shape[axis] else resize(bar, n=x_shape[axis], axis=axis)


def _factor(n: int, norm: str | None, inverse: bool) -> float:
    """What a transform of n numbers is multiplied by."""
    scaled = {"backward": inverse, None: inverse, "forward": not inverse}.get(norm)
    return 1.0 / math.sqrt(n) if scaled is None else 1.0 / n if scaled else 1.0


def _c2c_steps(s: Any, x: Any, axes: tuple[int, ...], norm: str | None, inverse: bool) -> Any:
    for axis in reversed(axes):
        n = x.spec.shape[axis]
        x = s.fourier("ifft" if inverse else "fft", x, axis, n, _factor(n, norm, inverse))
    return x


def _r2c_steps(s: Any, x: Any, axis: int, norm: str | None) -> Any:
    n = x.spec.shape[axis]
    return s.fourier(f"rfft_n_{'odd' if n % 2 else 'even'}", x, axis, n // 2 + 1, _factor(n, norm, False))


fft_c2c = linear(
    "fft_c2c", _c2c, _c2c_adjoint, hints=Hints(steps=_c2c_steps), node="FftC2CBackward0", batch=along("axes"),
    cases=complex_cases(
        ((4,), {"axes": (0,)}), ((3, 5), {"axes": (-1,), "norm": "ortho"}),
        ((2, 3, 2), {"axes": (0, 1), "inverse": True}), ((2, 3), {"axes": (0, 1), "norm": "forward"}),
    ),
    doc="Fourier transform over axes: zₖ = Σⱼ xⱼ exp(−2πi jk / n); with +2πi and over n where it is the inverse.",
)

fft_r2c = linear(
    "fft_r2c", _r2c, _r2c_adjoint, hints=Hints(steps=_r2c_steps), node="FftR2CBackward0", batch=along("axis"),
    cases=cases_of(((4,), {}), ((5, 2), {"axis": 0, "norm": "ortho"}), ((1,), {"norm": "forward"})),
    doc="Fourier transform of real numbers along an axis: its first n // 2 + 1 elements, which determine the others.",
)

fft_c2r = linear(
    "fft_c2r", _c2r, _c2r_adjoint,
    hints=Hints(steps=lambda s, x, n, axis, norm: s.fourier("irfft", x, axis, n, _factor(n, norm, True))),
    node="FftC2RBackward0", batch=along("axis"),
    cases=complex_cases(((3,), {"n": 4}), ((3, 2), {"n": 5, "axis": 0, "norm": "ortho"}), ((4,), {"n": 4})),
    doc="Inverse of `fft_r2c`: n real numbers from the first half of their spectrum.",
)


def _checked(norm: Any, name: str) -> Any:
    if norm not in SWAPPED:
        raise TransformError(f"{name} takes norm='backward', 'ortho' or 'forward', or None; got {norm!r}")
    return norm


def _sized(x: Any, n: int | None, axis: int, name: str) -> Any:
    """x with n elements along an axis."""
    if x.ndim == 0:
        raise TransformError(f"{name} transforms along an axis, and a number has none; got shape ()")
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"{name}: axis {axis} is out of range for shape {x.shape}")
    wanted = x.shape[axis] if n is None or n == -1 else n
    if wanted < 1:
        raise TransformError(f"{name} needs at least one element along axis {axis}; got {wanted} (shape {x.shape})")
    return x if wanted == x.shape[axis] else resize(x, n=wanted, axis=axis)


def _several(x: Any, s: Lengths, axes: Axes, name: str) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """The length, or None, and the axis of each transform of several."""
    s = (s,) if isinstance(s, int) else s
    if axes is None:
        axes = range(-len(s), 0) if s is not None else range(x.ndim)
    numbers = normal_axes(tuple(axes) if not isinstance(axes, int) else axes, x.ndim)
    if s is not None and len(s) != len(numbers):
        raise TransformError(f"{name} needs a length for each axis; got s={tuple(s)} for axes {numbers}")
    return (None,) * len(numbers) if s is None else tuple(s), numbers


def _checked_real(x: Any, name: str) -> Any:
    if is_complex(x):
        raise TransformError(f"{name} transforms real numbers, got {x.dtype}; take the .real part, or use fft()")
    return x


def _complex_to_complex(name: str, inverse: bool) -> Any:
    def transform(input: Any, s: Lengths = None, axes: Axes = None, norm: str | None = None) -> Any:
        x = ready(input)
        lengths, numbers = _several(x, s, axes, name)
        for n, axis in zip(lengths, numbers):
            x = _sized(x, n, axis, name)
        return fft_c2c(x, axes=numbers, norm=_checked(norm, name), inverse=inverse) if numbers else x

    return transform


_fftn, _ifftn = _complex_to_complex("fftn", False), _complex_to_complex("ifftn", True)


def _rfftn(input: Any, s: Lengths = None, axes: Axes = None, norm: str | None = None) -> Any:
    """Half of the spectrum of real numbers over axes, of which the last is the one that is halved."""
    x = _checked_real(ready(input), "rfftn")
    lengths, numbers = _several(x, s, axes, "rfftn")
    if not numbers:
        raise TransformError("rfftn needs at least one axis to transform")
    z = _rfft(x, lengths[-1], numbers[-1], norm)
    return _fftn(z, lengths[:-1], numbers[:-1], norm) if numbers[:-1] else z


def _irfftn(input: Any, s: Lengths = None, axes: Axes = None, norm: str | None = None) -> Any:
    """Real numbers from half of their spectrum over axes, of which the last is the one that is halved."""
    x = ready(input)
    lengths, numbers = _several(x, s, axes, "irfftn")
    if not numbers:
        raise TransformError("irfftn needs at least one axis to transform")
    x = _ifftn(x, lengths[-2::-1], numbers[-2::-1], norm) if numbers[:-1] else x
    return _irfft(x, lengths[-1], numbers[-1], norm)


def _fft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Fourier transform along an axis: zₖ = Σⱼ xⱼ exp(−2πi jk / n), of x cut or padded with zeros to length n.

    Args:
        input: real or complex numbers.
        n: length of the transform; that of the axis where None.
        axis: the axis.
        norm: "backward" (None; no factor), "ortho" (1/√n) or "forward" (1/n).

    Raises:
        RuntimeError: if n < 1 or the norm is not one of these.

    >>> fft_fft(np.array([1.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j])
    """
    x = _sized(ready(input), n, axis, "fft")
    return fft_c2c(x, axes=(axis,), norm=_checked(norm, "fft"))


def _ifft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Inverse Fourier transform along an axis: xⱼ = Σₖ zₖ exp(2πi jk / n) / n."""
    x = _sized(ready(input), n, axis, "ifft")
    return fft_c2c(x, axes=(axis,), norm=_checked(norm, "ifft"), inverse=True)


def _rfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Fourier transform of real numbers along an axis: its first n // 2 + 1 elements."""
    x = _sized(_checked_real(ready(input), "rfft"), n, axis, "rfft")
    return fft_r2c(x, axis=axis, norm=_checked(norm, "rfft"))


def _irfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Inverse of `rfft`: n real numbers (2 (m − 1) for m elements where None) from the first half of a spectrum."""
    x = ready(input)
    m = x.shape[axis] if x.ndim else 0
    n = 2 * (m - 1) if n is None or n == -1 else n
    if n < 1:
        raise TransformError(f"irfft gives at least one number, got n={n} for shape {x.shape}; pass n=")
    return fft_c2r(_sized(x, n // 2 + 1, axis, "irfft"), n=n, axis=axis, norm=_checked(norm, "irfft"))


def _hfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Fourier transform of a signal that is Hermitian in time, given by its first half: n real numbers."""
    return _irfft(conjugate(ready(input)), n, axis, SWAPPED[_checked(norm, "hfft")])


def _ihfft(input: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """Inverse of `hfft`: the first half of a signal that is Hermitian in time."""
    x = _checked_real(ready(input), "ihfft")
    return conjugate(_rfft(x, n, axis, SWAPPED[_checked(norm, "ihfft")]))


def _hfftn(input: Any, s: Lengths = None, axes: Axes = None, norm: str | None = None) -> Any:
    """Fourier transform over axes of a signal that is Hermitian in time, given by half of it: real numbers."""
    return _irfftn(conjugate(ready(input)), s, axes, SWAPPED[_checked(norm, "hfftn")])


def _ihfftn(input: Any, s: Lengths = None, axes: Axes = None, norm: str | None = None) -> Any:
    """Inverse of `hfftn`: half of a signal that is Hermitian in time."""
    x = _checked_real(ready(input), "ihfftn")
    return conjugate(_rfftn(x, s, axes, SWAPPED[_checked(norm, "ihfftn")]))


fft_fft = composite("fft_fft", _fft, numpy=(np.fft.fft,))
fft_ifft = composite("fft_ifft", _ifft, numpy=(np.fft.ifft,))
fft_rfft = composite("fft_rfft", _rfft, numpy=(np.fft.rfft,))
fft_irfft = composite("fft_irfft", _irfft, numpy=(np.fft.irfft,))
fft_hfft = composite("fft_hfft", _hfft, numpy=(np.fft.hfft,))
fft_ihfft = composite("fft_ihfft", _ihfft, numpy=(np.fft.ihfft,))
fft_fftn = composite("fft_fftn", _fftn, numpy=(np.fft.fftn,), doc="Fourier transform over axes (all where None).")
fft_ifftn = composite("fft_ifftn", _ifftn, numpy=(np.fft.ifftn,), doc="Inverse Fourier transform over axes.")
fft_rfftn = composite("fft_rfftn", _rfftn, numpy=(np.fft.rfftn,))
fft_irfftn = composite("fft_irfftn", _irfftn, numpy=(np.fft.irfftn,))
fft_hfftn = composite("fft_hfftn", _hfftn)
fft_ihfftn = composite("fft_ihfftn", _ihfftn)


def _over_two(name: str, transform: Any, function: Any, doc: str) -> None:
    """The transform over the last two axes, or two others."""

    def over_two(input: Any, s: Lengths = None, axes: Axes = (-2, -1), norm: str | None = None) -> Any:
        return transform(input, s, axes, norm)

    composite(f"fft_{name}2", over_two, numpy=() if function is None else (function,), doc=doc)


_over_two("fft", _fftn, np.fft.fft2, "Fourier transform of matrices: over the last two axes.")
_over_two("ifft", _ifftn, np.fft.ifft2, "Inverse of `fft2`.")
_over_two("rfft", _rfftn, np.fft.rfft2, "Half of the spectrum of real matrices, over the last two axes.")
_over_two("irfft", _irfftn, np.fft.irfft2, "Inverse of `rfft2`.")
_over_two("hfft", _hfftn, None, "Fourier transform over two axes of a signal that is Hermitian in time.")
_over_two("ihfft", _ihfftn, None, "Inverse of `hfft2`.")


def _shifted(x: Any, axes: Axes, sign: int) -> Any:
    x = ready(x)
    numbers = normal_axes(axes if axes is None or isinstance(axes, int) else tuple(axes), x.ndim)
    by = tuple(x.shape[k] // 2 if sign > 0 else -(x.shape[k] // 2) for k in numbers)
    return roll(x, shift=by, axis=numbers)


fft_fftshift = composite(
    "fft_fftshift", lambda x, axes=None: _shifted(x, axes, 1), numpy=(np.fft.fftshift,),
    doc="A spectrum with frequency 0 moved to the middle of each axis.",
)
fft_ifftshift = composite(
    "fft_ifftshift", lambda x, axes=None: _shifted(x, axes, -1), numpy=(np.fft.ifftshift,),
    doc="Inverse of `fftshift`.",
)
