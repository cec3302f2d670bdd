"""Outer products that are summed: one matrix product in programs, with the values of the sum."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from products_of_parts import covariance, operands

import ops
import tape

OUTER_SUM = ops.REGISTRY["outer_sum"]


def windows(x, w):
    """Parts that begin and end anywhere, along both axes."""
    total = 0.0
    for i in range(12):
        total = total + (np.tanh(w[i, i : i + 9] @ x[i : i + 9, ::2]) ** 2).sum()
    return total


def recurrence(x, w):
    h = np.zeros(len(x))
    for i in range(20):
        h = np.tanh(x @ h + w[i % len(w), : len(x)])
    return (h * h).sum()


def turned(x, w):
    """Outer products on the right of a matrix, and others that are no part of a sum of many."""
    total = (np.outer(x[0], w[0]) ** 2).sum()
    for i in range(10):
        total = total + np.sin(x @ w[i, : x.shape[1]]).sum()
    return total


FUNCTIONS = {
    "covariance": (covariance, (14, 12), (12, 12)),
    "windows": (windows, (24, 26), (12, 24)),
    "recurrence": (recurrence, (16, 16), (5, 20)),
    "turned": (turned, (13, 17), (11, 19)),
}


def arrays(name, dtype=np.float64):
    return operands(FUNCTIONS[name][1:], dtype)


def listing_of(g):
    return g.programs[0].listing


def products(listing):
    """How many outer products there are left, and how many sums of them."""
    outer = 0
    for k in np.flatnonzero(listing.code == ops.REGISTRY["mul"].code).tolist():
        result = listing.spec_of(k)
        sizes = [listing.spec_of(j).size for j in listing.operands(k)]
        outer += result.ndim == 2 and max(sizes) < result.size
    return outer, int((listing.code == OUTER_SUM.code).sum())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_sum_of_outer_products_is_what_it_is_eagerly(name, dtype):
    f, inputs = FUNCTIONS[name][0], arrays(name, dtype)
    g = tape.compile(tape.func.grad(f, argnums=(0, 1)))
    for scale in (1.0, -0.5, 0.25):
        given = [dtype(scale) * x for x in inputs]
        wanted = tape.func.grad(f, argnums=(0, 1))(*given)
        for found, expected in zip(g(*given), wanted):
            assert found.dtype == expected.dtype
            tolerance = 1e-12 if dtype is np.float64 else 2e-4
            assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    assert len(g.programs) == 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_one_record(name):
    f, inputs = FUNCTIONS[name][0], arrays(name)
    g = tape.compile(tape.func.grad(f))
    g(*inputs)
    left, sums = products(listing_of(g))
    assert sums == 1
    assert left <= 3


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", ["covariance", "windows"])
def test_what_is_infinite_stays_in_its_part(name, bad):
    """In a product of matrices with zeros it would spread as nan."""
    f = FUNCTIONS[name][0]
    g = tape.compile(tape.func.grad(f, argnums=(0, 1)))
    x, w = arrays(name)
    g(x, w)
    changed = w.copy()
    changed[3, 5] = bad
    with np.errstate(all="ignore"):
        wanted = tape.func.grad(f, argnums=(0, 1))(x, changed)
        for _ in range(3):
            found = g(x, changed)
    assert any(not np.isfinite(z).all() and np.isfinite(z).any() for z in wanted)
    for one, other in zip(found, wanted):
        assert_array_equal(np.isfinite(one), np.isfinite(other))
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    for one, other in zip(g(x, w), tape.func.grad(f, argnums=(0, 1))(x, w)):
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_outer_products_that_fill_little_of_their_sum_stay_what_they_are():
    def f(x):
        total = 0.0
        for i in range(16):
            total = total + np.sin(x[8 * i, 8 * i : 8 * i + 2] @ x[8 * i : 8 * i + 2, 8 * i : 8 * i + 2]).sum()
        return total

    x = np.random.default_rng(0).standard_normal((130, 130))
    g = tape.compile(tape.func.grad(f))
    assert_allclose(g(x), tape.func.grad(f)(x), rtol=1e-12, atol=1e-12)
    assert products(listing_of(g))[1] == 0


def test_one_that_is_read_elsewhere_too_is_made():
    def f(x, w):
        total, z = 0.0, np.zeros_like(x)
        for i in range(12):
            product = np.outer(w[i], x[i])
            z = z + product
            total = total + (product[0] ** 2).sum()
        return total + (z**3).sum(), z

    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((16, 16)), rng.standard_normal((12, 16))
    g = tape.compile(f)
    for found, wanted in zip(g(x, w), f(x, w)):
        assert_allclose(found, wanted, rtol=1e-12)


def test_a_gradient_of_a_gradient_goes_through_it():
    f, (x, w) = covariance, arrays("covariance")

    def slope(x, w):
        return (tape.func.grad(f)(x, w) ** 2).sum()

    g = tape.compile(tape.func.grad(slope))
    assert_allclose(g(x, w), tape.func.grad(slope)(x, w), rtol=1e-10)


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((120, 100)), rng.standard_normal((100, 100))
    found = []
    for threads in (1, 2, 3):
        g = tape.compile(tape.func.grad(covariance), threads=threads)
        g(x, w)
        found.append(g(x, w))
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_memory_is_that_of_the_vectors():
    """Not that of the outer products: 100 of 40 kB each on average."""
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((120, 100)), rng.standard_normal((100, 100))
    g = tape.compile(tape.func.grad(covariance))
    g(x, w)
    kept = 2 * x.nbytes + 2 * w.nbytes
    assert g.programs[0].replay.sweeper.plan.taken <= 3.5 * kept
