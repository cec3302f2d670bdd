"""Systems of equations, inverses and determinants; everything is stacked over leading axes."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Any

import numpy as np

from ..core.batching import solving, trailing
from ..core.domain import Case, cases_of
from ..core.hints import Hints
from ..core.op import ADJOINT, HOLOMORPHIC, composite, conjugate, general, is_complex, ready, shape_of
from ..pointwise.comparison import eq, gt
from ..pointwise.selection import abs
from ..shapes.diagonals import trace
from ..shapes.index import getitem, scatter
from ..shapes.parts import imag, mH, real
from ..shapes.queries import anywhere
from ..shapes.shape import mT, reshape
from ..shapes.sums import sum, sum_to
from .products import matmul


def _regular(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Matrices well away from singular ones."""
    return rng.standard_normal(shape) + 3.0 * np.eye(shape[-1])


def _regular_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield (_regular(rng, 3, 3),), {}
    yield (_regular(rng, 2, 2, 2),), {}
    yield (_regular(rng, 1, 1),), {}


inv = general(
    "inv", lambda x: np.linalg.inv(x),
    lambda g, z: -matmul(mT(z), matmul(g, mT(z))),
    jvp=lambda z, x_dot: -matmul(z, matmul(x_dot, z)),
    hints=Hints(steps=lambda s, x: s.solve(x, None), raises=slice(0, 1)),
    node="LinalgInvExBackward0", numpy=(np.linalg.inv,), complex=HOLOMORPHIC, cases=_regular_cases, lies="columns",
    batch=trailing(2),
    doc="Inverse of square matrices.  A singular one raises LinAlgError.",
)


def _solve_y(g: Any, x: Any, y_shape: tuple[int, ...]) -> Any:
    bar = solve(mT(x), g) if len(y_shape) > 1 else _columns_solve(mT(x), g)
    return bar if bar.shape == y_shape else sum_to(bar, shape=y_shape)


def _columns_solve(x: Any, g: Any) -> Any:
    """Solve for a stack of vectors."""
    column = solve(x, reshape(g, shape=(*g.shape, 1)))
    return reshape(column, shape=column.shape[:-1])


def _solve_x(g: Any, x: Any, z: Any, y: Any) -> Any:
    if y.ndim == 1:
        bar = _columns_solve(mT(x), g)
        bar = -(reshape(bar, shape=(*bar.shape, 1)) * reshape(z, shape=(*z.shape[:-1], 1, z.shape[-1])))
    else:
        bar = -matmul(solve(mT(x), g), mT(z))
    return bar if bar.shape == x.shape else sum_to(bar, shape=x.shape)


def _solve_jvp(x: Any, y: Any, z: Any, x_dot: Any, y_dot: Any) -> Any:
    right = 0.0 if y_dot is None else y_dot
    if x_dot is not None:
        right = right - matmul(x_dot, z)
    return solve(x, right) if y.ndim > 1 else _columns_solve(x, right + 0.0 * z)


def _solve_cases(rng: np.random.Generator) -> Iterator[Case]:
    for a, b in (((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 1)), ((3, 3), (2, 3, 2)), ((2, 3, 3), (3, 2))):
        yield (_regular(rng, *a), rng.standard_normal(b)), {}


solve = general(
    "solve", lambda x, y: np.linalg.solve(x, y), _solve_x, _solve_y, jvp=_solve_jvp,
    hints=Hints(steps=lambda s, x, y: s.solve(x, y), raises=slice(0, 1)),
    node="LinalgSolveExBackward0", numpy=(np.linalg.solve,), complex=HOLOMORPHIC, cases=_solve_cases, lies="columns",
    batch=solving,
    doc="The z with x z = y, for square x; y is one vector or matrices of columns.  A singular x raises LinAlgError.",
)


def _kept(g: Any) -> Any:
    """One number per matrix as a stack of 1×1 matrices."""
    return reshape(g, shape=(*g.shape, 1, 1))


def _cofactor(x: Any) -> Any:
    """From the singular values: cof(U S V) = det(U V) conj(U) diag(Π_{j≠i} sⱼ) conj(V).

    Of a matrix that is not finite it is nan: LAPACK may never end to look for its singular values.
    """
    x = np.asarray(x)
    finite = np.isfinite(x).all(axis=(-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(finite, x, np.eye(x.shape[-1], dtype=x.dtype)))
    n = s.shape[-1]
    others = np.prod(np.where(np.eye(n, dtype=bool), 1.0, s[..., None, :]), axis=-1).astype(x.dtype)
    signs = np.sign(np.linalg.det(u) * np.linalg.det(vh))
    found = signs[..., None, None] * (np.conj(u) * others[..., None, :]) @ np.conj(vh)
    return np.where(finite, found, np.array(np.nan, x.dtype))


def _minor_index(n: int) -> tuple[Any, ...]:
    """The index that turns n×n matrices into all their (n−1)×(n−1) submatrices, in four axes."""
    rest = np.array([[j for j in range(n) if j != i] for i in range(n)], dtype=int).reshape(n, n - 1)
    return Ellipsis, rest[:, None, :, None], rest[None, :, None, :]


def _signs(n: int, dtype: Any) -> np.ndarray:
    return (1.0 - 2.0 * (np.add.outer(np.arange(n), np.arange(n)) % 2)).astype(dtype)


def _cofactor_vjp(g: Any, x: Any) -> Any:
    """Each cofactor is the determinant of a submatrix, whose derivative is its own cofactor matrix."""
    n = x.shape[-1]
    if n == 1:
        return 0.0 * g
    index = _minor_index(n)
    inner = cofactor(getitem(x, index=index))
    return scatter(_kept(g * _signs(n, g.dtype)) * inner, index=index, shape=x.shape)


def _cofactor_jvp(x: Any, x_dot: Any) -> Any:
    n = x.shape[-1]
    if n == 1:
        return 0.0 * x_dot
    index = _minor_index(n)
    parts = cofactor(getitem(x, index=index)) * getitem(x_dot, index=index)
    return _signs(n, x_dot.dtype) * sum(parts, axis=(-2, -1))


def _square_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield from _regular_cases(rng)
    yield (np.outer([1.0, 2.0, -1.0], [0.5, 1.0, 2.0]) + np.diag([1.0, 0.0, 0.0]),), {}
    yield (np.array([[1.0, 2.0], [2.0, 4.0]]),), {}


cofactor = general(
    "cofactor", _cofactor, _cofactor_vjp, jvp=_cofactor_jvp, complex=HOLOMORPHIC, cases=_square_cases,
    batch=trailing(2),
    doc="""Matrix of signed minors, ∂ det(x) / ∂x, also where x is singular.

    Differentiating it takes all n² submatrices: meant for the singular matrices that `det` may meet.
    """,
)


def _det_slope(x: Any, z: Any) -> Any:
    """∂ det / ∂x: det(x) x⁻ᵀ, or the cofactors where some matrix of the stack has no inverse to rely on."""
    if bool(anywhere(eq(z, 0.0))):
        return cofactor(x)
    inverse = inv(x)
    condition = sum(abs(x), axis=(-2, -1)) * sum(abs(inverse), axis=(-2, -1))
    if bool(anywhere(gt(condition, x.shape[-1] ** 2 * float(np.finfo(x.dtype).eps) ** -0.6))):
        return cofactor(x)
    return _kept(z) * mT(inverse)


det = general(
    "det", lambda x: np.linalg.det(x), lambda g, x, z: _kept(g) * _det_slope(x, z),
    jvp=lambda x, z, x_dot: sum(_det_slope(x, z) * x_dot, axis=(-2, -1)),
    hints=Hints(steps=lambda s, x: s.linalg("det", x, checked=False)),
    node="LinalgDetBackward0", numpy=(np.linalg.det,), complex=HOLOMORPHIC, cases=_square_cases,
    batch=trailing(2),
    doc="Determinant.  The gradient of a singular matrix is its cofactor matrix (PyTorch: zeros).",
)

def _slogdet_vjp(g: Any, x: Any, z: Any) -> Any:
    """g x⁻ᴴ for the logarithm; the sign s of complex numbers turns as the angle, ṡ = i s Im tr(x⁻¹ ẋ)."""
    weight = None if g[1] is None else _kept(g[1])
    if g[0] is not None and is_complex(x):
        turn = 1j * _kept(imag(conjugate(z[0]) * g[0]))
        weight = turn if weight is None else weight + turn
    return 0.0 * x if weight is None else weight * mH(inv(x))


def _slogdet_jvp(x: Any, z: Any, x_dot: Any) -> Any:
    growth = trace(solve(x, x_dot), axis1=-2, axis2=-1)
    return (1j * z[0] * imag(growth), real(growth)) if is_complex(x) else (None, growth)


slogdet = general(
    "slogdet", lambda x: tuple(np.linalg.slogdet(x)), _slogdet_vjp, jvp=_slogdet_jvp,
    hints=Hints(steps=lambda s, x: s.linalg("slogdet", x, checked=False)),
    outputs=2, node="LinalgSlogdetBackward0", numpy=(np.linalg.slogdet,), complex=ADJOINT, cases=_regular_cases,
    batch=trailing(2),
    doc="Sign of the determinant and logarithm of its absolute value, without overflow.",
)


def _eye_minus(p: Any) -> Any:
    return np.eye(p.shape[-1], dtype=p.dtype) - p


def _pinv_vjp(g: Any, x: Any, z: Any) -> Any:
    """Golub and Pereyra (1973), with A = x, P = z: −Pᴴ G Pᴴ + (1 − A P) Gᴴ P Pᴴ + Pᴴ P Gᴴ (1 − P A)."""
    zt, gt = mH(z), mH(g)
    bar = -matmul(matmul(zt, g), zt)
    bar = bar + matmul(_eye_minus(matmul(x, z)), matmul(gt, matmul(z, zt)))
    return bar + matmul(matmul(matmul(zt, z), gt), _eye_minus(matmul(z, x)))


def _pinv_jvp(x: Any, z: Any, x_dot: Any) -> Any:
    zt, dt = mH(z), mH(x_dot)
    z_dot = -matmul(matmul(z, x_dot), z)
    z_dot = z_dot + matmul(matmul(z, zt), matmul(dt, _eye_minus(matmul(x, z))))
    return z_dot + matmul(_eye_minus(matmul(z, x)), matmul(dt, matmul(zt, z)))


pinv = general(
    "pinv", lambda x, *, rcond=None, hermitian=False: np.linalg.pinv(x, rcond, hermitian), _pinv_vjp, jvp=_pinv_jvp,
    hints=Hints(raises=slice(0, 1)), node="LinalgPinvBackward0", numpy=(np.linalg.pinv,),
    complex=ADJOINT, cases=cases_of(((3, 2), {}), ((2, 3), {}), ((2, 4, 3), {})),
    batch=trailing(2),
    doc="Pseudo-inverse (Moore and Penrose); its derivative supposes that the rank does not change.",
)


def _matrix_power(a: Any, n: int) -> Any:
    """The n-th power of square matrices, by repeated squaring; of their inverses where n is negative."""
    a, n = ready(a), index(n)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(f"matrix_power takes square matrices; got shape {a.shape}")
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), shape_of(a)).copy()
    square, n = (inv(a), -n) if n < 0 else (a, n)
    if n == 3:  # in the order of NumPy's products
        return matmul(matmul(square, square), square)
    power = None
    while True:
        if n & 1:
            power = square if power is None else matmul(power, square)
        n >>= 1
        if not n:
            return power
        square = matmul(square, square)


matrix_power = composite("matrix_power", _matrix_power, numpy=(np.linalg.matrix_power,))
