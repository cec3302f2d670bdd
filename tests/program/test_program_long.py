"""Programs of hundreds of records, whose loops are found again and whose adjoints are appended at once."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tape
from tape import compile
from tape.autograd import grad
from tape.func import grad as grad_of, hessian

STEPS = (
    lambda s, t: np.sin(s) + t[0], lambda s, t: abs(s) * 0.9 + t[1], lambda s, t: s / (1 + abs(s)) + t[0] * t[1],
    lambda s, t: s * 0.9, lambda s, t: s + 0.1, lambda s, t: s - t[1] * 0.2,
    lambda s, t: np.maximum(s, t[0]) * 0.5, lambda s, t: np.where(s > t[1], s * 0.9, s + t[1]),
    lambda s, t: s * 0.999 if s > 0.3 else s + 0.01, lambda s, t: np.tanh(s) * t[0] + s * s * 0.1,
    lambda s, t: -s, lambda s, t: np.exp(-s * s) - t[1],
)  # fmt: skip
"""One record after another of a loop's body."""


def loops(seed, count, rounds=(30, 60, 100)):
    """A function of two numbers with loops in a row, whose bodies may be alike."""
    pick = random.Random(seed)
    bodies = [[pick.choice(STEPS) for _ in range(pick.choice((1, 2, 3, 5, 12)))] for _ in range(count)]
    times = [pick.choice(rounds) for _ in bodies]

    def f(t):
        s = t[0]
        for body, n in zip(bodies, times):
            for _ in range(n):
                for step in body:
                    s = step(s, t)
        return s

    return f


@pytest.mark.parametrize("seed", range(24))
def test_loops_in_a_row(seed):
    f = loops(seed, 1 + seed % 3)
    fast, fast_grad = compile(f), compile(grad_of(f))
    for x in (np.array([0.7, -0.4]), np.array([-0.2, 0.9])):
        t = tape.tensor(x, requires_grad=True)
        value = f(t)
        (g,) = grad(value, t)
        np.testing.assert_allclose(fast(x), value.item(), rtol=1e-10)
        (found,) = grad(fast(t), t)
        np.testing.assert_allclose(found.numpy(), g.numpy(), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(fast_grad(x), g.numpy(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(100, 106))
def test_second_derivatives_of_loops(seed):
    f = loops(seed, 2, rounds=(16, 24, 32))  # each record becomes a dozen
    x = np.array([0.7, -0.4])
    expected = hessian(f)(tape.tensor(x)).numpy()
    t = tape.tensor(x, requires_grad=True)
    (g,) = grad(compile(f)(t), t, create_graph=True)
    (plainly,) = grad(f(t), t, create_graph=True)
    assert g.requires_grad == plainly.requires_grad
    rows = [grad(g[i], t, retain_graph=True)[0].numpy() for i in range(2)] if g.requires_grad else np.zeros((2, 2))
    for found in (compile(hessian(f))(x), np.array(rows)):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * (1 + abs(expected).max()))


def repeated(t):
    s = 1.0
    for _ in range(300):
        s = np.sin(s) + t[0]
    return s


def unpacked(t):
    s, (a, b) = 1.0, t
    for _ in range(300):
        s = np.sin(s) * a + b
    return s


def each(t):
    s = 0.0
    for v in t:
        s = np.sin(s) + v * v
    return s


@pytest.mark.parametrize(("f", "n"), [(repeated, 2), (unpacked, 2), (each, 400)])
def test_numbers_read_out_of_an_array(f, n):
    x = np.linspace(0.2, 0.7, n)
    t = tape.tensor(x, requires_grad=True)
    (expected,) = grad(f(t), t)
    assert abs(expected.numpy()).max() > 0.1
    (through,) = grad(compile(f)(t), t)
    inside = compile(lambda x: grad(f(x), x)[0])
    for found in (through, inside(t), compile(grad_of(f))(tape.tensor(x)), grad_of(compile(f))(tape.tensor(x))):
        np.testing.assert_allclose(found.detach().numpy(), expected.numpy(), rtol=1e-10, atol=1e-13)


def test_numbers_read_out_of_captured_tensors():
    w, v = (tape.tensor(x, requires_grad=True) for x in ([0.5, 0.5], [0.3, 0.1]))

    def f(x):
        return (repeated(w) + repeated(v)) * x

    for fast in (f, compile(f)):
        w.grad = v.grad = None
        fast(tape.tensor(2.0)).backward()
        gradients = [w.grad.numpy(), v.grad.numpy()]
        if fast is f:
            expected = gradients
    np.testing.assert_allclose(gradients, expected, rtol=1e-12)


def test_lorenz_with_a_branch():
    def f(y):
        x, y, z = y
        for _ in range(60):
            x, y, z = x + 0.1 * (y - x), y + 0.01 * (x * (28 - z) - y), z + 0.01 * (x * y - 8 / 3 * z)
            if x > 5:
                z = z * 0.999
        return x + y + z

    x = np.ones(3)
    t = tape.tensor(x, requires_grad=True)
    (expected,) = grad(f(t), t)
    np.testing.assert_allclose(compile(grad_of(f))(x), expected.numpy(), rtol=1e-10)
