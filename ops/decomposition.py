"""Factorisations of matrices: Cholesky, QR, eigenvalues, singular values; stacked over leading axes.

Eigenvectors of equal eigenvalues (and singular vectors likewise) are defined up to a rotation among
themselves.  A loss of the values alone, or of the vectors alone if it does not depend on that
rotation, gets its gradient.  A loss that depends on the rotation has none, and the gradient of one
that combines values and vectors, such as V f(w) Vᵀ, cannot be told from their adjoints (it takes a
mixed second derivative): the rules raise, where PyTorch returns nan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .comparison import gt, le, logical_and
from .core import composite, general, ready
from .diagonals import diagonal, tril, triu
from .extremes import amax
from .index import getitem
from .joining import cat
from .linalg import solve
from .products import matmul
from .queries import any
from .selection import abs, where
from .shape import Case, mT, reshape


def _as_row(v: Any) -> Any:
    return reshape(v, shape=(*v.shape[:-1], 1, v.shape[-1]))


def _as_column(v: Any) -> Any:
    return reshape(v, shape=(*v.shape, 1))


def _symmetric(x: Any) -> Any:
    return 0.5 * (x + mT(x))


def _positive_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in ((3, 3), (2, 2, 2), (1, 1)):
        x = rng.standard_normal(shape)
        yield (x @ np.swapaxes(x, -1, -2) + 2.0 * np.eye(shape[-1]),), {}


def _lower_half(x: Any) -> Any:
    """The lower triangle with half the diagonal."""
    n = x.shape[-1]
    return x * (np.tri(n) - 0.5 * np.eye(n)).astype(x.dtype)


def _cholesky_vjp(g: Any, z: Any) -> Any:
    """Murray (2016), arXiv:1602.07527: x_bar = sym(L⁻ᵀ Φ(Lᵀ G) L⁻¹)."""
    p = _lower_half(matmul(mT(z), g))
    s = solve(mT(z), p)
    return _symmetric(mT(solve(mT(z), mT(s))))


def _cholesky_jvp(z: Any, x_dot: Any) -> Any:
    return matmul(z, _lower_half(solve(z, mT(solve(z, mT(_symmetric(x_dot)))))))


cholesky = general(
    "cholesky", lambda x: np.linalg.cholesky(x), _cholesky_vjp, jvp=_cholesky_jvp,
    symmetric=True, node="LinalgCholeskyExBackward0", cases=_positive_cases,
    doc="Lower triangular L with L Lᵀ = x, for symmetric positive definite x, of which the lower triangle is read.",
)


def _numpy_cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The Cholesky factor as `numpy.linalg.cholesky` gives it; with `upper` from and as the upper triangle."""
    a = ready(a)
    return mT(cholesky(mT(a))) if upper else cholesky(a)


numpy_cholesky = composite("numpy_cholesky", _numpy_cholesky, numpy=(np.linalg.cholesky,))


def _copy_lower(x: Any) -> Any:
    """The symmetric matrix with the lower triangle of x."""
    return tril(x) + mT(tril(x, k=-1))


def _skew_lower(x: Any) -> Any:
    """The skew matrix with the strict lower triangle of x."""
    low = tril(x, k=-1)
    return low - mT(low)


def _columns(x: Any, start: int, stop: int | None = None) -> Any:
    return getitem(x, index=(Ellipsis, slice(start, stop)))


def _qr_vjp(g: Any, x_shape: tuple[int, ...], z: Any) -> Any:
    """Walter and Lehmann (2010): x_bar = (G_Q + Q copyltu(R G_Rᵀ − G_Qᵀ Q)) R⁻ᵀ; a wide x is [x₁ x₂], R₂ = Qᵀ x₂."""
    q, r = z
    m, n = x_shape[-2:]
    g_q = 0.0 * q if g[0] is None else g[0]
    g_r = 0.0 * r if g[1] is None else g[1]
    if m < n:
        right, g_right = _columns(r, m), _columns(g_r, m)
        r, g_r = _columns(r, 0, m), _columns(g_r, 0, m)
        # x₂ = Q R₂, so Q meets G_R₂ through x₂ G_R₂ᵀ
        g_q = g_q + matmul(matmul(q, right), mT(g_right))
    middle = _copy_lower(matmul(r, mT(triu(g_r))) - matmul(mT(g_q), q))
    bar = mT(solve(r, mT(g_q + matmul(q, middle))))
    return bar if m >= n else cat([bar, matmul(q, g_right)], axis=-1)


def _qr_jvp(x: Any, z: Any, x_dot: Any) -> Any:
    q, r = z
    m, n = x.shape[-2:]
    first, square_r = (_columns(x_dot, 0, m), _columns(r, 0, m)) if m < n else (x_dot, r)
    w = mT(solve(mT(square_r), mT(first)))
    c = matmul(mT(q), w)
    turn = _skew_lower(c)
    q_dot = matmul(q, turn) + w - matmul(q, c)
    r_dot = matmul(c - turn, square_r)
    if m < n:
        r_dot = cat([r_dot, matmul(mT(q), _columns(x_dot, m)) + matmul(mT(q_dot), _columns(x, m))], axis=-1)
    return q_dot, r_dot


def _matrix_cases(*shapes: tuple[int, ...]):  # type: ignore[no-untyped-def]
    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for shape in shapes:
            yield (rng.standard_normal(shape) + 2.0 * np.eye(shape[-2], shape[-1]),), {}

    return cases


qr = general(
    "qr", lambda x: tuple(np.linalg.qr(x)), _qr_vjp, jvp=_qr_jvp,
    outputs=2, node="LinalgQrBackward0", cases=_matrix_cases((3, 3), (4, 2), (2, 4), (2, 3, 2)),
    doc="x = Q R with orthonormal columns in Q and R upper triangular, in the reduced form.",
)


def _divide(numerator: Any, denominator: Any, same: Any, size: Any, what: str, coupled: bool = False) -> Any:
    """The quotient, and 0 at the pairs that are the same, for which the numerator must vanish.

    `coupled`: the loss uses values and vectors, so that 0 / 0 may stand for any number.
    """
    if (coupled and bool(any(same))) or bool(any(logical_and(same, gt(abs(numerator), size)))):
        raise RuntimeError(
            f"the gradient through {what} of coinciding values is not determined: the loss must use the values alone, "
            "or the vectors alone in a way that does not depend on how they are turned among themselves.\n"
            f"Here it {'uses values and vectors together' if coupled else 'depends on how they are turned'}; "
            "break the tie in the input, or write the function without the decomposition."
        )
    return where(same, 0.0, numerator / where(same, 1.0, denominator))


def _apart(same: Any) -> Any:
    """Without the pairs of a value and itself."""
    return logical_and(same, ~np.eye(same.shape[-1], dtype=bool))


def _largest(x: Any, axes: tuple[int, ...]) -> Any:
    return amax(abs(x), axis=axes, keepdims=True) if 0 not in x.shape else 0.0


def _size(*matrices: Any) -> Any:
    """What counts as zero next to these adjoints: a rounding error that was amplified half-way."""
    total = _largest(matrices[0], (-2, -1))
    for matrix in matrices[1:]:
        total = total + _largest(matrix, (-2, -1))
    return total * float(np.sqrt(np.finfo(matrices[0].dtype).eps))


def _rounding(w: Any) -> Any:
    """Rounding error of the values w, as a row of one column."""
    return _as_row(_largest(w, (-1,)) * (16 * w.shape[-1] * float(np.finfo(w.dtype).eps)))


def _coincide(w: Any) -> Any:
    """Pairs of values that are equal up to rounding."""
    return _apart(le(abs(_as_row(w) - _as_column(w)), _rounding(w)))


def _differences(w: Any) -> Any:
    """wⱼ − wᵢ, with 1 on the diagonal, where what is divided by it vanishes."""
    return _as_row(w) - _as_column(w) + np.eye(w.shape[-1], dtype=w.dtype)


def _eigh_vjp(g: Any, z: Any) -> Any:
    """x_bar = V (diag(g_w) + F ∘ Vᵀ G_V) Vᵀ made symmetric, with Fᵢⱼ = 1 / (wⱼ − wᵢ)."""
    w, v = z
    middle = 0.0
    if g[1] is not None:
        p = matmul(mT(v), g[1])
        # only the skew part of p counts, since F is skew and the result is made symmetric
        skew = 0.5 * (p - mT(p))
        middle = _divide(skew, _differences(w), _coincide(w), _size(p), "eigenvectors", g[0] is not None)
    if g[0] is not None:
        middle = middle + _as_row(g[0]) * np.eye(w.shape[-1], dtype=w.dtype)
    return _symmetric(matmul(v, matmul(middle, mT(v))))


def _off_diagonal(x: Any) -> Any:
    return x * (1.0 - np.eye(x.shape[-1], dtype=x.dtype))


def _eigh_jvp(z: Any, x_dot: Any) -> Any:
    w, v = z
    p = matmul(mT(v), matmul(_symmetric(x_dot), v))
    turn = _divide(_off_diagonal(p), _differences(w), _coincide(w), _size(p), "eigenvectors")
    return diagonal(p, axis1=-2, axis2=-1), matmul(v, turn)


eigh = general(
    "eigh", lambda x, *, UPLO="L": tuple(np.linalg.eigh(x, UPLO)), _eigh_vjp, jvp=_eigh_jvp,
    outputs=2, symmetric=True, node="LinalgEighBackward0", numpy=(np.linalg.eigh,), cases=_positive_cases,
    doc="Eigenvalues in ascending order and orthonormal eigenvectors of symmetric matrices.",
)

eigvalsh = composite(
    "eigvalsh", lambda a, UPLO="L": eigh(ready(a), UPLO=UPLO)[0], numpy=(np.linalg.eigvalsh,),
    doc="Eigenvalues of symmetric matrices, in ascending order.",
)


def _svd(x: Any, *, full_matrices: bool = False) -> tuple[Any, ...]:
    return tuple(np.linalg.svd(x, full_matrices))


def _svd_middle(u: Any, s: Any, v: Any, g_u: Any, g_v: Any, coupled: bool) -> Any:
    """The part of x_bar between U and Vᵀ that comes from the vectors.

    With P = skew(Uᵀ G_U), Q = skew(Vᵀ G_V) it is (P S + S Q) / (sⱼ² − sᵢ²).  Written as the sum of
    ½ (P + Q) / (sⱼ − sᵢ) and ½ (P − Q) / (sⱼ + sᵢ) it shows what must vanish where values coincide.
    """
    p = 0.0 * matmul(mT(u), u) if g_u is None else matmul(mT(u), g_u)
    q = 0.0 * p if g_v is None else matmul(mT(v), g_v)
    size = _size(p, q)
    p, q = p - mT(p), q - mT(q)
    first = _divide(0.5 * (p + q), _differences(s), _coincide(s), size, "singular vectors", coupled)
    return first + _divide(0.5 * (p - q), _sums(s), _both_zero(s), size, "singular vectors", coupled)


def _sums(s: Any) -> Any:
    """sⱼ + sᵢ, with 1 on the diagonal, where what is divided by it vanishes."""
    eye = np.eye(s.shape[-1], dtype=s.dtype)
    return (_as_row(s) + _as_column(s)) * (1.0 - eye) + eye


def _both_zero(s: Any) -> Any:
    return _apart(le(_as_row(s) + _as_column(s), 2.0 * _rounding(s)))


def _outside(g: Any, basis: Any, s: Any, coupled: bool = False) -> Any:
    """The part of an adjoint that leaves the span of the vectors, over the singular values."""
    rest = g - matmul(basis, matmul(mT(basis), g))
    return _divide(rest, _as_row(s), le(_as_row(s), _rounding(s)), _size(g), "singular vectors", coupled)


def _svd_vjp(g: Any, x_shape: tuple[int, ...], z: Any, full_matrices: bool) -> Any:
    """Townsend (2016), Differentiating the singular value decomposition; coinciding values as in `_svd_middle`."""
    u, s, vh = z
    m, n = x_shape[-2:]
    k = min(m, n)
    if full_matrices and m != n and (g[0] is not None or g[2] is not None):
        raise RuntimeError(
            f"svd of matrices {m}×{n} with full_matrices=True has vectors that the input does not determine, and the "
            "loss uses them; call it with full_matrices=False"
        )
    u, v = _columns(u, 0, k), mT(getitem(vh, index=(Ellipsis, slice(0, k), slice(None))))
    g_u, g_v = g[0], None if g[2] is None else mT(g[2])
    middle, coupled = 0.0, g[1] is not None
    if g_u is not None or g_v is not None:
        middle = _svd_middle(u, s, v, g_u, g_v, coupled)
    if g[1] is not None:
        middle = middle + _as_row(g[1]) * np.eye(k, dtype=s.dtype)
    bar = matmul(matmul(u, middle), mT(v))
    if m > k and g_u is not None:
        bar = bar + matmul(_outside(g_u, u, s, coupled), mT(v))
    if n > k and g_v is not None:
        bar = bar + matmul(u, mT(_outside(g_v, v, s, coupled)))
    return bar


def _svd_jvp(z: Any, x_dot: Any, full_matrices: bool) -> Any:
    u, s, vh = z
    m, n = x_dot.shape[-2:]
    if full_matrices and m != n:
        raise RuntimeError("svd with full_matrices=True has no tangent for matrices that are not square; use False")
    v = mT(vh)
    p = matmul(mT(u), matmul(x_dot, v))
    off, size = _off_diagonal(p), _size(p)
    even = _divide(0.5 * (off + mT(off)), _differences(s), _coincide(s), size, "singular vectors")
    odd = _divide(0.5 * (off - mT(off)), _sums(s), _both_zero(s), size, "singular vectors")
    u_dot = matmul(u, even + odd)
    v_dot = matmul(v, even - odd)
    if m > n:
        u_dot = u_dot + _outside(matmul(x_dot, v), u, s)
    if n > m:
        v_dot = v_dot + _outside(matmul(mT(x_dot), u), v, s)
    return u_dot, diagonal(p, axis1=-2, axis2=-1), mT(v_dot)


svd = general(
    "svd", _svd, _svd_vjp, jvp=_svd_jvp,
    outputs=3, node="LinalgSvdBackward0", cases=_matrix_cases((3, 3), (4, 2), (2, 4), (2, 3, 2)),
    doc="x = U diag(S) Vᴴ with orthonormal columns in U and rows in Vᴴ, S in descending order; the reduced form.",
)

svdvals = composite(
    "svdvals", lambda x: svd(ready(x))[1], numpy=(np.linalg.svdvals,), doc="Singular values, in descending order."
)


def _numpy_svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values and vectors with the defaults of `numpy.linalg.svd`."""
    z = svd(ready(a), full_matrices=full_matrices and compute_uv)
    return z if compute_uv else z[1]


numpy_svd = composite("numpy_svd", _numpy_svd, numpy=(np.linalg.svd,))


def _numpy_qr(a: Any, mode: str = "reduced") -> Any:
    """Q and R, or R alone, as `numpy.linalg.qr` gives them; 'complete' and 'raw' have no derivative."""
    if mode not in ("reduced", "r"):
        raise ValueError(f"qr has a derivative in the modes 'reduced' and 'r', got {mode!r}")
    z = qr(ready(a))
    return z if mode == "reduced" else z[1]


numpy_qr = composite("numpy_qr", _numpy_qr, numpy=(np.linalg.qr,))
