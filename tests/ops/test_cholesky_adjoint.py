"""The adjoint of Cholesky's factor by blocks of rows: the numbers of the formula, and its derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from ops.algebra import decomposition
from ops.algebra.decomposition import BLOCK, LARGE, cholesky_adjoint


def factor(n, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, n))
    return np.linalg.cholesky(x @ x.T + n * np.eye(n))


def by_formula(x, g):
    n = len(x)
    middle = (x.T @ g) * (np.tri(n) - 0.5 * np.eye(n))
    inverse = np.linalg.inv(x)
    bar = inverse.T @ middle @ inverse
    return (bar + bar.T) / 2


@pytest.mark.parametrize("n", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_blocks_give_what_the_formula_gives(n):
    x, g = factor(n), np.random.default_rng(1).standard_normal((n, n))
    wanted = by_formula(x, g)
    given = x.copy(), g.copy()
    assert_allclose(cholesky_adjoint(x, g), wanted, rtol=1e-10, atol=1e-12 * abs(wanted).max())
    assert_array_equal(x, given[0])
    assert_array_equal(g, given[1])


def test_only_lower_triangles_are_read():
    x, g = factor(40), np.random.default_rng(1).standard_normal((40, 40))
    above = np.triu(np.full((40, 40), np.nan), 1)
    assert_array_equal(cholesky_adjoint(np.tril(x) + above, np.tril(g) + above), cholesky_adjoint(x, g))


def test_stacks_and_single_precision():
    x, g = np.stack([factor(5, k) for k in range(3)]), np.random.default_rng(1).standard_normal((3, 5, 5))
    assert_allclose(cholesky_adjoint(x, g)[1], by_formula(x[1], g[1]))
    assert_array_equal(cholesky_adjoint(x, g[:1])[2], cholesky_adjoint(x[2], g[0]))
    assert_array_equal(cholesky_adjoint(x[0], g)[2], cholesky_adjoint(x[0], g[2]))
    assert cholesky_adjoint(x[:0], g[:0]).shape == (0, 5, 5)
    single = cholesky_adjoint(x[0].astype(np.float32), g[0].astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, by_formula(x[0], g[0]), rtol=1e-4, atol=1e-5)


def loss(a, b):
    z = np.linalg.cholesky(a)
    return np.log(np.diag(z)).sum() + np.sum(np.linalg.solve(z, b) ** 2)


def inputs(n=LARGE + 5):
    x = factor(n)
    return x @ x.T, np.random.default_rng(2).standard_normal(n)


def test_large_factors_have_the_gradient_of_small_ones(monkeypatch):
    a, b = inputs()
    found = tape.func.grad(loss, argnums=(0, 1))(a, b)
    g = tape.compile(tape.func.grad(loss, argnums=(0, 1)))
    compiled = [g(a, b) for _ in range(2)][-1]
    monkeypatch.setattr(decomposition, "LARGE", 10**6)
    for one, replayed, wanted in zip(found, compiled, tape.func.grad(loss, argnums=(0, 1))(a, b)):
        assert_allclose(one, wanted, rtol=1e-9, atol=1e-12)
        assert_allclose(replayed, wanted, rtol=1e-9, atol=1e-12)


def test_second_derivatives_too(monkeypatch):
    a, b = inputs()
    v = np.random.default_rng(3).standard_normal(a.shape)

    def product(a):
        return (tape.func.grad(loss)(a, b) * v).sum()

    found = tape.func.grad(product)(a)
    _, forward = tape.func.jvp(lambda a: tape.func.grad(loss)(a, b), (a,), (v,))
    monkeypatch.setattr(decomposition, "LARGE", 10**6)
    wanted = tape.func.grad(product)(a)
    assert_allclose(found, wanted, rtol=1e-8, atol=1e-12)
    assert_allclose(forward, wanted, rtol=1e-8, atol=1e-12)
