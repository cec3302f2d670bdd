"""Derivatives of functions of arrays by differences alone, the slow obvious way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import tape

STEP = 1e-4


def along(f: Callable[..., Any], xs: Sequence[np.ndarray], v: Sequence[np.ndarray], h: float = STEP) -> np.ndarray:
    """The derivative along a direction: a central difference of fourth order."""
    at = lambda t: np.asarray(f(*(x + t * d for x, d in zip(xs, v))), dtype=np.float64)  # noqa: E731
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def jacobians(f: Callable[..., Any], xs: Sequence[np.ndarray], h: float = STEP) -> list[np.ndarray]:
    """The derivatives with respect to each array, with the shape of the result before that of the array."""
    found = []
    for i, x in enumerate(xs):
        columns = []
        for k in range(x.size):
            v = [np.zeros(y.shape) for y in xs]
            v[i].flat[k] = 1.0
            columns.append(along(f, xs, v, h))
        found.append(np.stack(columns, axis=-1).reshape((*columns[0].shape, *x.shape)))
    return found


def gradients(f: Callable[..., Any], xs: Sequence[np.ndarray], h: float = STEP) -> list[np.ndarray]:
    """Of a function whose result is one number."""
    return jacobians(f, xs, h)


def second(f: Callable[..., Any], xs: Sequence[np.ndarray], v: Any, w: Any, h: float = 1e-3) -> float:
    """The second derivative of a number along two directions."""
    slope = lambda *ys: along(f, ys, v, h)  # noqa: E731
    return float(along(slope, xs, w, h))


def slopes(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def check_smooth(f, x):
    """The gradient in both modes, compiled, in lanes, and once more, against differences."""
    expected = slopes(f, x)
    grad = tape.func.grad(f)
    assert_allclose(grad(x), expected, rtol=1e-6, atol=1e-7)
    assert_allclose(tape.func.jacfwd(f)(x), expected, rtol=1e-6, atol=1e-7)
    assert_allclose(tape.func.vmap(grad)(np.stack([x, 0.9 * x]))[0], expected, rtol=1e-6, atol=1e-7)
    compiled = tape.compile(grad)
    for at in (x, 0.9 * x, x):
        assert_allclose(compiled(at), grad(at), rtol=1e-12)
    curvature = np.array([slopes(lambda x, k=k: grad(x)[k], x) for k in range(x.size)])
    assert_allclose(tape.func.hessian(f)(x), curvature, rtol=1e-5, atol=1e-6)
