"""Random tensors, from one generator that `manual_seed` restarts."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .base.dtypes import check_dtype, int64
from .base.tensor import Tensor
from .recording.calls import adaptor
from .recording.creation import factories
from .recording.leaf import leaf
from .recording.level import active

F = TypeVar("F", bound=Callable[..., Tensor])
_generator: np.random.Generator | None = None


class TimesAsked(threading.local):
    """How often this thread asked for the generator, to draw from it or to make another one."""

    count = 0


ASKED = TimesAsked()


def generator() -> np.random.Generator:
    """The generator in use, for whoever draws from it."""
    ASKED.count += 1
    return current()


def current() -> np.random.Generator:
    """The generator in use, for its state; made when it is first needed, because NumPy imports its own lazily."""
    global _generator
    if _generator is None:
        _generator = np.random.default_rng()
    return _generator


def manual_seed(seed: int) -> np.random.Generator:
    """Restart the generator, so that what follows can be repeated.

    >>> _ = manual_seed(0); a = rand(3)
    >>> _ = manual_seed(0); bool((a == rand(3)).all())
    True
    """
    ASKED.count += 1
    return use(np.random.default_rng(seed))


def use(made: np.random.Generator) -> np.random.Generator:
    """Draw from another generator from now on."""
    global _generator
    _generator = made
    return made


def _draw(sample: str) -> Callable[[tuple[int, ...], np.dtype[Any]], np.ndarray]:
    def draw(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        if dtype.kind != "c":
            return np.asarray(getattr(generator(), sample)(shape)).astype(dtype, copy=False)
        parts = getattr(generator(), sample)((2, *shape))
        z = np.asarray(parts[0] + 1j * parts[1])
        return (z * np.sqrt(0.5) if sample == "standard_normal" else z).astype(dtype, copy=False)

    return draw


def drawing(draw: F) -> F:
    """A function that draws numbers; within `vmap` it does so as the randomness there says."""

    @functools.wraps(draw)
    def drawn(*args: Any, **kwargs: Any) -> Tensor:
        levels = active()
        return levels[0].spread(lambda: draw(*args, **kwargs)) if levels else draw(*args, **kwargs)

    return drawn  # type: ignore[return-value]


rand, rand_like = map(drawing, factories("rand", _draw("random"), "of numbers drawn evenly from [0, 1)", alike=False))
randn, randn_like = map(
    drawing,
    factories("randn", _draw("standard_normal"), "of numbers drawn from the normal distribution", alike=False),
)


@drawing
def randint(
    low: int, high: int | None = None, size: Any = (), *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Integers drawn evenly from [low, high), or from [0, low) without ``high``.

    ``randint(high, size)`` and ``randint(low, high, size)`` both work, as in PyTorch.
    """
    if isinstance(high, (tuple, list)):
        high, size = None, high
    low, high = (0, low) if high is None else (low, high)
    wanted = check_dtype(dtype) or int64
    drawn = np.asarray(generator().integers(low, high, tuple(size), dtype=wanted if wanted.kind in "iub" else int64))
    return leaf(drawn.astype(wanted, copy=False)[()], requires_grad, device)


@drawing
def randperm(n: int, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The integers 0 … n−1 in random order."""
    return leaf(generator().permutation(n).astype(check_dtype(dtype) or int64, copy=False), device=device)


@drawing
def normal(
    mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Numbers drawn from normal distributions with these means and standard deviations."""
    mean, std = (x._data if isinstance(x, Tensor) else x for x in (mean, std))
    return leaf(np.asarray(generator().normal(mean, std, size)), requires_grad, device)


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
