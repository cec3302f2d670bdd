"""`numpy.polynomial`, which is written in NumPy itself, on recorded coefficients and points."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.polynomial import (
    Chebyshev,
    Hermite,
    HermiteE,
    Laguerre,
    Legendre,
    Polynomial,
    chebyshev,
    hermite,
    hermite_e,
    laguerre,
    legendre,
    polynomial,
)
from numpy.testing import assert_allclose

import tape

X = np.array([0.5, 0.3, 0.8])
TABLE = np.array([[0.5, 0.2], [1.0, 0.3]])
BASES = {
    "poly": (polynomial, Polynomial), "cheb": (chebyshev, Chebyshev), "leg": (legendre, Legendre),
    "herm": (hermite, Hermite), "herme": (hermite_e, HermiteE), "lag": (laguerre, Laguerre),
}  # fmt: skip
FUNCTIONS = {
    "val": lambda f, x: f(2.0, x) + f(x, [1.0, 2.0, 3.0]).sum() + f(x, x).sum(),
    "val2d": lambda f, x: f(x, x, TABLE).sum(),
    "add": lambda f, x: (f(x, [1.0, 2.0]) ** 2).sum(),
    "mul": lambda f, x: (f(x, x) ** 2).sum(),
    "div": lambda f, x: (f(x, [1.0, 2.0])[0] ** 2).sum(),
    "pow": lambda f, x: (f(x, 2) ** 2).sum(),
    "der": lambda f, x: (f(x) ** 2).sum(),
    "int": lambda f, x: (f(x) ** 2).sum(),
    "vander": lambda f, x: (f(x, 3) ** 2).sum(),
    "fromroots": lambda f, x: (f(x) ** 2).sum(),
    "companion": lambda f, x: (f(x) ** 2).sum(),
}
USES = {
    "call": lambda kind, x: kind(x)(0.5) + kind([1.0, 2.0, 3.0])(x).sum(),
    "arithmetic": lambda kind, x: ((kind(x) * kind(x) + kind(x).deriv()).coef ** 2).sum(),
    "integral": lambda kind, x: kind(x).integ()(1.5),
    "domain": lambda kind, x: kind(x, domain=[0, 2])(0.3),
}


def check(f):
    h = 1e-6
    expected = np.array([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)])
    compiled = tape.compile(tape.func.grad(f))
    with warnings.catch_warnings():  # NumPy's polynomials reach code that is not known to be always the same
        warnings.filterwarnings("ignore", message="tape.compile runs")
        replayed = compiled(X), compiled(X)
    for found in (tape.func.grad(f)(X), tape.func.jacfwd(f)(X), *replayed):
        assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(base, name):
    function = getattr(BASES[base][0], base + name)
    check(lambda x: FUNCTIONS[name](function, x))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("use", USES)
def test_classes(base, use):
    check(lambda x: USES[use](BASES[base][1], x))


def test_second_derivatives_and_lanes():
    f = lambda x: polynomial.polyval(2.0, x * x)  # noqa: E731
    assert_allclose(tape.func.hessian(f)(X), np.diag([2.0, 4.0, 8.0]))
    batch = np.stack([X, 2 * X])
    assert_allclose(tape.vmap(tape.func.grad(f))(batch), 2 * batch * [1.0, 2.0, 4.0])


@pytest.mark.parametrize("f", [
    lambda x: np.polydiv(x, [1.0, x[0]])[0].sum(), lambda x: np.polydiv(x, 2.0)[0] @ x,
    lambda x: (np.polydiv([1.0, 2.0, -3.0, 0.5], x)[1] * [1.0, 2.0]).sum(),
    lambda x: np.polydiv([1.0, 2.0], x)[0].sum() + x[1],
])  # fmt: skip
def test_polynomials_are_divided(f):
    check(f)


def test_what_came_before_is_refused():
    with pytest.raises(TypeError, match=r"(?s)needs plain numbers.*numpy\.polynomial record"):
        tape.func.grad(lambda x: np.polymul(np.poly1d(x), np.poly1d(x)).c.sum())(X)


def test_an_array_of_what_is_counted_out():
    assert_allclose(tape.func.grad(lambda x: np.fromiter((v * v for v in x), float).sum())(X), 2 * X)
    assert_allclose(tape.func.grad(lambda x: np.fromiter((v * v for v in x), float, 2).sum())(X), [1.0, 0.6, 0.0])
    with pytest.raises(ValueError, match="too short"):
        tape.func.grad(lambda x: np.fromiter((v for v in x), float, 4).sum())(X)
