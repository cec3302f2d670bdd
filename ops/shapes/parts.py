"""Real and imaginary parts, conjugates, and complex numbers as pairs: what is linear in a and b of x = a + ib."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.batching import elementwise
from ..core.domain import Case, cases_of
from ..core.hints import Hints
from ..core.lane import Via
from ..core.op import ADJOINT, conjugate, general, linear
from .shape import mT
from .sums import broadcast_to, sum_to


def complex_cases(*shapes_and_params: tuple[Any, dict[str, Any]]) -> Callable[[np.random.Generator], Iterator[Case]]:
    """`cases_of` with complex operands."""
    real_cases = cases_of(*shapes_and_params)

    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for operands, params in real_cases(rng):
            yield tuple(np.asarray(x + 1j * rng.standard_normal(x.shape)) for x in operands), params

    return cases


real = linear(
    "real", lambda x: np.real(x), lambda g: g, numpy=(np.real,), view=True, node="SelectBackward0",
    lane=Via(lambda x: x), cases=complex_cases(((2, 3), {}), ((), {})), batch=elementwise,
    hints=Hints(steps=lambda s, x: s.component(x, imaginary=False)),
    doc="Real parts: a of x = a + ib.",
)

imag = linear(
    "imag", lambda x: np.imag(x), lambda g, x_dtype: g * 1j if x_dtype.kind == "c" else 0.0 * g,
    numpy=(np.imag,), view=True, node="SelectBackward0", cases=complex_cases(((2, 3), {}), ((), {})), batch=elementwise,
    hints=Hints(steps=lambda s, x: s.component(x, imaginary=True)),
    doc="Imaginary parts: b of x = a + ib.",
)

conj = linear(
    "conj", np.conj, lambda g: conj(g), lane=Via(lambda x: x), cases=complex_cases(((2, 3), {}), ((), {})),
    doc="Complex conjugates: a − ib of x = a + ib.",
)


def mH(x: Any) -> Any:
    """The conjugate transposes of a stack of matrices."""
    return mT(conjugate(x))


def dot_part(a: Any, b: Any) -> Any:
    """Re(conj(a) b) elementwise, of which ⟨a, b⟩ is the sum."""
    product = conjugate(a) * b
    return real(product) if product.dtype.kind == "c" else product


def _view_as_real(x: Any) -> Any:
    x = np.asarray(x)
    if x.dtype.kind != "c":
        raise RuntimeError(f"view_as_real takes complex numbers, got {x.dtype}")
    return x[..., None].view(x.real.dtype)


def _view_as_complex(x: Any) -> Any:
    x = np.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"view_as_complex takes float32 or float64, got {x.dtype}")
    if x.ndim == 0 or x.shape[-1] != 2:
        raise RuntimeError(
            f"view_as_complex takes pairs of a real and an imaginary part along the last axis, got shape {x.shape}"
        )
    pairs = x if x.strides[-1] == x.itemsize else np.ascontiguousarray(x)
    return pairs.view(np.result_type(x.dtype, np.complex64))[..., 0]


view_as_real = linear(
    "view_as_real", _view_as_real, lambda g: view_as_complex(g),
    view=True, cases=complex_cases(((2, 3), {}), ((), {})), batch=elementwise,
    hints=Hints(steps=lambda s, x: s.pairs(x)),
    doc="Complex numbers as pairs of a real and an imaginary part, along a new last axis.",
)

view_as_complex = linear(
    "view_as_complex", _view_as_complex, lambda g: view_as_real(g),
    view=True, cases=cases_of(((3, 2), {}), ((2,), {})), batch=elementwise, hints=Hints(steps=lambda s, x: s.paired(x)),
    doc="Pairs of a real and an imaginary part along the last axis as complex numbers.",
)


def _join_parts(x: Any, y: Any) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    for part in (x, y):
        if part.dtype.kind == "c":
            raise RuntimeError(f"complex takes real numbers as its two parts, got {part.dtype}")
    z = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x, y, np.complex64))
    z.real, z.imag = x, y
    return z[()]


def _fit(bar: Any, shape: tuple[int, ...]) -> Any:
    return bar if bar.shape == shape else sum_to(bar, shape=shape)


def _joined(x_dot: Any, y_dot: Any, z: Any) -> Any:
    parts = [np.zeros(z.shape) if t is None else broadcast_to(t, shape=z.shape) for t in (x_dot, y_dot)]
    return complex(*parts)


complex = general(
    "complex", _join_parts,
    lambda g, x_shape: _fit(real(g), x_shape), lambda g, y_shape: _fit(imag(g), y_shape),
    jvp=lambda x_dot, y_dot, z: _joined(x_dot, y_dot, z), complex=ADJOINT,
    cases=cases_of(([(2, 3), (2, 3)], {}), ([(3,), (2, 1)], {}), ([(), ()], {})), batch=elementwise, lies="operands",
    hints=Hints(steps=lambda s, x, y: s.joined(x, y)),
    doc="Complex numbers from their real and imaginary parts: z = x + iy.",
)
