"""Vectors times parts of one matrix: products of matrices in programs, with the values of each product."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from products_of_parts import covariance, operands

import ops
import tape

JOINED, MATMUL = ops.REGISTRY["vector_products"], ops.REGISTRY["matmul"]


def squares(x, w):
    """The adjoints of these products depend on them: those are joined at another level."""
    total = 0.0
    for i in range(12):
        total = total + ((x[:, i] @ x[:, : i + 40]) ** 2 * w[i, : i + 40]).sum()
    return total


def samples(x, w):
    """The whole matrix, by vectors that follow no order, read before the next one is there."""
    total, shift = 0.0, w[0, :40].sum()
    for i in (3, 1, 8, 2, 9, 10, 4, 7, 0, 5):
        shift = shift + np.tanh(x @ np.sin(w[i, :52] + w[0, 0])).sum()
        total = total + (w[i, :40] * shift).sum()
    return total


def stacked(x, w):
    """Vectors that are rows, and a part that is a plane of more axes."""
    y = (2.0 * x).reshape(1, 40, 52)
    found = [np.exp(0.1 * (w[i, :40] @ y[0, :, :49])).sum() for i in range(16)]
    return sum(found)


FUNCTIONS = {
    "covariance": (covariance, (50, 46), (46, 46)),
    "squares": (squares, (40, 60), (12, 60)),
    "samples": (samples, (40, 52), (12, 60)),
    "stacked": (stacked, (40, 52), (16, 60)),
}


def arrays(name, dtype=np.float64):
    return operands(FUNCTIONS[name][1:], dtype)


def counts(g):
    """How many products of vectors and matrices there are, and how many that were joined."""
    listing = g.programs[0].listing
    rows = np.flatnonzero(listing.code == MATMUL.code).tolist()
    return sum(listing.spec_of(k).ndim == 1 for k in rows), int((listing.code == JOINED.code).sum())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_products_are_what_they_are_eagerly(name, dtype):
    f, inputs = FUNCTIONS[name][0], arrays(name, dtype)
    transform = lambda: tape.func.grad_and_value(f, argnums=(0, 1))  # noqa: E731
    g = tape.compile(transform())
    for scale in (1.0, -0.5, 0.25):
        given = [dtype(scale) * x for x in inputs]
        (wanted, value), (found, again) = transform()(*given), g(*given)
        tolerance = 1e-11 if dtype is np.float64 else 1e-3
        assert_allclose(again, value, rtol=tolerance, atol=tolerance)
        for one, other in zip(found, wanted):
            assert one.dtype == other.dtype
            assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max())
    assert len(g.programs) == 1
    assert g.programs[0].replay.sweeper.plan.stops == {}


@pytest.mark.parametrize(
    ("name", "left", "joined"), [("covariance", 62, 2), ("squares", 0, 2), ("samples", 0, 2), ("stacked", 0, 2)]
)
def test_they_are_joined(name, left, joined):
    """But for the parts of the covariance that are thin."""
    f, inputs = FUNCTIONS[name][0], arrays(name)
    g = tape.compile(tape.func.grad_and_value(f, argnums=(0, 1)))
    g(*inputs)
    assert counts(g) == (left, joined)


def test_what_depends_on_the_last_product_is_not_joined():
    def recurrence(x):
        h = np.ones(len(x))
        for _ in range(16):
            h = np.tanh(x @ h)
        return h

    x = np.random.default_rng(0).standard_normal((40, 40))
    g = tape.compile(recurrence)
    assert_allclose(g(x), recurrence(x), rtol=1e-10)
    assert counts(g) == (16, 0)


def test_a_matrix_of_few_columns_goes_by_columns():
    def f(x, w):
        return sum(np.tanh(x @ w[i]).sum() for i in range(10))

    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((200, 8)), rng.standard_normal((10, 8))
    g = tape.compile(tape.func.grad(f))
    assert_allclose(g(x, w), tape.func.grad(f)(x, w), rtol=1e-12, atol=1e-12)
    assert counts(g)[1] == 0


def test_parts_that_are_far_apart_are_not_joined():
    def f(x):
        return sum((x[40 * i, :40] @ x[40 * i : 40 * i + 40, 40 * i : 40 * i + 40]).sum() for i in range(10))

    x = np.random.default_rng(0).standard_normal((400, 400))
    g = tape.compile(f)
    assert_allclose(g(x), f(x), rtol=1e-10)
    assert counts(g) == (10, 0)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("name", ["covariance", "squares"])
def test_what_is_infinite_stays_in_its_part(name, bad):
    """In a product of matrices with zeros it would spread as nan."""
    f = FUNCTIONS[name][0]
    g = tape.compile(tape.func.grad(f, argnums=(0, 1)))
    x, w = arrays(name)
    g(x, w)
    changed = w.copy()
    changed[3, 30] = bad
    y = x.copy()
    y[7, 35] = bad
    with np.errstate(all="ignore"):
        for given in ((x, changed), (y, w)):
            for found, wanted in zip(g(*given), tape.func.grad(f, argnums=(0, 1))(*given)):
                assert_array_equal(np.isfinite(found), np.isfinite(wanted))
                assert_allclose(found, wanted, rtol=1e-11, atol=1e-11)


def test_a_decision_between_two_products_is_verified():
    def f(x, w):
        total = 0.0
        for i in range(12):
            z = w[i, :50] @ x
            total = total + (z.sum() if z[0] > 0 else (z * z).sum())
        return total

    rng = np.random.default_rng(5)
    x = rng.standard_normal((50, 50))
    g = tape.compile(f)
    for _ in range(4):
        w = rng.standard_normal((12, 50))
        assert_allclose(g(x, w), f(x, w), rtol=1e-12)


def test_a_gradient_of_a_gradient_goes_through_it():
    f, (x, w) = squares, arrays("squares")

    def slope(x, w):
        return (tape.func.grad(f)(x, w) ** 2).sum()

    g = tape.compile(tape.func.grad(slope))
    found, wanted = g(x, w), tape.func.grad(slope)(x, w)
    assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max())


def test_the_number_of_threads_changes_no_bit():
    x, w = arrays("covariance")
    found = []
    for threads in (1, 2, 3):
        g = tape.compile(tape.func.grad(covariance), threads=threads)
        g(x, w)
        found.append(g(x, w))
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])
