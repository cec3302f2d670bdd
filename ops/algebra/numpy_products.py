"""NumPy functions that are products of matrices: dot, covariance, convolution; and a product with a sum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.domain import REAL, cases_of
from ..core.hints import Hints
from ..core.lane import Via
from ..core.op import HOLOMORPHIC, composite, conjugate, elementwise, general, is_complex, ready
from ..pointwise.arithmetic import mul
from ..pointwise.comparison import eq
from ..pointwise.elementary import sqrt
from ..pointwise.selection import clamp, maximum, where
from ..reductions.reduction import mean
from ..shapes.diagonals import diag
from ..shapes.index import getitem, take
from ..shapes.joining import cat
from ..shapes.parts import complex as complex_of, imag, mH, real
from ..shapes.shape import cast, flip, reshape, transpose
from ..shapes.sums import sum
from .products import inner, matmul, tensordot


def _addmm(x: Any, y: Any, z: Any, beta: float = 1, alpha: float = 1) -> Any:
    """beta x + alpha (y @ z)."""
    return beta * ready(x) + alpha * matmul(ready(y), ready(z))


addmm = composite("addmm", _addmm, lies="rows")


def _multiple(x: Any, y: Any) -> Any:
    z = x * y + 0.0
    return np.where(np.equal(y, 0), np.zeros_like(z), z)[()]


def _multiple_lane(x: Any, y: Any) -> Any:
    """Without a sum, which a processor may round together with the product: that keeps the sign where it underflows."""
    z = x * y
    return where(eq(y, 0.0), 0.0, where(eq(z, 0.0), 0.0, z))


def _multiple_steps(s: Any, x: Any, y: Any) -> Any:
    zero = s.number(0.0, y.spec.dtype)
    z = s.ufunc(np.add, [s.ufunc(np.multiply, [x, y]), zero])
    return s.choose(s.ufunc(np.not_equal, [y, zero]), z, zero)


multiple = elementwise(
    "multiple", _multiple, lambda y: y, lambda x: x,
    node="MulBackward0", lane=Via(_multiple_lane),
    complex=HOLOMORPHIC, domain=(REAL, REAL), hints=Hints(steps=_multiple_steps),
    doc="Multiple of a vector as BLAS has it: z = 0 + x y, and 0 where y is 0, whatever x is.",
)


def _scaled(a: Any, b: Any) -> Any:
    """NumPy's dot of an array and a number: by BLAS, where that has the dtype and the array is a matrix at most."""
    x, y = (a, b) if a.ndim else (b, a)
    dtype = np.result_type(a.dtype, b.dtype)
    return multiple(x, y) if dtype.char in "fdFD" and x.ndim <= 2 and math.prod(x.shape) != 1 else mul(a, b)


def _numpy_dot(a: Any, b: Any) -> Any:
    """NumPy's dot: `matmul` up to two axes, else the sum over the last axis of a and the second last of b."""
    a, b = ready(a), ready(b)
    if a.ndim == 0 or b.ndim == 0:
        return mul(a, b) if a.ndim == b.ndim else _scaled(a, b)
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b)
    return tensordot(a, b, axes=((-1,), (-min(b.ndim, 2),)))


numpy_dot = composite("numpy_dot", _numpy_dot, numpy=(np.dot,))


def _numpy_inner(a: Any, b: Any) -> Any:
    """NumPy's inner product: sums over the last axes; multiples by a number are those of NumPy's dot."""
    a, b = ready(a), ready(b)
    return inner(a, b) if bool(a.ndim) == bool(b.ndim) else _scaled(a, b)


numpy_inner = composite("numpy_inner", _numpy_inner, numpy=(np.inner,))


def _cov(
    m: Any, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None, aweights: Any = None
) -> Any:
    """Covariance matrix of variables in rows (or columns), observed in the other axis.

    `fweights` say how often each observation came, `aweights` how much it counts.
    """
    m = ready(m)
    m = reshape(m, shape=(1, -1)) if m.ndim < 2 else m
    m = m if rowvar or m.shape[0] == 1 else transpose(m)
    less = (0 if bias else 1) if ddof is None else ddof
    if fweights is None and aweights is None:
        deviation = m - mean(m, axis=1, keepdims=True)
        z = matmul(deviation, mH(deviation)) * np.true_divide(1, float(max(m.shape[1] - less, 0)))
    else:
        weights, freedom = _weights(fweights, aweights, less, m.shape[1])
        deviation = m - sum(m * weights, axis=1, keepdims=True) / sum(weights)
        z = matmul(deviation * weights, mH(deviation)) / freedom
    return reshape(z, shape=()) if z.shape == (1, 1) else z


def _weights(fweights: Any, aweights: Any, less: float, n: int) -> tuple[Any, Any]:
    """The weights of observations, and the degrees of freedom that are left of them, none if they were less."""
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is not None and ready(weights).shape != (n,):
            raise ValueError(f"cov needs {name} of shape ({n},), one for each observation; got {ready(weights).shape}")
        if type(ready(weights)) is np.ndarray and weights is not None and (ready(weights) < 0).any():
            raise ValueError(f"{name} cannot be negative")
    if fweights is not None and ready(fweights).dtype.kind not in "iu":
        raise TypeError("fweights must be integer")
    both = [ready(x) for x in (fweights, aweights) if x is not None]
    weights = both[0] if len(both) == 1 else both[0] * both[1]
    weights = cast(weights, dtype=np.dtype(float)) if weights.dtype.kind in "biu" else weights
    total = sum(weights)
    freedom = total - less * (1.0 if aweights is None else sum(weights * both[-1]) / total)
    return weights, maximum(freedom, 0.0)


cov = composite("cov", _cov, numpy=(np.cov,))


def _corrcoef(x: Any, *, rowvar: bool = True) -> Any:
    """Correlation matrix of variables in rows (or columns): their covariances over the standard deviations."""
    c = cov(x, rowvar=rowvar)
    if not c.ndim:
        return c / c
    deviation = sqrt(real(diag(c)) if is_complex(c) else diag(c))
    z = c / reshape(deviation, shape=(-1, 1)) / deviation
    return complex_of(*[clamp(part(z), -1.0, 1.0) for part in (real, imag)]) if is_complex(z) else clamp(z, -1.0, 1.0)


corrcoef = composite("corrcoef", _corrcoef, numpy=(np.corrcoef,))


FIRST = {"full": lambda m: 0, "same": lambda m: (m - 1) // 2, "valid": lambda m: m - 1}
"""By mode, the number of the first of the sums that is given, of those with a vector of m elements."""


def _windows(a: Any, v: Any, mode: str) -> Any:
    """`slide`, along the last axes of stacks of vectors: the parts of a lie in the rows of a matrix."""
    n, m = a.shape[-1], v.shape[-1]
    first, length = FIRST[mode](m), {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    before, after = max(m - 1 - first, 0), max(first + length - n, 0)
    parts = take(a, np.arange(n - m + 1)[:, None] + np.arange(m), axis=-1)
    within = _of_rows(parts, v)
    left = [_beyond(a, v, np.arange(first, first + before))] if before else []
    right = [_beyond(a, v, np.arange(n, n + after))] if after else []
    return cat([*left, within, *right], axis=-1) if left or right else within


def _of_rows(parts: Any, v: Any) -> Any:
    """Products of matrices and a vector, or one vector for each."""
    if v.ndim == 1:
        return matmul(parts, v)
    return reshape(matmul(parts, reshape(v, shape=(*v.shape, 1))), shape=parts.shape[:-1])


def _beyond(a: Any, v: Any, rows: Any) -> Any:
    """Those of the sums, by their numbers, in which v reaches beyond an end of a.

    What is beyond is left out, and not taken times zero: v may be infinite there.
    """
    n, m = a.shape[-1], v.shape[-1]
    places = rows[:, None] + np.arange(1 - m, 1)
    inside = (places >= 0) & (places < n)
    parts = where(inside, take(a, np.clip(places, 0, n - 1), axis=-1), np.zeros((), a.dtype))
    if np.result_type(a.dtype, v.dtype).kind not in "fc":  # whole numbers are finite; a product keeps their dtype
        return _of_rows(parts, v)
    each = v if v.ndim == 1 else reshape(v, shape=(*v.shape[:-1], 1, m))
    return sum(parts * where(inside, each, np.zeros((), v.dtype)), axis=-1)


def _convolved(a: Any, v: Any) -> Any:
    """All sums of products of two vectors, in which one goes backwards."""
    return slide(a, flip(v)) if a.shape[0] >= v.shape[0] else slide(v, flip(a))


def _slide_x(g: Any, x_shape: tuple[int, ...], y: Any, mode: str) -> Any:
    begin = y.shape[0] - 1 - FIRST[mode](y.shape[0])
    return getitem(_convolved(g, y), index=slice(begin, begin + x_shape[0]))


def _slide_y(g: Any, x: Any, y_shape: tuple[int, ...], mode: str) -> Any:
    """Where y lies along x, and no more: as many sums as y has elements."""
    if mode == "valid":
        return slide(x, g, mode="valid")
    if mode == "same":  # some of the sums of "full"
        before = FIRST[mode](y_shape[0])
        zeros = [np.zeros(k, g.dtype) for k in (before, y_shape[0] - 1 - before)]
        g = cat([zeros[0], g, zeros[1]])
    return flip(slide(g, x, mode="valid"))


slide = general(
    "slide", lambda x, y, *, mode="full": np.correlate(x, np.conj(y) if np.iscomplexobj(y) else y, mode),
    _slide_x, _slide_y,
    batch=lambda a: _windows(a.full(0), a.full(1), a.params["mode"]), complex=HOLOMORPHIC,
    hints=Hints(made_of=lambda x, y, mode: _windows(x, y, mode)),
    cases=cases_of(*[([(5,), (k,)], {"mode": mode}) for mode in FIRST for k in (1, 2, 3, 5)]),
    doc="Sums of products of a vector with the parts of a longer one that are as long, beyond its ends too.",
)


def _vectors(a: Any, v: Any, mode: str) -> tuple[Any, Any]:
    vectors = [reshape(x, shape=(1,)) if not x.ndim else x for x in map(ready, (a, v))]
    shapes = [x.shape for x in vectors]
    if any(len(shape) != 1 or not shape[0] for shape in shapes) or mode not in ("full", "same", "valid"):
        raise ValueError(
            "a convolution needs two vectors that are not empty, and the mode 'full', 'same' or 'valid'; got shapes "
            f"{shapes[0]} and {shapes[1]}, mode={mode!r}"
        )
    return vectors[0], vectors[1]


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolution of two vectors: zₖ = Σⱼ aⱼ vₖ₋ⱼ."""
    a, v = _vectors(a, v, mode)
    return slide(a, flip(v), mode=mode) if a.shape[0] >= v.shape[0] else slide(v, flip(a), mode=mode)


def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Correlation of two vectors: zₖ = Σⱼ aⱼ₊ₖ conj(vⱼ)."""
    a, v = _vectors(a, v, mode)
    v = conjugate(v)
    return slide(a, v, mode=mode) if a.shape[0] >= v.shape[0] else flip(slide(v, a, mode=mode))


convolve = composite("convolve", _convolve, numpy=(np.convolve,))
correlate = composite("correlate", _correlate, numpy=(np.correlate,))
