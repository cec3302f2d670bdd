"""Linear algebra under the names of `torch.linalg`: stacks of real or complex matrices in the last two axes.

>>> import tape
>>> A = tape.tensor([[2.0, 0.0], [0.0, 3.0]], requires_grad=True)
>>> tape.linalg.eigvalsh(A)
tensor([2., 3.], grad_fn=<LinalgEighBackward0>)
>>> tape.linalg.slogdet(A).logabsdet.backward()
>>> A.grad
tensor([[0.5000, 0.0000],
        [0.0000, 0.3333]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

import ops
from ops.core.axis_order import COLUMNS, ROWS

from .base.dtypes import check_dtype
from .base.tensor import Tensor
from .memory.choosing import numpy_names
from .recording.creation import array_of
from .recording.functions import FUNCTIONS, tensors
from .recording.laying import in_rows, laid
from .recording.recorder import as_tensor, wrap
from .spelling.factors import Lu, Qr, lu_in_one, orgqr as householder_product, slogdet, solve_by_lu as lu_solve

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve",
    "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip

det, eigvals, eigvalsh, inv = (FUNCTIONS[name] for name in ("det", "eigvals", "eigvalsh", "inv"))
matmul, matrix_exp, multi_dot = (FUNCTIONS[name] for name in ("matmul", "matrix_exp", "multi_dot"))
svdvals, solve_triangular, vecdot = (FUNCTIONS[name] for name in ("svdvals", "solve_triangular", "vecdot"))


class Eig(NamedTuple):
    """A V = V diag(eigenvalues) with the eigenvectors in the columns of V."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class Svd(NamedTuple):
    """A = U diag(S) Vᴴ."""

    U: Tensor
    S: Tensor
    Vh: Tensor


class LuFactor(NamedTuple):
    """L and U of A = P L U in one matrix, and the exchanges of rows."""

    LU: Tensor
    pivots: Tensor


class LuFactorEx(NamedTuple):
    """The same, and where it failed."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


class CholeskyEx(NamedTuple):
    """A = L Lᴴ, and where it failed."""

    L: Tensor
    info: Tensor


class InvEx(NamedTuple):
    """A⁻¹, and where it failed."""

    inverse: Tensor
    info: Tensor


class SolveEx(NamedTuple):
    """X with A X = B, and where it failed."""

    result: Tensor
    info: Tensor


class Lstsq(NamedTuple):
    """The solution of least squares, and what is known of it."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


def eig(A: Tensor) -> Eig:
    """Eigenvalues and eigenvectors, complex whatever the matrices are."""
    values, vectors = tensors(ops.eig(A))
    return Eig(values, laid(vectors, COLUMNS, ()))


def eigh(A: Tensor, UPLO: str = "L") -> Eig:
    """Eigenvalues, ascending, and orthonormal eigenvectors of symmetric or Hermitian matrices."""
    values, vectors = tensors(ops.eigh(A, UPLO=UPLO))
    return Eig(values, laid(vectors, COLUMNS, ()))


def svd(A: Tensor, full_matrices: bool = True) -> Svd:
    """A = U diag(S) Vᴴ, with S in descending order.

    With ``full_matrices`` U and Vᴴ are square; the vectors beyond those of S have no gradient.
    """
    u, s, vh = tensors(ops.svd(A, full_matrices=full_matrices))
    return Svd(laid(u, COLUMNS, ()), s, laid(vh, COLUMNS, ()))


def qr(A: Tensor, mode: str = "reduced") -> Qr:
    """A = Q R with orthonormal columns in Q and R upper triangular; in the mode "r" Q is empty.

    Raises:
        ValueError: on the mode "complete" of matrices with more rows than columns, which has no derivative.
    """
    if mode == "complete" and A.shape[-2] > A.shape[-1]:
        raise ValueError("qr has a derivative in the modes 'reduced' and 'r'; 'complete' needs a wide or square A")
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr takes mode='reduced', 'complete' or 'r'; got {mode!r}")
    q, r = laid(tensors(ops.qr(A)), COLUMNS, ())
    return Qr(wrap(np.empty(0, q.dtype)) if mode == "r" else q, r)


def lu(A: Tensor, *, pivot: bool = True) -> Lu:
    """A = P L U with rows exchanged by P, L lower triangular with ones on its diagonal, and U upper triangular."""
    if not pivot:
        raise RuntimeError("lu() exchanges rows, without which elimination is unstable; leave out pivot=False")
    return Lu(*tensors(ops.lu.forward(A)))


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with A = L Lᴴ, or with ``upper`` the U with A = Uᴴ U."""
    return laid(as_tensor(ops.numpy_cholesky.forward(A, upper=upper)), COLUMNS, ())


def lu_factor(A: Tensor, *, pivot: bool = True) -> LuFactor:
    """L and U of A = P L U in one matrix, and which rows were exchanged, counted from 1: for `lu_solve`."""
    return LuFactor(*lu_factor_ex(A, pivot=pivot)[:2])


# Functions with an ending tell which matrices they cannot do, in the place of raising.


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> LuFactorEx:
    """`lu_factor`, and for each matrix which diagonal element of U, counted from 1, is the first that is 0."""
    if not pivot:
        raise RuntimeError("lu_factor() exchanges rows, without which elimination is unstable; leave out pivot=False")
    info = _told("lu_factor", "getrf", A, check_errors)
    return LuFactorEx(*lu_in_one(A), info)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> CholeskyEx:
    """`cholesky`, and for each matrix the order of the first leading minor that is not positive, or 0.

    The factors of matrices that have none are nan.
    """
    info = _told("cholesky", "potrf", A.mH if upper else A, check_errors)
    return CholeskyEx(_of_others(lambda A: cholesky(A, upper=upper), A, info), info)


def inv_ex(A: Tensor, *, check_errors: bool = False) -> InvEx:
    """`inv`, and for each matrix which pivot, counted from 1, is the first that is 0; such inverses are nan."""
    info = _told("inv", "getrf", A, check_errors)
    return InvEx(_of_others(inv, A, info), info)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> SolveEx:
    """`solve`, and for each matrix which pivot, counted from 1, is the first that is 0; such solutions are nan."""
    info = _told("solve", "getrf", A, check_errors)
    failed = info != 0
    if not bool(failed.any()):
        return SolveEx(solve(A, B, left=left), info)
    x = solve(_replaced(A, failed), B, left=left)
    while failed.ndim < x.ndim:
        failed = failed.unsqueeze(-1)
    return SolveEx(x.masked_fill(failed, float("nan")), info)


def _told(name: str, routine: str, A: Tensor, check_errors: bool) -> Tensor:
    """What LAPACK's routine says of each matrix: 0, or where it failed, counted from 1."""
    import scipy.linalg.lapack as lapack

    x = array_of(A)
    find = lapack.get_lapack_funcs(routine, (x,))
    told = np.zeros(x.shape[:-2], np.int32)
    for k in np.ndindex(told.shape if x.size else (0,)):
        told[k] = find(x[k], **({"lower": 1} if routine == "potrf" else {}))[-1]
    if check_errors and told.any():
        raise LinAlgError(f"{name}: the matrix is singular, or not positive definite; LAPACK tells {told.max()}")
    return wrap(told[()])


def _replaced(A: Tensor, failed: Tensor) -> Tensor:
    """Matrices with the identity in the place of some."""
    return as_tensor(ops.where(failed[..., None, None], np.eye(A.shape[-1], dtype=A.dtype), A))


def _of_others(function: Callable[[Tensor], Tensor], A: Tensor, info: Tensor) -> Tensor:
    """What a function gives of those matrices that it can do, nan for the others."""
    failed = info != 0
    if not bool(failed.any()):
        return function(A)
    return function(_replaced(A, failed)).masked_fill(failed[..., None, None], float("nan"))


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X with A X = B, or X A = B where not ``left``; B is one vector, a stack of vectors, or matrices."""
    if not left:
        return solve(A.mT, B.mT).mT
    vectors = B.ndim == 1 or (B.ndim == A.ndim - 1 and B.shape == A.shape[:-1])
    if vectors and B.ndim > 1:
        return laid(as_tensor(ops.solve(A, B.unsqueeze(-1))), COLUMNS, ()).squeeze(-1)
    return laid(as_tensor(ops.solve(A, B)), COLUMNS, ())


def pinv(A: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """Pseudo-inverse (Moore and Penrose): singular values below max(atol, rtol max(S)) count as 0."""
    if atol is not None:
        largest = np.linalg.svdvals(array_of(A)).max(axis=-1, initial=0.0)
        share = np.divide(atol, largest, out=np.zeros_like(largest), where=largest > 0)
        rtol = np.maximum(share, 0.0 if rtol is None else rtol)
    return as_tensor(ops.pinv(A, rcond=rtol, hermitian=hermitian))


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Lstsq:
    """The X of least |A X − B|, for matrices of full rank: ``solution``, ``residuals``, ``rank``, ``singular_values``.

    B is matrices, or one vector for each matrix.  The gradient flows through the solution and the residuals (squares
    of |A X − B|, where A has more rows than columns).

    Args:
        driver: one of LAPACK's, as PyTorch names them; the solution is the same, and what that one does not give is
            left empty: the residuals with ``"gelsy"``, the rank with ``"gels"``, singular values with both.

    Raises:
        RuntimeError: if the driver is none of PyTorch's.
    """
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"lstsq(): parameter driver should be one of gels, gelsy, gelsd, gelss; got {driver!r}")
    rank, nothing = matrix_rank(A, rtol=rcond), wrap(np.empty(0, A.dtype))
    is_tall = A.shape[-2] > A.shape[-1] and bool((rank == A.shape[-1]).all())
    vectors = B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]
    right = B.unsqueeze(-1) if vectors else B
    x = laid(matmul(pinv(A, rtol=rcond), right), COLUMNS, ())
    residuals = (matmul(A, x) - right).abs().square().sum(dim=-2) if is_tall and driver != "gelsy" else nothing
    return Lstsq(
        x.squeeze(-1) if vectors else x, residuals, wrap(np.empty(0, np.int64)) if driver == "gels" else rank,
        nothing if driver in ("gels", "gelsy") else svdvals(A),
    )  # fmt: skip


def matrix_rank(A: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> Tensor:
    """Number of singular values above max(atol, rtol max(S))."""
    x = array_of(A)
    s = np.abs(np.linalg.eigvalsh(x)) if hermitian else np.linalg.svdvals(x)
    share = (0.0 if atol is not None else max(x.shape[-2:]) * np.finfo(s.dtype).eps) if rtol is None else rtol
    limit = np.maximum(atol or 0.0, share * s.max(axis=-1, initial=0.0))
    return wrap(np.asarray((s > limit[..., None]).sum(axis=-1))[()])


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices; of the inverse for n < 0."""
    z = as_tensor(ops.matrix_power.forward(A, n))
    return laid(ops.clone(z) if z is A else z, COLUMNS if n == -1 else ROWS, ())


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of a vector or of matrices: of all elements where neither ``ord`` nor ``dim`` is given."""
    A = A if dtype is None else A.to(check_dtype(dtype))
    if ord is None:
        return vector_norm(A, 2, dim, keepdim)
    dim = tuple(range(A.ndim)) if dim is None else dim
    if isinstance(dim, int) or len(dim) == 1:
        return vector_norm(A, ord, dim, keepdim)
    return matrix_norm(A, ord, dim, keepdim)


def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """(Σ |x|^ord)^(1/ord) over some dimensions, or over all elements."""
    x = x if dtype is None else x.to(check_dtype(dtype))
    z: Tensor = FUNCTIONS["vector_norm"](x, ord, dim, keepdim)
    return z


def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:  # fmt: skip
    """Norms of the matrices in two dimensions: 'fro', 'nuc', ±1, ±2 or ±inf."""
    A = A if dtype is None else A.to(check_dtype(dtype))
    return as_tensor(ops.matrix_norm.forward(A, ord, tuple(dim), keepdim))


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross product of vectors with three components, along ``dim``."""
    z: Tensor = FUNCTIONS["cross"](input, other, dim)
    return z


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices."""
    return as_tensor(ops.diagonal(A, offset=offset, axis1=dim1, axis2=dim2))


def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A as a map from its last axes to its first ``ind``."""
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    size = tuple(int(np.prod(lengths, dtype=int)) for lengths in (rows, columns))
    return inv(A.reshape(size)).reshape(*columns, *rows)


def tensorsolve(A: Tensor, B: Tensor, dims: Any = None) -> Tensor:
    """The X with tensordot(A, X, X.ndim) = B."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    shape = tuple(A.shape[B.ndim :])
    return solve(A.reshape(B.numel(), -1), B.reshape(-1)).reshape(shape)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Matrices of powers: row i has 1, xᵢ, xᵢ², … along a new last axis of length N (that of x where None)."""
    powers = np.arange(x.shape[-1] if N is None else N)
    z: Tensor = in_rows(x.unsqueeze(-1) ** powers.astype(x.dtype))
    return z


for _name, _op in numpy_names(np.linalg):
    if _name not in globals():
        globals()[_name] = FUNCTIONS[_op.name]
        __all__ += [_name]  # noqa: PLE0604
