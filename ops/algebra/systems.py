"""Systems with triangular, factored or banded matrices and Sylvester's, LU factors, and functions of matrices."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ..core.batching import trailing
from ..core.domain import Case
from ..core.hints import Hints
from ..core.op import ADJOINT, HOLOMORPHIC, composite, general, plain, ready
from ..pointwise.comparison import eq
from ..shapes.diagonals import tril, triu
from ..shapes.index import gather, getitem
from ..shapes.joining import cat
from ..shapes.parts import mH
from ..shapes.shape import cast, mT, reshape
from ..shapes.sums import broadcast_to, fit, sum
from .matrices import as_column, columns, matrix_cases
from .products import matmul


def _triangle(x: Any, upper: bool, strict: bool) -> Any:
    return triu(x, k=int(strict)) if upper else tril(x, k=-int(strict))


def _solve_triangular(x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    from scipy.linalg import solve_triangular

    x, y = np.asarray(x), np.asarray(y)
    _check_sizes(x, y, left)
    if not left:
        xt, yt = np.swapaxes(x, -1, -2), np.swapaxes(y, -1, -2)
        return np.swapaxes(_solve_triangular(xt, yt, upper=not upper, unitriangular=unitriangular), -1, -2)
    stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    z = np.empty((*stack, *y.shape[-2:]), np.result_type(x, y, np.float32))
    xs, ys = np.broadcast_to(x, (*stack, *x.shape[-2:])), np.broadcast_to(y, z.shape)
    for k in np.ndindex(stack) if z.size else ():
        z[k] = solve_triangular(xs[k], ys[k], lower=not upper, unit_diagonal=unitriangular, check_finite=False)
    return z


def _check_sizes(x: Any, y: Any, left: bool) -> None:
    fits = x.ndim >= 2 and y.ndim >= 2 and x.shape[-1] == x.shape[-2] == y.shape[-2 if left else -1]
    if not fits:
        raise RuntimeError(
            f"solve_triangular needs square matrices and matrices with as many {'rows' if left else 'columns'} on the "
            f"right-hand side; got shapes {x.shape} and {y.shape}"
        )


def _across(g: Any, x: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    """The solution of the transposed system."""
    return solve_triangular(mT(x), g, upper=not upper, left=left, unitriangular=unitriangular)


def _triangular_x(
    g: Any, x: Any, z: Any, x_shape: tuple[int, ...], upper: bool, left: bool, unitriangular: bool
) -> Any:
    y_bar = _across(g, x, upper, left, unitriangular)
    bar = matmul(y_bar, mT(z)) if left else matmul(mT(z), y_bar)
    return -fit(_triangle(bar, upper, unitriangular), x_shape)


def _triangular_jvp(
    x: Any, z: Any, x_dot: Any, y_dot: Any, upper: bool, left: bool, unitriangular: bool
) -> Any:
    right = 0.0 * z if y_dot is None else y_dot
    if x_dot is not None:
        moved = _triangle(x_dot, upper, unitriangular)
        right = right - (matmul(moved, z) if left else matmul(z, moved))
    return solve_triangular(x, right, upper=upper, left=left, unitriangular=unitriangular)


def _triangular_cases(rng: np.random.Generator) -> Iterator[Case]:
    for a, b, params in (
        ((3, 3), (3, 2), {"upper": True}), ((2, 3, 3), (3, 1), {"upper": False}),
        ((3, 3), (2, 2, 3), {"upper": True, "left": False}), ((3, 3), (3, 3), {"upper": False, "unitriangular": True}),
    ):  # fmt: skip
        yield (rng.standard_normal(a) + 3.0 * np.eye(3), rng.standard_normal(b)), params


solve_triangular = general(
    "solve_triangular", _solve_triangular, _triangular_x,
    lambda g, x, y_shape, upper, left, unitriangular: fit(_across(g, x, upper, left, unitriangular), y_shape),
    hints=Hints(
        steps=lambda s, x, y, upper, left, unitriangular: s.triangular(x, y, upper, left, unitriangular),
        large=True, raises=slice(0, 1),
    ),
    jvp=_triangular_jvp, node="LinalgSolveTriangularBackward0", complex=HOLOMORPHIC, cases=_triangular_cases,
    batch=trailing(2), lies="columns",
    doc="""The z with x z = y (z x = y where not `left`), reading only the upper or the lower triangle of x.

    With `unitriangular` the diagonal of x is taken to be 1, and not read either.
    """,
)


def _cholesky_solve(x: Any, factor: Any, upper: bool = False) -> Any:
    """The z with A z = x, where A = L Lᴴ is given by its lower factor, or A = Uᴴ U by its upper one."""
    x, factor = ready(x), ready(factor)
    lower = mH(factor) if upper else factor
    half = solve_triangular(lower, x, upper=False)
    return solve_triangular(mH(lower), half, upper=True)


cholesky_solve = composite("cholesky_solve", _cholesky_solve, lies="columns")


def _cholesky_inverse(x: Any, upper: bool = False) -> Any:
    """The inverse of A = L Lᴴ, given by its lower factor, or of A = Uᴴ U by its upper one."""
    x = ready(x)
    return _cholesky_solve(np.eye(x.shape[-1], dtype=x.dtype), x, upper)


cholesky_inverse = composite("cholesky_inverse", _cholesky_inverse, lies="columns")


def _expm(x: Any) -> Any:
    from scipy.linalg import expm

    x = np.asarray(x)
    return expm(x).astype(x.dtype if x.dtype.kind in "fc" else np.float64, copy=False)


def _exp_along(x: Any, direction: Any) -> Any:
    """The derivative of the exponential: the corner of exp([[x, d], [0, x]])."""
    n = x.shape[-1]
    below = cat([0.0 * x, x], axis=-1)
    whole = matrix_exp(cat([cat([x, direction], axis=-1), below], axis=-2))
    return getitem(whole, index=(Ellipsis, slice(0, n), slice(n, None)))


matrix_exp = general(
    "matrix_exp", _expm, lambda g, x: _exp_along(mT(x), g), jvp=lambda x, x_dot: _exp_along(x, x_dot),
    node="LinalgMatrixExpBackward0", complex=HOLOMORPHIC, cases=matrix_cases((3, 3), (2, 2, 2), (1, 1)),
    batch=trailing(2), doc="Exponential of square matrices: Σ xᵏ / k!.",
)


def _function_of_matrix(x: Any, *, name: str) -> Any:
    import scipy.linalg

    z = getattr(scipy.linalg, name)(x)
    if z.dtype.kind == "c" and x.dtype.kind != "c":
        raise ValueError(f"{name} of this matrix is complex, so that its derivative is too: write {name}(A + 0j)")
    return z


def _function_along(x: Any, z: Any, direction: Any, name: str) -> Any:
    """The derivative: of a root by z ż + ż z = ẋ, of others the corner of f([[x, d], [0, x]])."""
    if name == "sqrtm":
        return sylvester(z, z, direction)
    n = x.shape[-1]
    whole = function_of_matrix(cat([cat([x, direction], axis=-1), cat([0.0 * x, x], axis=-1)], axis=-2), name=name)
    return getitem(whole, index=(Ellipsis, slice(0, n), slice(n, None)))


function_of_matrix = general(
    "function_of_matrix", _function_of_matrix, lambda g, x, z, name: _function_along(mT(x), mT(z), g, name),
    jvp=lambda x, z, x_dot, name: _function_along(x, z, x_dot, name), complex=HOLOMORPHIC,
    cases=lambda rng: iter([((_regular(rng),), {"name": "sqrtm"})]),
    hints=Hints(raises=slice(0, 1)), doc="The function of a matrix that `scipy.linalg` calls so: ``sqrtm``, ``logm``.",
)


def _regular(rng: np.random.Generator) -> Any:
    return 0.3 * rng.standard_normal((3, 3)) + np.diag([2.0, 3.0, 4.0])


def _sylvester(x: Any, y: Any, q: Any) -> Any:
    from scipy.linalg import solve_sylvester

    return solve_sylvester(x, y, q)


def _sylvester_bar(g: Any, x: Any, y: Any) -> Any:
    return sylvester(mT(x), mT(y), g)


def _sylvester_jvp(x: Any, y: Any, z: Any, x_dot: Any, y_dot: Any, q_dot: Any) -> Any:
    right = 0.0 * z if q_dot is None else q_dot
    right = right if x_dot is None else right - matmul(x_dot, z)
    return sylvester(x, y, right if y_dot is None else right - matmul(z, y_dot))


sylvester = general(
    "sylvester", _sylvester, lambda g, x, y, z: -matmul(_sylvester_bar(g, x, y), mT(z)),
    lambda g, x, y, z: -matmul(mT(z), _sylvester_bar(g, x, y)), _sylvester_bar,
    jvp=_sylvester_jvp, complex=HOLOMORPHIC,
    cases=lambda rng: iter([((_regular(rng), _regular(rng)[:2, :2], rng.standard_normal((3, 2))), {})]),
    hints=Hints(raises=slice(0, 2)), doc="The z with x z + z y = q.",
)


def _solve_banded(x: Any, y: Any, *, lower: int, upper: int, positive: bool = False) -> Any:
    from scipy.linalg import solve_banded, solveh_banded

    if positive:
        return solveh_banded(x[: upper + 1], y, check_finite=False)
    return solve_banded((lower, upper), x, y, check_finite=False)


def _moved(v: Any, k: int) -> Any:
    """What lies k places on along the last axis, and zeros beyond the end."""
    n = v.shape[-1]
    k = max(-n, min(n, k))
    zeros = np.zeros((*v.shape[:-1], abs(k)), v.dtype)
    if k < 0:
        return cat([zeros, getitem(v, index=(Ellipsis, slice(0, n + k)))], axis=-1)
    return cat([getitem(v, index=(Ellipsis, slice(k, None))), zeros], axis=-1)


def _across_bands(g: Any, x: Any, lower: int, upper: int, positive: bool) -> Any:
    """The solution of the transposed system."""
    rows = [_moved(getitem(x, index=(slice(upper - d, upper - d + 1),)), d) for d in range(-lower, upper + 1)]
    return solve_banded(cat(rows, axis=0), g, lower=upper, upper=lower, positive=positive)


def _rows_of(v: Any) -> Any:
    return mT(v) if v.ndim == 2 else reshape(v, shape=(1, v.shape[0]))


def _bands_bar(g: Any, x: Any, z: Any, lower: int, upper: int, positive: bool) -> Any:
    bar, at = _rows_of(_across_bands(g, x, lower, upper, positive)), _rows_of(z)
    return -cat([sum(_moved(bar, d) * at, axis=0, keepdims=True) for d in range(-upper, lower + 1)], axis=0)


def _banded_jvp(x: Any, z: Any, x_dot: Any, y_dot: Any, lower: int, upper: int, positive: bool) -> Any:
    right = 0.0 * z if y_dot is None else y_dot
    if x_dot is not None:
        at = _rows_of(z)
        parts = [_moved(getitem(x_dot, index=(d + upper,)) * at, -d) for d in range(-upper, lower + 1)]
        product = reduce(add, parts)
        right = right - (mT(product) if z.ndim == 2 else reshape(product, shape=z.shape))
    return solve_banded(x, right, lower=lower, upper=upper, positive=positive)


def _banded_cases(rng: np.random.Generator) -> Iterator[Case]:
    for lower, upper, shape in ((1, 1, (5,)), (0, 2, (4, 2)), (2, 1, (4, 1)), (0, 0, (3,))):
        x = rng.standard_normal((lower + upper + 1, shape[0]))
        x[upper] += 4.0
        yield (x, rng.standard_normal(shape)), {"lower": lower, "upper": upper}


solve_banded = general(
    "solve_banded", _solve_banded, _bands_bar,
    lambda g, x, lower, upper, positive: _across_bands(g, x, lower, upper, positive), jvp=_banded_jvp,
    complex=HOLOMORPHIC, cases=_banded_cases, hints=Hints(raises=slice(0, 1)),
    doc="""The z with A z = y, where A has its diagonals in the rows of x, as `scipy.linalg.solve_banded` takes them.

    There are `upper` of them above the main one, and `lower` below.  Of a `positive` matrix, symmetric and positive
    definite, those above are read.
    """,
)


def _order(x: Any) -> Any:
    from scipy.linalg import lu as factors

    x = np.asarray(x)
    x = x if x.dtype.kind in "fc" else x.astype(float)
    rows = np.empty(x.shape[:-1], dtype=int)
    rows[...] = np.arange(x.shape[-2]) if x.ndim > 1 else 0
    for k in np.ndindex(x.shape[:-2] if x.size else (0,)):
        rows[k] = np.argsort(factors(x[k], p_indices=True)[0])
    return rows


pivot_order = plain(
    "pivot_order", _order, complex=True, batch=trailing(2), hints=Hints(raises=slice(0, 1)),
    doc="The rows of matrices in the order in which elimination with partial pivoting takes them.",
)


def _exchanges(x: Any) -> Any:
    """At each step of elimination the row that is exchanged for the one whose turn it is, as LAPACK counts them."""
    rows = np.empty(x.shape, dtype=np.int32)
    for k in np.ndindex(x.shape[:-1]):
        left = list(range(x.shape[-1]))
        for step, row in enumerate(x[k].tolist()):
            at = left.index(row)
            left[step], left[at] = left[at], left[step]
            rows[(*k, step)] = at
    return rows


def _order_of(x: Any) -> Any:
    """The converse: the rows in the order in which exchanges leave them."""
    rows = np.empty(x.shape, dtype=int)
    for k in np.ndindex(x.shape[:-1]):
        left = list(range(x.shape[-1]))
        for step, at in enumerate(x[k].tolist()):
            left[step], left[at] = left[at], left[step]
        rows[k] = left
    return rows


exchanges = plain("exchanges", _exchanges, batch=trailing(1), doc=_exchanges.__doc__)
exchanged = plain("exchanged", _order_of, batch=trailing(1), doc="The order that `exchanges` make of rows.")


def _eliminate(x: Any) -> tuple[Any, Any]:
    """L and U of square matrices without exchanges of rows, column by column."""
    u = np.array(x)
    n = u.shape[-1]
    lower = np.broadcast_to(np.eye(n, dtype=u.dtype), u.shape).copy()
    for k in range(n - 1):
        with np.errstate(all="ignore"):
            ratios = u[..., k + 1 :, k] / u[..., k, k][..., None]
        ratios = np.where(np.isfinite(ratios), ratios, 0.0)
        lower[..., k + 1 :, k] = ratios
        u[..., k + 1 :, :] -= ratios[..., None] * u[..., k, :][..., None, :]
    return lower, np.triu(u)


def _elimination_vjp(g: Any, z: Any) -> Any:
    """x_bar = L⁻ᴴ (strict lower of Lᴴ G_L + upper of G_U Uᴴ) U⁻ᴴ."""
    lower, upper = z
    middle = 0.0 * upper
    if g[0] is not None:
        middle = middle + tril(matmul(mH(lower), g[0]), k=-1)
    if g[1] is not None:
        middle = middle + triu(matmul(g[1], mH(upper)))
    left = solve_triangular(mH(lower), middle, upper=True, unitriangular=True)
    return solve_triangular(mH(upper), left, upper=False, left=False)


def _elimination_jvp(z: Any, x_dot: Any) -> Any:
    lower, upper = z
    inner = solve_triangular(lower, x_dot, upper=False, unitriangular=True)
    inner = solve_triangular(upper, inner, upper=True, left=False)
    return matmul(lower, tril(inner, k=-1)), matmul(triu(inner), upper)


elimination = general(
    "elimination", _eliminate, _elimination_vjp, jvp=_elimination_jvp,
    outputs=2, node="LinalgLuBackward0", complex=ADJOINT, cases=matrix_cases((3, 3), (2, 2, 2)), batch=trailing(2),
    doc="x = L U of square matrices without exchanges of rows: `lu` exchanges them first.",
)


def _lu(x: Any) -> tuple[Any, Any, Any]:
    """P, L and U with x = P L U: rows exchanged, L lower triangular with ones on its diagonal, U upper triangular."""
    x = ready(x)
    m, n = x.shape[-2:]
    k = min(m, n)
    rows = as_column(pivot_order(x))
    ordered = gather(x, broadcast_to(rows, shape=x.shape), axis=-2)
    square = getitem(ordered, index=(Ellipsis, slice(0, k), slice(0, k)))
    lower, upper = elimination(square)
    if m > k:
        rest = getitem(ordered, index=(Ellipsis, slice(k, None), slice(None)))
        lower = cat([lower, solve_triangular(upper, rest, upper=True, left=False)], axis=-2)
    if n > k:
        rest = solve_triangular(lower, columns(ordered, k), upper=False, unitriangular=True)
        upper = cat([upper, rest], axis=-1)
    permutation = cast(eq(mT(rows), np.arange(m)[:, None]), dtype=x.dtype)
    return permutation, lower, upper


lu = composite("lu", _lu)
