"""Sums of products of arrays spread over each other's axes: products of matrices in programs, with the sums' values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import ops
import tape

CODES = [ops.REGISTRY[name].code for name in ("contract", "chain_contract")]


def convolution(x, w):
    """From place to place, as in a layer that is written out."""
    z = np.empty((x.shape[0], 3, 4, w.shape[3]), x.dtype)
    for i in range(3):
        for j in range(4):
            z[:, i, j, :] = np.sum(x[:, i : i + 3, j : j + 3, :, np.newaxis] * w[np.newaxis], axis=(1, 2, 3))
    return (np.tanh(z) * np.arange(1, 5)[:, None]).sum()


def layer(x, w):
    """The summed axis is kept, the first of three, and one factor is a column of the other's shape."""
    return (np.sum(x[:, :, None] * w[:, None, :], axis=0, keepdims=True) ** 3).sum()


def turned(x, w):
    """The result has the columns of the second factor first."""
    return np.sin(np.sum(w[:, None, :] * x[None, :, :], axis=-1)).sum()


FUNCTIONS = {
    "convolution": (convolution, (6, 5, 6, 4), (3, 3, 4, 7), 36),
    "layer": (layer, (12, 9), (12, 8), 3),
    "turned": (turned, (9, 12), (8, 12), 3),
}


def arrays(name, *dtypes):
    rng = np.random.default_rng(3)
    shapes = FUNCTIONS[name][1:3]
    return [rng.standard_normal(shape).astype(dtype) for shape, dtype in zip(shapes, dtypes or (float, float))]


def contractions(g):
    return int(np.isin(g.programs[0].listing.code, CODES).sum())


@pytest.mark.parametrize(
    "dtypes", [(np.float64, np.float64), (np.float32, np.float32), (np.float64, np.float32), (np.float32, np.float64)]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sums_are_what_they_are_eagerly(name, dtypes):
    f, inputs = FUNCTIONS[name][0], arrays(name, *dtypes)
    transform = lambda: tape.func.grad_and_value(f, argnums=(0, 1))  # noqa: E731
    g = tape.compile(transform())
    for scale in (1.0, -0.5, 0.25):
        given = [x.dtype.type(scale) * x for x in inputs]
        (wanted, value), (found, again) = transform()(*given), g(*given)
        tolerance = 1e-11 if np.float32 not in dtypes else 1e-4
        assert_allclose(again, value, rtol=tolerance)
        assert np.asarray(again).dtype == np.asarray(value).dtype
        for one, other in zip(found, wanted):
            assert one.dtype == other.dtype
            assert_allclose(one, other, rtol=tolerance, atol=tolerance * np.abs(other).max())
    assert len(g.programs) == 1
    assert g.programs[0].replay.sweeper.plan.stops == {}
    assert contractions(g) == FUNCTIONS[name][3]


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_an_adjoint_that_is_zero_stays_zero_beside_what_is_infinite(bad):
    """In a product of matrices it would give nan."""

    def masked(x, w):
        z = np.sum(x[:, :, None] * w[None, :, :], axis=1)
        return np.where(np.isfinite(z), z, 0.0).sum()

    x, w = np.random.default_rng(0).standard_normal((9, 12)), np.random.default_rng(1).standard_normal((12, 8))
    g = tape.compile(tape.func.grad(masked, argnums=(0, 1)))
    g(x, w)
    assert contractions(g) == 3
    y, v = x.copy(), w.copy()
    y[2, 3] = v[4, 5] = bad
    with np.errstate(all="ignore"):
        for given in ((y, w), (x, v), (y, v)):
            for found, wanted in zip(g(*given), tape.func.grad(masked, argnums=(0, 1))(*given)):
                assert_array_equal(np.isnan(found), np.isnan(wanted))
                assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [200, 1000])
@pytest.mark.parametrize("bad", [1.0, np.inf, np.nan])
def test_they_go_by_columns_too(n, bad):
    """One axis is long, the others are short: the rows lie side by side in the lanes of a kernel."""

    def f(x, w):
        z = np.sum(x[:, :, None] * w[None, :, :], axis=1)
        return np.where(np.isfinite(z), np.tanh(z), 0.0).sum()

    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((n, 5)), rng.standard_normal((5, 7))
    g = tape.compile(tape.func.grad(f, argnums=(0, 1)))
    g(x, w)
    assert contractions(g) == 3
    y = x.copy()
    y[17, 3] = bad
    with np.errstate(all="ignore"):
        for given in ((x, w), (y, w)):
            for found, wanted in zip(g(*given), tape.func.grad(f, argnums=(0, 1))(*given)):
                assert_allclose(found, wanted, rtol=1e-12, atol=1e-11)


def test_a_product_that_is_read_elsewhere_too_is_made():
    def f(x, w):
        product = x[:, :, None] * w[None, :, :]
        return product.sum(1), product[0, 0]

    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((9, 12)), rng.standard_normal((12, 8))
    g = tape.compile(f)
    for found, wanted in zip(g(x, w), f(x, w)):
        assert_allclose(found, wanted, rtol=1e-12)
    assert contractions(g) == 0


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: (x[:, :, None] * w[None, :, :]).sum((0, 1)),  # an axis of one factor alone is summed over
        lambda x, w: (x[:, :, None] * w[None, :, :]).sum(2),
        lambda x, w: (x[:, :8, None] * x[:, None, 3:11]).sum(1),  # one that both have is kept
        lambda x, w: (x[:, :, None] * w[None, :, :]).max(1),
    ],
)
def test_what_is_no_product_of_matrices_stays_what_it_is(f):
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((9, 12)), rng.standard_normal((12, 8))
    g = tape.compile(f)
    assert_allclose(g(x, w), f(x, w), rtol=1e-11, atol=1e-11)
    assert contractions(g) == 0


def test_a_gradient_of_a_gradient_goes_through_it():
    f, (x, w) = turned, arrays("turned")

    def slope(x, w):
        return (tape.func.grad(f)(x, w) ** 2).sum()

    g = tape.compile(tape.func.grad(slope, argnums=(0, 1)))
    for found, wanted in zip(g(x, w), tape.func.grad(slope, argnums=(0, 1))(x, w)):
        assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)
    assert contractions(g) >= 5
