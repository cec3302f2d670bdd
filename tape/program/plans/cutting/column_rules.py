"""What ops do to arrays that are taken as their columns: by their declarations alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.own import is_own

from ....base.rooms import opened
from ....base.spec import Spec, row_major
from ...recorded.indexmaps import view_of
from .column_records import KINDS, ArrayColumns, ColumnRecords, NoColumns

ADD, MUL, DIV, CHAIN = (REGISTRY[name] for name in ("add", "mul", "div", "chain_mul"))
JOINS = {np.add: ADD, np.multiply: MUL, np.maximum: REGISTRY["maximum"], np.minimum: REGISTRY["minimum"]}
"""By the function that a reduction is of, the op that joins two columns."""
SUM_TO = REGISTRY["sum_to"]
MOST_PRODUCTS = 400
"""A sum of products that has more of them stays one of arrays: BLAS goes through them as quickly."""


class ColumnSteps:
    """What an op's `Hints.steps` may ask for of columns: sums of products, and nothing else."""

    def __init__(self, contract: Callable[..., ArrayColumns | np.ndarray]):
        self.contract = contract

    def __getattr__(self, name: str) -> Any:
        raise NoColumns


class ColumnRules:
    """Makes records for columns in the place of old ones."""

    def __init__(self, made: ColumnRecords):
        self.made, self.old, self.n = made, made.old, made.n

    def apply(self, k: int) -> None:
        """Records in the place of old record k.

        Raises:
            NoColumns: if there are none for it.
        """
        op, result, operands = self.old.op(k), self.old.spec_of(k), self.old.operands(k)
        if op is None or result is None or result.dtype not in KINDS:
            raise NoColumns
        params = self.old.parameters(k)
        self.made.begin(k)
        if len(operands) == 1 and (op.is_view(params) or op.hints.motion == "same"):
            self.made.columns[k] = self._view(op, params, operands[0], result)
            return
        if not any(map(self.made.is_wide, operands)):
            raise NoColumns
        if opened("tape.jit.emission.lines").has_lane(op) and op.arity <= 3:
            self.made.columns[k] = self._elementwise(op, operands, result)
        elif op.hints.motion == "matrix" and not params:
            self._put(k, self._product(operands), result)
        elif op.hints.steps is not None and not is_own(op):
            self._put(k, op.steps(ColumnSteps(self.contract), params, operands), result)
        elif len(operands) == 1:
            self._put(k, self._reduced(op, params, operands[0], result), result)
        else:
            raise NoColumns

    def _put(self, k: int, found: ArrayColumns | np.ndarray, result: Spec) -> None:
        """Note what a record has become: columns, or numbers."""
        if isinstance(found, ArrayColumns):
            self.made.columns[k] = found
        else:
            self.made.elements[k] = found.reshape(result.shape)

    # Views.

    def _view(self, op: Op, params: Any, x: int, result: Spec) -> ArrayColumns:
        """The columns of a look at an array, or of one that repeats numbers along the long axis."""
        whole = self.old.spec_of(x)
        if whole is None or result.shape.count(self.n) != 1:
            raise NoColumns
        strides = row_major(whole.shape, whole.dtype.itemsize)
        view = view_of(op, params, whole, strides, result)
        if view is None:
            raise NoColumns
        axis = result.shape.index(self.n)
        step = view.strides[axis]
        if self.made.is_wide(x):
            ids, at = self.made.columns_of(x)
            if step != strides[at]:
                raise NoColumns
            ids = np.expand_dims(ids, len(whole.shape) + at)
        elif step == 0:
            ids = self.made.elements_of(x)
        else:
            raise NoColumns
        shape = list(result.shape)
        shape[axis] = 1
        places = np.full(shape, view.offset)
        for k, n in enumerate(shape):
            places += view.strides[k] * np.arange(n).reshape(-1, *(1,) * (len(shape) - 1 - k))
        try:
            where = np.unravel_index(places // whole.dtype.itemsize, whole.shape)
        except ValueError:
            raise NoColumns from None
        if self.made.is_wide(x) and where[at].any():
            raise NoColumns
        return ArrayColumns(np.squeeze(ids[where], axis), axis - result.ndim)

    # Elementwise ops.

    def _elementwise(self, op: Op, operands: Sequence[int], result: Spec) -> ArrayColumns:
        wide = {x: self.made.columns_of(x) for x in operands if self.made.is_wide(x)}
        at = next(iter(wide.values())).at
        if result.shape.count(self.n) != 1 or result.ndim < -at or result.shape[at] != self.n:
            raise NoColumns
        self._fit(operands, result)
        parts = []
        for x in operands:
            if x in wide:
                if wide[x].at != at:
                    raise NoColumns
                parts.append(wide[x].ids)
                continue
            ids = self.made.elements_of(x)
            if ids.ndim >= -at:
                ids = np.squeeze(ids, at)
            parts.append(ids)
        each = np.broadcast_arrays(*parts)
        made = np.empty(each[0].shape, np.int64)
        for place in np.ndindex(made.shape):
            made[place] = self.made.compute(op, [int(ids[place]) for ids in each], result.dtype)
        return ArrayColumns(made, at)

    def _fit(self, operands: Sequence[int], result: Spec) -> None:
        """Raise `NoColumns` if numbers of several precisions meet: a kernel has one."""
        dtypes = {self.made.dtype_of(x) for x in operands} | {result.dtype}
        if len(dtypes - {None, np.dtype(np.bool_)}) > 1:
            raise NoColumns

    # Reductions.

    def _reduced(self, op: Op, params: Any, x: int, result: Spec) -> ArrayColumns | np.ndarray:
        """The reduction of an array along some axes; along the long one it is a sum or mean."""
        columns, whole = self.made.columns_of(x), self.old.spec_of(x)
        assert whole is not None
        over, kept = self._axes(op, params, whole.shape, result)
        mean = op.hints.motion == "average"
        join = ADD if mean or op is SUM_TO else JOINS.get(op.hints.reduces)
        if join is None or whole.dtype != result.dtype or result.dtype.kind != "f":
            raise NoColumns
        long = whole.ndim + columns.at
        short = [k for k in range(whole.ndim) if k != long]
        if long in over and join is not ADD:
            raise NoColumns
        ids = np.transpose(columns.ids, [i for i, k in enumerate(short) if k not in over]
                           + [i for i, k in enumerate(short) if k in over])  # fmt: skip
        left = [k for k in short if k not in over]
        ids = ids.reshape(math.prod([whole.shape[k] for k in left]), -1)
        made = [self.made.joined(join, each.tolist(), result.dtype) for each in ids]
        if long in over:
            made = [self.made.total(i) for i in made]
        if mean:
            count = self.made.number(math.prod([whole.shape[k] for k in over]), result.dtype)
            made = [self.made.compute(DIV, [i, count], result.dtype) for i in made]
        if long in over:
            return np.array(made, dtype=np.int64)
        axes = [k for k in range(whole.ndim) if k in kept]
        shape = [1 if k in over else whole.shape[k] for k in axes if k != long]
        return ArrayColumns(np.array(made, dtype=np.int64).reshape(shape), axes.index(long) - len(axes))

    def _axes(self, op: Op, params: Any, shape: tuple[int, ...], result: Spec) -> tuple[set[int], set[int]]:
        """The axes that are reduced, and those that are there afterwards."""
        ndim, axes = len(shape), set(range(len(shape)))
        if op is SUM_TO:
            lead = ndim - result.ndim
            over = {k for k in axes if k < lead or (result.shape[k - lead] == 1 != shape[k])}
            return over, axes - set(range(lead))
        if set(params) - {"axis", "keepdims"}:
            raise NoColumns
        axis = params.get("axis")
        over = axes if axis is None else {a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))}
        return over, axes if params.get("keepdims") else axes - over

    # Sums of products.

    def _product(self, operands: Sequence[int]) -> ArrayColumns | np.ndarray:
        """A product of matrices or vectors."""
        shapes = [self.old.spec_of(x).shape for x in operands]  # type: ignore[union-attr]
        if not all(1 <= len(s) <= 2 for s in shapes):
            raise NoColumns
        left, right = "ij"[-len(shapes[0]) :], "jk"[: len(shapes[1])]
        return self.contract(f"{left},{right}->{(left + right).replace('j', '')}", *operands)

    def contract(self, subscripts: str, *operands: int, chain: bool = False) -> ArrayColumns | np.ndarray:
        """A sum of products over axes that have letters; also what an op's `Hints.steps` ask for.

        With `chain` a product is 0 where its first factor is.
        """
        left, target = subscripts.split("->")
        terms = left.split(",")
        if len(terms) != 2 or any(len(set(term)) < len(term) for term in (*terms, target)):
            raise NoColumns
        long, parts, sizes = set(), [], dict[str, int]()
        dtypes = {self.made.dtype_of(x) for x in operands}
        for term, x in zip(terms, operands):
            s = self.old.spec_of(x)
            if s is None or any(sizes.setdefault(c, n) != n for c, n in zip(term, s.shape)):
                raise NoColumns
            if self.made.is_wide(x):
                ids, at = self.made.columns_of(x)
                long.add(term[at])
                parts.append((term.replace(term[at], ""), ids))
            else:
                parts.append((term, self.made.elements_of(x)))
        rows = "".join(long)
        short = [c for c in sizes if c not in rows]
        if len(rows) != 1 or len(dtypes) != 1 or any(rows in term for term, _ in parts) or set(target) - set(sizes):
            raise NoColumns
        if math.prod([sizes[c] for c in short]) > MOST_PRODUCTS:
            raise NoColumns
        kept, summed = [c for c in target if c != rows], [c for c in short if c not in target]
        dtype = dtypes.pop()
        made = np.empty([sizes[c] for c in kept], np.int64)
        for place in np.ndindex(made.shape):
            at_kept, products = dict(zip(kept, place)), []
            for inner in product(*(range(sizes[c]) for c in summed)):
                where = at_kept | dict(zip(summed, inner))
                factors = [int(ids[tuple([where[c] for c in term])]) for term, ids in parts]
                products.append(self.made.compute(CHAIN if chain else MUL, factors, dtype))  # type: ignore[arg-type]
            total = self.made.joined(ADD, products, dtype)  # type: ignore[arg-type]
            made[place] = total if rows in target else self.made.total(total)
        return ArrayColumns(made, target.index(rows) - len(target)) if rows in target else made
