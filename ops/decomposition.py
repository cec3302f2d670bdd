"""Factorisations of matrices: Cholesky, QR, eigenvalues, singular values; stacked over leading axes.

Eigenvectors of equal eigenvalues (and singular vectors likewise) are defined up to a rotation among
themselves.  A loss of the values alone, or of the vectors alone if it does not depend on that
rotation, gets its gradient.  A loss that depends on the rotation has none, and the gradient of one
that combines values and vectors, such as V f(w) Vᴴ, cannot be told from their adjoints (it takes a
mixed second derivative): the rules raise, where PyTorch returns nan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .batching import trailing
from .comparison import gt, le, logical_and
from .core import ADJOINT, composite, general, is_complex, ready
from .diagonals import diagonal, tril, triu
from .extremes import amax
from .index import getitem
from .joining import cat
from .linalg import solve
from .parts import imag, mH, real
from .products import matmul
from .queries import anywhere
from .selection import abs, where
from .shape import Case, reshape


def _as_row(v: Any) -> Any:
    return reshape(v, shape=(*v.shape[:-1], 1, v.shape[-1]))


def _as_column(v: Any) -> Any:
    return reshape(v, shape=(*v.shape, 1))


def _hermitian(x: Any) -> Any:
    return 0.5 * (x + mH(x))


def _positive_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in ((3, 3), (2, 2, 2), (1, 1)):
        x = rng.standard_normal(shape)
        yield (x @ np.swapaxes(x, -1, -2) + 2.0 * np.eye(shape[-1]),), {}


def _lower_half(x: Any) -> Any:
    """The lower triangle with half the diagonal."""
    n = x.shape[-1]
    return x * (np.tri(n) - 0.5 * np.eye(n)).astype(x.dtype)


def _cholesky_vjp(g: Any, z: Any) -> Any:
    """Murray (2016), arXiv:1602.07527: x_bar = herm(L⁻ᴴ Φ(Lᴴ G) L⁻¹)."""
    p = _lower_half(matmul(mH(z), g))
    s = solve(mH(z), p)
    return _hermitian(mH(solve(mH(z), mH(s))))


def _cholesky_jvp(z: Any, x_dot: Any) -> Any:
    return matmul(z, _lower_half(solve(z, mH(solve(z, mH(_hermitian(x_dot)))))))


cholesky = general(
    "cholesky", lambda x: np.linalg.cholesky(x), _cholesky_vjp, jvp=_cholesky_jvp,
    symmetric=True, node="LinalgCholeskyExBackward0", complex=ADJOINT, cases=_positive_cases,
    batch=trailing(2),
    doc="Lower triangular L with L Lᴴ = x, for symmetric (Hermitian) positive definite x, of which the lower triangle is read.",
)


def _numpy_cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The Cholesky factor as `numpy.linalg.cholesky` gives it; with `upper` from and as the upper triangle."""
    a = ready(a)
    return mH(cholesky(mH(a))) if upper else cholesky(a)


numpy_cholesky = composite("numpy_cholesky", _numpy_cholesky, numpy=(np.linalg.cholesky,))


def _real(x: Any) -> Any:
    return real(x) if is_complex(x) else x


def _on_diagonal(x: Any) -> Any:
    return x * np.eye(x.shape[-1], dtype=x.dtype)


def _copy_lower(x: Any) -> Any:
    """The Hermitian matrix with the lower triangle of x."""
    low = tril(x, k=-1)
    return low + mH(low) + _on_diagonal(_real(x))


def _skew_lower(x: Any) -> Any:
    """The skew-Hermitian matrix with the strict lower triangle of x, and with the imaginary part of its diagonal."""
    low = tril(x, k=-1)
    skew = low - mH(low)
    return skew + _on_diagonal(1j * imag(x)) if is_complex(x) else skew


def _columns(x: Any, start: int, stop: int | None = None) -> Any:
    return getitem(x, index=(Ellipsis, slice(start, stop)))


def _qr_vjp(g: Any, x_shape: tuple[int, ...], z: Any) -> Any:
    """Walter and Lehmann (2010): x_bar = (G_Q + Q copyltu(R G_Rᴴ − G_Qᴴ Q)) R⁻ᴴ; a wide x is [x₁ x₂], R₂ = Qᴴ x₂."""
    q, r = z
    m, n = x_shape[-2:]
    g_q = 0.0 * q if g[0] is None else g[0]
    g_r = 0.0 * r if g[1] is None else g[1]
    if m < n:
        right, g_right = _columns(r, m), _columns(g_r, m)
        r, g_r = _columns(r, 0, m), _columns(g_r, 0, m)
        # x₂ = Q R₂, so Q meets G_R₂ through x₂ G_R₂ᴴ
        g_q = g_q + matmul(matmul(q, right), mH(g_right))
    middle = _copy_lower(matmul(r, mH(triu(g_r))) - matmul(mH(g_q), q))
    bar = mH(solve(r, mH(g_q + matmul(q, middle))))
    return bar if m >= n else cat([bar, matmul(q, g_right)], axis=-1)


def _qr_jvp(x: Any, z: Any, x_dot: Any) -> Any:
    q, r = z
    m, n = x.shape[-2:]
    first, square_r = (_columns(x_dot, 0, m), _columns(r, 0, m)) if m < n else (x_dot, r)
    w = mH(solve(mH(square_r), mH(first)))
    c = matmul(mH(q), w)
    turn = _skew_lower(c)
    q_dot = matmul(q, turn) + w - matmul(q, c)
    r_dot = matmul(c - turn, square_r)
    if m < n:
        r_dot = cat([r_dot, matmul(mH(q), _columns(x_dot, m)) + matmul(mH(q_dot), _columns(x, m))], axis=-1)
    return q_dot, r_dot


def _matrix_cases(*shapes: tuple[int, ...]):  # type: ignore[no-untyped-def]
    def cases(rng: np.random.Generator) -> Iterator[Case]:
        for shape in shapes:
            yield (rng.standard_normal(shape) + 2.0 * np.eye(shape[-2], shape[-1]),), {}

    return cases


qr = general(
    "qr", lambda x: tuple(np.linalg.qr(x)), _qr_vjp, jvp=_qr_jvp,
    outputs=2, node="LinalgQrBackward0", complex=ADJOINT, cases=_matrix_cases((3, 3), (4, 2), (2, 4), (2, 3, 2)),
    batch=trailing(2),
    doc="x = Q R with orthonormal columns in Q and R upper triangular, in the reduced form.",
)


def _divide(numerator: Any, denominator: Any, same: Any, size: Any, what: str, coupled: bool = False) -> Any:
    """The quotient, and 0 at the pairs that are the same, for which the numerator must vanish.

    `coupled`: the loss uses values and vectors, so that 0 / 0 may stand for any number.
    """
    if (coupled and bool(anywhere(same))) or bool(anywhere(logical_and(same, gt(abs(numerator), size)))):
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
    """x_bar = V (diag(g_w) + F ∘ Vᴴ G_V) Vᴴ made Hermitian, with Fᵢⱼ = 1 / (wⱼ − wᵢ)."""
    w, v = z
    middle = 0.0
    if g[1] is not None:
        p = matmul(mH(v), g[1])
        # only the skew part of p counts, since F is skew and the result is made symmetric
        skew = _without_phases(0.5 * (p - mH(p)), _size(p), "eigenvectors")
        middle = _divide(skew, _differences(w), _coincide(w), _size(p), "eigenvectors", g[0] is not None)
    if g[0] is not None:
        middle = middle + _as_row(g[0]) * np.eye(w.shape[-1], dtype=w.dtype)
    return _hermitian(matmul(v, matmul(middle, mH(v))))


def _off_diagonal(x: Any) -> Any:
    return x * (1.0 - np.eye(x.shape[-1], dtype=x.dtype))


def _eigh_jvp(z: Any, x_dot: Any) -> Any:
    w, v = z
    p = matmul(mH(v), matmul(_hermitian(x_dot), v))
    turn = _divide(_off_diagonal(p), _differences(w), _coincide(w), _size(p), "eigenvectors")
    return _real(diagonal(p, axis1=-2, axis2=-1)), matmul(v, turn)


eigh = general(
    "eigh", lambda x, *, UPLO="L": tuple(np.linalg.eigh(x, UPLO)), _eigh_vjp, jvp=_eigh_jvp,
    outputs=2, symmetric=True, node="LinalgEighBackward0", numpy=(np.linalg.eigh,),
    complex=ADJOINT, cases=_positive_cases,
    batch=trailing(2),
    doc="Eigenvalues in ascending order and orthonormal eigenvectors of symmetric or Hermitian matrices.",
)

eigvalsh = composite(
    "eigvalsh", lambda a, UPLO="L": eigh(ready(a), UPLO=UPLO)[0], numpy=(np.linalg.eigvalsh,),
    doc="Eigenvalues of symmetric or Hermitian matrices, in ascending order.",
)


def _svd(x: Any, *, full_matrices: bool = False) -> tuple[Any, ...]:
    return tuple(np.linalg.svd(x, full_matrices))


def _svd_middle(u: Any, s: Any, v: Any, g_u: Any, g_v: Any, coupled: bool) -> Any:
    """The part of x_bar between U and Vᵀ that comes from the vectors.

    With P = skew(Uᴴ G_U), Q = skew(Vᴴ G_V) it is (P S + S Q) / (sⱼ² − sᵢ²).  Written as the sum of
    ½ (P + Q) / (sⱼ − sᵢ) and ½ (P − Q) / (sⱼ + sᵢ) it shows what must vanish where values coincide.
    The diagonals are 0, or imaginary for complex numbers: that of P + Q belongs to the phases that U and V share.
    """
    p = 0.0 * matmul(mH(u), u) if g_u is None else matmul(mH(u), g_u)
    q = 0.0 * p if g_v is None else matmul(mH(v), g_v)
    size = _size(p, q)
    p, q = p - mH(p), q - mH(q)
    even = _without_phases(0.5 * (p + q), size, "singular vectors")
    first = _divide(even, _differences(s), _coincide(s), size, "singular vectors", coupled)
    odd, phases = 0.5 * (p - q), is_complex(p)
    return first + _divide(odd, _sums(s, phases), _both_zero(s, phases), size, "singular vectors", coupled)


def _without_phases(skew: Any, size: Any, what: str) -> Any:
    """A skew-Hermitian matrix without its diagonal, which is 0 unless a loss depends on the vectors' phases."""
    if not is_complex(skew):
        return skew
    if bool(anywhere(gt(abs(diagonal(skew, axis1=-2, axis2=-1)), reshape(size, shape=size.shape[:-1])))):
        raise RuntimeError(
            f"{what} of complex matrices are determined up to factors exp(iφ), and the loss depends on these factors, "
            "so that it has no gradient.\nUse the vectors in a way that does not change with their phases, such as "
            "their absolute values or V f(w) Vᴴ."
        )
    return _off_diagonal(skew)


def _sums(s: Any, phases: bool) -> Any:
    """sⱼ + sᵢ; with 1 on the diagonal, where what is divided by it vanishes, unless that holds phases."""
    if phases:
        return _as_row(s) + _as_column(s)
    eye = np.eye(s.shape[-1], dtype=s.dtype)
    return (_as_row(s) + _as_column(s)) * (1.0 - eye) + eye


def _both_zero(s: Any, phases: bool) -> Any:
    same = le(_as_row(s) + _as_column(s), 2.0 * _rounding(s))
    return same if phases else _apart(same)


def _outside(g: Any, basis: Any, s: Any, coupled: bool = False) -> Any:
    """The part of an adjoint that leaves the span of the vectors, over the singular values."""
    rest = g - matmul(basis, matmul(mH(basis), g))
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
    u, v = _columns(u, 0, k), mH(getitem(vh, index=(Ellipsis, slice(0, k), slice(None))))
    g_u, g_v = g[0], None if g[2] is None else mH(g[2])
    middle, coupled = 0.0, g[1] is not None
    if g_u is not None or g_v is not None:
        middle = _svd_middle(u, s, v, g_u, g_v, coupled)
    if g[1] is not None:
        middle = middle + _as_row(g[1]) * np.eye(k, dtype=s.dtype)
    bar = matmul(matmul(u, middle), mH(v))
    if m > k and g_u is not None:
        bar = bar + matmul(_outside(g_u, u, s, coupled), mH(v))
    if n > k and g_v is not None:
        bar = bar + matmul(u, mH(_outside(g_v, v, s, coupled)))
    return bar


def _svd_jvp(z: Any, x_dot: Any, full_matrices: bool) -> Any:
    u, s, vh = z
    m, n = x_dot.shape[-2:]
    if full_matrices and m != n:
        raise RuntimeError("svd with full_matrices=True has no tangent for matrices that are not square; use False")
    v = mH(vh)
    p = matmul(mH(u), matmul(x_dot, v))
    off, size = _off_diagonal(p), _size(p)
    even = _divide(0.5 * (off + mH(off)), _differences(s), _coincide(s), size, "singular vectors")
    odd = 0.5 * (p - mH(p))
    odd = _divide(odd, _sums(s, is_complex(p)), _both_zero(s, is_complex(p)), size, "singular vectors")
    u_dot = matmul(u, even + odd)
    v_dot = matmul(v, even - odd)
    if m > n:
        u_dot = u_dot + _outside(matmul(x_dot, v), u, s)
    if n > m:
        v_dot = v_dot + _outside(matmul(mH(x_dot), u), v, s)
    return u_dot, _real(diagonal(p, axis1=-2, axis2=-1)), mH(v_dot)


svd = general(
    "svd", _svd, _svd_vjp, jvp=_svd_jvp,
    outputs=3, node="LinalgSvdBackward0", complex=ADJOINT, cases=_matrix_cases((3, 3), (4, 2), (2, 4), (2, 3, 2)),
    batch=trailing(2),
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
