"""Sums of products over named axes as steps: a product of matrices, or one for each place along axes they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from ....base.spec import spec
from .blas_calls import LETTERS
from .linear_steps import leading, multiply
from .loop_steps import one_stride
from .plan_places import SUFFIXES, Place, PlanValue, moved
from .step_memory import NoStep, StepMemory, axes, view

MOST = 64
"""Of more products NumPy makes all."""

TOGETHER = 128
"""So many outer products are one product of matrices where they lie in a box that is smaller than the whole."""
FILL = 1.25
"""It is if the boxes have the elements of the whole over this, or fewer."""

Axes = tuple[int, int]
"""How many elements there are along some axes taken together, and the bytes from one to the next."""


class ContractSteps(StepMemory):
    """Sums of products."""

    def contract(self, subscripts: str, *operands: PlanValue, chain: bool = False) -> PlanValue:
        """The sum of products of two operands, where each axis has a letter and no operand has one twice.

        Axes of one operand alone have to be in the result; those of both are summed over, or each place along them has
        a product of its own.  With `chain` a product is 0 where its first factor is.
        """
        left, target = subscripts.split("->")
        terms = left.split(",")
        if len(terms) != 2 or any(len(set(term)) < len(term) for term in (*terms, target)):
            raise NoStep(subscripts)
        sizes, dtype = self._sizes(terms, operands), np.result_type(*(x.spec.dtype for x in operands))
        if dtype not in SUFFIXES or not all(sizes.values()):
            raise NoStep(subscripts)
        x, y = (self.convert(v, dtype) for v in operands)
        shared = [c for c in terms[0] if c in terms[1]]
        summed, stacked = ([c for c in shared if (c in target) == kept] for kept in (False, True))
        rows, columns = ([c for c in target if c in term and c not in shared] for term in terms)
        if len(rows) + len(columns) + len(stacked) != len(target) or any(
            c not in target and c not in shared for c in "".join(terms)
        ):
            raise NoStep(subscripts)
        z = self.new(spec(tuple(sizes[c] for c in target), x.spec.dtype))
        turned = bool(target) and target[-1] in rows
        if turned:  # zᵀ = yᵀ xᵀ
            (x, y), terms, rows, columns = (y, x), terms[::-1], columns, rows
        x, terms[0] = self._as_matrices(x, terms[0], stacked, rows, summed)
        y, terms[1] = self._as_matrices(y, terms[1], stacked, summed, columns)
        steps = [dict(zip(term, v.strides)) for term, v in zip((*terms, target), (x, y, z))]
        inner = [self._joined(summed, sizes, s) for s in steps[:2]]
        along_rows, along_columns = ([self._joined(names, sizes, s) for s in (steps[k], steps[2])] for k, names in
                                     enumerate((rows, columns)))  # fmt: skip
        item, count = dtype.itemsize, [sizes[c] for c in stacked]
        (n, z_column), m = along_columns[1], along_rows[0][0]
        if math.prod(count) > MOST or (n > 1 and z_column != item):
            raise NoStep(subscripts)
        z_row = along_rows[1][1] if m > 1 else n * item
        for at in product(*map(range, count)):
            x_at, y_at, z_at = (v.moved(sum(k * s[c] for k, c in zip(at, stacked))) for v, s in zip((x, y, z), steps))
            one = (x_at, (along_rows[0][1], inner[0][1])), (y_at, (inner[1][1], along_columns[0][1]))
            if not multiply(self.plan, dtype, (m, inner[0][0], n), moved(z_at, 0), *one, z_row=z_row):
                raise NoStep(subscripts)
            if chain:
                kernel = self.plan.jit("outer_sums", f"by_chain_{SUFFIXES[dtype]}")
                (x_at, x_steps), (y_at, y_steps) = one
                words = [m, inner[0][0], n, z_at, z_row, x_at, *x_steps, y_at, *y_steps, int(turned)]
                self.plan.call(kernel, words)
        return z

    def _as_matrices(
        self, x: PlanValue, term: str, stacked: Sequence[str], rows: Sequence[str], columns: Sequence[str]
    ) -> tuple[PlanValue, str]:
        """An operand, or a copy of it, of which some axes taken together are rows of matrices that BLAS can read, and
        others their columns; and its axes.
        """
        sizes, steps = dict(zip(term, x.spec.shape)), dict(zip(term, x.strides))
        try:
            (m, row), (n, column) = (self._joined(names, sizes, steps) for names in (rows, columns))
            if leading((x.place, (row, column)), (m, n), x.spec.dtype.itemsize) is not None:
                return x, term
        except NoStep:
            pass
        order = [*stacked, *rows, *columns]
        return self.copy(view(x, [(sizes[c], steps[c]) for c in order])), "".join(order)

    def outer_sum(
        self,
        us: Sequence[PlanValue],
        vs: Sequence[PlanValue],
        places: Sequence[tuple[slice, slice]],
        shape: tuple[int, int],
    ) -> PlanValue:
        """The sum of outer products of vectors, each in its place of a matrix.

        It is a product of matrices, whose rows are the vectors, or one after the other for some of them, each in a box.
        """
        rows, columns = ([range(*place[axis].indices(n)) for place in places] for axis, n in enumerate(shape))
        left, right = self._rows(us, rows, shape[0]), self._rows(vs, columns, shape[1])
        z = self._by_boxes(left, right, rows, columns)
        if any(len(r) < shape[0] for r in rows) or any(len(r) < shape[1] for r in columns):
            kernel = self.plan.jit("outer_sums", f"again_{SUFFIXES[z.spec.dtype]}")
            words = [n for pair in zip(rows, columns) for r in pair for n in (r.start, r.stop, r.step)]
            self.plan.call(kernel, [len(places), *shape, z.place, left.place, right.place, *words])
        return z

    def _by_boxes(
        self, left: PlanValue, right: PlanValue, rows: Sequence[range], columns: Sequence[range]
    ) -> PlanValue:
        """The product of matrices of which row k is zero but for the given places, leftᵀ right."""
        shape, dtype = (left.spec.shape[1], right.spec.shape[1]), left.spec.dtype
        some = [slice(k, k + TOGETHER) for k in range(0, len(rows), TOGETHER)]
        boxes = [(k, (around(rows[k]), around(columns[k]))) for k in some]
        work = sum(len(rows[k]) * len(across) * len(down) for k, (across, down) in boxes)
        if FILL * work > len(rows) * math.prod(shape) or dtype not in LETTERS or right.spec.dtype != dtype:
            return self.contract("ki,kj->ij", left, right)
        z, item = self.zeros(shape, dtype), dtype.itemsize
        for k, (across, down) in boxes:
            x, y = (
                (v.moved(k.start * v.strides[0] + r.start * item), v.strides)
                for v, r in ((left, across), (right, down))
            )
            sizes, at = (len(across), len(rows[k]), len(down)), across.start * z.strides[0] + down.start * item
            if not multiply(self.plan, dtype, sizes, z.moved(at), (x[0], x[1][::-1]), y, z.strides[0], add=True):
                raise NoStep("outer_sum")
        return z

    def vector_products(self, x: PlanValue, vs: Sequence[PlanValue], places: Sequence[slice]) -> PlanValue:
        """The matrix whose rows are vectors, each times the rows of x at its place; it is one product of matrices."""
        rows, columns = x.spec.shape
        ranges = [range(*place.indices(rows)) for place in places]
        whole = all(len(r) == rows for r in ranges)
        x = readable(x) or self.copy(x)
        left = (whole and side_by_side(vs)) or self._rows(vs, ranges, rows)
        z = self.contract("ki,ij->kj", left, x)
        if not whole:
            kernel = self.plan.jit("outer_sums", f"by_vectors_{SUFFIXES[z.spec.dtype]}")
            words = [n for r in ranges for n in (r.start, r.stop)]
            self.plan.call(kernel, [len(vs), rows, columns, z.place, left.place, x.place, *x.strides, *words])
        return z

    def _rows(self, vectors: Sequence[PlanValue], places: Sequence[range], n: int) -> PlanValue:
        """The matrix whose rows are vectors, each in its place among n columns, and zeros elsewhere."""
        shape, dtype = (len(vectors), n), np.result_type(*(x.spec.dtype for x in vectors))
        z = self.new(spec(shape, dtype)) if all(len(r) == n for r in places) else self.zeros(shape, dtype)
        row, item = z.strides
        for k, (x, r) in enumerate(zip(vectors, places)):
            if x.spec.shape != (len(r),):
                raise NoStep("rows")
            to = view(z, [(len(r), r.step * item)], k * row + r.start * item)
            self.plan.place(to, self.convert(x, dtype))
        return z

    @staticmethod
    def _sizes(terms: Sequence[str], operands: Sequence[PlanValue]) -> dict[str, int]:
        """How long the axis of each letter is; none is broadcast."""
        sizes: dict[str, int] = {}
        for term, v in zip(terms, operands):
            for letter, n in zip(term, v.spec.shape):
                if sizes.setdefault(letter, n) != n:
                    raise NoStep("broadcast")
        return sizes

    @staticmethod
    def _joined(names: Sequence[str], sizes: dict[str, int], strides: dict[str, int]) -> Axes:
        """Some axes as one."""
        shape = [sizes[c] for c in names]
        stride = one_stride(shape, [strides[c] for c in names])
        if stride is None:
            raise NoStep("axes")
        return math.prod(shape), stride


def around(ranges: Sequence[range]) -> range:
    """From the first to the last of some."""
    return range(min(r.start for r in ranges), max(r.stop for r in ranges))


def side_by_side(vectors: Sequence[PlanValue]) -> PlanValue | None:
    """The matrix whose rows are vectors, where they lie, if BLAS can read it there; else None."""
    first = vectors[0]
    begin, end = (v.place.offset if isinstance(v.place, Place) else v.place for v in (first, vectors[-1]))
    apart, rest = divmod(end - begin, max(len(vectors) - 1, 1))
    for k, v in enumerate(vectors):
        if rest or v.strides != first.strides or v.spec is not first.spec or v.place != moved(first.place, k * apart):
            return None
    return readable(view(first, [(len(vectors), apart), *axes(first)]))


def readable(x: PlanValue) -> PlanValue | None:
    """A matrix that BLAS can read where it lies; else None."""
    (rows, row), (columns, column) = axes(x)
    return None if leading((x.place, (row, column)), (rows, columns), x.spec.dtype.itemsize) is None else x
