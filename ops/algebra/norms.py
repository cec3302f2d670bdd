"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import along
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import ADJOINT, composite, general, ready
from ..pointwise.arithmetic import chain_mul
from ..pointwise.comparison import eq, isfinite, logical_and, logical_not, ne
from ..pointwise.elementary import sqrt
from ..pointwise.selection import abs, sgn, where
from ..reductions.extremes import amax, amin
from ..shapes.index import getitem
from ..shapes.parts import dot_part
from ..shapes.shape import cast, permute, ravel, reshape
from ..shapes.sums import Axis, kept, normal_axes, sum
from .inverses import inv, slogdet
from .products import dot
from .spectral import svdvals


def _vector_norm(x: Any, *, ord: float | None = 2, axis: Axis = None, keepdims: bool = False) -> Any:
    x = np.asarray(x)
    if x.dtype.kind not in "fc":
        x = x.astype(float)
    if ord is None and axis is None:
        return np.linalg.norm(x, None, None, keepdims)
    ord = 2 if ord is None else ord
    return np.linalg.vector_norm(x, axis=normal_axes(axis, x.ndim), keepdims=keepdims, ord=ord)


def _slope(x: Any, z: Any, ord: float | None, axis: Axis) -> Any:
    """∂‖x‖/∂x = sgn(x) (|x| / ‖x‖)^(p−1); 0 where the norm or, for p < 1, the element is 0."""
    if ord == 0:
        return 0.0 * sgn(x)
    if ord == 1:
        return sgn(x)
    z = kept(z, x.shape, axis)
    if ord in (float("inf"), -float("inf")):
        ties = where(eq(abs(x), z), sgn(x), 0.0)
        return ties / where(eq(z, 0.0), 1.0, sum(abs(ties), axis=axis, keepdims=True))
    if ord in (None, 2):
        return where(eq(z, 0.0), 0.0, x / z)
    nonzero = logical_and(ne(x, 0.0), ne(z, 0.0))
    ratio = where(nonzero, abs(x), 1.0) / where(eq(z, 0.0), 1.0, z)
    return where(nonzero, sgn(x) * ratio ** (ord - 1.0), 0.0)


def _root_of_sum(x: Any, ord: float | None, axis: Axis, keepdims: bool) -> Any:
    """`_vector_norm` in ops; not of order 0, which counts."""
    if ord is None and axis is None and x.dtype.kind == "f":  # of one vector, if the numbers lie so, as NumPy has it
        return reshape(sqrt(dot(ravel(x), ravel(x))), shape=(1,) * (x.ndim if keepdims else 0))
    if ord in (None, 2):
        return sqrt(sum(dot_part(x, x), axis=axis, keepdims=keepdims))
    if ord == 1:
        return sum(abs(x), axis=axis, keepdims=keepdims)
    if ord in (float("inf"), -float("inf")):
        return (amax if ord > 0 else amin)(abs(x), axis=axis, keepdims=keepdims)
    return sum(abs(x) ** float(ord), axis=axis, keepdims=keepdims) ** (1.0 / ord) if ord else None


def _vector_norm_jvp(x: Any, z: Any, x_dot: Any, ord: float | None, axis: Any, keepdims: bool) -> Any:
    return sum(dot_part(_slope(x, z, ord, axis), x_dot), axis=axis, keepdims=keepdims)


vector_norm = general(
    "vector_norm", _vector_norm,
    lambda g, x, z, ord, axis: chain_mul(kept(g, x.shape, axis), _slope(x, z, ord, axis)),
    jvp=_vector_norm_jvp,
    node="LinalgVectorNormBackward0",
    numpy=(np.linalg.vector_norm,),
    hints=Hints(made_of=_root_of_sum),
    complex=ADJOINT, cases=cases_of(
        ((2, 3), {}), ((2, 3), {"ord": 1, "axis": 0}), ((2, 3), {"ord": 3, "axis": -1, "keepdims": True}),
        ((4,), {"ord": float("inf")}), ((4,), {"ord": -float("inf")}), ((3,), {"ord": 0}), ((3,), {"ord": -1}),
        ((2, 3), {"ord": 1.5, "axis": (0, 1)}), ((3,), {"ord": 0.5}), ((2, 3), {"ord": None, "keepdims": True}),
    ),
    batch=along("axis"),
    doc="""(Σ |x|^ord)^(1/ord) over axes.

    The gradient at 0 is 0 for every order; extremes that tie share it evenly.  The order None is 2, of which the
    squares are added up over all axes as `numpy.linalg.norm` does it: as a product of vectors, in the order of memory.
    """,
)


def _matrix_norm(x: Any, ord: Any = "fro", axis: tuple[int, int] = (-2, -1), keepdims: bool = False) -> Any:
    """Norms of the matrices in two axes: 'fro', 'nuc', and ±1, ±inf, ±2 (sums of columns, rows; singular values)."""
    x = ready(x)
    x = x if x.dtype.kind in "fc" else cast(x, dtype=np.dtype(float))
    rows, columns = normal_axes(tuple(axis), x.ndim)
    if ord in (None, "fro", "f"):
        return vector_norm(x, ord=2, axis=(rows, columns), keepdims=keepdims)
    order = (*(k for k in range(x.ndim) if k not in (rows, columns)), rows, columns)
    z = _of_matrices(permute(x, axes=order), ord)
    return reshape(z, shape=tuple(1 if k in (rows, columns) else n for k, n in enumerate(x.shape))) if keepdims else z


def _of_matrices(x: Any, ord: Any) -> Any:
    if ord == "nuc":
        return sum(svdvals(x), axis=-1)
    pick = amax if ord in (1, 2, float("inf")) else amin
    if pick is amax and 0 in x.shape[-2:]:
        return sum(abs(x), axis=(-2, -1))
    if ord in (2, -2):
        return pick(svdvals(x), axis=-1)
    if ord in (1, -1):
        return pick(sum(abs(x), axis=-2), axis=-1)
    if ord in (float("inf"), -float("inf")):
        return pick(sum(abs(x), axis=-1), axis=-1)
    raise ValueError(f"a matrix norm has the order 'fro', 'nuc', ±1, ±2 or ±inf; got {ord!r}")


matrix_norm = composite("matrix_norm", _matrix_norm, numpy=(np.linalg.matrix_norm,), lies="rows")


def _norm(x: Any, ord: Any = "fro", axis: Any = None, keepdims: bool = False) -> Any:
    """(Σ |x|^p)^(1/p) over axes (all where None), as `torch.norm` has it; the order 'nuc' is that of matrices.

    >>> norm([[3.0, 0.0], [0.0, 4.0]], 1)
    np.float64(7.0)
    """
    x = ready(x)
    axes = normal_axes(tuple(axis) if isinstance(axis, list) else axis, x.ndim)
    if ord == "nuc":
        if len(axes) != 2:
            raise ValueError(f"the norm 'nuc' needs the two axes of matrices; got axis={axis} for shape {x.shape}")
        return _matrix_norm(x, ord, (axes[0], axes[1]), keepdims)
    if isinstance(ord, str) and ord != "fro":
        raise ValueError(f"norm has the order 'fro', 'nuc' or a number; got {ord!r}")
    return vector_norm(x, ord=2 if ord in (None, "fro") else ord, axis=axes, keepdims=keepdims)


norm = composite("norm", _norm, lies="rows")


def _numpy_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of a vector or matrix, of any order, with the meaning that `numpy.linalg.norm` gives to each.

    >>> numpy_norm([3.0, 4.0])
    np.float64(5.0)
    """
    x = ready(x)
    if axis is None and (ord is None or (x.ndim == 1 and ord == 2) or (x.ndim == 2 and ord in ("fro", "f"))):
        return vector_norm(x, ord=None, keepdims=keepdims)
    if axis is None and x.ndim == 1:
        return vector_norm(x, ord=ord, keepdims=keepdims)
    axes = normal_axes(tuple(axis) if isinstance(axis, list) else axis, x.ndim)
    if len(axes) == 2:
        return _matrix_norm(x, ord, axes, keepdims)
    if len(axes) == 1 and not isinstance(ord, str):
        return vector_norm(x, ord=2 if ord is None else ord, axis=axes, keepdims=keepdims)
    raise ValueError(
        f"norm needs one axis for a vector or two for a matrix; got axis={axis}, ord={ord!r} for shape {x.shape}"
    )


numpy_norm = composite("numpy_norm", _numpy_norm, numpy=(np.linalg.norm,))


OF_ALL_MATRICES = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
"""Whether NumPy has a condition number by singular values of those matrices too that have none."""


def _cond(x: Any, p: Any = None) -> Any:
    """Condition numbers of matrices: ‖x‖ ‖x⁻¹‖ in the norm p, or the quotient of the extreme singular values.

    That of a singular matrix is infinite, without a warning, and a constant; in the norm 'nuc' NumPy has none before
    2.5.  Of a matrix with a nan in it it is nan, with infinities and no nan infinite.
    """
    x = ready(x)
    if OF_ALL_MATRICES and p in (None, 2, -2, "nuc") and x.dtype.kind in "fc":
        return _of_finite(x, p)
    return _cond_of(x, p)


def _of_finite(x: Any, p: Any) -> Any:
    """Condition numbers by singular values, which only finite matrices have."""
    known = eq(sum(cast(logical_not(isfinite(x)), dtype=np.dtype(float)), axis=(-2, -1)), 0.0)
    has_nan = ne(sum(cast(ne(x, x), dtype=np.dtype(float)), axis=(-2, -1)), 0.0)
    found = _cond_of(where(reshape(known, shape=(*known.shape, 1, 1)), x, np.eye(*x.shape[-2:], dtype=x.dtype)), p)
    return where(has_nan, np.nan, where(known, found, np.inf))


def _cond_of(x: Any, p: Any) -> Any:
    if p in (None, 2, -2):
        s = svdvals(x)
        first, last = (getitem(s, index=(Ellipsis, k)) for k in (0, -1))
        above, below = (last, first) if p == -2 else (first, last)
        infinite = eq(below, 0.0)
        found = where(infinite, np.inf, above / where(infinite, 1.0, below))
        unknown = eq(sum(cast(ne(x, x), dtype=np.dtype(float)), axis=(-2, -1)), 0.0)  # such a nan counts as infinite
        return where(logical_and(ne(found, found), unknown), np.inf, found)
    if p == "nuc" and not OF_ALL_MATRICES:
        return _matrix_norm(x, p) * _matrix_norm(inv(x), p)
    dtype, wide = x.dtype, cast(x, dtype=np.result_type(x.dtype, float))
    infinite = eq(slogdet(wide)[0], 0.0)
    regular = where(reshape(infinite, shape=(*infinite.shape, 1, 1)), np.eye(x.shape[-1]), wide)
    found = where(infinite, np.inf, _matrix_norm(x, p) * _matrix_norm(inv(regular), p))
    return found if dtype.kind not in "fc" else cast(found, dtype=np.dtype(dtype.char.lower()))


numpy_cond = composite("numpy_cond", _cond, numpy=(np.linalg.cond,))


def _cdist(x1: Any, x2: Any, p: float = 2.0) -> Any:
    """Distances of the rows of x1 from those of x2, in the norm p; stacked over leading axes."""
    x1, x2 = ready(x1), ready(x2)
    rows = reshape(x1, shape=(*x1.shape[:-1], 1, x1.shape[-1]))
    others = reshape(x2, shape=(*x2.shape[:-2], 1, *x2.shape[-2:]))
    return vector_norm(rows - others, ord=p, axis=-1)


cdist = composite("cdist", _cdist, lies="rows")
