"""Factors of matrices under the names that PyTorch gave them before `tape.linalg`, and with the results of then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import ops
from ops.core.axis_order import COLUMNS

from ..base.tensor import Tensor
from ..recording.calls import adaptor
from ..recording.laying import laid
from ..recording.recorder import wrap


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
