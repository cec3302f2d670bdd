"""Matrix products and their kin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.batching import matrices, trailing
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import HOLOMORPHIC, composite, conjugate, general, ready
from ..pointwise.arithmetic import mul
from ..shapes.shape import cast, movedim, mT, permute, reshape
from ..shapes.sums import fit, sum, sum_to


def _row(g: Any) -> Any:
    """A vector, or a stack of them, as matrices of one row."""
    return reshape(g, shape=(*g.shape[:-1], 1, g.shape[-1]))


def _column(g: Any) -> Any:
    return reshape(g, shape=(*g.shape, 1))


def _rows(x: Any) -> Any:
    """A stack of matrices as the one matrix of all their rows: a matrix that each is multiplied by meets them at once,
    and its adjoint needs no stack of products to add up."""
    return reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))


def _matmul_x(g: Any, x_shape: tuple[int, ...], y: Any) -> Any:
    if len(x_shape) == 1 and y.ndim == 1:
        return g * y
    if y.ndim == 1:
        return fit(_column(g) * y, x_shape)
    if len(x_shape) == 1 and y.ndim == 2:
        return matmul(y, g)
    if len(x_shape) == 1:
        return reshape(sum_to(matmul(_row(g), mT(y)), shape=(1, *x_shape)), shape=x_shape)
    if y.ndim == 2 and len(x_shape) > 2:
        return reshape(matmul(_rows(g), mT(y)), shape=x_shape)
    return fit(matmul(g, mT(y)), x_shape)


def _matmul_y(g: Any, x: Any, y_shape: tuple[int, ...]) -> Any:
    if len(y_shape) == 1 and x.ndim == 1:
        return g * x
    if x.ndim == 1:
        return fit(_column(x) * _row(g), y_shape)
    if len(y_shape) == 1 and x.ndim == 2:
        return matmul(g, x)
    if len(y_shape) == 1:
        return reshape(sum_to(matmul(mT(x), _column(g)), shape=(*y_shape, 1)), shape=y_shape)
    if len(y_shape) == 2 and x.ndim > 2:
        return matmul(mT(_rows(x)), _rows(g))
    return fit(matmul(mT(x), g), y_shape)


matmul = general(
    "matmul", np.matmul, _matmul_x, _matmul_y,
    symbol="matmul", node=lambda ndim: f"{('Dot', 'Mv', 'Mm', 'Bmm')[min(ndim, 3)]}Backward0",
    numpy=(np.linalg.matmul,), hints=Hints(motion="matrix"), batch=matrices(), complex=HOLOMORPHIC, cases=cases_of(
        ([(2, 3), (3, 4)], {}), ([(3,), (3,)], {}), ([(2, 3), (3,)], {}), ([(3,), (3, 2)], {}),
        ([(4, 2, 3), (3, 2)], {}), ([(2, 3), (4, 3, 2)], {}), ([(2, 1, 2, 3), (4, 3, 2)], {}),
        ([(4, 2, 3), (3,)], {}), ([(3,), (4, 3, 2)], {}), ([(2, 0), (0, 3)], {}),
    ),
    doc="Matrix product, stacked over leading axes; a vector is a row on the left and a column on the right.",
)


def _product(name: str, x_ndim: int, y_ndim: int, doc: str, *cases: Any):  # type: ignore[no-untyped-def]
    """Declare `matmul` for operands of given ndim alone, as PyTorch has it."""

    def forward(x: Any, y: Any) -> Any:
        x, y = np.asarray(x), np.asarray(y)
        if (x.ndim, y.ndim) != (x_ndim, y_ndim):
            raise ValueError(
                f"{name} takes arrays of {x_ndim} and {y_ndim} axes, got shapes {x.shape} and {y.shape}; "
                "use matmul() for any other pair"
            )
        return np.matmul(x, y)

    return general(
        name, forward, _matmul_x, _matmul_y, hints=Hints(motion="matrix"), batch=matrices(x_ndim, y_ndim),
        complex=HOLOMORPHIC, cases=cases_of(*((list(c), {}) for c in cases)), doc=doc,
    )


mm = _product("mm", 2, 2, "Product of two matrices.", ((2, 3), (3, 4)))
mv = _product("mv", 2, 1, "Product of a matrix and a vector.", ((2, 3), (3,)))
bmm = _product("bmm", 3, 3, "Products of two stacks of matrices.", ((4, 2, 3), (4, 3, 2)))
dot = _product("dot", 1, 1, "Inner product of two vectors.", ((3,), (3,)))


def _outer(x: Any, y: Any) -> Any:
    """zᵢⱼ = xᵢ yⱼ; operands of more axes are flattened first."""
    return mul(reshape(ready(x), shape=(-1, 1)), reshape(ready(y), shape=(1, -1)))


outer = composite("outer", _outer, numpy=(np.outer, np.linalg.outer))


def _inner(x: Any, y: Any) -> Any:
    """Sum of products over the last axes: zᵢⱼ = Σₖ xᵢₖ yⱼₖ."""
    x, y = ready(x), ready(y)
    if x.ndim == 0 or y.ndim == 0:
        return mul(x, y)
    return tensordot(x, y, axes=((-1,), (-1,)))


inner = composite("inner", _inner)


def _vdot(x: Any, y: Any) -> Any:
    """Inner product of two arrays, flattened: Σ conj(x) y."""
    return dot(reshape(conjugate(ready(x)), shape=(-1,)), reshape(ready(y), shape=(-1,)))


vdot = composite("vdot", _vdot, numpy=(np.vdot,))


def _sum_of_products(x: Any, y: Any) -> Any:
    """Σ x y along the last axis."""
    parts = mul(x, y)
    z = sum(parts, axis=-1)
    return z if z.dtype == parts.dtype else cast(z, dtype=parts.dtype)  # of small integers, and of truth values


row_dot = general(
    "row_dot", lambda x, y: np.vecdot(np.conj(x) if np.iscomplexobj(x) else x, y),
    lambda g, x_shape, y: fit(_column(g) * y, x_shape), lambda g, x, y_shape: fit(x * _column(g), y_shape),
    batch=trailing(1), complex=HOLOMORPHIC, hints=Hints(made_of=_sum_of_products), cases=cases_of(
        ([(3,), (3,)], {}), ([(2, 3), (3,)], {}), ([(2, 1, 3), (4, 3)], {}), ([(2, 0), (0,)], {}),
    ),
    doc="Inner products of stacks of vectors along the last axis, added up in NumPy's order.",
)  # fmt: skip


def _vecdot(x: Any, y: Any, *, axis: int = -1) -> Any:
    """Inner products of stacks of vectors along one axis: Σ conj(x) y."""
    x, y = conjugate(ready(x)), ready(y)
    return row_dot(*[v if axis in (-1, v.ndim - 1) else movedim(v, axis, -1) for v in (x, y)])


vecdot = composite(
    "vecdot", _vecdot, lies="rows",
    numpy=tuple(f for f in (getattr(np, "vecdot", None), np.linalg.vecdot) if f is not None),
)


def _matvec(x1: Any, x2: Any) -> Any:
    """Matrices times vectors, stacked over leading axes."""
    z = matmul(x1, _column(ready(x2)))
    return reshape(z, shape=z.shape[:-1])


def _vecmat(x1: Any, x2: Any) -> Any:
    """Vectors, conjugated, times matrices, stacked over leading axes."""
    z = matmul(_row(conjugate(ready(x1))), x2)
    return reshape(z, shape=(*z.shape[:-2], z.shape[-1]))


matvec = composite("matvec", _matvec, numpy=(np.matvec,) if hasattr(np, "matvec") else ())
vecmat = composite("vecmat", _vecmat, numpy=(np.vecmat,) if hasattr(np, "vecmat") else ())


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum of products over pairs of axes: the last `axes` of a with the first of b, or those named.

    >>> tensordot(np.ones((2, 3)), np.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    a, b = ready(a), ready(b)
    over_a, over_b = _pairs(axes, a.ndim, b.ndim)
    if [a.shape[i] for i in over_a] != [b.shape[j] for j in over_b]:
        raise ValueError(
            f"tensordot needs the summed axes to have equal lengths, got axes {over_a} of shape {a.shape} "
            f"and axes {over_b} of shape {b.shape}"
        )
    free_a = tuple(i for i in range(a.ndim) if i not in over_a)
    free_b = tuple(j for j in range(b.ndim) if j not in over_b)
    size = int(np.prod([a.shape[i] for i in over_a], dtype=int))
    shape_a, shape_b = tuple(a.shape[i] for i in free_a), tuple(b.shape[j] for j in free_b)
    left = reshape(permute(a, axes=free_a + over_a), shape=(int(np.prod(shape_a, dtype=int)), size))
    right = reshape(permute(b, axes=over_b + free_b), shape=(size, int(np.prod(shape_b, dtype=int))))
    return reshape(mm(left, right), shape=shape_a + shape_b)


def _pairs(axes: Any, n: int, m: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes to sum over, of each operand, counted from the front."""
    if isinstance(axes, (int, np.integer)):
        return tuple(range(n - axes, n)), tuple(range(axes))
    first, second = ((a,) if isinstance(a, (int, np.integer)) else tuple(a) for a in axes)
    return tuple(i % n for i in first), tuple(j % m for j in second)


tensordot = composite("tensordot", _tensordot, numpy=(np.tensordot, np.linalg.tensordot), lies="rows")


def _kron(a: Any, b: Any) -> Any:
    """Kronecker product: every element of a times the whole of b."""
    a, b = ready(a), ready(b)
    n = max(a.ndim, b.ndim)
    rows, columns = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    wide = reshape(a, shape=tuple(k for length in rows for k in (length, 1)))
    tight = reshape(b, shape=tuple(k for length in columns for k in (1, length)))
    return reshape(mul(wide, tight), shape=tuple(i * j for i, j in zip(rows, columns)))


kron = composite("kron", _kron, numpy=(np.kron,), lies="operand")


def _multi_dot(arrays: Any) -> Any:
    """Product of several matrices, from left to right."""
    first, *rest = map(ready, arrays)
    for array in rest:
        first = matmul(first, array)
    return first


multi_dot = composite("multi_dot", _multi_dot, numpy=(np.linalg.multi_dot,))
