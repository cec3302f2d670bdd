"""A kernel with its inputs, and the scalar and the vector functions that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

KERNELS: list[Kernel] = []
INTEGER_KERNELS: list[Callable[..., Any]] = []


@dataclass(frozen=True)
class Kernel:
    """A function of float arrays that returns arrays, or None if its results are the arguments that it changes.

    Attributes:
        make: draws the arguments.
        curved: whether its second derivatives exist and are worth a look.
    """

    function: Callable[..., Any]
    make: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    curved: bool = True

    @property
    def name(self) -> str:
        return self.function.__name__

    def inputs(self, number: int = 0) -> tuple[np.ndarray, ...]:
        """Arguments, the same for the same number."""
        return self.make(np.random.default_rng((7, number)))

    def results(self, *inputs: Any) -> list[Any]:
        """What the kernel computes from copies of its inputs."""
        given = [x.copy() for x in inputs]
        returned = list(_leaves(self.function(*given)))
        return returned or given

    def scalar(self, *inputs: Any) -> Any:
        """A weighted sum of everything that it computes."""
        return sum((z * weights(np.shape(z), k)).sum() for k, z in enumerate(self.results(*inputs)))

    def vector(self, *inputs: Any) -> Any:
        """Everything that it computes, in one row."""
        return np.concatenate([np.ravel(z) for z in self.results(*inputs)])


def weights(shape: tuple[int, ...], k: int) -> np.ndarray:
    return np.cos(1.0 + k + np.arange(np.prod(shape, dtype=int))).reshape(shape)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield value


def kernel(*shapes: int | tuple[int, ...], low: float = -1.0, high: float = 1.0, curved: bool = True) -> Any:
    """Declare a kernel whose arguments are uniform in an interval."""
    return drawn(lambda rng: tuple(rng.uniform(low, high, shape) for shape in shapes), curved)


def drawn(make: Callable[[np.random.Generator], tuple[np.ndarray, ...]], curved: bool = True) -> Any:
    """Declare a kernel whose arguments are made by a function."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        KERNELS.append(Kernel(function, make, curved))
        return function

    return declare


def integers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare a program on integers, which has no gradient."""
    INTEGER_KERNELS.append(function)
    return function


def dominant(rng: np.random.Generator, n: int) -> np.ndarray:
    """A matrix that is solved without pivots."""
    return rng.uniform(-1, 1, (n, n)) + n * np.eye(n)


def definite(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric positive definite matrix."""
    A = rng.uniform(-1, 1, (n, n))
    return A @ A.T + n * np.eye(n)
