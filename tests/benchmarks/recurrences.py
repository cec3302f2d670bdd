"""The work of small array records in long loops: filters, recurrent cells, equations stepped in time."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .work import Work, rng


def repeated(step: Callable[[Any, Any, Any], Any], library: Any, state: Any, rows: Any, count: int) -> Any:
    """The state after so many steps; each is given the next of the rows, if there are any."""
    if library is np:
        for k in range(count):
            state = step(library, state, None if rows is None else rows[k])
        return state
    state, _ = import_module("jax").lax.scan(lambda s, row: (step(library, s, row), None), state, rows, length=count)
    return state


def arrays_of(xp: Any) -> Any:
    """NumPy, whose functions programs of arrays call, or JAX's."""
    return np if xp.__name__ == "tape" else xp


def kalman(steps: int) -> Work:
    """The likelihood of observations of a moving point in the plane: four states, two numbers observed."""
    moves, sees = np.eye(4) + 0.1 * np.eye(4, k=2), np.eye(2, 4)

    def program(xp: Any, q: Any, r: Any, observed: Any) -> Any:
        xp = arrays_of(xp)

        def step(xp: Any, state: Any, y: Any) -> Any:
            x, p, likelihood = state
            x, p = moves @ x, moves @ p @ moves.T + q * np.eye(4)
            error, spread = y - sees @ x, sees @ p @ sees.T + r * np.eye(2)
            gain = xp.linalg.solve(spread, sees @ p).T
            fit = error @ xp.linalg.solve(spread, error) + xp.log(xp.linalg.det(spread))
            return x + gain @ error, p - gain @ sees @ p, likelihood - 0.5 * fit

        return repeated(step, xp, (xp.zeros(4), xp.eye(4), 0.0), observed, steps)[2]

    return Work(program, (np.asarray(0.1), np.asarray(0.2)), (rng().normal(size=(steps, 2)),))


def gru(steps: int, width: int = 32, inputs: int = 16) -> Work:
    """A gated recurrent unit over a sequence, batch 1."""

    def program(xp: Any, w: Any, rows: Any) -> Any:
        xp = arrays_of(xp)

        def step(xp: Any, h: Any, row: Any) -> Any:
            gates = 1.0 / (1.0 + xp.exp(-(w[: 2 * width] @ xp.concatenate([row, h]))))
            reset, update = gates[:width], gates[width:]
            new = xp.tanh(w[2 * width :] @ xp.concatenate([row, reset * h]))
            return update * h + (1.0 - update) * new

        h = repeated(step, xp, xp.zeros(width), rows, steps)
        return (h * h).sum()

    draw = rng()
    return Work(program, (0.1 * draw.normal(size=(3 * width, inputs + width)),), (draw.normal(size=(steps, inputs)),))


def ring(n: int, steps: int) -> Work:
    """An ordinary differential equation on a ring of n points, by slices and concatenation."""

    def program(xp: Any, y: Any, k: Any) -> Any:
        xp = arrays_of(xp)

        def step(xp: Any, y: Any, _: Any) -> Any:
            ahead = xp.concatenate([y[1:] - y[:-1], y[:1] - y[-1:]])
            return y + 0.01 * (k * ahead - y * xp.sin(y))

        y = repeated(step, xp, y, None, steps)
        return (y * y).sum()

    return Work(program, (rng().uniform(size=n), np.asarray(0.5)))


def bodies(n: int, steps: int) -> Work:
    """n bodies that attract one another, as arrays of all pairs."""

    def program(xp: Any, x: Any, v: Any, mass: Any) -> Any:
        def step(xp: Any, state: Any, _: Any) -> Any:
            x, v = state
            d = x[None, :, :] - x[:, None, :]
            near = ((d * d).sum(axis=2) + 0.1) ** -1.5
            v = v + 0.01 * (d * (mass[None, :] * near)[:, :, None]).sum(axis=1)
            return x + 0.01 * v, v

        x, _ = repeated(step, arrays_of(xp), (x, v), None, steps)
        return (x * x).sum()

    draw = rng()
    return Work(program, (draw.normal(size=(n, 3)), np.zeros((n, 3)), draw.uniform(size=n)))


def heat(n: int, steps: int) -> Work:
    """The heat equation on a square, by slices."""

    def program(xp: Any, u: Any, k: Any) -> Any:
        def step(xp: Any, u: Any, _: Any) -> Any:
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
            return u + xp.pad(k * around, 1)

        u = repeated(step, arrays_of(xp), u, None, steps)
        return (u * u).sum()

    return Work(program, (rng().uniform(size=(n, n)), np.asarray(0.1)))


def reaction(n: int, steps: int) -> Work:
    """Gray and Scott's reaction of two substances that diffuse on a torus, by rolls."""

    def program(xp: Any, u: Any, v: Any, feed: Any, kill: Any) -> Any:
        def spread(xp: Any, x: Any) -> Any:
            return xp.roll(x, 1, 0) + xp.roll(x, -1, 0) + xp.roll(x, 1, 1) + xp.roll(x, -1, 1) - 4.0 * x

        def step(xp: Any, state: Any, _: Any) -> Any:
            u, v = state
            made = u * v * v
            u_next = u + 0.16 * spread(xp, u) - made + feed * (1.0 - u)
            return u_next, v + 0.08 * spread(xp, v) + made - (feed + kill) * v

        u, v = repeated(step, arrays_of(xp), (u, v), None, steps)
        return (u * v).sum()

    draw = rng()
    return Work(program, (draw.uniform(size=(n, n)), draw.uniform(size=(n, n)), np.asarray(0.04), np.asarray(0.06)))


def joints(n: int) -> Work:
    """Points at the end of a chain of joints: products of 4 × 4 matrices, as in hand tracking."""

    def program(xp: Any, angles: Any, points: Any) -> Any:
        xp = arrays_of(xp)

        def step(xp: Any, at: Any, row: Any) -> Any:
            (c, s), (d, t) = (xp.cos(row[0]), xp.sin(row[0])), (xp.cos(row[1]), xp.sin(row[1]))
            x = xp.array([[1.0, 0.0, 0.0, 0.1], [0.0, c, -s, 0.0], [0.0, s, c, 0.0], [0.0, 0.0, 0.0, 1.0]])
            z = xp.array([[d, -t, 0.0, 0.0], [t, d, 0.0, 0.2], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
            return at @ x @ z

        return ((repeated(step, xp, xp.eye(4), angles, n) @ points) ** 2).sum()

    draw = rng()
    return Work(program, (draw.normal(size=(n, 2)),), (draw.normal(size=(4, 10)),))


def speelpenning(n: int) -> Work:
    """The product of n numbers."""
    return Work(lambda xp, x: arrays_of(xp).prod(x), (1.0 + 0.01 * rng().normal(size=n),))


def elimination(n: int) -> Work:
    """The triangular factors of a matrix in its place, number by number: products of ever longer rows and columns."""

    def program(xp: Any, x: Any) -> Any:
        z = x * 1.0
        for i in range(n):
            for j in range(n):
                k = min(i, j)
                rest = z[i, j] - z[i, :k] @ z[:k, j]
                z[i, j] = rest / z[j, j] if j < i else rest
        return z

    return Work(program, (rng().normal(size=(n, n)) + n * np.eye(n),))


def covariances(n: int) -> Work:
    """The products of each column of a matrix with those that follow, into a row and a column of another one."""

    def program(xp: Any, x: Any) -> Any:
        x, z = x - x.mean(axis=0), np.zeros((n, n), x.dtype)
        for i in range(n):
            z[i:, i] = z[i, i:] = x[:, i] @ x[:, i:]
        return z

    return Work(program, (rng().normal(size=(n + n // 5, n)),))
