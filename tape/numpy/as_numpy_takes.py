"""How NumPy's functions take arguments that ops take otherwise: in which dtype, which triangle, with a word.

An op gets what NumPy makes of its arguments before it computes; and NumPy itself is shown the numbers where it warns of
something else than the op does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.tensor import Face
from .arrays.face import Recorded
from .of_scipy.scipy_linalg import symmetric

OTHER_WARNINGS: frozenset[Any] = frozenset({
    np.var, np.std, np.nanmean, np.nanvar, np.nanstd, np.nanmedian, np.nanquantile, np.nanpercentile, np.percentile,
    np.cov, np.corrcoef, np.linalg.norm, np.poly, np.polydiv, np.dot, np.inner, np.vdot, np.cross, np.convolve,
    np.correlate, np.geomspace, np.divmod, np.vecdot,
})  # fmt: skip
"""Functions that warn of something else than their ops do."""


def tells_otherwise(function: Any, kwargs: Any) -> bool:
    """Whether NumPy warns of something else than an op does: it is shown the numbers where there may be a reason."""
    if kwargs.get("out") is not None:
        return False
    return function in OTHER_WARNINGS or (function is np.mean and kwargs.get("where", True) is not True)


def _is_upper(function: Any, rest: Any, named: dict[str, Any]) -> bool:
    return bool(named["upper"]) if "upper" in named else str((*rest, named.get("UPLO", "L"))[0]).upper() == "U"


def promoted(function: Any, args: Any, kwargs: Any) -> Any:
    """The arguments of a function that NumPy computes in another dtype than that of its argument, or makes arrays."""
    if function in CASTING and kwargs.get("dtype") is not None and isinstance(args[0], Recorded):
        return (args[0].astype(kwargs["dtype"]) if args[0].dtype.kind == "c" else args[0], *args[1:])
    if function in WIDER and args:
        return tuple([_wider(x, WIDER[function]) if k < 2 else x for k, x in enumerate(args)])
    return args


def _wider(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(np.promote_types(x.dtype, dtype)) if isinstance(x, Recorded) else x


WIDER = {np.cov: np.dtype(float), np.corrcoef: np.dtype(float), np.vander: np.dtype(int)}
"""Functions that compute in a dtype that has room for this one as well."""

CASTING = frozenset({np.sum, np.prod, np.mean, np.cumsum, np.cumprod, np.cumulative_sum, np.cumulative_prod})
"""Functions that cast complex numbers to ``dtype=``, and warn of what that discards."""


def with_one_triangle(function: Any, args: Any, kwargs: Any) -> Any:
    """The arguments of a function that reads one triangle of a matrix, with the matrix that this stands for."""
    if not args or not (function in TRIANGULAR or _is_hermitian(function, args, kwargs)):
        return args
    a, *rest = args
    is_upper = function in TRIANGULAR and _is_upper(function, rest, kwargs)
    shape = a._tensor._spec.shape if isinstance(a, Face) else ()
    return (symmetric(a, not is_upper), *rest) if len(shape) > 1 and shape[-1] == shape[-2] else args


def _is_hermitian(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether a function is told that its matrix is one that is determined by a triangle."""
    place = HERMITIAN.get(function)
    return place is not None and bool(args[place] if len(args) > place else kwargs.get("hermitian", False))


HERMITIAN: dict[Any, int] = {np.linalg.svd: 3, np.linalg.pinv: 2, np.linalg.matrix_rank: 2}
"""By function which of its arguments says so."""

TRIANGULAR = frozenset({np.linalg.cholesky, np.linalg.eigh, np.linalg.eigvalsh})
"""Functions that read one triangle of a matrix."""

TAKEN_OTHERWISE = frozenset({*CASTING, *WIDER, *TRIANGULAR, *HERMITIAN})
"""Functions of which some arguments are taken otherwise than ops take them."""

SPECTRA: frozenset[Any] = (
    frozenset({np.linalg.eig, np.linalg.eigvals}) if np.linalg.eigvals(np.eye(1)).dtype.kind == "f" else frozenset()
)
"""Functions whose results are real if all eigenvalues are; none from NumPy 2.5 on, which gives complex ones always."""
