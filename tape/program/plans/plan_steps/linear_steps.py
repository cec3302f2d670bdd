"""Products of matrices and solutions of systems as steps: by loops where they are small, by BLAS where they are not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ops import REGISTRY, Op

from ....base.spec import row_major, spec
from ....jit.machine.regions import REFUSED
from ....jit.machine.state import STORE
from ...recorded.indexmaps import View, view_of
from .blas_calls import LETTERS, as_words, call_library, pointers
from .loop_steps import LoopSteps
from .plan_places import SUFFIXES, Place, PlanValue, moved
from .stacked_products import joined
from .step_memory import NoStep, StepMemory, axes, castable, view

FEW = 1 << 8
"""A product of fewer multiplications is a loop of our own: a call of BLAS costs more."""
MOST = 64
"""Of a longer stack of matrices NumPy makes the products."""


def step(plan: Any, record: Any) -> bool:
    """Let a record be steps of linear algebra; whether it can be."""
    way = _product if record.op.hints.motion == "matrix" else _anywhere if record.op is ANYWHERE else None
    return way is not None and not record.params and way(plan, record)


def _product(plan: Any, record: Any) -> bool:
    result, s = record.result, StepMemory(plan)
    if result.dtype not in SUFFIXES or not all(castable(plan.spec(k).dtype, result.dtype) for k in record.needs):
        return False
    x, y = (s.convert(plan.value(k), result.dtype) for k in record.needs)
    fits = _products(plan, record, x, y)
    s.end()
    return fits


def _products(plan: Any, record: Any, x: PlanValue, y: PlanValue) -> bool:
    """A product for each matrix of a stack, or one for all; whether they are not too many."""
    result = record.result
    x = x if x.spec.ndim > 1 else view(x, [(1, 0), *axes(x)])
    y = y if y.spec.ndim > 1 else view(y, [*axes(y), (1, 0)])
    (rows, inner), columns = x.spec.shape[-2:], y.spec.shape[-1]
    single = len(x.spec.shape) == len(y.spec.shape) == 2
    stack = () if single else np.broadcast_shapes(x.spec.shape[:-2], y.spec.shape[:-2])
    one = joined(plan, record.needs, x, y) if result.size and inner and math.prod(stack) > 1 else None
    if not result.size or (one is None and math.prod(stack) > MOST):
        return False
    z, dtype = plan.make(record.row), result.dtype
    if not inner:
        plan.fill(z)
        return True
    if one is not None:
        left, right = one
        sizes = left.spec.shape[0], inner, right.spec.shape[1]
        multiply(plan, dtype, sizes, z.place, (left.place, left.strides), (right.place, right.strides))
        return True
    sizes = rows, inner, columns
    if single:
        multiply(plan, dtype, sizes, z.place, (x.place, x.strides), (y.place, y.strides))
        return True
    x_firsts, y_firsts = (firsts(v.spec.shape[:-2], v.strides[:-2], stack) for v in (x, y))
    for n, (i, j) in enumerate(zip(x_firsts, y_firsts)):
        to = moved(z.place, n * rows * columns * dtype.itemsize)
        multiply(plan, dtype, sizes, to, (moved(x.place, i), x.strides[-2:]), (moved(y.place, j), y.strides[-2:]))
    return True


def firsts(shape: tuple[int, ...], strides: tuple[int, ...], stack: tuple[int, ...]) -> list[int]:
    """Bytes to each matrix of a stack, broadcast to a longer one."""
    if not stack:
        return [0]
    at = np.zeros(shape, np.int64)
    for axis, stride in enumerate(strides):
        at += (np.arange(shape[axis]) * stride).reshape(-1, *(1,) * (len(shape) - 1 - axis))
    return [int(k) for k in np.broadcast_to(at, stack).ravel()]


Matrix = tuple[Any, tuple[int, ...]]
"""Where a matrix is, and the bytes from row to row and from column to column."""


def multiply(
    plan: Any,
    dtype: Any,
    sizes: tuple[int, int, int],
    z: Place | int,
    x: Matrix,
    y: Matrix,
    z_row: int | None = None,
    add: bool = False,
) -> bool:
    """One product, of matrices of rows × inner and inner × columns.

    `z_row` are the bytes from row to row of the result where its rows do not follow one another; then BLAS does it, if
    it can, which is what is returned.  With `add`, which BLAS alone can do too, it is added to what is there.
    """
    (rows, inner, columns), item = sizes, dtype.itemsize
    if rows * inner * columns >= FEW or z_row is not None:
        left, right = leading(x, (rows, inner), item), leading(y, (inner, columns), item)
        if left is not None and right is not None:
            lead = columns if z_row is None else z_row // item
            _by_blas(plan, dtype, sizes, z, (x[0], *left), (y[0], *right), lead, add)
            return True
        if z_row is not None:
            return False
        if _by_columns(plan, dtype, sizes, z, x, y):
            return True
    (x_at, (x_row, x_column)), (y_at, (y_row, y_column)) = x, y
    plan.call(
        plan.jit("small_products", f"product_{SUFFIXES[dtype]}"),
        [0, rows, z, STORE, x_at, x_row, x_column, y_at, y_row, y_column, inner, columns],
    )
    return True


def _by_columns(plan: Any, dtype: Any, sizes: tuple[int, int, int], z: Place | int, x: Matrix, y: Matrix) -> bool:
    """A matrix of few rows or columns that overlap, as windows do, times a vector: one of them after the other."""
    (rows, inner, columns), item = sizes, dtype.itemsize
    if rows == 1:
        (rows, columns), x, y = (columns, 1), (y[0], y[1][::-1]), (x[0], x[1][::-1])
    (x_at, (x_row, x_column)), (y_at, (y_step, _)) = x, y
    if columns != 1 or y_step != item:
        return False
    if x_row == item and inner <= MOST:
        for k in range(inner):
            _times(plan, dtype, "N", rows, k == 0, z, moved(x_at, k * x_column), moved(y_at, k * item))
    elif x_column == item and rows <= MOST:
        for k in range(rows):
            _times(plan, dtype, "T", inner, True, moved(z, k * item), moved(x_at, k * x_row), y_at)
    else:
        return False
    return True


def _times(
    plan: Any, dtype: Any, way: str, n: int, first: bool, z: Place | int, x: Place | int, y: Place | int
) -> None:
    """A column of n numbers times one number, added to z unless it is the first; or the product of two columns."""
    one, zero = (as_words(v, dtype) for v in (1, 0))
    at = pointers(plan, [ord(way), n, 1, one, n, 1, zero if first else one, 1])
    call_library(plan, LETTERS[dtype] + "gemv", [*at[:4], x, at[4], y, at[5], at[6], z, at[7]])


def leading(matrix: Matrix, shape: tuple[int, int], item: int) -> tuple[bool, int] | None:
    """Whether BLAS, which goes by columns, sees the matrix as it is, and how far its columns are apart; None if not."""
    (row, column), (rows, columns) = matrix[1], shape
    if (column == item or columns == 1) and row % item == 0 and (row >= columns * item or rows == 1):
        return False, max(row // item if rows > 1 else columns, columns, 1)
    if (row == item or rows == 1) and column % item == 0 and (column >= rows * item or columns == 1):
        return True, max(column // item if columns > 1 else rows, rows, 1)
    return None


def _by_blas(
    plan: Any, dtype: Any, sizes: tuple[int, int, int], z: Place | int, x: Any, y: Any, lead: int, add: bool
) -> None:
    """BLAS goes by columns: it sees zᵀ = yᵀ xᵀ, of which the columns are `lead` numbers apart."""
    rows, inner, columns = sizes
    (x_at, x_turned, x_lead), (y_at, y_turned, y_lead) = x, y
    one, before = (as_words(v, dtype) for v in (1, int(add)))
    kind = LETTERS[dtype]
    flag = (ord("N"), ord("T"))
    if columns == 1 or rows == 1:
        (m_at, turned, m_lead), (v_at, v_turned, v_lead) = (x, y) if columns == 1 else (y, x)
        m, n = (rows, inner) if columns == 1 else (columns, inner)
        by_columns = turned if columns == 1 else not turned
        shape = (m, n) if by_columns else (n, m)
        step = v_lead if (v_turned if columns > 1 else not v_turned) else 1
        numbers = [flag[not by_columns], *shape, one, m_lead, step if n > 1 else 1, before, lead if columns == 1 else 1]
        at = pointers(plan, numbers)
        words = [*at[:4], m_at, at[4], v_at, at[5], at[6], z, at[7]]
        call_library(plan, kind + "gemv", words)
        return
    numbers = [flag[y_turned], flag[x_turned], columns, rows, inner, one, y_lead, x_lead, before, max(lead, columns)]
    at = pointers(plan, numbers)
    call_library(plan, kind + "gemm", [*at[:6], y_at, at[6], x_at, at[7], at[8], z, at[9]])


def _anywhere(plan: Any, record: Any) -> bool:
    x = plan.flat(record.needs[0])
    if x.spec.dtype != np.bool_ or record.result.dtype != np.bool_:
        return False
    z = plan.make(record.row)
    plan.call(plan.jit("strided", "somewhere"), [x.spec.size, z.place, x.place])
    return True


ANYWHERE = REGISTRY["anywhere"]


UNKNOWNS = 6
"""Systems with so many unknowns are solved without LAPACK."""
MOST_TRIANGLES = 64
"""Of a longer stack of triangular systems SciPy solves them all."""
MOST_ROWS = 1 << 12
"""Of matrices with more rows, counted together, NumPy takes the triangles."""


class SystemSteps(LoopSteps):
    """Solutions of systems."""

    def solve(self, x: PlanValue, y: PlanValue | None) -> PlanValue:
        """The z with x z = y, for one vector y or for matrices of columns; x⁻¹ where there is no y."""
        n, dtype = x.spec.shape[-1], x.spec.dtype
        double = dtype in (np.float64, np.complex128) and (y is None or y.spec.dtype == dtype)
        vector = y is not None and y.spec.ndim == 1
        if x.spec.shape[-2:] != (n, n) or (y is not None and y.spec.shape[-1 if vector else -2] != n):
            raise NoStep("solve")
        triangle = triangle_of(self.plan.listing, self.needs[0]) if double and n > UNKNOWNS else None
        if triangle is not None:
            given = self._unit(n, dtype) if y is None else view(y, [*axes(y), (1, 0)]) if vector else y
            z = self.triangular(x, given, triangle == "upper", left=True, unit=False)
            return view(z, axes(z)[:-1]) if vector else z
        if n > UNKNOWNS or not double or dtype.kind == "c":
            found: PlanValue = (
                self.linalg("inv", x) if y is None else self.linalg("solve1" if vector else "solve", x, y)
            )
            return found
        right = self._unit(n, dtype) if y is None else view(y, [*axes(y), (1, 0)]) if vector else y
        stack = np.broadcast_shapes(x.spec.shape[:-2], right.spec.shape[:-2])
        a, z = self.copy(self._stacked(x, stack)), self.copy(self._stacked(right, stack))
        columns = right.spec.shape[-1]
        words: list[Any] = [math.prod(stack), n, columns, a.place, z.place, Place(REFUSED, 0)]
        self.check(self.plan.call(self.plan.jit("small_systems", "solve"), words))
        return view(z, axes(z)[:-1]) if vector else z

    def _unit(self, n: int, dtype: np.dtype[Any]) -> PlanValue:
        unit = self.plan.found.setdefault(("unit", n, dtype), np.eye(n, dtype=dtype))
        return PlanValue(self.plan.pin(unit), unit.strides, spec((n, n), dtype))

    @staticmethod
    def _stacked(x: PlanValue, stack: tuple[int, ...]) -> PlanValue:
        """Matrices broadcast to a stack."""
        outer = axes(x)[:-2]
        missing = len(stack) - len(outer)
        steps = [0] * missing + [0 if n == 1 else s for n, s in outer]
        return view(x, [*zip(stack, steps), *axes(x)[-2:]])

    @staticmethod
    def transposed(x: PlanValue) -> PlanValue:
        """A matrix with its rows as columns, where it lies."""
        return view(x, axes(x)[::-1])

    def triangle(self, x: PlanValue, k: int, lower: bool) -> PlanValue:
        """The matrices with zeros above diagonal number k, or below it: row by row what remains is copied."""
        if x.spec.ndim < 2 or math.prod(x.spec.shape[:-1]) > MOST_ROWS:
            raise NoStep("triangle")
        x, z = x if x.contiguous else self.copy(x), self.zeros(x.spec.shape, x.spec.dtype)
        (rows, columns), item = x.spec.shape[-2:], x.spec.dtype.itemsize
        words: list[Any] = []
        for row in range(math.prod(x.spec.shape[:-1])):
            edge = min(max(row % rows + k + lower, 0), columns)
            n, first = (edge, row * columns) if lower else (columns - edge, row * columns + edge)
            words += [z.moved(item * first), x.moved(item * first), item * n] if n else []
        self.plan.call(self.plan.jit("linked", "copy"), [len(words) // 3, *words])
        return z

    def triangular(self, x: PlanValue, y: PlanValue, upper: bool, left: bool, unit: bool) -> PlanValue:
        """The z with x z = y, or z x = y, of which only one triangle of x is read.

        BLAS goes by columns: it sees yᵀ and zᵀ, and xᵀ, or x where that lies by columns itself.
        """
        n = x.spec.shape[-1]
        if x.spec.shape[-2:] != (n, n) or y.spec.ndim < 2 or y.spec.shape[-2 if left else -1] != n:
            raise NoStep("triangular")
        stack = np.broadcast_shapes(x.spec.shape[:-2], y.spec.shape[:-2])
        dtype = np.result_type(x.spec.dtype, y.spec.dtype)
        if math.prod(stack) > MOST_TRIANGLES or dtype not in LETTERS:
            raise NoStep("triangular")
        x, y, item = self.convert(x, dtype), self.convert(y, dtype), dtype.itemsize
        a, z = self._stacked(x, stack), self.copy(self._stacked(y, stack))
        turned = view(a, [*axes(a)[:-2], *axes(a)[:-3:-1]])
        by_columns = not a.contiguous and turned.contiguous
        a = turned if by_columns else a if a.contiguous else self.copy(a)
        vector = left and y.spec.shape[-1] == 1
        lower = ord("L" if upper != by_columns else "U")
        across = ord("N" if vector == by_columns else "T")
        diagonal = ord("U" if unit else "N")
        rows, columns = y.spec.shape[-2:]
        side = [ord("R" if left else "L"), columns, rows, as_words(1, dtype), n, columns]
        at = pointers(self.plan, [lower, across, diagonal, *([n, n, 1] if vector else side)])
        for k in range(math.prod(stack)):
            matrix, right = a.moved(item * n * n * k), z.moved(item * rows * columns * k)
            if not unit:
                words: list[Any] = [n, matrix, item * (n + 1), Place(REFUSED, 0)]
                kernel = f"check_diagonal_{SUFFIXES[dtype]}"
                self.check(self.plan.call(self.plan.jit("small_systems", kernel), words))
            if vector:
                call_library(self.plan, LETTERS[dtype] + "trsv", [*at[:4], matrix, at[4], right, at[5]])
            else:
                call_library(
                    self.plan, LETTERS[dtype] + "trsm", [at[3], *at[:3], *at[4:7], matrix, at[7], right, at[8]]
                )
        return z


OTHER = {"lower": "upper", "upper": "lower"}


def triangle_of(listing: Any, k: int) -> str | None:
    """The triangle that alone is not zero in the matrices that a record gives, None if no op says so."""
    turns = 0
    while (op := listing.op(k)) is not None and _turns(listing, op, k):
        k, turns = listing.operands(k)[0], turns + 1
    triangle = None if op is None else op.hints.triangle
    return OTHER[triangle] if triangle is not None and turns % 2 else triangle


def _turns(listing: Any, op: Op, k: int) -> bool:
    """Whether an op transposes matrices, and moves no other axis: how its result looks at its operand says so."""
    params, result = listing.parameters(k), listing.spec_of(k)
    if result is None or result.ndim < 2 or not op.is_view(params):
        return False
    x = listing.spec_of(listing.operands(k)[0])
    if x is None or x.shape != (*result.shape[:-2], *reversed(result.shape[-2:])):
        return False
    strides = row_major(x.shape, x.dtype.itemsize)
    return view_of(op, params, x, strides, result) == View(0, (*strides[:-2], *reversed(strides[-2:])))
