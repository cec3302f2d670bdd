"""The programs that are timed, each written once for every library.

A program takes the library as ``xp`` (tape, torch, autograd.numpy, jax.numpy, numpy) and then its
inputs.  The gradient taken is that of the sum of what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

COMPLEX_STEP = 1e-30


@dataclass(frozen=True)
class Work:
    """A program and its inputs: a gradient is wanted for the variables, none for the constants.

    Attributes:
        lanes: the program is one of numbers, to be run for each element of its variables, side by side.
        order: 2 where the Hessian is wanted, of a function of one vector.
        by_hand: value and gradients as a loop that Numba compiles: of numbers ``by_hand(*variables)`` returns both,
            of arrays ``by_hand(*variables, *gradients)`` fills the gradients in.
        in_jax: the program as one writes it for JAX, where that differs.
        unguarded: what the program does for these inputs, without asking for values.
        beside: another program of the same inputs, whose time is what that of the program is compared with.
        holomorphic: the program in functions of complex numbers that have derivatives, where it has others.
    """

    program: Callable[..., Any]
    variables: tuple[np.ndarray, ...]
    constants: tuple[np.ndarray, ...] = ()
    lanes: bool = False
    order: int = 1
    by_hand: Callable[..., Any] | None = None
    in_jax: Callable[..., Any] | None = None
    unguarded: Callable[..., Any] | None = None
    beside: Callable[..., Any] | None = None
    holomorphic: Callable[..., Any] | None = None

    def reference(self) -> list[np.ndarray]:
        """Gradients by the complex step ∂f/∂xᵢ = Im f(x + ih eᵢ) / h, in NumPy alone: slow and exact."""
        return [self._derivatives(k) for k in range(len(self.variables))]

    def _derivatives(self, k: int) -> np.ndarray:
        gradient, program = np.empty(self.variables[k].shape), self.holomorphic or self.program
        for index in np.ndindex(gradient.shape):
            inputs = [v.astype(np.complex128) for v in self.variables]
            inputs[k][index] += 1j * COMPLEX_STEP
            gradient[index] = np.sum(program(np, *inputs, *self.constants)).imag / COMPLEX_STEP
        return gradient

    def slope(self, steps: tuple[np.ndarray, ...]) -> float:
        """The derivative of the sum along a direction, by one complex step."""
        inputs = [v + 1j * COMPLEX_STEP * u for v, u in zip(self.variables, steps, strict=True)]
        return float(np.sum(self.program(np, *inputs, *self.constants)).imag / COMPLEX_STEP)

    def curvature(self, step: np.ndarray) -> float:
        """The second derivative along a direction, of a polynomial of degree 4 at most: the five points are exact."""
        (x,) = self.variables
        f = [float(self.program(np, x + k * step)) for k in (-2, -1, 0, 1, 2)]
        return (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4]) / 12


def chain(shape: tuple[int, ...], steps: int) -> Work:
    """Two operations a step on small arrays: all overhead."""

    def program(xp: Any, x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = y * x + x
        return y

    return Work(program, (np.asarray(rng().uniform(0.0, 0.5, shape)),))


def moving(shape: tuple[int, int], steps: int) -> Work:
    """Six operations a step that move parts of a small matrix, or reduce it: overhead too, of other kinds."""

    def program(xp: Any, x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = xp.concatenate([y[1:], y[:1]]).T + y.mean(0)
        return y

    return Work(program, (rng().uniform(0.0, 0.5, shape),))


def square() -> Work:
    """The smallest history there is."""
    return Work(lambda xp, x: x * x, (np.asarray(2.0),))


def indexing(n: int) -> Work:
    """A loop over the elements of a vector."""

    def program(xp: Any, x: Any) -> Any:
        s = 0.0
        for i in range(n):
            s = s + x[i] * x[i]
        return s

    return Work(program, (rng().random(n),))


def elementwise(n: int, dtype: str) -> Work:
    """Four functions of the math library over a long array."""

    def program(xp: Any, x: Any) -> Any:
        return xp.sum(xp.sin(xp.tanh(xp.log(xp.exp(x) + 1.0))))

    return Work(program, (rng().normal(size=n).astype(dtype),))


def matmul(n: int) -> Work:
    """A product of square matrices."""
    return Work(lambda xp, x, y: x @ y, (rng().random((n, n)), rng().random((n, n))))


def logistic(rows: int, columns: int) -> Work:
    """Mean negative log-likelihood of logistic regression, labels ±1."""

    def program(xp: Any, w: Any, b: Any, features: Any, labels: Any) -> Any:
        return xp.mean(xp.log1p(xp.exp(-labels * (features @ w + b))))

    draw = rng()
    features, w = draw.normal(size=(rows, columns)), draw.normal(size=columns)
    return Work(program, (0.5 * w, np.asarray(0.1)), (features, np.sign(features @ w + 0.05)))


def rng(seed: int = 20) -> np.random.Generator:
    return np.random.default_rng(seed)
