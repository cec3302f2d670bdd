"""Whether gradients are right: compared with differences along random directions, in float64.

Complex inputs are moved in the complex plane, and along its two axes.  Their gradients are PyTorch's: the derivative by
the real part, and i times that by the imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .contenders import Differentiated
from .suite import Case, Kernel, real_parts

STEPS = 1e-4, 1e-5, 1e-3, 1e-6, 1e-7, 1e-9, 1e-11, 1e-12
"""How far the inputs are moved, relative to the largest of each; two that agree are believed.

The last ones are for what is chaotic: there a derivative may be 10⁹ times what larger steps see.
"""


class Doubled:
    """NumPy in which float32 is float64: differences of what is rounded to seven digits would tell nothing."""

    float32, complex64 = np.float64, np.complex128

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def prepared(kernel: Kernel) -> Case:
    """Small inputs, float64 if the kernel keeps that, a little beside the benchmark's, which may lie on a ridge."""
    case = kernel.case(kernel.small())
    rng = np.random.default_rng(1)
    inputs = [x.astype(_widest(x, kernel.single())) for x in case.inputs]
    for noise in (0.05, 1e-3, 0.0):
        moved = case.with_inputs([(x * (1 + noise * rng.uniform(-1, 1, x.shape))).astype(x.dtype) for x in inputs])
        try:
            with np.errstate(all="ignore"):
                value = moved.total(kernel.function())(*moved.inputs)
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(value):
            return moved
    return case.with_inputs(inputs)


def _widest(x: np.ndarray, single: bool = False) -> type:
    if x.dtype.kind == "c":
        return np.complex64 if single else np.complex128
    return np.float32 if single else np.float64


def weights_of(kernel: Kernel, case: Case) -> list[Any]:
    """Weights that let no result stand for another, nor cancel: the sum of a softmax would be constant."""
    results = real_parts(case.results(kernel.function(), *case.inputs))
    return [np.cos(1.0 + k + np.arange(np.size(z))).reshape(np.shape(z)) for k, z in enumerate(results)]


def directions(inputs: Sequence[np.ndarray], few: bool) -> Iterator[list[np.ndarray]]:
    """All inputs moved at once, twice; then each of them alone, and of complex ones each part."""
    rng = np.random.default_rng(0)
    scales = [float(np.abs(x).max(initial=0)) or 1.0 for x in inputs]
    draw = lambda: [s * _drawn(rng, x) for s, x in zip(scales, inputs)]  # noqa: E731
    yield draw()
    if few:
        return
    yield draw()
    for i, x in enumerate(inputs):
        drawn = draw()[i]
        alone = [drawn.real + 0j, 1j * drawn.imag] if x.dtype.kind == "c" else [drawn] if len(inputs) > 1 else []
        for d in alone:
            yield [d if k == i else np.zeros_like(y) for k, y in enumerate(inputs)]


def _drawn(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    real = rng.standard_normal(x.shape)
    return real + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else real


def difference(
    function: Callable[..., Any], inputs: Sequence[np.ndarray], along: Sequence[np.ndarray], h: float
) -> Any:
    """A central difference of fourth order."""
    at = lambda t: float(function(*(x + t * d for x, d in zip(inputs, along))))  # noqa: E731
    try:
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    except np.linalg.LinAlgError:
        return float("nan")


def believed(
    function: Callable[..., Any], inputs: Sequence[np.ndarray], along: Sequence[np.ndarray], scale: float
) -> Any:
    """A difference and how far it may be off: of two steps that agree best, relative to themselves; or (nan, inf).

    Differences of a value in so many digits do not agree better than the rounding of these.
    """
    found: list[tuple[float, float]] = []
    best = (float("inf"), float("inf"), float("nan"))
    rounding = float(np.finfo(float).eps * abs(function(*inputs)))
    for h in STEPS:
        new, noise = difference(function, inputs, along, h), rounding / h
        for other, others in found:
            gap, size = abs(new - other) + max(noise, others), max(abs(new), abs(other))
            if np.isfinite(gap):
                best = min(best, (gap / size if size else float("inf"), gap, other))
        found.append((new, noise))
        if best[1] <= 1e-8 * max(scale, abs(best[2])):
            break
    return best[2], best[1]


def judge(
    kernel: Kernel, case: Case, differentiated: Differentiated, weights: Any, few: bool = False
) -> tuple[str, str]:
    """``right``, ``wrong`` or ``unsure``, and why."""
    inputs = case.inputs
    before = [x.copy() for x in inputs]
    value, gradients = differentiated(*inputs)
    for name, x, y in zip(case.floats, inputs, before):
        if not np.array_equal(x, y, equal_nan=True):
            return "wrong", f"it changed {name}"
    for name, x, g in zip(case.floats, inputs, gradients):
        if np.shape(g) != x.shape:
            return "wrong", f"the gradient of {name} has shape {np.shape(g)} instead of {x.shape}"
    tolerance = 2e-3 if kernel.single() else 1e-6
    plain = float(case.total(kernel.function(), weights)(*inputs))
    if not np.isclose(float(value), plain, rtol=tolerance, atol=1e-9, equal_nan=True):
        return "wrong", f"value {float(value)!r} instead of {plain!r}"
    function = case.total(kernel.function(numpy=Doubled()), weights)
    inputs = [x.astype(_widest(x)) for x in inputs]
    for along in directions(inputs, few):
        slope = sum(float(np.vdot(g, d).real) for g, d in zip(gradients, along))
        scale = sum(float(np.abs(np.asarray(g) * d).sum()) for g, d in zip(gradients, along))
        wanted, error = believed(function, inputs, along, scale)
        allowed = tolerance * max(abs(wanted), scale, 1e-6) + 10 * error
        if not np.isfinite(wanted) or error > 1e-2 * max(abs(wanted), scale, 1e-6):
            return "unsure", f"differences do not settle: {wanted!r} ± {error:.1g}, gradient {slope!r}"
        if not abs(slope - wanted) <= allowed:
            moved = [n for n, d in zip(case.floats, along) if d.any()]
            return "wrong", f"along {', '.join(moved)}: {slope!r} where differences give {wanted!r} ± {error:.1g}"
    return "right", ""
