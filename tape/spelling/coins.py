"""Draws that depend on a tensor's numbers: coins, counts and choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.tensor import Tensor
from ..random import drawing, generator
from ..recording.calls import adaptor
from ..recording.leaf import leaf


@adaptor
@drawing
def bernoulli(input: Tensor, p: float | None = None) -> Tensor:
    """Ones and zeros of the input's shape and dtype: 1 with the probability that its element is, or with ``p``.

    Raises:
        RuntimeError: if a probability is not in [0, 1].
    """
    chances = np.asarray(input._data if p is None else p)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise RuntimeError(f"bernoulli() needs probabilities between 0 and 1; got {chances.min()} to {chances.max()}")
    drawn = generator().random(input._spec.shape) < chances
    return leaf(np.asarray(drawn).astype(input.dtype))


@adaptor
@drawing
def poisson(input: Tensor) -> Tensor:
    """Counts drawn from the Poisson distributions whose means are the input's elements."""
    return leaf(np.asarray(generator().poisson(input._data)).astype(input.dtype))


@adaptor
@drawing
def multinomial(input: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Places drawn along the last axis with probabilities in proportion to the input's elements.

    Raises:
        RuntimeError: if weights are negative or all 0, or fewer than what is to be drawn without replacement.
    """
    weights = np.asarray(input._data, dtype=np.float64)
    rows = weights.reshape(-1, weights.shape[-1])
    if (rows < 0).any() or not (rows.sum(axis=1) > 0).all():
        raise RuntimeError("multinomial() needs weights that are at least 0, and not all 0")
    if not replacement and num_samples > (rows > 0).sum(axis=1).min():
        raise RuntimeError(f"multinomial() cannot draw {num_samples} places without replacement: fewer have a weight")
    drawn = [_choose(row / row.sum(), num_samples, replacement) for row in rows]
    return leaf(np.stack(drawn).reshape(*weights.shape[:-1], num_samples))


def _choose(chances: np.ndarray, count: int, replacement: bool) -> Any:
    return generator().choice(len(chances), count, replace=replacement, p=chances)
