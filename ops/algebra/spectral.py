"""Eigenvalues and singular values of matrices, and their vectors; stacked over leading axes.

Rules divide by differences of eigenvalues or singular values, which may vanish.  Eigenvectors of equal eigenvalues (and
singular vectors likewise) are defined up to a rotation among themselves, complex ones each up to a factor exp(iφ).  A
loss of the values alone, or of the vectors alone if it does not depend on that rotation, gets its gradient.  A loss
that depends on the rotation has none, and the gradient of one that combines values and vectors, such as V f(w) Vᴴ,
cannot be told from their adjoints (it takes a mixed second derivative): the rules raise, where PyTorch returns nan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.batching import trailing
from ..core.domain import Case
from ..core.hints import Hints
from ..core.op import ADJOINT, composite, conjugate, general, is_complex, ready
from ..pointwise.comparison import eq, gt, le, logical_and, ne
from ..pointwise.selection import abs, where
from ..reductions.extremes import amax
from ..shapes.diagonals import diagonal
from ..shapes.index import getitem
from ..shapes.parts import dot_part, mH
from ..shapes.queries import anywhere, argmax
from ..shapes.shape import reshape
from ..shapes.sums import sum
from .inverses import solve
from .matrices import as_column, as_row, columns, hermitian, matrix_cases, off_diagonal, positive_cases, real_part
from .products import matmul


def divide(numerator: Any, denominator: Any, same: Any, size: Any, what: str, coupled: bool = False) -> Any:
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
    size = abs(x)
    if all(x.shape[k] for k in axes):
        return amax(size, axis=axes, keepdims=True)
    return np.zeros([1 if k - len(x.shape) in axes else n for k, n in enumerate(x.shape)], size.dtype)


def size_of_zero(*matrices: Any) -> Any:
    """What counts as zero next to these adjoints: a rounding error that was amplified half-way."""
    total = _largest(matrices[0], (-2, -1))
    for matrix in matrices[1:]:
        total = total + _largest(matrix, (-2, -1))
    return total * float(np.sqrt(np.finfo(matrices[0].dtype).eps))


def rounding(w: Any) -> Any:
    """Rounding error of the values w, as a row of one column."""
    return as_row(_largest(w, (-1,)) * (16 * w.shape[-1] * float(np.finfo(w.dtype).eps)))


def coincide(w: Any) -> Any:
    """Pairs of values that are equal up to rounding."""
    return _apart(le(abs(as_row(w) - as_column(w)), rounding(w)))


def differences(w: Any) -> Any:
    """wⱼ − wᵢ, with 1 on the diagonal, where what is divided by it vanishes."""
    return as_row(w) - as_column(w) + np.eye(w.shape[-1], dtype=w.dtype)


def without_phases(skew: Any, size: Any, what: str) -> Any:
    """A skew-Hermitian matrix without its diagonal, which is 0 unless a loss depends on the vectors' phases."""
    if not is_complex(skew) or 0 in skew.shape:
        return skew
    if bool(anywhere(gt(abs(diagonal(skew, axis1=-2, axis2=-1)), reshape(size, shape=size.shape[:-1])))):
        raise RuntimeError(
            f"{what} of complex matrices are determined up to factors exp(iφ), and the loss depends on these factors, "
            "so that it has no gradient.\nUse the vectors in a way that does not change with their phases, such as "
            "their absolute values or V f(w) Vᴴ."
        )
    return off_diagonal(skew)


def sums(s: Any, phases: bool) -> Any:
    """sⱼ + sᵢ; with 1 on the diagonal, where what is divided by it vanishes, unless that holds phases."""
    if phases:
        return as_row(s) + as_column(s)
    eye = np.eye(s.shape[-1], dtype=s.dtype)
    return (as_row(s) + as_column(s)) * (1.0 - eye) + eye


def both_zero(s: Any, phases: bool) -> Any:
    same = le(as_row(s) + as_column(s), 2.0 * rounding(s))
    return same if phases else _apart(same)


def _eigh_vjp(g: Any, z: Any) -> Any:
    """x_bar = V (diag(g_w) + F ∘ Vᴴ G_V) Vᴴ made Hermitian, with Fᵢⱼ = 1 / (wⱼ − wᵢ)."""
    w, v = z
    middle = 0.0
    if g[1] is not None:
        p = matmul(mH(v), g[1])
        # only the skew part of p counts, since F is skew and the result is made symmetric
        skew = without_phases(0.5 * (p - mH(p)), size_of_zero(p), "eigenvectors")
        middle = divide(skew, differences(w), coincide(w), size_of_zero(p), "eigenvectors", g[0] is not None)
    if g[0] is not None:
        middle = middle + as_row(g[0]) * np.eye(w.shape[-1], dtype=w.dtype)
    return hermitian(matmul(v, matmul(middle, mH(v))))


def _eigh_jvp(z: Any, x_dot: Any) -> Any:
    w, v = z
    p = matmul(mH(v), matmul(hermitian(x_dot), v))
    turn = divide(off_diagonal(p), differences(w), coincide(w), size_of_zero(p), "eigenvectors")
    return real_part(diagonal(p, axis1=-2, axis2=-1)), matmul(v, turn)


eigh = general(
    "eigh", lambda x, *, UPLO="L": tuple(np.linalg.eigh(x, UPLO)), _eigh_vjp, jvp=_eigh_jvp,
    hints=Hints(
        steps=lambda s, x, UPLO: s.linalg("eigh_lo" if UPLO in "Ll" else "eigh_up", x), raises=slice(0, 1)
    ),
    outputs=2, symmetric=True, node="LinalgEighBackward0", numpy=(np.linalg.eigh,),
    complex=ADJOINT, cases=positive_cases,
    batch=trailing(2),
    doc="Eigenvalues in ascending order and orthonormal eigenvectors of symmetric or Hermitian matrices.",
)


def _eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """The values of `eigh`, whose nan of infinite numbers are an error to LAPACK's routine for values alone."""
    a = ready(a)
    w = eigh(a, UPLO=UPLO)[0]
    if bool(anywhere(ne(w, w))) and not bool(anywhere(ne(a, a))):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")
    return w


eigvalsh = composite(
    "eigvalsh", _eigvalsh, numpy=(np.linalg.eigvalsh,),
    doc="Eigenvalues of symmetric or Hermitian matrices, in ascending order.",
)


def _eig(x: Any) -> tuple[Any, Any]:
    w, v = np.linalg.eig(x)
    dtype = np.result_type(v.dtype, np.complex64)
    return w.astype(dtype), v.astype(dtype)


def _apart_cases(rng: np.random.Generator) -> Iterator[Case]:
    for shape in ((3, 3), (2, 2, 2), (1, 1)):
        yield (rng.standard_normal(shape) + np.diag(5.0 * np.arange(shape[-1])),), {}


def _turning(v: Any) -> Any:
    """i v / |v|² at the largest component of each column, else 0: what tells how fast its phase turns."""
    if not v.shape[-1]:
        return v
    rows = np.arange(v.shape[-2])[:, None]
    largest = eq(as_row(argmax(abs(v), axis=-2)), rows)
    return where(largest, v * 1j / where(largest, abs(v) * abs(v), 1.0), 0.0)


def _along(basis: Any, x: Any) -> Any:
    """Σᵢ Re(conj(bᵢⱼ) xᵢⱼ), as a row."""
    return sum(dot_part(basis, x), axis=-2, keepdims=True)


def _eig_vjp(g: Any, z: Any) -> Any:
    """x_bar = V⁻ᴴ (diag(g_w) + conj(F) ∘ (Vᴴ U)) Vᴴ, Fᵢⱼ = 1 / (wⱼ − wᵢ), with U the part of G_V that is at right
    angles to each vector, after what the phases take: the largest component of each vector stays real."""
    w, v = z
    middle = 0.0
    if g[1] is not None:
        u = g[1] - _turning(v) * _along(v * 1j, g[1])
        p = matmul(mH(v), u - v * _along(v, u))
        size = size_of_zero(p)
        middle = divide(off_diagonal(p), conjugate(differences(w)), coincide(w), size, "eigenvectors", g[0] is not None)
    if g[0] is not None:
        middle = middle + as_row(g[0]) * np.eye(w.shape[-1], dtype=w.dtype)
    return matmul(solve(mH(v), middle), mH(v))


def _eig_jvp(z: Any, x_dot: Any) -> Any:
    w, v = z
    p = solve(v, matmul(x_dot, v))
    u = matmul(v, divide(off_diagonal(p), differences(w), coincide(w), size_of_zero(p), "eigenvectors"))
    u = u - v * _along(v, u)
    return diagonal(p, axis1=-2, axis2=-1), u - v * 1j * _along(_turning(v), u)


eig = general(
    "eig", _eig, _eig_vjp, jvp=_eig_jvp,
    hints=Hints(raises=slice(0, 1)),  # no steps: NumPy looks for nan itself, LAPACK does not
    outputs=2, node="LinalgEigBackward0", complex=ADJOINT,
    cases=_apart_cases, batch=trailing(2),
    doc="""Eigenvalues and eigenvectors of square matrices, complex whatever the matrices are.

    A vector is determined up to a complex factor.  That of LAPACK has length 1 and its largest component is real,
    and so the gradient has it (PyTorch: an error for a loss that depends on the phase).
    """,
)

numpy_eig = composite(
    "numpy_eig", lambda a: eig(ready(a)), numpy=(np.linalg.eig,), doc="Eigenvalues and eigenvectors, always complex."
)
eigvals = composite(
    "eigvals", lambda a: eig(ready(a))[0], numpy=(np.linalg.eigvals,), doc="Eigenvalues of square matrices, complex."
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
    size = size_of_zero(p, q)
    p, q = p - mH(p), q - mH(q)
    even = without_phases(0.5 * (p + q), size, "singular vectors")
    first = divide(even, differences(s), coincide(s), size, "singular vectors", coupled)
    odd, phases = 0.5 * (p - q), is_complex(p)
    return first + divide(odd, sums(s, phases), both_zero(s, phases), size, "singular vectors", coupled)


def _outside(g: Any, basis: Any, s: Any, coupled: bool = False) -> Any:
    """The part of an adjoint that leaves the span of the vectors, over the singular values."""
    rest = g - matmul(basis, matmul(mH(basis), g))
    return divide(rest, as_row(s), le(as_row(s), rounding(s)), size_of_zero(g), "singular vectors", coupled)


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
    u, v = columns(u, 0, k), mH(getitem(vh, index=(Ellipsis, slice(0, k), slice(None))))
    g_u, g_v = g[0], None if g[2] is None else mH(g[2])
    middle, coupled = 0.0, g[1] is not None
    if g_u is not None or g_v is not None:
        middle = _svd_middle(u, s, v, g_u, g_v, coupled)
    if g[1] is not None:
        middle = middle + as_row(g[1]) * np.eye(k, dtype=s.dtype)
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
    off, size = off_diagonal(p), size_of_zero(p)
    even = divide(0.5 * (off + mH(off)), differences(s), coincide(s), size, "singular vectors")
    odd = 0.5 * (p - mH(p))
    odd = divide(odd, sums(s, is_complex(p)), both_zero(s, is_complex(p)), size, "singular vectors")
    u_dot = matmul(u, even + odd)
    v_dot = matmul(v, even - odd)
    if m > n:
        u_dot = u_dot + _outside(matmul(x_dot, v), u, s)
    if n > m:
        v_dot = v_dot + _outside(matmul(mH(x_dot), u), v, s)
    return u_dot, real_part(diagonal(p, axis1=-2, axis2=-1)), mH(v_dot)


def _svd_steps(s: Any, x: Any, full_matrices: bool) -> Any:
    return s.linalg("svd_f" if full_matrices else "svd_s", x, p=min(x.spec.shape[-2:]))


svd = general(
    "svd", _svd, _svd_vjp, jvp=_svd_jvp,
    hints=Hints(steps=_svd_steps, raises=slice(0, 1)),
    outputs=3, node="LinalgSvdBackward0", complex=ADJOINT, cases=matrix_cases((3, 3), (4, 2), (2, 4), (2, 3, 2)),
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
