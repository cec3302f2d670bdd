"""Quotients by differences of eigenvalues or singular values, which may vanish.

Eigenvectors of equal eigenvalues (and singular vectors likewise) are defined up to a rotation among
themselves, complex ones each up to a factor exp(iφ).  A loss of the values alone, or of the vectors
alone if it does not depend on that rotation, gets its gradient.  A loss that depends on the rotation
has none, and the gradient of one that combines values and vectors, such as V f(w) Vᴴ, cannot be told
from their adjoints (it takes a mixed second derivative): the rules raise, where PyTorch returns nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.op import is_complex
from ..pointwise.comparison import gt, le, logical_and
from ..pointwise.selection import abs, where
from ..reductions.extremes import amax
from ..shapes.diagonals import diagonal
from ..shapes.queries import anywhere
from ..shapes.shape import reshape
from .matrices import as_column, as_row, off_diagonal


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
