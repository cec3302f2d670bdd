"""Strategies for Hypothesis: arrays and tensors of numbers that gradients stumble over.

Among the numbers are zeros of either sign, whole numbers, and sizes from `SMALL` to `LARGE`; among
the arrays, such whose elements tie, and symmetric matrices with repeated eigenvalues.  Needs
``pip install 'wengert[search]'``.

>>> from hypothesis import given
>>> @given(arrays(shape=(3,)))
... def test_squares_are_not_negative(x):
...     assert (x * x >= 0).all()
>>> test_squares_are_not_negative()
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

if find_spec("hypothesis") is None:
    raise ImportError("tape.testing.strategies needs Hypothesis, which is not installed: pip install 'wengert[search]'")

from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ..base.tensor import Tensor
from ..recording.creation import tensor

__all__ = ["arrays", "numbers", "shapes", "tensors"]

SMALL, LARGE = 1e-6, 1e6
"""Sizes of numbers that are not zero, unless others are asked for."""

MANY = 256
"""Arrays of more elements are drawn from a random generator, of which Hypothesis draws the seed."""

Array = np.ndarray[Any, Any]
Strategy = st.SearchStrategy


def shapes(min_dims: int = 0, max_dims: int = 2, max_side: int = 3) -> Strategy[tuple[int, ...]]:
    """Shapes without an axis of length 0."""
    return hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=1, max_side=max_side)


def numbers(small: float = SMALL, large: float = LARGE, *, nonfinite: bool = False) -> Strategy[float]:
    """Zeros, and numbers of sizes from `small` to `large`; shrinks to 0, then to small whole numbers.

    Args:
        nonfinite: nan and the infinities too.

    Raises:
        ValueError: unless 0 < small ≤ large < ∞.
    """
    if not 0 < small <= large < math.inf:
        raise ValueError(f"sizes need 0 < small <= large < inf; got small={small}, large={large}")
    within = [float(k) for k in range(1, 4) if small <= k <= large] or [small]
    low, high = math.ceil(math.log10(small)), math.floor(math.log10(large))

    def sized(mantissa: int, exponent: int) -> float:
        size = min(max(abs(mantissa) / 10 * 10.0**exponent, small), large)
        return math.copysign(size, mantissa)

    made = [
        st.sampled_from([0.0, *within, *(-k for k in within)]),
        st.builds(sized, st.integers(-99, 99).filter(bool), st.integers(min(low, high), high)),
        st.sampled_from([-0.0, small, -small, large, -large]),
    ]
    return st.one_of(*made, *([st.sampled_from([math.nan, math.inf, -math.inf])] if nonfinite else []))


def arrays(
    dtype: Any = np.float64,
    shape: int | tuple[int, ...] | Strategy[tuple[int, ...]] | None = None,
    *,
    elements: Strategy[Any] | None = None,
    small: float = SMALL,
    large: float = LARGE,
    nonfinite: bool = False,
) -> Strategy[Array]:
    """Arrays of floating-point or complex numbers.

    Args:
        dtype: of the arrays.
        shape: of the arrays; up to two axes of up to three elements if None.
        elements: of the arrays; `numbers` of the sizes that are asked for if None.
        small, large, nonfinite: see `numbers`.

    Raises:
        TypeError: if the dtype is of other numbers.
    """
    kind = np.dtype(dtype)
    if kind.kind not in "fc":
        raise TypeError(f"strategies draw floating-point or complex numbers; got {kind}")
    one = numbers(small, large, nonfinite=nonfinite) if elements is None else elements
    of: Strategy[tuple[int, ...]]
    if isinstance(shape, st.SearchStrategy):
        of = shape
    else:
        of = shapes() if shape is None else st.just((shape,) if isinstance(shape, int) else shape)

    def cast(x: Any) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(x, dtype=kind)

    real = of.flatmap(lambda shape: _forms(shape, one))
    if kind.kind == "f":
        return real.map(cast)
    both = of.flatmap(lambda shape: st.tuples(_forms(shape, one), _forms(shape, one)))
    return both.map(lambda parts: cast(_joined(*parts)))


def tensors(
    dtype: Any = np.float64,
    shape: int | tuple[int, ...] | Strategy[tuple[int, ...]] | None = None,
    *,
    requires_grad: bool = True,
    **how: Any,
) -> Strategy[Tensor]:
    """Tensors of such numbers, as leaves; see `arrays`.

    >>> from hypothesis import find
    >>> find(tensors(shape=2), lambda x: x.sum() > 1).shape
    Size([2])
    """
    return arrays(dtype, shape, **how).map(lambda x: tensor(x, requires_grad=requires_grad))


def _forms(shape: tuple[int, ...], one: Strategy[Any]) -> Strategy[Array]:
    """Arrays of a shape: element by element, with ties, and, of matrices, with repeated eigenvalues."""
    size = math.prod(shape)
    if size > MANY:
        return st.one_of(one.map(lambda x: np.full(shape, x)), _random(shape, one))
    forms = [_filled(shape, st.lists(one, min_size=size, max_size=size))]
    if size > 1:
        forms += [one.map(lambda x: np.full(shape, x)), _filled(shape, _tied(size, one))]
    if len(shape) == 2 and shape[0] == shape[1] > 1:
        forms.append(st.builds(_repeated, st.lists(one, min_size=2, max_size=2), _vectors(shape[0])))
    return st.one_of(forms)


def _filled(shape: tuple[int, ...], lists: Strategy[Sequence[Any]]) -> Strategy[Array]:
    return lists.map(lambda xs: np.array(xs, dtype=np.float64).reshape(shape))


def _tied(size: int, one: Strategy[Any]) -> Strategy[list[Any]]:
    """Lists that have two or three values."""
    values = st.lists(one, min_size=2, max_size=3)
    return values.flatmap(lambda few: st.lists(st.sampled_from(few), min_size=size, max_size=size))


def _vectors(n: int) -> Strategy[list[int]]:
    return st.lists(st.integers(-2, 2), min_size=n, max_size=n)


def _repeated(values: list[float], vector: list[int]) -> Array:
    """A symmetric matrix with the first value as every eigenvalue but one: λI + (μ − λ)vvᵀ/vᵀv."""
    v = np.array(vector, dtype=np.float64)
    length = v @ v
    first, last = values
    with np.errstate(all="ignore"):
        made: Array = first * np.eye(len(v)) + ((last - first) * np.outer(v, v) / length if length else 0.0)
    return made


def _random(shape: tuple[int, ...], one: Strategy[float]) -> Strategy[Array]:
    """Normal numbers of one drawn size."""

    def draw(size: float, seed: int) -> Array:
        return size * np.random.default_rng(seed).standard_normal(shape)

    make: Callable[..., Array] = draw
    return st.builds(make, one, st.integers(0, 999))


def _joined(real: Array, imag: Array) -> Array:
    """Complex numbers of two parts, which multiplying by i would make nan of infinite ones."""
    made = np.empty(real.shape, np.complex128)
    made.real, made.imag = real, imag
    return made
