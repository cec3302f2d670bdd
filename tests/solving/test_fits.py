"""Least squares by SciPy of recorded data, and unknowns that bounds hold: derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
from differences import slopes
from numpy.testing import assert_allclose
from scipy import optimize

import tape
from tape import func

T = np.linspace(0.0, 2.0, 9)
Y = 1.7 * np.exp(-0.8 * T) + 0.05 * np.sin(9 * T)
POWERS = np.stack([T**k for k in range(4)], 1)
TIGHT = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}


def model(t, a, b):
    return a * np.exp(-b * t)


def steep(t, a, b):
    return np.stack([np.exp(-b * t), -a * t * np.exp(-b * t)], axis=1)


def fitted(*args, **how):
    p, covariance = optimize.curve_fit(model, *args, **TIGHT, jac=steep, **how)
    return p @ [1.0, 2.0] + covariance[0, 1] + covariance[1, 1]


def least(y, loss="linear", start=(1.0, 1.5), **how):
    return optimize.least_squares(
        lambda p: model(T, *p) - y, start, jac=lambda p: steep(T, *p), loss=loss, f_scale=0.1, **TIGHT, **how
    )


def smallest(y, bounds, **how):
    value = lambda p: ((model(T, *p) - y) ** 2).sum()  # noqa: E731
    return optimize.minimize(value, [1.0, 1.5], bounds=bounds, tol=1e-13, **how)


FITS = {
    "curve_fit": lambda y: fitted(T, y),
    "of places": lambda y: fitted(T + 0.1 * y, Y),
    "of lists": lambda y: optimize.curve_fit(model, list(T), [v * v for v in y], [1.0, 1.0], **TIGHT)[0].sum(),
    "weighed": lambda y: fitted(T, Y, sigma=1 + y**2),
    "by known errors": lambda y: fitted(T, Y, [1.0, 1.0], 1 + y**2, True),
    "by their covariance": lambda y: fitted(T, Y, sigma=np.eye(9) + 0.1 * np.outer(y, y)),
    "bounded": lambda y: optimize.curve_fit(model, T, y, bounds=([0.0, 1.0], [3.0, 5.0]), jac=steep, **TIGHT)[0].sum(),
    "within bounds": lambda y: fitted(T, y, bounds=(0.0, 5.0)),
    "a function that reads": lambda y: optimize.curve_fit(
        lambda t, a, b: model(t, a, b) + 0.1 * y[0] * t, T, Y, **TIGHT
    )[0].sum(),
    "full": lambda y: optimize.curve_fit(model, T, y, full_output=True, **TIGHT)[2]["fvec"][:3].sum(),
    "least_squares": lambda y: least(y).x.sum(),
    "its cost": lambda y: least(y).cost * 9 + least(y).fun[0] + least(y).jac[2, 1],
    "soft_l1": lambda y: least(y, "soft_l1").x.sum(),
    "huber": lambda y: least(y, "huber").x.sum(),
    "cauchy": lambda y: least(y, "cauchy").cost,
    "arctan": lambda y: least(y, "arctan").x.sum(),
    "its bounds": lambda y: least(y, start=(1.0, 6.0), bounds=([0.0, 1 + y[0] ** 2], [3.0, 9.0])).x @ [2.0, 1.0],
    "leastsq": lambda y: optimize.leastsq(lambda p: model(T, *p) - y, [1.0, 1.0], ftol=1e-14, xtol=1e-14)[0].sum(),
    "its covariance": lambda y: optimize.leastsq(
        lambda p, t: model(t, *p) - y, [1.0, 1.0], (T,), lambda p, t: steep(t, *p), True, ftol=1e-14, xtol=1e-14
    )[1].sum(),
    "nnls": lambda y: optimize.nnls(POWERS, y)[0].sum() + optimize.nnls(POWERS, y)[1],
    "nnls of a matrix": lambda y: optimize.nnls(POWERS * (1 + y[:, None] ** 2), Y)[0].sum(),
    "minimize": lambda y: smallest(y, [(0, None), (1 + 0.1 * y[0], 3)]).x @ [1.0, 3.0],
    "its least value": lambda y: smallest(y, [(0, None), (1 + 0.1 * y[0], 3)]).fun,
    "not held": lambda y: smallest(y, optimize.Bounds([0, 0], [4, 4]), method="SLSQP").x.sum(),
    "all held": lambda y: smallest(y, [(0, 0.5 * y[1]), (0, 0.1)]).x @ [1.0, 2.0],
    "minimize_scalar": lambda y: optimize.minimize_scalar(
        lambda p: ((model(T, p, 0.5) - y) ** 2).sum(), bounds=(0, 1 + y[0] / 10), method="bounded"
    ).x,
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_fits(name):
    f = FITS[name]
    found, value = func.grad_and_value(f)(Y)
    assert value == f(Y)
    wanted = slopes(f, Y, 1e-3)
    assert_allclose(found, wanted, rtol=1e-3, atol=2e-4 * np.abs(wanted).max() + 1e-7)
    assert_allclose(func.jacfwd(f)(Y), found, rtol=1e-7, atol=1e-9)


def test_fits_have_second_derivatives():
    f = lambda y: optimize.curve_fit(model, T, y, jac=steep, **TIGHT)[0] @ [1.0, 2.0]  # noqa: E731
    grad = func.grad(f)
    curvature = np.array([slopes(lambda y, k=k: grad(y)[k], Y, 1e-5) for k in range(3)])
    assert_allclose(func.hessian(f)(Y)[:3], curvature, rtol=1e-4, atol=1e-5)


def test_what_is_not_recorded_stays_scipys():
    def f(x):
        found = optimize.least_squares(lambda p: model(T, *p) - Y, [1.0, 1.0])
        p, covariance = optimize.curve_fit(model, T, Y)
        assert {type(part) for part in (found.x, found.jac, p, covariance)} == {np.ndarray}
        return x * p[0]

    assert_allclose(func.grad(f)(2.0), optimize.curve_fit(model, T, Y)[0][0])


def test_compiled_functions_step_aside():
    f = FITS["curve_fit"]
    compiled = tape.compile(func.grad_and_value(f))
    with pytest.warns(RuntimeWarning, match="a function of SciPy's that calls others"):
        found = compiled(Y)
    for mine, theirs in zip(found, func.grad_and_value(f)(Y)):
        assert_allclose(mine, theirs, rtol=1e-12)


def test_errors():
    for match, f in (
        ("a loss of one's own", lambda y: least(y, lambda z: np.stack([z, 1 + 0 * z, 0 * z])).x.sum()),
        ("by hand", lambda y: optimize.curve_fit(model, T, y, nan_policy="omit", check_finite=False)[0].sum()),
        ("in a loop", lambda y: func.vmap(lambda a: optimize.curve_fit(model, T, a * Y)[0])(y)[0, 0]),
        ("in a loop", lambda y: func.vmap(lambda a: optimize.nnls(POWERS, a * Y)[0])(y)[0, 0]),
    ):
        with pytest.raises(TypeError, match=match):
            func.grad(f)(Y)
    with pytest.raises(ValueError, match="determine number"):
        func.grad(lambda y: optimize.curve_fit(lambda *p: p[0] * y, T, Y)[0].sum())(Y)
    with pytest.raises(AttributeError, match="jac"):
        func.grad(lambda y: least(y, "cauchy").jac.sum())(Y)
