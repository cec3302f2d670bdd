"""Functions of NumPy's that are made of others, written in NumPy: least squares, sets, windows.

NumPy's own code for these hands its arguments to C code on the way, so it cannot be run on recorded arrays.  What
chooses by numbers (a rank, which values occur) decides as plain numbers do; the results are recorded.  So are functions
of arguments in shapes that no op takes: vectors for matrices, vectors in a plane, tensors.  What these raise, NumPy
raises of such shapes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

import ops
from ops.core.batching import numbers_decide

from ..base.tensor import Face
from ..base.tree import leaves_of
from .array_writing import PLACING
from .arrays.explaining import has_lanes, have_numbers
from .arrays.face import faces, stop_gradient
from .arrays.face_base import absent
from .arrays.leaving import carries, plain
from .arrays.unwrapping import bare, holds_face
from .constructors import as_array, gathered
from .mathematics import holds
from .padding import pad
from .polynomials import POLYNOMIALS
from .real_or_complex import REAL_OR_COMPLEX
from .without_nan import NAN_QUANTILES, warn_where


def diagflat(v: Any, k: int = 0) -> Any:
    """`np.diagflat`."""
    return np.diag(np.ravel(as_array(v)), k)


def _triangle(part: Any) -> Callable[..., Any]:
    """`np.triu` or `np.tril` of a vector, which is repeated for each row."""

    def answer(m: Any, k: int = 0) -> Any:
        m = as_array(m)
        return part(np.broadcast_to(m, (len(m), len(m))), k) if m.ndim == 1 else NotImplemented

    return answer


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """`np.cross`, where one of the vectors lies in a plane: of two such, the component that stands on it."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_array(a), as_array(b)
    lengths = {x.shape[k] for x, k in ((a, axisa), (b, axisb)) if x.ndim}
    if 2 not in lengths or not lengths <= {2, 3}:
        return NotImplemented
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    last = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if lengths == {2}:
        return last[...]
    if a.shape[-1] == 2:
        parts = [a[..., 1] * b[..., 2], -a[..., 0] * b[..., 2], last]
    else:
        parts = [-a[..., 2] * b[..., 1], a[..., 2] * b[..., 0], last]
    return np.moveaxis(np.stack(parts, axis=-1), -1, axisc)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """`np.linalg.tensorsolve`."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        kept = [k for k in range(a.ndim) if k not in plain(axes)]
        a = np.transpose(a, (*kept, *plain(axes)))
    shape = a.shape[b.ndim :]
    return np.reshape(np.linalg.solve(np.reshape(a, (b.size, b.size)), np.ravel(b)), shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """`np.linalg.tensorinv`."""
    a = as_array(a)
    rows = int(np.prod(a.shape[:ind]))
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), a.shape[ind:] + a.shape[:ind])


OTHER_SHAPES: dict[Any, Callable[..., Any]] = {
    np.diagflat: diagflat, np.triu: _triangle(np.triu), np.tril: _triangle(np.tril), np.cross: cross,
    np.linalg.tensorsolve: tensorsolve, np.linalg.tensorinv: tensorinv,
}  # fmt: skip
"""What answers for such a function of NumPy's; NotImplemented, if an op does for these arguments."""


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """`np.linalg.lstsq`: by the pseudo-inverse, whose rule also holds where the matrix has not full rank.

    NumPy computes with 64 bits, and rounds the results.
    """
    a, b = as_array(a), as_array(b)
    if not holds(np.isfinite, a):
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")
    made = np.result_type(*[x.dtype if x.dtype.kind in "fc" else float for x in (a, b)])
    a, b = (x.astype(np.result_type(x.dtype, float), copy=False) for x in (a, b))
    m, n = a.shape
    precision = float(np.finfo(float).eps)
    rcond = precision * max(m, n) if rcond is None else rcond if 0 < rcond < 1 else precision  # as LAPACK has it
    s = np.linalg.svd(a, compute_uv=False)
    above: Any = np.sum(s > rcond * np.max(s)) if min(m, n) else 0
    rank: Any = above.astype(np.int32) if has_lanes(above) else np.int32(int(above))
    is_full = holds(lambda r: r == n, rank)
    if m > n and not is_full and not holds(lambda r: r < n, rank):
        raise numbers_decide("np.linalg.lstsq, which leaves out the residuals where the rank is less,")
    x = np.linalg.pinv(a, rcond) @ b
    real = np.empty(0, made).real.dtype
    solution, s = x.astype(made, copy=False), s.astype(real, copy=False)
    if not is_full or m <= n:
        return solution, np.empty(0, real), rank, s
    misfit = np.sum(np.abs(a @ x - b) ** 2, axis=0).astype(real, copy=False)
    return solution, misfit if b.ndim == 2 else np.reshape(misfit, 1), rank, s


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """`np.take` with places that wrap around, or stop at the ends; of numbers in a list the whole part counts."""
    if isinstance(indices, (list, tuple, float)) and not holds_face(indices):
        again: Any = np.take
        return again(a, np.array(indices, np.intp), axis, out, mode)
    if type(mode) is int:
        again = np.take
        return again(a, indices, axis, out, PLACING[mode])
    if mode not in ("wrap", "clip") or out is not None:
        return NotImplemented
    a = as_array(a) if axis is not None else np.ravel(as_array(a))
    n = a.shape[axis or 0]
    places = np.mod(indices, n) if mode == "wrap" else np.clip(indices, 0, n - 1)
    return np.take(a, places, axis or 0)


def where(condition: Any, *choices: Any) -> Any:
    """`np.where` of a condition alone: where it holds."""
    return NotImplemented if choices else np.nonzero(condition)


def _rows_of(function: Any) -> Callable[..., Any]:
    """`np.cov` or `np.corrcoef` of two sets of variables: of both as one; and what NumPy warns of too few of them."""

    def answer(x: Any, y: Any = None, rowvar: bool = True, bias: Any = absent, *rest: Any, **named: Any) -> Any:
        if bias is not absent and type(bias) is not bool:
            return function(x, y, rowvar, bias != 0, *rest, **named)
        if bias is not absent:
            rest = (bias, *rest)
        if y is None:
            if not (holds_face([rest, *named.values()]) or have_numbers(x)):
                with np.errstate(all="ignore"):
                    function(np.zeros(np.shape(as_array(x))), None, rowvar, *rest, **named)
            return NotImplemented
        x, y = (np.atleast_2d(as_array(a)) for a in (x, y))
        if not x.shape[0]:
            return function(x, None, rowvar, *rest, **named)
        both = [a.T if not rowvar and a.shape[0] != 1 else a for a in (x, y)]
        return function(np.concatenate(both), None, True, *rest, **named)

    return answer


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: Any = False, *, keepdims: Any = False, **named: Any
) -> Any:
    """What `np.average` refuses, which an op does not look for; and the sum of the weights, if that is asked for."""
    a = as_array(a)
    if weights is not None:
        weights = as_array(weights)
        if not holds(is_not_zero, np.sum(weights, axis if weights.ndim == a.ndim else None)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    if returned is False:
        return NotImplemented
    found: Any = np.average(a, axis, weights, False, keepdims=keepdims, **named)
    if not returned:
        return found
    weights = np.ones(a.shape) if weights is None else weights
    if weights.ndim != a.ndim:
        axes = normalize_axis_tuple(axis, a.ndim)
        shape = [n if k in axes else 1 for k, n in enumerate(a.shape)]
        weights = np.transpose(weights, np.argsort(axes)).reshape(shape)
    total = np.sum(np.broadcast_to(weights, a.shape), axis, keepdims=keepdims)
    return found, total.astype(found.dtype)


def transpose(a: Any, axes: Any = None) -> Any:
    """`np.transpose` of a vector by the number of its axis."""
    return NotImplemented if axes is None or np.ndim(axes) else np.transpose(a, (operator.index(axes),))


def geomspace(start: Any, stop: Any, *rest: Any, **named: Any) -> Any:
    """What `np.geomspace` refuses, which an op does not look for."""
    if not (holds(is_not_zero, as_array(start)) and holds(is_not_zero, as_array(stop))):
        raise ValueError("Geometric sequence cannot include zero")
    if not any(as_array(x).dtype.kind == "c" for x in (start, stop)) and not holds(
        is_not_negative, start * as_array(stop)
    ):
        raise TypeError("np.geomspace from a number to one of the other sign gives nan between them")
    return NotImplemented


def gradient(f: Any, *spacings: Any, **named: Any) -> Any:
    """`np.gradient` by recorded coordinates: where steps are all the same one of them counts, as NumPy has it.

    So it does for the value.  Of coordinates that are not constant each step counts for the derivative: that of a
    formula for equal ones would be another.
    """
    known = [plain(h) if holds_face(h) and _is_constant(h) else h for h in spacings]
    steps = [_only_step(h) if holds_face(h) else h for h in known]
    if any(h is not given for h, given in zip(steps, known)):
        found = np.gradient(f, *steps, **named)
        with np.errstate(all="ignore"):
            slopes = faces(ops.numpy_gradient(*bare((f, *known)), **bare(named)))
            if isinstance(found, tuple):
                return tuple([_taken_for(*both) for both in zip(found, slopes)])
            return _taken_for(found, slopes)
    same = all(h is given for h, given in zip(known, spacings))
    return NotImplemented if same else np.gradient(f, *known, **named)


def _taken_for(found: Any, y: Any) -> Any:
    """Numbers with the derivatives of others, that differ by rounding; where these are infinite with their own.

    The difference of neighbours is exact, and so is what it gives when it is added.
    """
    return np.where(np.isfinite(y), y + stop_gradient(found - y), found)


def _only_step(h: Any) -> Any:
    """The first of the steps between coordinates if all others are the same, else the coordinates; a guard."""
    if h.ndim != 1 or h.size < 2:
        return h
    steps = np.diff(h)
    return steps[0] if holds(_are_the_same, steps) else h


def _are_the_same(steps: Any) -> Any:
    return np.equal(steps, steps[..., :1])


def _is_constant(x: Any) -> bool:
    return have_numbers(x) and not any(carries(part._tensor) for part in leaves_of(x) if isinstance(part, Face))


def is_not_zero(x: Any) -> Any:
    return np.not_equal(x, 0)


def is_not_negative(x: Any) -> Any:
    return np.logical_not(np.less(x, 0))


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """`np.unique`: of equal values the first is taken, to which the gradient flows."""
    ar = as_array(ar)
    if axis is not None:
        rows = np.unique(np.reshape(_numbers_of_rows(np.moveaxis(ar, axis, 0)), -1), True, True, True)
        found = (np.take(ar, rows[1], axis), *rows[1:])
    else:
        found = _unique(np.ravel(ar), equal_nan)
        found = (*found[:2], np.reshape(found[2], ar.shape), found[3])
    wanted = [x for x, keep in zip(found, (True, return_index, return_inverse, return_counts)) if keep]
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


def _unique(flat: Any, equal_nan: bool) -> tuple[Any, ...]:
    """The values, first places, numbers of the values, and counts of a vector."""
    order = np.argsort(flat, kind="stable")
    in_order = flat[order]
    differs = in_order[1:] != in_order[:-1]
    if equal_nan:
        differs = differs & ~(np.isnan(in_order[1:]) & np.isnan(in_order[:-1]))
    is_first = np.concatenate([np.ones(min(1, len(flat)), bool), differs])
    (starts,) = np.nonzero(is_first)
    inverse = (np.cumsum(is_first) - 1)[np.argsort(order, kind="stable")]
    counts = np.diff(np.concatenate([starts, [len(flat)]]))
    return in_order[starts], order[starts], inverse, counts


def _numbers_of_rows(rows: Any) -> Any:
    """The place of each row in the order of all of them; equal ones have one number."""
    rows = np.reshape(rows, (rows.shape[0], -1))
    order = np.lexsort(tuple([rows[:, k] for k in range(rows.shape[1])][::-1]))
    in_order = rows[order]
    numbers = np.concatenate([np.zeros(1, int), np.cumsum(np.any(in_order[1:] != in_order[:-1], axis=1))])
    return numbers[np.argsort(order, kind="stable")]


def _joining(function: Any) -> Callable[..., Any]:
    """A function that joins arrays, in another dtype, or some of them lists with recorded values in them."""

    def answer(arrays: Any, *args: Any, dtype: Any = None, casting: Any = "same_kind", **named: Any) -> Any:
        has_lists = any(type(part) in (list, tuple) and holds_face(part) for part in arrays)
        if not has_lists and dtype is None and casting == "same_kind":
            return NotImplemented
        parts = [gathered(part) for part in arrays] if has_lists else [as_array(part) for part in arrays]
        if dtype is not None:
            parts = [part.astype(dtype) for part in parts]
        return function(parts, *args, **named)

    return answer


def _spread(function: Any) -> Callable[..., Any]:
    """What `np.var` or `np.std` warns of, where too few numbers are left; their numbers are an op's.

    NumPy tells it itself if it is shown the numbers.
    """

    def answer(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, *rest: Any, **named: Any
    ) -> Any:
        shape, free = np.shape(as_array(a)), plain(named.get("correction", ddof))
        axes = range(len(shape)) if axis is None else normalize_axis_tuple(plain(axis), len(shape))
        chosen = named.get("where", True)
        if have_numbers([a, chosen]):
            return NotImplemented
        if holds_face(chosen):
            warn_where(_count(chosen, shape, axis) <= free, "Degrees of freedom <= 0 for slice")
        elif not np.all(
            np.prod([shape[k] for k in axes]) > free if chosen is True else _count(chosen, shape, tuple(axes)) > free
        ):
            function(np.zeros(shape), plain(axis), ddof=free, where=chosen)
        return NotImplemented

    return answer


def mean(a: Any, axis: Any = None, *args: Any, where: Any = True, **named: Any) -> Any:
    """What `np.mean` warns of where a mask chooses nothing; the numbers are an op's, and NumPy tells if it has them."""
    if where is not True and not have_numbers([a, where]):
        warn_where(_count(where, np.shape(as_array(a)), axis) == 0, "Mean of empty slice")
    return NotImplemented


def _count(chosen: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """How many elements of an array of some shape a mask chooses, along axes."""
    return np.sum(np.broadcast_to(chosen, shape), axis=axis)


def _itself_at(number: int) -> Callable[..., Any]:
    """What a function does so many times over that gives its argument itself, and no copy, at one number of times."""

    def answer(a: Any, n: Any = absent, *rest: Any, **named: Any) -> Any:
        n = plain(n)
        return as_array(a) if type(n) is int and n == number and not (rest or named) else NotImplemented

    return answer


COMPOSED: dict[Any, Callable[..., Any]] = {
    **POLYNOMIALS, np.linalg.lstsq: lstsq, np.unique: unique, np.take: take, np.where: where, np.cov: _rows_of(np.cov),
    np.corrcoef: _rows_of(np.corrcoef), np.average: average, np.geomspace: geomspace, np.gradient: gradient,
    np.mean: mean, np.var: _spread(np.var), np.std: _spread(np.std), np.transpose: transpose, np.pad: pad,
    np.diff: _itself_at(0), np.linalg.matrix_power: _itself_at(1), **REAL_OR_COMPLEX, **NAN_QUANTILES, **OTHER_SHAPES,
    **{f: _joining(f) for f in (np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack)},
}  # fmt: skip
"""What answers for such a function of NumPy's; NotImplemented, if an op does for these arguments."""
