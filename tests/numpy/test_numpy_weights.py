"""Weighted covariances and quantiles, what leaves out nan under vmap, LU factors: against NumPy and SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
import tape.numpy

rng = np.random.default_rng(4)
X, OFTEN, MUCH = rng.normal(size=(3, 6)), np.array([1, 2, 0, 3, 1, 1]), rng.uniform(0.1, 2, 6)
ROWS, WEIGHTS = rng.normal(size=(4, 5)), rng.integers(1, 4, size=(4, 5)).astype(float)
WEIGHTS[1, 2:4] = 0
HOLES = np.where(np.eye(4, 5) > 0, np.nan, ROWS)


@pytest.mark.parametrize("how", [
    {"aweights": MUCH}, {"fweights": OFTEN}, {"aweights": MUCH, "fweights": OFTEN}, {"aweights": MUCH, "bias": True},
    {"aweights": MUCH, "ddof": 2},
])  # fmt: skip
def test_weighted_covariances(how):
    assert_allclose(np.cov(tape.numpy.array(X), **how)._tensor.numpy(), np.cov(X, **how), rtol=1e-12)
    assert_allclose(np.cov(tape.numpy.array(X[0]), X[1], **how)._tensor.numpy(), np.cov(X[0], X[1], **how), rtol=1e-12)


def test_gradients_of_weighted_covariances():
    inputs = [tape.tensor(x, requires_grad=True) for x in (X, MUCH)]
    assert tape.autograd.gradcheck(lambda x, w: tape.cov(x, aweights=w, fweights=OFTEN), inputs)

    def loss(w):
        return (np.cov(X, aweights=w) ** 2).sum()

    assert_allclose(tape.compile(tape.func.grad(loss))(MUCH), tape.func.grad(loss)(MUCH), rtol=1e-12)


@pytest.mark.parametrize("how", [{"aweights": -MUCH}, {"fweights": MUCH}, {"aweights": MUCH[:2]}, {"fweights": -OFTEN}])
def test_weights_that_are_none(how):
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        np.cov(tape.numpy.array(X), **how)


def test_a_covariance_without_freedom_is_infinite():
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        assert_array_equal(np.cov(X, ddof=9), [[np.inf * np.sign(c) for c in row] for row in np.cov(X)])
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        assert_array_equal(np.abs(np.cov(tape.numpy.array(X), ddof=9)._tensor.numpy()), np.inf)


@pytest.mark.parametrize("function", [np.quantile, np.percentile, np.nanquantile, np.nanpercentile])
def test_weighted_quantiles(function):
    scale = 100 if "percentile" in function.__name__ else 1
    places = [0.0, 0.3, [0.0, 0.5, 1.0], [[0.1, 0.9]]]
    kinds = [(None, WEIGHTS), (0, WEIGHTS), (1, WEIGHTS)]
    if not function.__name__.startswith("nan"):  # whose weights of one axis NumPy does not find
        kinds.append((0, np.array([1.0, 2, 0, 1])))
    for q, (axis, weights), x, keepdims in itertools.product(places, kinds, (ROWS, HOLES), (False, True)):
        how = {"axis": axis, "weights": weights, "method": "inverted_cdf", "keepdims": keepdims}
        wanted = function(x, np.multiply(q, scale), **how)
        found = function(tape.numpy.array(x), np.multiply(q, scale), **how)
        assert_array_equal(found._tensor.numpy(), wanted)


def test_the_gradient_of_a_weighted_quantile_is_that_of_an_element():
    def median(x):
        return np.quantile(x, 0.4, weights=np.array([1.0, 2, 1]), method="inverted_cdf")

    assert_array_equal(tape.func.grad(median)(np.array([3.0, 1.0, 2.0])), [0, 1, 0])
    with pytest.raises(ValueError, match="inverted_cdf"):
        tape.func.grad(lambda x: np.quantile(x, 0.4, weights=np.ones(3)))(np.ones(3))


@pytest.mark.parametrize("name", ["nanmedian", "nanargmax", "nanargmin", "isposinf", "isneginf"])
def test_lane_by_lane(name):
    x = HOLES.copy()
    x[2, 0], x[3, 1] = np.inf, -np.inf
    function = getattr(np, name)
    wanted = np.array([function(row) for row in x])
    assert_array_equal(tape.vmap(function)(x), wanted)
    assert_array_equal(tape.compile(tape.vmap(function))(x), wanted)


def test_places_of_nothing_but_nan():
    with pytest.raises(ValueError, match="All-NaN"):
        np.nanargmax(tape.numpy.array([np.nan, np.nan]))


def test_lu_factors_and_systems():
    linalg = pytest.importorskip("scipy.linalg")
    a, b = rng.normal(size=(4, 4)), rng.normal(size=4)
    for trans, right in itertools.product((0, 1, 2), (b, rng.normal(size=(4, 2)))):

        def loss(a, b, trans=trans):
            return (linalg.lu_solve(linalg.lu_factor(a), b, trans=trans) ** 2).sum()

        def plain(a, b, trans=trans):
            return (np.linalg.solve(a.T if trans else a, b) ** 2).sum()

        wanted = tape.func.grad(plain, argnums=(0, 1))(a, right)
        found = tape.func.grad(loss, argnums=(0, 1))(a, right)
        for x, y in zip(found, wanted):
            assert_allclose(x, y, rtol=1e-9)
    compiled = tape.compile(tape.func.grad(loss))
    compiled(a, right)
    other = a[::-1].copy()  # with other exchanges
    assert_allclose(compiled(other, right), tape.func.grad(plain)(other, right), rtol=1e-9)
    rows = np.stack([a, other])
    solved = tape.vmap(lambda a: linalg.lu_solve(linalg.lu_factor(a), b))(rows)
    assert_allclose(solved, np.linalg.solve(rows, b[:, None])[..., 0], rtol=1e-9)
    seen = []
    tape.func.grad(lambda a: (seen.append(linalg.lu_factor(a)), a.sum())[1])(a)
    assert_array_equal(seen[0][1]._tensor.numpy(), linalg.lu_factor(a)[1])
    assert_allclose(seen[0][0]._tensor.detach().numpy(), linalg.lu_factor(a)[0], rtol=1e-12)
