"""Functions of NumPy's and SciPy's that choose by numbers, where these differ from lane to lane."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

ROWS = np.array([[1.0, -2.0, 3.0, 0.5], [4.0, 5.0, -6.0, -0.2], [-1.0, -1.0, -2.0, -3.0], [1.0, 2.0, 3.0, 4.0]])


def masked(x):
    y = x * 2.0
    np.putmask(y, y > 0, y[1:] * 10)
    return y


def masked_by_numbers(x):
    y = np.zeros((2, 2))
    np.putmask(y, np.floor(x).reshape(2, 2), x)
    return y.ravel()


def placed(x):
    y = x * 1.0
    np.place(y, x > 0, x[2:] * x[0])
    return y


def placed_in_a_matrix(x):
    y = np.zeros((2, 2))
    np.place(y, (x > 0).reshape(2, 2), x[:1] + x[1:2])
    return y[0] * y[1]


def fitted(x):
    left = np.stack([np.ones(4), x, x * x], 1)
    return np.concatenate([np.ravel(part) for part in np.linalg.lstsq(left, np.cos(x), rcond=None)])


CHOOSING = {
    "putmask": masked, "putmask of numbers": masked_by_numbers, "place": placed,
    "place in a matrix": placed_in_a_matrix,
}  # fmt: skip


@pytest.mark.parametrize("name", CHOOSING)
def test_what_is_put_where_a_mask_holds(name):
    f = CHOOSING[name]
    slope = tape.func.grad(lambda x: (f(x) * np.arange(1.0, 1 + len(f(ROWS[0])))).sum())
    for g in (f, slope, tape.func.jacfwd(f)):
        expected = np.stack([g(x) for x in ROWS])
        assert_allclose(tape.vmap(g)(ROWS), expected, rtol=1e-13)
        assert_allclose(tape.compile(tape.vmap(g))(ROWS), expected, rtol=1e-13)
    moved = [tape.func.jvp(lambda x: (f(x) * np.arange(1.0, 1 + len(f(x)))).sum(), (ROWS[0],), (e,)) for e in np.eye(4)]
    assert_allclose(slope(ROWS[0]), [x_dot for _, x_dot in moved])


def test_least_squares_in_lanes():
    rows = np.random.default_rng(0).normal(size=(3, 4))
    for g in (fitted, tape.func.jacrev(fitted)):
        assert_allclose(tape.vmap(g)(rows), np.stack([g(x) for x in rows]), rtol=1e-9, atol=1e-12)
    found = tape.vmap(lambda a, b: np.linalg.lstsq(a, b)[2])(rows.reshape(3, 2, 2) * [[[1, 1], [1, 1]]], rows[:, :2])
    assert found.dtype == np.int32
    assert found.tolist() == [2, 2, 2]
    short = np.stack([np.eye(3)[:, :2], np.ones((3, 2))])
    assert_allclose(tape.vmap(lambda a: np.linalg.lstsq(a.T, np.ones(2))[0])(short)[1], [1 / 3, 1 / 3, 1 / 3])
    with pytest.raises(RuntimeError, match="leaves out the residuals where the rank is less"):
        tape.vmap(lambda a: np.linalg.lstsq(a, np.ones(3))[0])(short)


DENSITIES = {
    "gamma": (2.5,), "beta": (2.0, 3.0), "expon": (), "chi2": (3.0,), "uniform": (), "weibull_min": (1.5,), "norm": (),
    "pareto": (2.0,), "invgamma": (2.0,),
}  # fmt: skip
AT = np.array([[0.4, -2.0, 3.0, 0.5], [0.1, 0.2, 0.3, 0.8], [-1.0, -1.0, np.nan, -3.0]])


@pytest.mark.parametrize("method", ["logpdf", "cdf"])
@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.filterwarnings("ignore:invalid:RuntimeWarning")
def test_densities_within_and_outside_of_their_support(name, method):
    stats = pytest.importorskip("scipy.stats")

    def f(x, scale=1.0):
        return getattr(getattr(stats, name), method)(x, *DENSITIES[name], scale=scale)

    expected = f(AT)
    moved = tape.func.jvp(f, (AT,), (np.ones(AT.shape),))
    assert_allclose(moved[0], expected, rtol=1e-12)
    in_lanes = tape.vmap(lambda x: tape.func.jvp(f, (x,), (np.ones(4),)))(AT)
    assert_allclose(in_lanes[0], expected, rtol=1e-12)
    apart = np.isfinite(AT)
    assert_allclose(in_lanes[1][apart], moved[1][apart], rtol=1e-12, atol=1e-300)
    scales = np.array([0.5, 1.0, 2.0])
    by_lanes = tape.vmap(tape.func.grad(lambda s, x: np.where(np.isfinite(f(x, s)), f(x, s), 0.0).sum()))(scales, AT)
    one_by_one = [tape.func.grad(lambda s, x: np.where(np.isfinite(f(x, s)), f(x, s), 0.0).sum())(s, x)
                  for s, x in zip(scales, AT)]  # fmt: skip
    assert_allclose(by_lanes, one_by_one, rtol=1e-11)


def test_counts_within_and_outside_of_their_support():
    stats = pytest.importorskip("scipy.stats")
    at = np.array([[0.0, 1.5, 3.0, -1.0], [1.0, 2.0, np.nan, 7.0]])
    for f in (lambda x, p: stats.poisson.logpmf(x, p), lambda x, p: stats.binom.logpmf(x, 5, p / 4)):
        rates = np.array([0.7, 2.0])
        expected = np.stack([f(x, p) for x, p in zip(at, rates)])
        assert_allclose(tape.vmap(f)(at, rates), expected, rtol=1e-12)
        slopes = tape.vmap(lambda x, p, f=f: tape.func.jvp(lambda q: f(x, q), (p,), (np.float64(1.0),))[1])(at, rates)
        assert_allclose(slopes, [tape.func.jvp(lambda q, x=x, f=f: f(x, q), (p,), (np.float64(1.0),))[1]
                                 for x, p in zip(at, rates)], rtol=1e-12)  # fmt: skip
