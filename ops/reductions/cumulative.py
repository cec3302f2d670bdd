"""Sums and products that run along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.batching import along
from ..core.domain import cases_of
from ..core.hints import Hints
from ..core.op import HOLOMORPHIC, general, linear
from ..pointwise.arithmetic import chain_mul
from ..pointwise.comparison import eq, logical_or
from ..pointwise.elementary import exp
from ..pointwise.selection import where
from ..shapes.shape import flip, reshape, shift


def _cumsum_transpose(g: Any, x_shape: tuple[int, ...], axis: int | None) -> Any:
    axis = 0 if axis is None else axis
    return reshape(flip(cumsum(flip(g, axis=axis), axis=axis), axis=axis), shape=x_shape)


CUMULATIVE: Any = (((4,), {}), ((2, 3), {}), ((2, 3), {"axis": 0}), ((2, 3, 2), {"axis": -2}))

cumsum = linear(
    "cumsum", lambda x, *, axis=None: np.cumsum(x, axis), _cumsum_transpose,
    numpy=(np.cumsum,), hints=Hints(accumulates=np.add), cases=cases_of(*CUMULATIVE),
    batch=along("axis", flat=True),
    doc="Running sum along an axis, or through the flattened array.",
)


def _recurrence(x: Any, y: Any, *, axis: int = -1) -> Any:
    """By doubling, in log₂ n passes: after each, a row holds the map across twice as many steps."""
    dtype = np.result_type(x, y)
    a, z = (np.array(np.moveaxis(v, axis, 0), dtype) for v in (x, y))
    step = 1
    with np.errstate(all="ignore"):
        while step < len(z):
            z[step:] += a[step:] * z[:-step]
            a[step:] = a[step:] * a[:-step]
            step *= 2
    if not np.isfinite(z).all():
        return _recurrence_step_by_step(x, y, axis)
    return np.moveaxis(z, 0, axis)


def _recurrence_step_by_step(x: Any, y: Any, axis: int) -> Any:
    """The definition itself, for when a product of many coefficients overflows on the way."""
    a, z = np.moveaxis(x, axis, 0), np.array(np.moveaxis(y, axis, 0), np.result_type(x, y))
    with np.errstate(all="ignore"):
        for k in range(1, len(z)):
            z[k] += a[k] * z[k - 1]
    return np.moveaxis(z, 0, axis)


def _reverse_recurrence(a: Any, g: Any, axis: int) -> Any:
    """λₖ = gₖ + aₖ₊₁ λₖ₊₁, from the end."""
    backwards = flip(shift(a, by=-1, axis=axis), axis=axis)
    return flip(recurrence(backwards, flip(g, axis=axis), axis=axis), axis=axis)


def _recurrence_jvp(x: Any, z: Any, x_dot: Any, y_dot: Any, axis: int) -> Any:
    moved = (0.0 if y_dot is None else y_dot) + (0.0 if x_dot is None else x_dot * shift(z, by=1, axis=axis))
    return recurrence(x, moved, axis=axis)


recurrence = general(
    "recurrence", _recurrence,
    lambda g, x, z, axis: shift(z, by=1, axis=axis) * _reverse_recurrence(x, g, axis),
    lambda g, x, axis: _reverse_recurrence(x, g, axis),
    jvp=_recurrence_jvp,
    complex=HOLOMORPHIC,
    cases=cases_of(([(5,), (5,)], {}), ([(3, 2), (3, 2)], {"axis": 0}), ([(2, 7), (2, 7)], {"axis": 1})),
    batch=along("axis"),
    hints=Hints(steps=lambda s, x, y, axis: s.recurrence(x, y, axis)),
    doc="Linear recurrence along an axis: zₖ = yₖ + xₖ zₖ₋₁, with z₋₁ = 0.",
)


def _is_first(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Mask of the first place along an axis, that broadcasts to `shape`."""
    lengths = [1] * len(shape)
    lengths[axis] = -1
    return np.arange(shape[axis]).reshape(lengths) == 0


def _before(x: Any, axis: int) -> Any:
    """Product of the elements before each, given the running products: 1 for the first."""
    return where(_is_first(x.shape, axis), 1.0, shift(x, by=1, axis=axis))


def product_of_others(x: Any, axis: int) -> Any:
    """For each element the product of the others along an axis, without division."""
    if x.shape == ():
        return np.ones((), x.dtype)
    after = flip(_before(cumprod(flip(x, axis=axis), axis=axis), axis), axis=axis)
    return _before(cumprod(x, axis=axis), axis) * after


def _cumprod_vjp(g: Any, x: Any, z: Any, axis: int | None) -> Any:
    """∂L/∂xₖ = (Π_{j<k} xⱼ) λₖ with λₖ = gₖ + xₖ₊₁ λₖ₊₁: exact where elements are 0."""
    shape = x.shape
    if axis is None:
        x, axis = reshape(x, shape=(-1,)), 0
    return reshape(chain_mul(_before(z, axis), _reverse_recurrence(x, g, axis)), shape=shape)


def _cumprod_jvp(x: Any, z: Any, x_dot: Any, axis: int | None) -> Any:
    if axis is None:
        x, x_dot, axis = reshape(x, shape=(-1,)), reshape(x_dot, shape=(-1,)), 0
    return recurrence(x, _before(z, axis) * x_dot, axis=axis)


cumprod = general(
    "cumprod", lambda x, *, axis=None: np.cumprod(x, axis), _cumprod_vjp, jvp=_cumprod_jvp,
    numpy=(np.cumprod,), hints=Hints(accumulates=np.multiply), complex=HOLOMORPHIC, cases=cases_of(*CUMULATIVE),
    batch=along("axis", flat=True),
    doc="Running product along an axis, or through the flattened array.  The gradient is exact where elements are 0.",
)


def _logcumsumexp(x: Any, *, axis: int = -1) -> Any:
    return np.logaddexp.accumulate(x, axis=axis)


def _logcumsumexp_vjp(g: Any, x: Any, z: Any, axis: int) -> Any:
    """x_barₖ = Σ_{i≥k} gᵢ exp(xₖ − zᵢ), as a recurrence whose coefficients exp(zₖ − zₖ₊₁) are at most 1."""
    ratio = _ratio(z, axis)
    return where(eq(z, -float("inf")), 0.0, exp(x - z)) * _reverse_recurrence(ratio, g, axis)


def _ratio(z: Any, axis: int) -> Any:
    """exp(zₖ₋₁ − zₖ), and 0 for the first."""
    previous = shift(z, by=1, axis=axis)
    return where(logical_or(_is_first(z.shape, axis), eq(previous, -float("inf"))), 0.0, exp(previous - z))


def _logcumsumexp_jvp(x: Any, z: Any, x_dot: Any, axis: int) -> Any:
    return recurrence(_ratio(z, axis), where(eq(z, -float("inf")), 0.0, exp(x - z)) * x_dot, axis=axis)


logcumsumexp = general(
    "logcumsumexp", _logcumsumexp, _logcumsumexp_vjp, jvp=_logcumsumexp_jvp,
    cases=cases_of(((4,), {}), ((2, 3), {"axis": 0})), hints=Hints(accumulates=np.logaddexp),
    batch=along("axis"),
    doc="Running `logsumexp` along an axis.",
)
