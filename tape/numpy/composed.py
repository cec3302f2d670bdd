"""Functions of NumPy's that are made of others, written in NumPy: least squares, sets, windows, padding.

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

from ..base.tensor import Face
from .array_writing import PLACING
from .arrays.explaining import have_numbers
from .arrays.face import AnyNumber, Recorded, array
from .arrays.face_base import absent, numpy
from .arrays.leaving import plain, refusal
from .arrays.unwrapping import holds_face
from .constructors import as_array, gathered
from .mathematics import holds
from .of_scipy.scipy_linalg import symmetric
from .polynomials import POLYNOMIALS
from .real_or_complex import REAL_OR_COMPLEX
from .without_nan import NAN_QUANTILES


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
    np.cross(np.zeros(a.shape), np.zeros(b.shape), axisa, axisb, axisc)  # what NumPy says of such
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
    np.linalg.tensorsolve(_regular(a, b.ndim, axes), np.zeros(b.shape), axes)  # what NumPy raises of such shapes
    if axes is not None:
        kept = [k for k in range(a.ndim) if k not in plain(axes)]
        a = np.transpose(a, (*kept, *plain(axes)))
    shape = a.shape[b.ndim :]
    return np.reshape(np.linalg.solve(np.reshape(a, (b.size, b.size)), np.ravel(b)), shape)


def _regular(a: Any, count: int, axes: Any) -> np.ndarray:
    """Numbers in the shape of a tensor that can be inverted, if one of that shape can be."""
    ordered = [k for k in range(a.ndim) if axes is None or k not in plain(axes)] + list(plain(axes) or ())
    shape = [a.shape[k] for k in ordered]
    size = int(np.prod(shape[:count]))
    made = np.eye(size, a.size // max(size, 1)) if size * (a.size // max(size, 1)) == a.size else np.zeros(a.size)
    return np.transpose(made.reshape(shape), np.argsort(ordered))


def tensorinv(a: Any, ind: int = 2) -> Any:
    """`np.linalg.tensorinv`."""
    a = as_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = int(np.prod(a.shape[:ind]))
    return np.reshape(np.linalg.inv(np.reshape(a, (rows, -1))), a.shape[ind:] + a.shape[:ind])


OTHER_SHAPES: dict[Any, Callable[..., Any]] = {
    np.diagflat: diagflat, np.triu: _triangle(np.triu), np.tril: _triangle(np.tril), np.cross: cross,
    np.linalg.tensorsolve: tensorsolve, np.linalg.tensorinv: tensorinv,
}  # fmt: skip
"""What answers for such a function of NumPy's; NotImplemented, if an op does for these arguments."""


def pad(array: Any, pad_width: Any, mode: Any = "constant", **how: Any) -> Any:
    """`np.pad`, where it is not by one constant or by the array's own elements.

    Raises:
        TypeError: for a function in the place of the mode, which would be given plain arrays.
        ValueError: for arguments that NumPy refuses.
    """
    if callable(mode):
        raise refusal("it gives plain arrays to a function of the user's", "np.pad with a function as its mode")
    if mode not in MODES or (mode == "constant" and not np.ndim(how.get("constant_values", 0))):
        return NotImplemented
    found: Any = as_array(array)
    np.pad(np.empty(found.shape, found.dtype), plain(pad_width), "constant")  # what NumPy raises of the widths
    settings = how.get(SETTINGS[mode], DEFAULTS[mode])
    values = np.broadcast_to(_pairs(settings), (found.ndim, 2)) if settings is not None else None
    for axis, (before, after) in enumerate(np.broadcast_to(np.asarray(plain(pad_width)), (found.ndim, 2)).tolist()):
        both = (None, None) if values is None else (values[axis, 0], values[axis, 1])
        first = MODES[mode](found, axis, before, both[0], False)
        last = MODES[mode](found, axis, after, both[1], True)
        found = numpy.concatenate([first.astype(found.dtype), found, last.astype(found.dtype)], axis=axis)
    return found


def _pairs(settings: Any) -> Any:
    """What is said for all axes and sides, for each side, or for each axis and side."""
    settings = as_array(settings)
    return settings if settings.ndim != 2 or settings.shape[-1] == 2 else np.broadcast_to(settings, (len(settings), 2))


def _shape(x: Any, axis: int, n: int) -> tuple[int, ...]:
    return (*x.shape[:axis], n, *x.shape[axis + 1 :])


def _edge(x: Any, axis: int, is_last: bool, n: int = 1) -> Any:
    span = slice(x.shape[axis] - n, None) if is_last else slice(0, n)
    return x[(slice(None),) * axis + (span,)]


def _constant(x: Any, axis: int, n: int, value: Any, is_last: bool) -> Any:
    return np.broadcast_to(value, _shape(x, axis, n))


def _ramp(x: Any, axis: int, n: int, value: Any, is_last: bool) -> Any:
    """From the end value, which lies outermost, to the edge."""
    numbers = np.arange(n, 0, -1) if not is_last else np.arange(1, n + 1)
    steps = numbers.reshape((-1,) + (1,) * (x.ndim - axis - 1)) / max(n, 1)
    edge = _edge(x, axis, is_last)
    ramp = edge + (value - edge) * steps
    return np.trunc(ramp) if x.dtype.kind in "iu" else ramp


def _statistic(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def fill(x: Any, axis: int, n: int, length: Any, is_last: bool) -> Any:
        some = x.shape[axis] if length is None else min(int(length), x.shape[axis])
        found = reduce(_edge(x, axis, is_last, some), axis=axis, keepdims=True)
        found = np.round(found) if x.dtype.kind in "iu" else found
        return np.broadcast_to(found, _shape(x, axis, n))

    return fill


MODES: dict[str, Callable[..., Any]] = {
    "constant": _constant, "linear_ramp": _ramp, "maximum": _statistic(np.max), "mean": _statistic(np.mean),
    "median": _statistic(np.median), "minimum": _statistic(np.min),
}  # fmt: skip
"""What lies before or behind an axis, by mode."""
SETTINGS = {"constant": "constant_values", "linear_ramp": "end_values"} | dict.fromkeys(
    ("maximum", "mean", "median", "minimum"), "stat_length"
)
DEFAULTS: dict[str, Any] = dict.fromkeys(MODES) | {"constant": 0, "linear_ramp": 0}


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """`np.linalg.lstsq`: by the pseudo-inverse, whose rule also holds where the matrix has not full rank.

    Raises:
        TypeError: for numbers of another precision than 32 and 64 bits; NumPy computes with 64, and rounds the results.
        LinAlgError: if the shapes do not fit.
    """
    a, b = as_array(a), as_array(b)
    for dtype in (a.dtype, b.dtype):
        if dtype.kind in "fc" and dtype.char not in "fdFD":
            raise TypeError(f"array type {dtype.name} is unsupported in linalg")
    made = np.result_type(*[x.dtype if x.dtype.kind in "fc" else float for x in (a, b)])
    a, b = (x.astype(np.result_type(x.dtype, float), copy=False) for x in (a, b))
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise np.linalg.LinAlgError(f"lstsq needs a matrix and one or two axes; got {a.ndim} and {b.ndim}")
    m, n = a.shape
    if b.shape[0] != m:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    precision = float(np.finfo(float).eps)
    rcond = precision * max(m, n) if rcond is None else rcond if 0 < rcond < 1 else precision  # as LAPACK has it
    s = np.linalg.svd(a, compute_uv=False)
    rank = int(np.sum(s > rcond * np.max(s))) if min(m, n) else 0
    x = np.linalg.pinv(a, rcond) @ b
    real = np.empty(0, made).real.dtype
    solution, s = x.astype(made, copy=False), s.astype(real, copy=False)
    if rank < n or m <= n:
        return solution, np.empty(0, real), np.int32(rank), s
    misfit = np.sum(np.abs(a @ x - b) ** 2, axis=0).astype(real, copy=False)
    return solution, misfit if b.ndim == 2 else np.reshape(misfit, 1), np.int32(rank), s


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
    places = plain(indices)
    places = np.mod(places, n) if mode == "wrap" else np.clip(places, 0, n - 1)
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
            np.concatenate([np.empty(0, part.dtype) for part in parts], dtype=dtype, casting=casting)  # what it raises
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
        if "where" not in named and np.prod([shape[k] for k in axes]) <= free and not have_numbers(a):
            function(np.zeros(shape), plain(axis), ddof=free)
        return NotImplemented

    return answer


def _itself_at(number: int) -> Callable[..., Any]:
    """What a function does so many times over that gives its argument itself, and no copy, at one number of times."""

    def answer(a: Any, n: Any = absent, *rest: Any, **named: Any) -> Any:
        n = plain(n)
        return as_array(a) if type(n) is int and n == number and not (rest or named) else NotImplemented

    return answer


COMPOSED: dict[Any, Callable[..., Any]] = {
    **POLYNOMIALS, np.linalg.lstsq: lstsq, np.unique: unique, np.take: take, np.where: where, np.cov: _rows_of(np.cov),
    np.corrcoef: _rows_of(np.corrcoef), np.average: average, np.geomspace: geomspace, np.var: _spread(np.var),
    np.std: _spread(np.std), np.transpose: transpose, np.pad: pad, np.diff: _itself_at(0),
    np.linalg.matrix_power: _itself_at(1), **REAL_OR_COMPLEX, **NAN_QUANTILES, **OTHER_SHAPES,
    **{f: _joining(f) for f in (np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack)},
}  # fmt: skip
"""What answers for such a function of NumPy's; NotImplemented, if an op does for these arguments."""


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
    if function in OF_ARRAYS:
        return tuple([array(ops.clone(x._tensor)) if isinstance(x, AnyNumber) else as_array(x) for x in args])
    if function in WIDER and args:
        return tuple([_wider(x, WIDER[function]) if k < 2 else x for k, x in enumerate(args)])
    return args


def _wider(x: Any, dtype: np.dtype[Any]) -> Any:
    return x.astype(np.promote_types(x.dtype, dtype)) if isinstance(x, Recorded) else x


WIDER = {np.cov: np.dtype(float), np.corrcoef: np.dtype(float), np.vander: np.dtype(int)}
"""Functions that compute in a dtype that has room for this one as well."""

CASTING = frozenset({np.sum, np.prod, np.mean, np.cumsum, np.cumprod, np.cumulative_sum, np.cumulative_prod})
"""Functions that cast complex numbers to ``dtype=``, and warn of what that discards."""

OF_ARRAYS = frozenset({np.broadcast_arrays})
"""Functions that give arrays also of numbers."""


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

SPECTRA: frozenset[Any] = (
    frozenset({np.linalg.eig, np.linalg.eigvals}) if np.linalg.eigvals(np.eye(1)).dtype.kind == "f" else frozenset()
)
"""Functions whose results are real if all eigenvalues are; none from NumPy 2.5 on, which gives complex ones always."""
