"""Factorisations of matrices into triangles: Cholesky and QR; stacked over leading axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.batching import trailing
from ..core.domain import Case
from ..core.hints import Hints
from ..core.op import ADJOINT, composite, general, is_complex, ready
from ..shapes.diagonals import tril, triu
from ..shapes.joining import cat
from ..shapes.parts import imag, mH
from ..shapes.sums import fit
from .inverses import solve
from .matrices import columns, hermitian, matrix_cases, on_diagonal, positive_cases, real_part
from .products import matmul
from .systems import solve_triangular

SMALL = 32
"""Triangular systems of fewer unknowns are solved as others are, a whole stack of them in one go."""


def _solved(x: Any, y: Any, upper: bool) -> Any:
    """The z with x z = y, for matrices x with zeros on the other side of the diagonal."""
    return solve(x, y) if x.shape[-1] < SMALL else solve_triangular(x, y, upper=upper)


def _divided(y: Any, x: Any, upper: bool) -> Any:
    """The z with z x = y, for such matrices."""
    return mH(solve(mH(x), mH(y))) if x.shape[-1] < SMALL else solve_triangular(x, y, upper=upper, left=False)


def _lower_half(x: Any) -> Any:
    """The lower triangle with half the diagonal."""
    n = x.shape[-1]
    return x * (np.tri(n) - 0.5 * np.eye(n)).astype(x.dtype)


def _around(p: Any, x: Any) -> Any:
    """herm(x⁻ᴴ p x⁻¹) for a lower triangular x."""
    return hermitian(_divided(_solved(mH(x), p, upper=True), x, upper=False))


BLOCK = 32
"""Rows that `cholesky_adjoint` goes through at once."""
LARGE = 128
"""From so many rows on it takes less time than the systems of Murray's formula."""


def _cholesky_adjoint(x: Any, y: Any) -> Any:
    if max(np.ndim(x), np.ndim(y)) > 2:
        xs, ys = np.broadcast_arrays(x, y)
        bars = [_cholesky_adjoint(xs[k], ys[k]) for k in np.ndindex(xs.shape[:-2])]
        return np.array(bars, np.result_type(x, y)).reshape(xs.shape)
    x, g = np.tril(x), np.array(np.tril(y), np.result_type(x, y))
    for stop in range(len(x), 0, -BLOCK):
        start = max(stop - BLOCK, 0)
        own, left, below = slice(start, stop), slice(0, start), slice(stop, None)
        inverse = np.linalg.inv(x[own, own])
        column = g[below, own] = g[below, own] @ inverse
        g[below, left] -= column @ x[own, left]
        half = _lower_half(x[own, own].T @ (g[own, own] - column.T @ x[below, own]))
        g[own, own] = inverse.T @ (half + half.T) @ inverse
        g[own, left] -= column.T @ x[below, left] + g[own, own] @ x[own, left]
    low = 0.5 * np.tril(g, -1)
    return low + low.T + np.diag(0.5 * np.diag(g))


def _cholesky_adjoint_steps(s: Any, x: Any, y: Any) -> Any:
    """The same of two matrices, by steps."""
    if len(x.spec.shape) != 2 or x.spec != y.spec:
        return None
    times, turned = (lambda a, b, how=how: s.contract(how, a, b) for how in ("ij,jk->ik", "ji,jk->ik"))
    minus = lambda a, b: s.ufunc(np.subtract, [a, b])  # noqa: E731
    part = lambda a, rows, columns: s.read(a, s.at(a, (rows, columns)))  # noqa: E731
    x, g = s.triangle(x, 0, lower=True), s.triangle(y, 0, lower=True)
    n = x.spec.shape[0]
    for stop in range(n, 0, -BLOCK):
        start = max(stop - BLOCK, 0)
        own, left, below = slice(start, stop), slice(0, start), slice(stop, None)
        diagonal, mine = part(x, own, own), part(g, own, own)
        inverse = s.convert(s.solve(diagonal, None), g.spec.dtype)
        if stop < n:
            column = times(part(g, below, own), inverse)
            s.put(g, s.at(g, (below, own)), column)
            mine = minus(mine, turned(column, part(x, below, own)))
            if start:
                rest = minus(part(g, below, left), times(column, part(x, own, left)))
                s.put(g, s.at(g, (below, left)), rest)
        half = turned(diagonal, mine)
        whole = s.ufunc(np.add, [s.triangle(half, 0, lower=True), s.transposed(s.triangle(half, -1, lower=True))])
        bar = times(turned(inverse, whole), inverse)
        s.put(g, s.at(g, (own, own)), bar)
        if start:
            rest = minus(part(g, own, left), times(bar, part(x, own, left)))
            rest = minus(rest, turned(column, part(x, below, left))) if stop < n else rest
            s.put(g, s.at(g, (own, left)), rest)
    whole = s.ufunc(np.add, [s.triangle(g, 0, lower=True), s.transposed(s.triangle(g, -1, lower=True))])
    return s.ufunc(np.multiply, [whole, s.number(0.5, whole.spec.dtype)])


def _cholesky_adjoint_x(g: Any, x: Any, x_shape: tuple[int, ...], y: Any, z: Any) -> Any:
    x, h = tril(x), hermitian(g)
    right = _divided(h, mH(x), upper=True)
    inner = _lower_half(_solved(x, right, upper=False))
    return fit(tril(matmul(y, mH(inner)) - 2.0 * matmul(z, right)), x_shape)


def _cholesky_adjoint_y(g: Any, x: Any, y_shape: tuple[int, ...]) -> Any:
    x = tril(x)
    inner = _lower_half(_solved(x, _divided(hermitian(g), mH(x), upper=True), upper=False))
    return fit(matmul(x, inner), y_shape)


def _cholesky_adjoint_jvp(x: Any, y: Any, z: Any, x_dot: Any, y_dot: Any) -> Any:
    x = tril(x)
    found = 0.0 if y_dot is None else _around(_lower_half(matmul(mH(x), y_dot)), x)
    if x_dot is None:
        return found
    x_dot = tril(x_dot)
    turn = _divided(x_dot, x, upper=False)
    return found + _around(_lower_half(matmul(mH(x_dot), y)), x) - 2.0 * hermitian(matmul(z, turn))


def _factor_cases(rng: np.random.Generator) -> Iterator[Case]:
    for n in (1, 3):
        x = rng.standard_normal((n, n)) + 3.0 * np.eye(n)
        yield (x, rng.standard_normal((n, n))), {}


cholesky_adjoint = general(
    "cholesky_adjoint", _cholesky_adjoint, _cholesky_adjoint_x, _cholesky_adjoint_y, jvp=_cholesky_adjoint_jvp,
    cases=_factor_cases, batch=trailing(2), hints=Hints(steps=_cholesky_adjoint_steps, large=True),
    doc="""The adjoint of a matrix whose Cholesky factor is the lower triangle of x, from that of the factor, y.

    By blocks of rows from the last to the first (Murray 2016, arXiv:1602.07527, section 5): in place of systems as
    large as the matrix there are products that grow with what is left.
    """,
)


def _cholesky_vjp(g: Any, z: Any) -> Any:
    """Murray (2016), arXiv:1602.07527: x_bar = herm(L⁻ᴴ Φ(Lᴴ G) L⁻¹)."""
    if z.ndim == 2 and z.shape[-1] >= LARGE and not is_complex(z) and not is_complex(g):
        return cholesky_adjoint(z, g)
    return _around(_lower_half(matmul(mH(z), g)), z)


def _cholesky_jvp(z: Any, x_dot: Any) -> Any:
    return matmul(z, _lower_half(_solved(z, mH(_solved(z, hermitian(x_dot), upper=False)), upper=False)))


cholesky = general(
    "cholesky", lambda x: np.linalg.cholesky(x), _cholesky_vjp, jvp=_cholesky_jvp,
    hints=Hints(steps=lambda s, x: s.linalg("cholesky_lo", x), large=True, raises=slice(0, 1), triangle="lower"),
    symmetric=True, node="LinalgCholeskyExBackward0", complex=ADJOINT, cases=positive_cases, lies="columns",
    batch=trailing(2),
    doc="Lower triangular L with L Lᴴ = x, for symmetric or Hermitian positive definite x, read in its lower triangle.",
)


def _numpy_cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The Cholesky factor as `numpy.linalg.cholesky` gives it; with `upper` from and as the upper triangle."""
    a = ready(a)
    return mH(cholesky(mH(a))) if upper else cholesky(a)


numpy_cholesky = composite("numpy_cholesky", _numpy_cholesky, numpy=(np.linalg.cholesky,))


def _copy_lower(x: Any) -> Any:
    """The Hermitian matrix with the lower triangle of x."""
    low = tril(x, k=-1)
    return low + mH(low) + on_diagonal(real_part(x))


def _skew_lower(x: Any) -> Any:
    """The skew-Hermitian matrix with the strict lower triangle of x, and with the imaginary part of its diagonal."""
    low = tril(x, k=-1)
    skew = low - mH(low)
    return skew + on_diagonal(1j * imag(x)) if is_complex(x) else skew


def _qr_vjp(g: Any, x_shape: tuple[int, ...], z: Any) -> Any:
    """Walter and Lehmann (2010): x_bar = (G_Q + Q low(R G_Rᴴ − G_Qᴴ Q)) R⁻ᴴ; a wide x has R = [R₁ Qᴴ x₂]."""
    q, r = z
    m, n = x_shape[-2:]
    g_q = 0.0 * q if g[0] is None else g[0]
    g_r = 0.0 * r if g[1] is None else g[1]
    if m < n:
        right, g_right = columns(r, m), columns(g_r, m)
        r, g_r = columns(r, 0, m), columns(g_r, 0, m)
        # x₂ = Q R₂, so Q meets G_R₂ through x₂ G_R₂ᴴ
        g_q = g_q + matmul(matmul(q, right), mH(g_right))
    middle = _copy_lower(matmul(r, mH(triu(g_r))) - matmul(mH(g_q), q))
    bar = mH(_solved(r, mH(g_q + matmul(q, middle)), upper=True))
    return bar if m >= n else cat([bar, matmul(q, g_right)], axis=-1)


def _qr_jvp(x: Any, z: Any, x_dot: Any) -> Any:
    q, r = z
    m, n = x.shape[-2:]
    first, square_r = (columns(x_dot, 0, m), columns(r, 0, m)) if m < n else (x_dot, r)
    w = _divided(first, square_r, upper=True)
    c = matmul(mH(q), w)
    turn = _skew_lower(c)
    q_dot = matmul(q, turn) + w - matmul(q, c)
    r_dot = matmul(c - turn, square_r)
    if m < n:
        r_dot = cat([r_dot, matmul(mH(q), columns(x_dot, m)) + matmul(mH(q_dot), columns(x, m))], axis=-1)
    return q_dot, r_dot


def _qr_steps(s: Any, x: Any) -> Any:
    """`qr_r_raw` leaves R above the diagonal of x, and below it the reflections that `qr_reduced` makes Q of."""
    m, n = x.spec.shape[-2:]
    k = min(m, n)
    raw = s.copy(x, np.result_type(x.spec.dtype, np.float64))
    tau = s.linalg("qr_r_raw", raw, p=k)
    return s.linalg("qr_reduced", raw, tau, k=k), s.upper(raw, k)


qr = general(
    "qr", lambda x: tuple(np.linalg.qr(x)), _qr_vjp, jvp=_qr_jvp,
    hints=Hints(steps=_qr_steps, raises=slice(0, 1)),
    outputs=2, node="LinalgQrBackward0", complex=ADJOINT, cases=matrix_cases((3, 3), (4, 2), (2, 4), (2, 3, 2)),
    batch=trailing(2),
    doc="x = Q R with orthonormal columns in Q and R upper triangular, in the reduced form.",
)


def _numpy_qr(a: Any, mode: str = "reduced") -> Any:
    """Q and R, or R alone, as `numpy.linalg.qr` gives them; 'complete' and 'raw' have no derivative."""
    if mode not in ("reduced", "r"):
        raise ValueError(f"qr has a derivative in the modes 'reduced' and 'r', got {mode!r}")
    z = qr(ready(a))
    return z if mode == "reduced" else z[1]


numpy_qr = composite("numpy_qr", _numpy_qr, numpy=(np.linalg.qr,))
