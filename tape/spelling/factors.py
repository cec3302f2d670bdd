"""Factors of matrices under the names that PyTorch gave them before `tape.linalg`, and with the results of then."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ops
from ops.core.axis_order import COLUMNS

from ..base.tensor import Tensor
from ..recording.calls import adaptor, function_only
from ..recording.creation import arange, eye
from ..recording.functions import FUNCTIONS
from ..recording.laying import laid
from ..recording.recorder import as_tensor, wrap


class SvdWithV(NamedTuple):
    """A = U diag(S) Vᴴ."""

    U: Tensor
    S: Tensor
    V: Tensor


class Qr(NamedTuple):
    """A = Q R."""

    Q: Tensor
    R: Tensor


class Slogdet(NamedTuple):
    """det A = sign exp(logabsdet)."""

    sign: Tensor
    logabsdet: Tensor


@adaptor
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> SvdWithV:
    """A = U diag(S) Vᴴ with V itself, where `tape.linalg.svd` and `numpy.linalg.svd` give Vᴴ.

    Args:
        some: the reduced form; else U and V are square, and the vectors beyond those of S have no gradient.
        compute_uv: without it U and V are square matrices of zeros, as in PyTorch.

    >>> import tape
    >>> U, S, V = tape.svd(tape.tensor([[0.0, 2.0], [1.0, 0.0]]))
    >>> (U * S) @ V.mT
    tensor([[0., 2.],
            [1., 0.]])
    """
    u, s, vh = ops.svd(input, full_matrices=not (some and compute_uv))
    u, vh = laid((u, vh), COLUMNS, ())
    if compute_uv:
        return SvdWithV(u, s, ops.mT(vh).conj())
    return SvdWithV(wrap(np.zeros(u.shape, u.dtype)), s, wrap(np.zeros(vh.shape, vh.dtype)))


@adaptor
def qr(input: Tensor, some: bool = True) -> Qr:
    """A = Q R with orthonormal columns in Q and R upper triangular.

    Raises:
        ValueError: without ``some``, for matrices with more rows than columns: their square Q has no derivative.
    """
    if not some and input.shape[-2] > input.shape[-1]:
        raise ValueError("qr has a derivative in its reduced form; some=False needs a wide or square matrix")
    return Qr(*laid(ops.qr(input), COLUMNS, ()))


@adaptor
def slogdet(input: Tensor) -> Slogdet:
    """Sign of the determinant, and logarithm of its absolute value."""
    return Slogdet(*ops.slogdet(input))


# Factors L U of matrices whose rows were exchanged, in one matrix: that of L, without its diagonal of ones, below U.


class Lu(NamedTuple):
    """A = P L U."""

    P: Tensor
    L: Tensor
    U: Tensor


class TriangularSolve(NamedTuple):
    """A solution, and a copy of the matrix."""

    solution: Tensor
    cloned_coefficient: Tensor


def lu_in_one(A: Tensor) -> tuple[Tensor, Tensor]:
    """L and U of A = P L U in one matrix, and at each step the row, counted from 1, that was exchanged for its turn."""
    m, n = A.shape[-2:]
    k = min(m, n)
    _, lower, upper = (as_tensor(z) for z in ops.lu.forward(A))
    below = lower.tril(-1)
    if m > n:
        upper = FUNCTIONS["cat"]([upper, upper.new_zeros(*upper.shape[:-2], m - n, n)], -2)
    if n > m:
        below = FUNCTIONS["cat"]([below, below.new_zeros(*below.shape[:-2], m, n - m)], -1)
    exchanges = as_tensor(ops.exchanges(ops.pivot_order(A.detach())))[..., :k]
    return laid(below + upper, COLUMNS, ()), exchanges + 1


def _order(pivots: Tensor, count: int) -> Tensor:
    """The rows, as many as `count`, in the order in which exchanges, counted from 1, leave them."""
    steps = np.broadcast_to(np.arange(count), (*pivots.shape[:-1], count)).copy()
    steps[..., : pivots.shape[-1]] = np.asarray(pivots.detach().numpy()) - 1
    return as_tensor(ops.exchanged(steps))


def _rows(B: Tensor, order: Tensor) -> Tensor:
    places = order.unsqueeze(-1)
    shape = np.broadcast_shapes(tuple(places.shape[:-2]), tuple(B.shape[:-2]))
    return B.expand(*shape, *B.shape[-2:]).gather(-2, places.expand(*shape, B.shape[-2], B.shape[-1]))


def solve_by_lu(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """The X with A X = B, or X A = B where not ``left``, of the A whose factors `lu_factor` gave; of Aᴴ if ``adjoint``.

    >>> import tape
    >>> A = tape.tensor([[0.0, 2.0], [4.0, 1.0]])
    >>> tape.linalg.lu_solve(*tape.linalg.lu_factor(A), tape.tensor([[2.0], [5.0]]))
    tensor([[1.],
            [1.]])
    """
    if not left:
        return solve_by_lu(LU, pivots, B.mH, adjoint=not adjoint).mH
    solve, order = FUNCTIONS["solve_triangular"], _order(pivots, LU.shape[-1])
    if not adjoint:
        z: Tensor = solve(LU, solve(LU, _rows(B, order), upper=False, unitriangular=True), upper=True)
        return z
    half = solve(LU.mH, solve(LU.mH, B, upper=False), upper=True, unitriangular=True)
    return _rows(half, order.argsort(-1))


@adaptor
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The X with A X = b, the ``input``, of the A whose factors `tape.linalg.lu_factor` gave."""
    return solve_by_lu(LU_data, LU_pivots, input)


@function_only
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> Lu:
    """P, L and U of A = P L U from what `tape.linalg.lu_factor` gives; what is not unpacked is empty."""
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    nothing = LU_data.new_zeros(0)
    P = L = U = nothing
    if unpack_data:
        L = LU_data[..., :k].tril(-1) + eye(m, k, dtype=LU_data.dtype)
        U = LU_data[..., :k, :].triu()
    if unpack_pivots:
        P = (_order(LU_pivots, m).unsqueeze(-2) == arange(m).unsqueeze(-1)).to(LU_data.dtype)
    return Lu(P, L, U)


@function_only
def triangular_solve(
    input: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> TriangularSolve:
    """The X with A X = b, the ``input``, of triangular matrices A, or with Aᵀ X = b where they are to be transposed."""
    matrix = A.mT if transpose else A
    solve = FUNCTIONS["solve_triangular"]
    return TriangularSolve(solve(matrix, input, upper=upper != transpose, unitriangular=unitriangular), A.clone())


@function_only
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of reflections I − τᵢ vᵢ vᵢᴴ, where vᵢ is column i below a 1 on the diagonal.

    That is Q of `geqrf` in LAPACK, and `tape.linalg.householder_product`.
    """
    m, n = input.shape[-2:]
    v = input.tril(-1) + eye(m, n, dtype=input.dtype)
    z: Any = eye(m, n, dtype=input.dtype).expand(*input.shape)
    for i in reversed(range(tau.shape[-1])):
        column = v[..., i : i + 1]
        z = z - tau[..., i : i + 1].unsqueeze(-1) * column @ (column.mH @ z)
    return laid(z.clone() if not tau.shape[-1] else z, COLUMNS, ())
