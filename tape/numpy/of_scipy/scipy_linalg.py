"""`scipy.linalg` on recorded arrays: by the functions of NumPy's, and the ops, that mean the same.

SciPy's functions read one triangle of a matrix that is said to be symmetric, and refuse what is not finite unless they
are told not to look; so do these.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import ops

from ...base.tree import leaves_of
from ..arrays.face import faces, stop_gradient
from ..arrays.unwrapping import bare
from ..constructors import CONSTRUCTORS, as_array
from ..mathematics import holds, is_finite


def symmetric(a: Any, lower: bool, is_conjugate: bool = True) -> Any:
    """The matrix of which one triangle is given: with the conjugate in the other, or the same."""
    half, rest = (np.tril(a), np.tril(a, -1)) if lower else (np.triu(a), np.triu(a, 1))
    other = np.swapaxes(rest, -1, -2)
    if not is_conjugate or a.dtype.kind != "c":
        return half + other
    diagonal = np.imag(np.diagonal(a, axis1=-2, axis2=-1))
    return half + np.conj(other) - 1j * np.eye(a.shape[-1], dtype=diagonal.dtype) * diagonal[..., None, :]


STRUCTURES: dict[Any, Callable[[Any, bool], Any]] = {
    **dict.fromkeys((None, "gen", "general"), lambda a, lower: a),
    **dict.fromkeys(("sym", "symmetric"), lambda a, lower: symmetric(a, lower, is_conjugate=False)),
    **dict.fromkeys(("her", "hermitian", "pos", "positive definite"), symmetric),
}
"""What `scipy.linalg.solve` takes a matrix for."""


def _solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, assume_a: Any = None, transposed: bool = False,
) -> Any:  # fmt: skip
    if assume_a not in STRUCTURES or np.ndim(a) != 2 or np.ndim(b) not in (1, 2):
        return NotImplemented
    a = STRUCTURES[assume_a](a, lower)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


def _triangular(a: Any, b: Any, upper: bool, is_unit: bool = False) -> Any:
    """The solution of a triangular system, whose right-hand side may be a vector."""
    b = b if np.ndim(b) == 2 else np.expand_dims(b, 1)
    return faces(ops.solve_triangular(bare(a), bare(b), upper=upper, unitriangular=is_unit))


def _solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if np.ndim(a) != 2 or np.ndim(b) not in (1, 2):
        return NotImplemented
    if trans in (1, "T", 2, "C"):
        a, lower = np.swapaxes(a, -1, -2), not lower
        a = np.conj(a) if trans in (2, "C") else a
    z = _triangular(a, b, not lower, unit_diagonal)
    return z if np.ndim(b) == 2 else z[:, 0]


def _cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.cholesky(a, upper=not lower)


def _cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return _cholesky(a, lower), lower


def _cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    c, lower = c_and_lower
    if np.ndim(c) != 2 or np.ndim(b) not in (1, 2):
        return NotImplemented
    half = _solve_triangular(c, b, 0 if lower else 2, lower)
    return _solve_triangular(c, half, 2 if lower else 0, lower)


def _pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True) -> Any:
    if atol is not None or rtol is not None or return_rank:
        return NotImplemented
    return faces(ops.pinv(bare(a), rcond=max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)))


def _lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True, p_indices: bool = False
) -> Any:
    if p_indices:
        return NotImplemented
    p, lower, upper = faces(ops.lu(bare(a)))
    p = p.real
    return (p @ lower, upper) if permute_l else (p, lower, upper)


def _lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    if np.ndim(a) != 2 or a.shape[0] != a.shape[1]:
        return NotImplemented
    _, lower, upper = faces(ops.lu(bare(a)))
    return np.tril(lower, -1) + upper, faces(ops.exchanges(ops.pivot_order(bare(a))))


def _lu_solve(lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    lu, piv = lu_and_piv
    if np.ndim(lu) != 2 or np.ndim(b) not in (1, 2) or trans not in (0, 1, 2):
        return NotImplemented
    order = faces(ops.exchanged(bare(piv)))
    if trans == 0:
        half = _solve_triangular(lu, _rows(b, order), lower=True, unit_diagonal=True)
        return _solve_triangular(lu, half)
    half = _solve_triangular(lu, b, trans)
    return _rows(_solve_triangular(lu, half, trans, True, True), np.argsort(order))


def _rows(b: Any, order: Any) -> Any:
    """Rows in another order, which may be recorded where they are not."""
    return faces(ops.take(bare(b), bare(order), axis=0))


def _qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    m, n = a.shape[-2:]
    if pivoting or mode not in ("full", "r", "economic") or (mode != "economic" and m > n):
        return NotImplemented
    q, r = np.linalg.qr(a)
    return (r,) if mode == "r" else (q, r)


def _eigvalsh(
    a: Any, b: Any = None, *, lower: bool = True, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    return NotImplemented if b is not None else np.linalg.eigvalsh(a, "L" if lower else "U")


def _svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.svd(a, compute_uv=False)


def _eigvals(
    a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False
) -> Any:
    if b is not None or homogeneous_eigvals or np.ndim(a) != 2:
        return NotImplemented
    return np.linalg.eigvals(a) + 0j  # which SciPy gives as complex numbers in any case


def _lstsq(
    a: Any, b: Any, cond: Any = None, overwrite_a: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    lapack_driver: Any = None,
) -> Any:  # fmt: skip
    if cond is not None or np.ndim(a) != 2 or np.ndim(b) not in (1, 2) or lapack_driver not in (None, "gelsd", "gelss"):
        return NotImplemented
    z, misfit, rank, s = np.linalg.lstsq(a, b, rcond=None)
    return z, misfit[0] if np.ndim(b) == 1 and misfit.size else misfit, rank, s


def _solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    m, n = np.shape(q) if np.ndim(q) == 2 else (0, 0)
    if np.shape(a) != (m, m) or np.shape(b) != (n, n) or not m * n:
        return NotImplemented
    return faces(ops.sylvester(bare(a), bare(b), bare(q)))


def _solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    return _solve_sylvester(a, np.conj(np.swapaxes(a, -1, -2)), q) if np.ndim(a) == 2 else NotImplemented


def _solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True,
    is_positive: bool = False,
) -> Any:  # fmt: skip
    lower, upper = l_and_u
    fits = np.ndim(ab) == 2 and np.ndim(b) in (1, 2) and np.shape(ab)[1] == np.shape(b)[0] and np.size(b)
    if not fits or lower + upper + 1 != np.shape(ab)[0]:
        return NotImplemented
    return faces(ops.solve_banded(bare(ab), bare(b), lower=int(lower), upper=int(upper), positive=is_positive))


def _later(row: Any, k: int) -> Any:
    return np.concatenate((row[k:], np.zeros(k)))


def _solveh_banded(
    ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, lower: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if np.ndim(ab) != 2 or len(ab) > np.shape(ab)[1]:
        return NotImplemented
    n, u = np.shape(ab)[1], len(ab) - 1
    below = [ab[k] for k in range(1, u + 1)] if lower else [_later(np.conj(ab[u - k]), k) for k in range(1, u + 1)]
    above = [np.concatenate((np.zeros(k), np.conj(ab[k][: n - k]))) for k in range(u, 0, -1)] if lower else [*ab[:u]]
    diagonal = ab[0] if lower else ab[u]
    return _solve_banded((u, u), np.stack([*above, diagonal, *below]), b, is_positive=True)


def _cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    c, lower = cb_and_lower
    if np.ndim(c) != 2:
        return NotImplemented
    n, u = np.shape(c)[1], len(c) - 1
    if lower:
        across = np.stack([np.concatenate((np.zeros(k), np.conj(c[k][: n - k]))) for k in range(u, -1, -1)])
        systems = ((u, 0), c), ((0, u), across)
    else:
        systems = ((u, 0), np.stack([_later(np.conj(c[u - k]), k) for k in range(u + 1)])), ((0, u), c)
    for bands, rows in systems:
        b = NotImplemented if b is NotImplemented else _solve_banded(bands, rows, b)
    return b


def _of_toeplitz(c_or_cr: Any) -> Any:
    return _toeplitz(*map(as_array, c_or_cr)) if isinstance(c_or_cr, tuple) else _toeplitz(as_array(c_or_cr))


def _solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    a = _of_toeplitz(c_or_cr)
    return a if a is NotImplemented or np.ndim(b) not in (1, 2) else np.linalg.solve(a, b)


def _matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    a = _of_toeplitz(c_or_cr)
    return a if a is NotImplemented else a @ x


def _solve_circulant(c: Any, b: Any) -> Any:
    return NotImplemented if np.ndim(c) != 1 or np.ndim(b) != 1 else np.linalg.solve(_circulant(as_array(c)), b)


def _eigh(
    a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True, driver: Any = None,
) -> Any:  # fmt: skip
    """Of a pencil by the Cholesky factor of the second matrix; of eigenvectors every driver has signs of its own."""
    if np.ndim(a) != 2 or type != 1 or (b is None and not eigvals_only and driver != "evd"):
        return NotImplemented
    if b is None:
        return (
            np.linalg.eigvalsh(a, "L" if lower else "U") if eigvals_only else np.linalg.eigh(a, "L" if lower else "U")
        )
    if not eigvals_only:
        return NotImplemented
    root = np.linalg.cholesky(symmetric(b, lower))
    half = _triangular(root, symmetric(a, lower), upper=False)
    return np.linalg.eigvalsh(_triangular(root, np.conj(np.swapaxes(half, -1, -2)), upper=False))


def _eig(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    if b is not None or left or np.ndim(a) != 2:
        return NotImplemented
    w, v = np.linalg.eig(a)
    return (w + 0j, v) if right else w + 0j


def _svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    if lapack_driver != "gesdd":
        return NotImplemented
    return np.linalg.svd(a, full_matrices) if compute_uv else np.linalg.svd(a, compute_uv=False)


def _polar(a: Any, side: str = "right") -> Any:
    if np.ndim(a) != 2 or side not in ("left", "right"):
        return NotImplemented
    u, s, v = np.linalg.svd(a, full_matrices=False)
    return u @ v, (u * s) @ np.conj(u.T) if side == "left" else np.conj(v.T) @ (s[:, None] * v)


def _have_real_roots(w: Any) -> Any:
    return (np.imag(w) != 0) | (np.real(w) >= 0)


def _function(name: str) -> Callable[..., Any]:
    def compute(A: Any) -> Any:
        if np.ndim(A) != 2 or A.shape[0] != A.shape[1] or A.dtype.kind not in "fc" or not A.size:
            return NotImplemented
        if A.dtype.kind == "f" and not holds(_have_real_roots, np.linalg.eigvals(stop_gradient(A))):
            A = A + 0j
        return faces(ops.function_of_matrix(bare(A), name=name))

    return compute


def _of_waves(name: str) -> Callable[..., Any]:
    """A function of matrices by their exponential, as SciPy computes it."""

    def compute(A: Any) -> Any:
        if np.ndim(A) != 2 or not np.size(A):
            return NotImplemented
        if name in ("coshm", "sinhm", "tanhm"):
            grown, shrunk = _expm(A), _expm(-A)
            cosine, sine = 0.5 * (grown + shrunk), 0.5 * (grown - shrunk)
        elif A.dtype.kind == "c":
            grown, shrunk = _expm(1j * A), _expm(-1j * A)
            cosine, sine = 0.5 * (grown + shrunk), -0.5j * (grown - shrunk)
        else:
            whole = _expm(1j * A)
            cosine, sine = whole.real, whole.imag
        return cosine if name.startswith("cos") else sine if name.startswith("sin") else np.linalg.solve(cosine, sine)

    return compute


def _solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    if np.ndim(a) != 2 or np.shape(a) != np.shape(q) or a.shape[0] != a.shape[1] or not a.shape[0]:
        return NotImplemented
    whole = np.eye(a.shape[0] ** 2) - np.kron(a, np.conj(a))
    return np.linalg.solve(whole, np.ravel(q)).reshape(a.shape)


def _norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    return np.linalg.norm(a, ord, axis, keepdims)


def _block_diag(*arrs: Any) -> Any:
    blocks = [np.atleast_2d(a) for a in arrs]
    if any(a.ndim != 2 for a in blocks):
        return NotImplemented
    shape = sum(a.shape[0] for a in blocks), sum(a.shape[1] for a in blocks)
    out = CONSTRUCTORS["zeros"](shape, np.result_type(*[a.dtype for a in blocks]))
    row = column = 0
    for a in blocks:
        m, n = a.shape
        out[row : row + m, column : column + n] = a
        row, column = row + m, column + n
    return out


def _toeplitz(c: Any, r: Any = None) -> Any:
    r = (np.conj(c) if c.dtype.kind == "c" else c) if r is None else r
    if np.ndim(c) != 1 or np.ndim(r) != 1:
        return NotImplemented
    m, n = len(c), len(r)
    below = np.subtract.outer(np.arange(m), np.arange(n))
    return np.concatenate((c, r[1:]))[np.where(below >= 0, below, m - 1 - below)]


def _hankel(c: Any, r: Any = None) -> Any:
    r = np.zeros(np.shape(c), c.dtype) if r is None else r
    if np.ndim(c) != 1 or np.ndim(r) != 1:
        return NotImplemented
    return np.concatenate((c, r[1:]))[np.add.outer(np.arange(len(c)), np.arange(len(r)))]


def _circulant(c: Any) -> Any:
    if np.ndim(c) != 1:
        return NotImplemented
    n = len(c)
    return c[np.subtract.outer(np.arange(n), np.arange(n)) % n]


def _looking(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A function with LAPACK's dtypes that refuses what is not finite, where SciPy's has ``check_finite``."""
    signature = inspect.signature(compute)
    if "check_finite" not in signature.parameters:
        return compute

    @functools.wraps(compute)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments
        if given.get("check_finite", True):
            for x in leaves_of(list(given.values())):
                if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and not is_finite(x):
                    raise ValueError("array must not contain infs or NaNs")
        if compute is not _norm:
            given.update(_in_lapack({name: given[name] for name in ARRAYS if name in given}, compute is _solve))
        return compute(*bound.args, **bound.kwargs)

    return call


def _in_lapack(given: dict[str, Any], doubles_integers: bool) -> dict[str, Any]:
    """Arguments of which LAPACK computes with those that have numbers, in the least of its dtypes that has room.

    Of a pair the first is such numbers.  Where all are integers, some functions take double precision.
    """
    arrays = {name: as_array(x[0] if isinstance(x, tuple) else x) for name, x in given.items()}
    dtypes = [x.dtype for x in arrays.values()]
    is_double = doubles_integers and all(dtype.kind in "biu" for dtype in dtypes)
    wanted = np.result_type(np.float64 if is_double else np.float32, *dtypes)
    found = {name: x.astype(wanted, copy=False) for name, x in arrays.items()}
    return {name: (x, *given[name][1:]) if isinstance(given[name], tuple) else x for name, x in found.items()}


ARRAYS = ("a", "ab", "b", "q", "c_and_lower", "cb_and_lower", "lu_and_piv")
"""What the functions of `scipy.linalg` call arguments with numbers."""


def _det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant, in double precision whatever that of the matrix."""
    return np.linalg.det(a.astype(np.result_type(a.dtype, float), copy=False))


def _expm(A: Any) -> Any:
    return faces(ops.matrix_exp(bare(A if A.dtype != np.float16 else A.astype(np.float32))))


_LINALG: dict[str, Callable[..., Any]] = {
    "solve": _solve, "solve_triangular": _solve_triangular, "cholesky": _cholesky, "cho_factor": _cho_factor,
    "cho_solve": _cho_solve, "pinv": _pinv, "lu": _lu, "lu_factor": _lu_factor, "lu_solve": _lu_solve,
    "qr": _qr, "eigvalsh": _eigvalsh, "eigvals": _eigvals, "svdvals": _svdvals, "lstsq": _lstsq,
    "solve_sylvester": _solve_sylvester, "solve_continuous_lyapunov": _solve_continuous_lyapunov,
    "solve_discrete_lyapunov": _solve_discrete_lyapunov,
    "norm": _norm, "block_diag": _block_diag, "toeplitz": _toeplitz, "hankel": _hankel, "circulant": _circulant,
    "inv": lambda a, overwrite_a=False, check_finite=True: np.linalg.inv(a),
    "det": _det, "expm": _expm, "sqrtm": _function("sqrtm"), "logm": _function("logm"),
    **{name: _of_waves(name) for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")},
    "solve_banded": _solve_banded, "solveh_banded": _solveh_banded, "cho_solve_banded": _cho_solve_banded,
    "solve_toeplitz": _solve_toeplitz, "matmul_toeplitz": _matmul_toeplitz, "solve_circulant": _solve_circulant,
    "eigh": _eigh, "eig": _eig, "svd": _svd, "polar": _polar,
}  # fmt: skip
LINALG = {name: _looking(compute) for name, compute in _LINALG.items()}
"""What stands for the functions of `scipy.linalg`; NotImplemented for arguments that are not covered."""
