"""Products with a constant sparse matrix, and systems of one: linear ops with the matrix as their parameter."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.batching import Application
from ..core.op import linear, ready
from ..shapes.index import select
from ..shapes.shape import transpose


class Matrix:
    """A sparse matrix as it is now, in compressed rows, with its transpose and its factors once they are needed.

    Two of them are equal if they are the same: a recorded list holds the numbers that there were.
    """

    __slots__ = ("_conjugate", "_factors", "_transpose", "dtype", "rows", "shape")

    def __init__(self, rows: Any):
        self.rows = rows
        self.shape, self.dtype = rows.shape, rows.dtype
        self._transpose: Matrix | None = None
        self._conjugate: Matrix | None = None
        self._factors: Any = None

    @property
    def T(self) -> Matrix:
        """Aᵀ."""
        if self._transpose is None:
            self._transpose = Matrix(self.rows.T.tocsr())
            self._transpose._transpose = self
        return self._transpose

    @property
    def H(self) -> Matrix:
        """Aᴴ, the adjoint: Aᵀ of real numbers."""
        if self.dtype.kind != "c":
            return self.T
        if self._conjugate is None:
            self._conjugate = Matrix(self.rows.conj().T.tocsr())
            self._conjugate._conjugate = self
        return self._conjugate

    def solve(self, x: Any) -> Any:
        """A⁻¹ x, with factors that are kept.

        Raises:
            RuntimeError: if A is singular.
        """
        if self._factors is None:
            from scipy.sparse.linalg import splu

            self._factors = splu(self.rows.astype(np.result_type(self.dtype, np.float64)).tocsc())
        if x.dtype.kind == "c" and self.dtype.kind != "c":
            return self._factors.solve(x.real) + 1j * self._factors.solve(x.imag)
        return self._factors.solve(np.asarray(x, np.result_type(self.dtype, x.dtype, np.float64)))

    def __repr__(self) -> str:
        return f"<sparse matrix of shape {self.shape}, {self.rows.nnz} stored elements, {self.dtype}>"


def is_sparse(x: Any) -> bool:
    """Whether something is a sparse matrix or array of SciPy's, which is not imported for that."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(x)


def yielding(array: Callable[..., Any]) -> Callable[..., Any]:
    """An ``__array__`` that lets a sparse matrix of SciPy's ask for ``__rmatmul__``.

    What a sparse matrix is multiplied by is first made an array, and an array of one object is taken to mean that it
    knows better: SciPy's way to let others say what the product is.
    """

    @functools.wraps(array)
    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> Any:
        frame = sys._getframe(1)
        if frame.f_code.co_name == "_matmul_dispatch" and frame.f_globals.get("__package__") == "scipy.sparse":
            return np.array(None)
        return array(self, dtype, copy)

    return __array__


def matrix_of(a: Any) -> Matrix:
    """A sparse matrix as a parameter: a copy, so that later changes of it are not seen."""
    rows = a.reshape(1, -1) if a.ndim == 1 else a
    made = rows.tocsr()
    return Matrix(made.copy() if made is a else _own(made, a))


def _own(made: Any, a: Any) -> Any:
    """Compressed rows with memory of their own, whatever the format they came from shares with them."""
    theirs = [x for x in vars(a).values() if isinstance(x, np.ndarray)]
    shared = any(np.may_share_memory(x, y) for x in (made.data, made.indices, made.indptr) for y in theirs)
    return made.copy() if shared else made


def _columns(x: Any) -> Any:
    """An array as a matrix whose columns are the vectors along its first axis."""
    return x.reshape(x.shape[0], -1)


def _product(x: Any, *, matrix: Matrix) -> Any:
    x = np.asarray(x)
    if x.ndim == 1:
        return np.asarray(matrix.rows @ x)
    return np.asarray(matrix.rows @ _columns(x)).reshape(matrix.shape[0], *x.shape[1:])


def _solution(x: Any, *, matrix: Matrix) -> Any:
    x = np.asarray(x)
    found = matrix.solve(_columns(x) if x.size else x).reshape(x.shape)
    return found.astype(np.result_type(matrix.dtype, x.dtype), copy=False)


def _beside(a: Application) -> Any:
    """Lanes are further columns."""
    return transpose(a.again(transpose(a.operands[0])))


def _cases(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    m, n = shape
    dense = rng.standard_normal(shape) * (rng.random(shape) < 0.6) + 2.0 * np.eye(m, n)
    real, complex = Matrix(csr_array(dense)), Matrix(csr_array(dense + 1j * np.triu(dense)))
    for matrix in (real, complex):
        for further in ((), (2,), (2, 3)):
            yield (rng.standard_normal((n, *further)),), {"matrix": matrix}


sparse_product = linear(
    "sparse_product", _product, lambda g, matrix: sparse_product(g, matrix=matrix.H),
    cases=lambda rng: _cases(rng, (4, 3)), batch=_beside,
    doc="z = A x, for a constant sparse A and vectors along the first axis of x.",
)

sparse_solve = linear(
    "sparse_solve", _solution, lambda g, matrix: sparse_solve(g, matrix=matrix.H),
    cases=lambda rng: _cases(rng, (3, 3)), batch=_beside,
    doc="The z with A z = x, for a constant sparse A and vectors along the first axis of x.",
)


def times(a: Any, x: Any) -> Any:
    """A x, for a sparse A and a vector or matrix x.

    Raises:
        ValueError: if the shapes do not fit.
    """
    x = ready(x)
    if x.ndim not in (1, 2) or a.ndim > 2 or a.shape[-1] != x.shape[0]:
        raise ValueError(
            f"a sparse matrix times a recorded array needs A of shape (m, n) and x of shape (n,) or (n, k); got "
            f"{a.shape} and {tuple(x.shape)}"
        )
    z = sparse_product(x, matrix=matrix_of(a))
    return select(z, index=0) if a.ndim == 1 else z


def times_from_left(x: Any, a: Any) -> Any:
    """x A, for a vector or matrix x and a sparse A.

    Raises:
        ValueError: if the shapes do not fit.
    """
    x = ready(x)
    if x.ndim not in (1, 2) or a.ndim > 2 or a.shape[0] != x.shape[-1]:
        raise ValueError(
            f"a recorded array times a sparse matrix needs x of shape (m,) or (k, m) and A of shape (m, n); got "
            f"{tuple(x.shape)} and {a.shape}"
        )
    matrix = matrix_of(a) if a.ndim == 1 else matrix_of(a).T
    z = sparse_product(transpose(x, axis1=0, axis2=-1), matrix=matrix)
    return select(z, index=0) if a.ndim == 1 else transpose(z, axis1=0, axis2=-1)


def solve(a: Any, b: Any) -> Any:
    """A⁻¹ b, for a square sparse A and a vector or matrix b.

    Raises:
        ValueError: if the shapes do not fit.
        RuntimeError: if A is singular.
    """
    b = ready(b)
    if a.ndim != 2 or a.shape[0] != a.shape[1] or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(
            f"spsolve needs a square A of shape (n, n) and b of shape (n,) or (n, k); got {a.shape} and "
            f"{tuple(b.shape)}"
        )
    return sparse_solve(b, matrix=matrix_of(a))
