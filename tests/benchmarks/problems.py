"""The work for compiled programs: array code, and scalar code in loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from math import sqrt
from typing import Any

import numpy as np

from .work import Work, rng

ERF = {"numpy": "scipy.special", "jax.numpy": "jax.scipy.special"}
"""Where a library has its error function, if not in the first place."""


def black_scholes(n: int) -> Work:
    """Prices of n European calls; the gradient of their sum are five Greeks of each."""

    def program(xp: Any, spot: Any, strike: Any, time: Any, rate: Any, volatility: Any) -> Any:
        erf = xp.erf if hasattr(xp, "erf") else import_module(ERF[xp.__name__]).erf
        spread = volatility * xp.sqrt(time)
        d1 = (xp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / spread
        d2 = d1 - spread
        inside, exercised = (0.5 * (1.0 + erf(d * (1 / sqrt(2)))) for d in (d1, d2))
        return spot * inside - strike * xp.exp(-rate * time) * exercised

    bounds = (80, 120), (80, 120), (0.5, 2), (0.01, 0.05), (0.1, 0.4)
    draw = rng()
    return Work(program, tuple(draw.uniform(*b, n) for b in bounds))


def twenty(n: int) -> Work:
    """Twenty operations on each element of a long array: Horner's rule for a polynomial of degree 10."""

    def program(xp: Any, x: Any) -> Any:
        y = x
        for _ in range(10):
            y = y * x + 0.5
        return y

    def by_hand(x, gradient):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(x.size):
            v = x[i]
            y, slope = v, 1.0
            for _ in range(10):
                slope = slope * v + y
                y = y * v + 0.5
            gradient[i] = slope
            total += y
        return total

    return Work(program, (rng().uniform(0.0, 0.8, n),), by_hand=by_hand)


def layers(batch: int, width: int) -> Work:
    """A step of a small neural network: two layers, mean squared error."""

    def program(xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        error = xp.tanh(x @ w1 + b1) @ w2 + b2 - y
        return xp.mean(error * error)

    draw = rng()
    weights = [0.1 * draw.normal(size=s) for s in ((width, width), width, (width, width), width)]
    return Work(program, tuple(weights), tuple(draw.normal(size=(batch, width)) for _ in range(2)))


def few(steps: int) -> Work:
    """Three operations on numbers a step."""

    def program(xp: Any, x: Any, y: Any) -> Any:
        z = x
        for _ in range(steps):
            z = (z * x + y) * 0.5
        return z

    def by_hand(x, y):  # type: ignore[no-untyped-def]
        z, by_x, by_y = x, 1.0, 0.0
        for _ in range(steps):
            by_x, by_y = 0.5 * (by_x * x + z), 0.5 * (by_y * x + 1.0)
            z = (z * x + y) * 0.5
        return z, by_x, by_y

    return Work(program, (np.asarray(0.3), np.asarray(0.7)), by_hand=by_hand)


def rounds(limit: float) -> Work:
    """A number grows until it is large enough, which every round asks."""

    def grown(x: Any, k: Any) -> Any:
        return x + k * x + 0.001

    def program(xp: Any, x: Any, k: Any) -> Any:
        while x < limit:
            x = grown(x, k)
        return x

    inputs, count, x = (np.asarray(1.0), np.asarray(0.01)), 0, 1.0
    while x < limit:
        x, count = grown(x, 0.01), count + 1

    def unguarded(xp: Any, x: Any, k: Any) -> Any:
        for _ in range(count):
            x = grown(x, k)
        return x

    return Work(program, inputs, unguarded=unguarded)


def rosenbrock(n: int) -> Work:
    """The Hessian of the Rosenbrock function, written as a loop over elements."""

    def program(xp: Any, x: Any) -> Any:
        total = 0.0
        for i in range(n - 1):
            a, b = x[i + 1] - x[i] * x[i], 1.0 - x[i]
            total = total + 100.0 * a * a + b * b
        return total

    return Work(program, (rng().normal(size=n),), order=2)


def lorenz(steps: int, lanes: int = 0) -> Work:
    """Lorenz' equations by Runge–Kutta's rule: the squared length of where three numbers go, given three parameters."""

    def program(xp: Any, *inputs: Any) -> Any:
        state: Any = inputs[:3]
        for _ in range(steps):
            state = step(state, inputs[3:])
        return sum_of_squares(state)

    def in_jax(xp: Any, *inputs: Any) -> Any:
        scan = import_module("jax").lax.scan
        state, _ = scan(lambda state, _: (tuple(step(state, inputs[3:])), None), inputs[:3], None, length=steps)
        return sum_of_squares(state)

    start = 1.0, 1.0, 1.0, 10.0, 28.0, 8 / 3
    shape = (lanes,) if lanes else ()
    variables = tuple(np.asarray(v * rng(k).uniform(0.98, 1.02, shape)) for k, v in enumerate(start))
    return Work(program, variables, lanes=lanes > 0, in_jax=in_jax)


LORENZ_STEP = 71
"""Operations on numbers in a step."""


def step(state: Any, parameters: Any, h: float = 0.01) -> list[Any]:
    """A step of Runge and Kutta's rule of the fourth order."""
    k1 = rates(state, parameters)
    k2 = rates(ahead(state, k1, h / 2), parameters)
    k3 = rates(ahead(state, k2, h / 2), parameters)
    k4 = rates(ahead(state, k3, h), parameters)
    return [x + h / 6 * (a + 2.0 * b + 2.0 * c + d) for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True)]


def rates(state: Any, parameters: Any) -> list[Any]:
    """Lorenz' equations."""
    (x, y, z), (a, b, c) = state, parameters
    return [a * (y - x), x * (b - z) - y, x * y - c * z]


def ahead(state: Any, k: Any, h: float) -> list[Any]:
    return [x + h * v for x, v in zip(state, k, strict=True)]


def sum_of_squares(state: Any) -> Any:
    x, y, z = state
    return x * x + y * y + z * z


def rows_read(rows: int, columns: int) -> Work:
    """A recurrence that reads one row of a matrix after another."""

    def program(xp: Any, A: Any) -> Any:
        state = A[0]
        for i in range(1, rows):
            state = xp.tanh(state + A[i])
        return state

    def in_jax(xp: Any, A: Any) -> Any:
        return import_module("jax").lax.scan(lambda state, row: (xp.tanh(state + row), None), A[0], A[1:])[0]

    return Work(program, (rng().normal(size=(rows, columns)),), in_jax=in_jax)


def rows_written(rows: int, columns: int) -> Work:
    """The same in place: each row becomes what is made of it and of the one before it."""

    def program(xp: Any, A: Any) -> Any:
        A = A * 1.0
        for i in range(1, rows):
            A[i] = xp.tanh(A[i - 1] + A[i])
        return A

    def in_jax(xp: Any, A: Any) -> Any:
        lax = import_module("jax").lax
        return lax.fori_loop(1, rows, lambda i, A: A.at[i].set(xp.tanh(A[i - 1] + A[i])), A)

    return Work(program, (rng().normal(size=(rows, columns)),), in_jax=in_jax)


def slices_written(n: int) -> Work:
    """A window of three numbers that goes over a vector and changes it."""

    def program(xp: Any, x: Any) -> Any:
        y = np.zeros(n + 2, x.dtype)
        for i in range(n - 2):
            y[i : i + 3] = xp.tanh(0.5 * y[i : i + 3] + x[i : i + 3])
        return y

    def in_jax(xp: Any, x: Any) -> Any:
        lax = import_module("jax").lax

        def write(i: Any, y: Any) -> Any:
            part = xp.tanh(0.5 * lax.dynamic_slice(y, (i,), (3,)) + lax.dynamic_slice(x, (i,), (3,)))
            return lax.dynamic_update_slice(y, part, (i,))

        return lax.fori_loop(0, n - 2, write, xp.zeros(n + 2))

    return Work(program, (rng().normal(size=n),), in_jax=in_jax)


def again(make: Callable[..., Work], *size: Any) -> Work:
    """Nearly the same work, for warming up: code that is kept for it does not serve the work itself."""
    work = make(*size)
    once = work.program

    def program(xp: Any, *inputs: Any) -> Any:
        z = once(xp, *inputs)
        return z * z

    return replace(work, program=program, by_hand=None, in_jax=None)
