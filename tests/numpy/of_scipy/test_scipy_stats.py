"""Densities and distribution functions of `scipy.stats` on recorded arrays, beside differences of SciPy's own."""

from __future__ import annotations

import differences
import numpy as np
import pytest
import scipy
from numpy.testing import assert_allclose
from scipy import stats

import tape

X = np.array([0.3, 0.7, 0.45])
SIGMA = np.array([[1.2, 0.2, 0.1], [0.2, 0.9, 0.3], [0.1, 0.3, 1.1]])


def check(f, x, calls: int = 2, **how):
    (wanted,) = differences.gradients(f, [x])
    gradient = tape.func.grad(f)
    compiled = tape.compile(tape.func.grad_and_value(f))
    assert_allclose(gradient(x), wanted, **{"rtol": 1e-6, "atol": 1e-8, **how})
    for _ in range(calls):
        found, value = compiled(x)
        assert_allclose(found, wanted, **{"rtol": 1e-6, "atol": 1e-8, **how})
        assert_allclose(value, f(x), rtol=1e-9)


CONTINUOUS = {
    "norm": (), "t": (2.4,), "gamma": (1.7,), "expon": (), "chi2": (3.2,), "lognorm": (0.8,), "laplace": (),
    "logistic": (), "cauchy": (), "weibull_min": (1.7,), "beta": (1.7, 2.0), "gumbel_r": (), "invgamma": (1.7,),
    "rayleigh": (), "maxwell": (), "halfnorm": (), "uniform": (),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name):
    kind, shapes = getattr(stats, name), CONTINUOUS[name]
    check(lambda x: np.sum(kind.logpdf(x, *shapes, x[2] * 0.1, np.exp(x[0]))), X)
    tape_value = tape.func.jvp(lambda x: kind.cdf(x, *shapes, 0.05, 1.4), (X,), (np.ones(3),))
    assert_allclose(tape_value[0], kind.cdf(X, *shapes, 0.05, 1.4), rtol=1e-9)
    assert_allclose(tape_value[1], kind.pdf(X, *shapes, 0.05, 1.4), rtol=1e-7)


@pytest.mark.parametrize("name", [name for name, shapes in CONTINUOUS.items() if shapes and name != "t"])
def test_shapes_of_distributions(name):
    kind, shapes = getattr(stats, name), CONTINUOUS[name]
    check(lambda s: np.sum(kind.logpdf(X, *[s * shape for shape in shapes])), np.asarray(1.1))


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"])
def test_outside_of_the_support(method):
    """There nothing depends on the parameters; a gradient that is zero or not is never nan."""

    def f(x):
        z = getattr(stats.gamma, method)(np.array([-1.0, 0.5, 2.0]) * x[0], 2.0)
        return np.where(np.isfinite(z), z, 0.0).sum()

    check(f, X)
    assert_allclose(
        tape.compile(lambda x: getattr(stats.gamma, method)(np.array([-1.0, 0.5, 2.0]) * x[0], 2.0))(X),
        getattr(stats.gamma, method)(np.array([-1.0, 0.5, 2.0]) * X[0], 2.0), rtol=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize("f", [
    lambda x: np.sum(stats.poisson.logpmf([1, 2, 3], np.exp(x))), lambda x: np.sum(stats.binom.logpmf([1, 2, 3], 5, x)),
    lambda x: np.sum(stats.nbinom.logpmf([1, 2, 3], 5, x)), lambda x: np.sum(stats.geom.pmf([1, 2, 3], x)),
    lambda x: np.sum(stats.poisson.pmf(k=[1, 2, 3], mu=x)), lambda x: np.sum(stats.norm.ppf(q=x, loc=x)),
    lambda x: np.sum(stats.bernoulli.logpmf([1, 0, 1], x)), lambda x: np.sum(stats.poisson.pmf([-1, 2, 1.5], x)),
])  # fmt: skip
def test_discrete_distributions(f):
    check(f, X)


@pytest.mark.parametrize("f", [
    lambda x: stats.norm(x[0], np.exp(x[1])).logpdf(x[2]), lambda x: np.sum(stats.norm(0.0, 2.0).sf(x)),
    lambda x: np.sum(stats.norm.logpdf(x, loc=x[0], scale=1.0 + x[1])),
    lambda x: stats.multivariate_normal.logpdf(x, np.zeros(3), SIGMA),
    lambda x: np.sum(stats.multivariate_normal.logpdf(np.arange(6.0).reshape(2, 3), x, SIGMA * np.exp(x[0]))),
    lambda x: np.sum(stats.multivariate_normal.pdf(np.arange(4.0), x[0], np.exp(x[1]))),
    lambda x: stats.multivariate_normal.logpdf(x, x[::-1] * 2, np.exp(x)),
    lambda x: stats.multivariate_normal.pdf(x[0], x[1], np.exp(x[2])),
    lambda x: stats.multivariate_normal.logpdf(X, None, SIGMA + np.outer(x, x)),
    lambda x: stats.multivariate_normal.entropy(cov=SIGMA + np.outer(x, x)),
    lambda x: stats.multivariate_normal.entropy(x, np.exp(x[0])),
    lambda x: stats.dirichlet.logpdf(x / x.sum(), 1 + x),
    lambda x: stats.dirichlet.logpdf(x[:2] * 0.5, 3 * x),
    lambda x: np.sum(stats.dirichlet.pdf(np.array([[0.2, 0.5], [0.3, 0.1], [0.5, 0.4]]), x + 1)),
])  # fmt: skip
def test_frozen_and_of_several_variables(f):
    check(f, X)


def test_the_covariance_is_read_as_scipy_reads_it():
    check(lambda sigma: stats.multivariate_normal.logpdf(X, np.zeros(3), sigma), SIGMA)
    with pytest.raises(np.linalg.LinAlgError):
        tape.func.grad(lambda x: stats.multivariate_normal.logpdf(x, np.zeros(3), -SIGMA))(X)


@pytest.mark.parametrize("f", [
    lambda x: stats.norm.ppf(0.3, x[0], x[1]) + stats.norm.isf(x / 4).sum(),
    lambda x: stats.expon.ppf(x / 4, x[0]).sum(),
    lambda x: stats.weibull_min.ppf(0.3, 1 + x[0], scale=x[1]), lambda x: stats.gamma.ppf(x / 4, 2.0).sum(),
    lambda x: stats.t.isf([0.2, 0.6], 4.0, x[0], x[1]).sum(), lambda x: stats.norm(x[0], x[1]).ppf([0.2, 0.4]) @ x[:2],
])  # fmt: skip
def test_quantiles(f):
    check(f, X)


def test_what_is_drawn_and_moved():
    def f(x):
        return stats.norm.rvs(x[0], x[1], size=4, random_state=3).sum() + stats.norm(x[2]).rvs(random_state=1)

    assert_allclose(tape.func.grad(f)(X), differences.gradients(f, [X])[0], rtol=1e-6)


def test_draws_with_recorded_shapes_are_refused():
    with pytest.raises(TypeError, match=r"scipy\.stats\.gamma\.rvs needs plain numbers"):
        tape.func.grad(lambda x: stats.gamma.rvs(x[0], size=3, random_state=1).sum())(X)
    with pytest.raises((TypeError, NotImplementedError), match="gammaincinv"):
        tape.func.grad(lambda x: stats.gamma.ppf(0.3, x[0]))(X)


def test_what_a_formula_cannot_do_is_refused():
    with pytest.raises(TypeError, match=r"written in ufuncs"):
        tape.func.grad(lambda x: stats.skewnorm.cdf(x, 2.0).sum())(X)
    with pytest.raises(TypeError, match=r"scipy\.stats"):
        tape.func.grad(lambda x: stats.norm.logpdf(X, scale=-x).sum())(X)


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_draws_and_changes_of_a_distribution_are_noticed():
    frozen = stats.norm(0.0, 2.0)
    compiled = tape.compile(lambda x: frozen.logpdf(x))
    compiled(X)
    frozen.kwds, frozen.args = {}, (0.0, 5.0)
    assert_allclose(compiled(X), stats.norm.logpdf(X, 0.0, 5.0))
    draws = tape.compile(lambda x: x * stats.norm.rvs(random_state=None))
    assert not np.array_equal(draws(X), draws(X))


@pytest.mark.skipif(tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 16), reason="SciPy chose otherwise before")
@pytest.mark.parametrize("name", ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"])
@pytest.mark.parametrize(
    "kind", ["lognorm", "cauchy", "expon", "gamma", "t", "laplace", "genextreme", "weibull_min", "gumbel_r", "pareto"]
)
def test_formulas_that_choose_by_values_choose_in_each_lane(kind, name):
    """SciPy selects by masks what each formula gets; the points lie within the support, at its end, and outside."""
    distribution = getattr(stats, kind)
    shapes = (0.8,) * distribution.numargs

    def f(x):
        return getattr(distribution, name)(x, *shapes, loc=0.1, scale=0.7)

    x = np.array([-2.0, 0.3, 0.9, 1.7, 30.0])
    with np.errstate(all="ignore"):
        assert_allclose(tape.func.vmap(f)(x), f(x), rtol=1e-12)
        slopes = tape.func.vmap(tape.func.grad(f))(x)
        assert_allclose(slopes, [tape.func.grad(f)(k) for k in x], rtol=1e-12)
        assert_allclose(tape.func.vmap(tape.func.jacfwd(f))(x), slopes, rtol=1e-9)


@pytest.mark.parametrize(
    ("x", "alpha"), [([0.2, 0.3, 0.6], [1.0] * 3), ([0.2, 0.8, 0.0], [0.5] * 3), ([0.5] * 2, [-1.0, 2.0])]
)
def test_what_dirichlet_refuses(x, alpha):
    x, alpha = np.array(x), np.array(alpha)
    with pytest.raises(ValueError, match=r"entry|vector|parameters"):
        stats.dirichlet.logpdf(x, alpha)
    with pytest.raises(ValueError, match="with a sum of 1"):
        tape.func.grad(lambda x: stats.dirichlet.logpdf(x, alpha))(x)


FORMULAS = {
    "beta.pdf": lambda x: stats.beta.pdf(x, 1.7, 2 * x).sum(),
    "beta.ppf": lambda x: stats.beta.ppf(x, 1.7, 2.3).sum() + stats.beta.isf(x, 1.7, 2.3).sum(),
    "f.cdf": lambda x: stats.f.cdf(x, 4.0, 7.0).sum() + stats.f.logsf(x, 4.0, 7.0).sum(),
    "f.ppf": lambda x: stats.f.ppf(x, 4.0, 7.0).sum() + stats.f.isf(x, 4.0, 7.0).sum(),
    "chi2.isf": lambda x: stats.chi2.isf(x, 3.0).sum(),
    "cauchy.ppf": lambda x: stats.cauchy.ppf(x).sum() + stats.cauchy.isf(x).sum(),
    "binom.cdf": lambda x: stats.binom.cdf([0, 3, 5], 5, x).sum() + stats.binom.logsf([0, 1, 2], 5, x).sum(),
    "binom.pmf": lambda x: stats.binom.pmf([0, 3, 6], 5, x).sum() + stats.bernoulli.cdf([0, 1, -1], x).sum(),
    "nbinom.cdf": lambda x: stats.nbinom.cdf([0, 3, 5], 4.0, x).sum() + stats.nbinom.sf([0, 1, 2], 4.0, x).sum(),
    "nbinom.pmf": lambda x: stats.nbinom.pmf([0, 3, 5], 2 + x, x).sum(),
    "poisson.cdf": lambda x: stats.poisson.cdf([0, 3, 2.5], 2 * x).sum() + stats.poisson.logcdf(2, x).sum(),
    "poisson.sf": lambda x: stats.poisson.sf([0, 3, -1], x).sum() + stats.poisson.logsf(2, x).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_in_the_place_of_code_without_derivatives(name):
    assert_allclose(tape.func.grad_and_value(FORMULAS[name])(X)[1], FORMULAS[name](X), rtol=1e-12)
    differences.check_smooth(FORMULAS[name], X)


def test_a_normal_distribution_may_be_singular():
    flat, at = np.outer([1.0, 2.0, 0.5], [1.0, 2.0, 0.5]), np.array([2.0, 4.0, 1.0])
    plane = SIGMA[:, :2] @ SIGMA[:2]
    for cov, f in (
        (flat, lambda s: stats.multivariate_normal.logpdf(s * at, 0.3 * s * at, s * flat, allow_singular=True)),
        (plane, lambda s: stats.multivariate_normal.pdf(SIGMA[:2], SIGMA[0] * s, s * plane, allow_singular=True).sum()),
        (SIGMA, lambda s: stats.multivariate_normal.logpdf(s * X, X, s * SIGMA, allow_singular=True)),
    ):
        assert np.linalg.matrix_rank(cov) < 3 or cov is SIGMA
        check(f, np.asarray(1.2))
        (curvature,) = differences.gradients(tape.func.grad(f), [np.asarray(1.2)])
        assert_allclose(tape.func.hessian(f)(1.2), curvature, rtol=1e-5)
    beside = lambda x: stats.multivariate_normal.logpdf(x, None, flat, allow_singular=True)  # noqa: E731
    assert tape.func.grad_and_value(beside)(X)[1] == -np.inf
    with pytest.raises(ValueError, match="positive semidefinite"):
        tape.func.grad(lambda x: stats.multivariate_normal.logpdf(x, None, -SIGMA, allow_singular=True))(X)
