"""Which records go row by row over one long axis: by their declarations alone.

A record goes by rows if row i of what it gives depends on row i of its long operands alone, and on the whole of the
others; so it may be done for some rows at a time.  A *total* is what a record gives that adds up over the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.own import is_own

from ....base.spec import Spec, row_major, spec
from ...recorded.indexmaps import view_of
from ...recorded.listing import Listing

SUM_TO = REGISTRY["sum_to"]
KINDS = np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.bool_)


class NotByRows(Exception):
    """Some record with a long operand does not go by rows."""


class RowSteps:
    """What an op's `Hints.steps` may ask for by rows: sums of products, and nothing else."""

    def __init__(self, rules: RowRules):
        self.contract = rules.contract

    def __getattr__(self, name: str) -> Any:
        raise NotByRows(name)


class RowRules:
    """The long axes of the records of a listing.

    Attributes:
        n: how long the long axis is.
        axes: by record, which of its axes is the long one, counted from the last, which is −1; of those that have it.
        totals: the records that add up over the rows.
        late: the records that need totals.
        work: by record that is a sum of products, how many of them there are for each row in each product of
            matrices, and whether those are of a matrix and a vector.

    Raises:
        NotByRows: if not all that have long operands go by rows, before any total is needed.
    """

    def __init__(self, listing: Listing, n: int):
        self.listing, self.n = listing, n
        self.axes: dict[int, int] = {}
        self.totals: list[int] = []
        self.late: set[int] = set()
        self.work: dict[int, tuple[int, bool]] = {}
        self._sums: set[int] = set()
        for k in range(len(listing)):
            self._look(k)

    def _look(self, k: int) -> None:
        listing = self.listing
        op, result, operands = listing.op(k), listing.spec_of(k), listing.operands(k)
        long = result is not None and self.n in result.shape
        if op is None:
            if long:
                self._lies_by_rows(k, result)
            return
        if any(j in self.late or j in self._sums for j in operands):
            self.late.add(k)
            if long or any(j in self.axes for j in operands):
                raise NotByRows
            return
        if not long and not any(j in self.axes for j in operands):
            return
        if result is None or result.dtype not in KINDS or is_own(op):
            raise NotByRows
        self._k = k
        axis = self._axis(op, listing.parameters(k), operands, result)
        if axis is None:
            if long or result.dtype.kind != "f":
                raise NotByRows
            self.totals.append(k)
            self._sums.add(k)
        elif result.shape.count(self.n) != 1 or result.ndim < -axis or result.shape[axis] != self.n:
            raise NotByRows
        else:
            self.axes[k] = axis

    def _lies_by_rows(self, k: int, result: Spec | None) -> None:
        """An argument or constant with the long axis has it first, so that some rows lie together."""
        assert result is not None
        if result.shape.count(self.n) != 1 or result.dtype not in KINDS:
            raise NotByRows
        at = result.shape.index(self.n)
        if math.prod(result.shape[:at]) != 1:
            raise NotByRows
        self.axes[k] = at - result.ndim

    def _axis(self, op: Op, params: Any, operands: Sequence[int], result: Spec) -> int | None:
        """The long axis of a result, None if it is a total."""
        if len(operands) == 1 and (op.is_view(params) or op.hints.motion == "same"):
            return self._view(op, params, operands[0], result)
        if op.broadcasts and not params:
            found = {self.axes[j] for j in operands if j in self.axes}
            if len(found) != 1:
                raise NotByRows
            return found.pop()
        if op.hints.motion == "matrix" and not params:
            shapes = [self._spec(j).shape for j in operands]
            if not all(1 <= len(s) <= 2 for s in shapes):
                raise NotByRows
            left, right = "ij"[-len(shapes[0]) :], "jk"[: len(shapes[1])]
            return self.contract(f"{left},{right}->{(left + right).replace('j', '')}", *operands)
        if op.hints.steps is not None:
            made: int | None = op.steps(RowSteps(self), params, operands)
            return made
        if len(operands) == 1:
            return self._reduced(op, params, operands[0], result)
        raise NotByRows

    def _spec(self, k: int) -> Spec:
        found = self.listing.spec_of(k)
        if found is None:
            raise NotByRows
        return found

    # Views.

    def _view(self, op: Op, params: Any, x: int, result: Spec) -> int:
        if result.shape.count(self.n) != 1:
            raise NotByRows
        axis = result.shape.index(self.n)
        self.look(op, params, self._spec(x), result, axis, self.axes.get(x))
        return axis - result.ndim

    @staticmethod
    def look(op: Op, params: Any, whole: Spec, result: Spec, axis: int, at: int | None) -> list[Any]:
        """Where in its operand a view's result looks in the first row.

        Args:
            op, params, whole, result: the record, and the specs of its operand and result.
            axis: which axis of the result is the long one.
            at: which of the operand's, None if it has none.

        Raises:
            NotByRows: if another row looks elsewhere than in its own.
        """
        strides = row_major(whole.shape, whole.dtype.itemsize)
        view = view_of(op, params, whole, strides, result)
        if view is None or (result.shape[axis] > 1 and view.strides[axis] != (0 if at is None else strides[at])):
            raise NotByRows
        places = np.array(view.offset)
        for k, n in enumerate(result.shape):
            places = places[..., None] + view.strides[k] * np.arange(1 if k == axis else n)
        try:
            where = list(np.unravel_index(places // whole.dtype.itemsize, whole.shape)) if whole.ndim else []
        except ValueError:
            raise NotByRows from None
        if at is not None and where[at].any():
            raise NotByRows
        return where

    # Sums.

    def _reduced(self, op: Op, params: Any, x: int, result: Spec) -> int | None:
        """A reduction along some axes; along the long one it is a sum or a mean."""
        ndim, shape = self._spec(x).ndim, self._spec(x).shape
        adds = op is SUM_TO or op.hints.motion == "average" or op.hints.reduces is np.add
        if x not in self.axes or self._spec(x).dtype != result.dtype or not (adds or op.hints.reduces):
            raise NotByRows
        long, lead = ndim + self.axes[x], ndim - result.ndim
        if op is SUM_TO:
            over = {k for k in range(ndim) if k < lead or (result.shape[k - lead] == 1 != shape[k])}
            left = set(range(lead, ndim))
        elif set(params) - {"axis", "keepdims"}:
            raise NotByRows
        else:
            axis = params.get("axis")
            axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
            over = {a % ndim for a in axes}
            left = set(range(ndim)) if params.get("keepdims") else set(range(ndim)) - over
        if long not in over:
            return sorted(left).index(long) - len(left)
        if not adds:
            raise NotByRows
        return None

    def contract(self, subscripts: str, *operands: int, chain: bool = False) -> int | None:
        """A sum of products over axes that have letters; also what an op's `Hints.steps` ask for.

        It goes by rows whether or not a product is 0 where its first factor is (`chain`).
        """
        left, target = subscripts.split("->")
        terms, long, sizes = left.split(","), set(), dict[str, int]()
        if len(terms) != len(operands) or any(len(set(term)) < len(term) for term in (*terms, target)):
            raise NotByRows
        for term, x in zip(terms, operands):
            shape = self._spec(x).shape
            if len(shape) != len(term) or any(sizes.setdefault(c, n) != n for c, n in zip(term, shape)):
                raise NotByRows
            if x in self.axes:
                long.add(term[self.axes[x]])
        if len(long) != 1:
            raise NotByRows
        (row,) = long
        if any((row in term) != (x in self.axes) for term, x in zip(terms, operands)):
            raise NotByRows
        stacked = set(target).intersection(*terms)
        short = [sizes[c] for c in sizes if c != row and c not in stacked]
        self.work[self._k] = math.prod(short), len(short) < 2
        return target.index(row) - len(target) if row in target else None


def resized(s: Spec, axis: int, n: int) -> Spec:
    """A spec with another length along an axis, counted from the last."""
    shape = list(s.shape)
    shape[axis] = n
    return spec(tuple(shape), s.dtype)
