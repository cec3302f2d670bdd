"""Functions of SciPy's that call the user's, on recorded values: what the function reads from around it counts too."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from scipy.integrate import dblquad, nquad, odeint, quad, solve_ivp, tplquad

import tape
from tape import func

X = np.array([0.5, 0.3, 0.8])
T = np.array([0.0, 0.4, 1.0])
TIGHT = {"rtol": 1e-9, "atol": 1e-10}


def differences(f, x, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def driven(x):
    return lambda y, t: [-x[0] * y[0] + np.sin(t * x[1]), y[0] * x[2]]


def stiff(t, y, k):
    return np.array([-k * y[0] + 1e4 * y[1] * y[2], k * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] ** 2, 3e7 * y[1] ** 2])


ODES = {
    "closure": lambda x: (odeint(driven(x), [1.0, 0.2], T, **TIGHT) ** 2).sum(),
    "initial": lambda x: (odeint(lambda y, t: -(y**2), x, T, **TIGHT) ** 2)[1:].sum(),
    "args": lambda x: odeint(lambda t, y, a: np.array([-a[0] * y[0] * t]), 1.0, T, (x,), tfirst=True, **TIGHT).sum(),
    "times": lambda x: odeint(lambda y, t: -y * np.cos(t), [1.0], np.cumsum(x), **TIGHT).sum(),
    "full": lambda x: odeint(driven(x), x[:2], T, full_output=True, **TIGHT)[0][2] @ x[:2],
    "ivp": lambda x: (solve_ivp(lambda t, y: -x * y**2, (0.0, 1.0), x, t_eval=T, **TIGHT).y ** 2).sum(),
    "span": lambda x: solve_ivp(lambda t, y: -t * y, (x[0], 1 + x[1]), x, "DOP853", **TIGHT).y[:, -1].sum(),
    "end": lambda x: solve_ivp(lambda t, y: -y, (0, x[0]), [1.0], **TIGHT).t[-1] * x[1],
    "back": lambda x: solve_ivp(lambda t, y, a: a * y, (1, 0), x[:2], "LSODA", args=(x[2],), **TIGHT).y[0, -1],
    "stiff": lambda x: solve_ivp(
        stiff, (0, 4.0), [1, 0, 0], "Radau", [4.0], args=(0.08 * x[0],), rtol=1e-9, atol=1e-13
    ).y[:2, -1] @ [1.0, 1e4],
}  # fmt: skip


@pytest.mark.parametrize("name", ODES)
def test_solutions_have_derivatives(name):
    f, grad = ODES[name], func.grad(ODES[name])
    wanted = differences(f, X)
    found, value = func.grad_and_value(f)(X)
    assert value == f(X)
    assert_allclose(found, wanted, rtol=1e-3 if name == "stiff" else 1e-5, atol=1e-7)
    if name in ("initial", "span"):
        assert_allclose(func.jacfwd(f)(X), found, rtol=1e-8, atol=1e-10)
        curvature = [differences(lambda x, k=k: grad(x)[k], X) for k in range(3)]
        assert_allclose(func.hessian(f)(X), curvature, rtol=1e-5, atol=1e-5)


def test_an_implicit_solver_leaves_no_stiffness_to_the_steps():
    """A slope of −10⁶: explicit steps would be shorter than 10⁻⁵."""
    calls = []

    def f(k):
        return odeint(lambda y, t: (calls.append(t), -1e6 * (y - np.cos(k * t)))[1], [0.0], [0.0, 1.0, 2.0])[2, 0]

    assert_allclose(func.grad(f)(1.1), -2 * np.sin(2.2), rtol=1e-5)
    assert len(calls) < 6000


@pytest.mark.parametrize("take", [func.grad, func.jacfwd])
def test_what_is_read_from_around_may_be_rougher_than_the_solution(take):
    """Nothing drives it at this point, so values alone would allow one step."""

    def f(x):
        return odeint(lambda y, t: x[0] * np.sin(8 * t), [0.0], [0.0, 3.0])[1, 0]

    assert_allclose(take(f)(np.zeros(1)), [(1 - np.cos(24.0)) / 8], rtol=1e-7)


def test_a_solution_at_rest_has_derivatives_by_its_start():
    def f(y0):
        return odeint(lambda y, t: y * (1 - y), y0, [0.0, 4.0])[1, 0]

    assert_allclose(func.grad(f)(np.zeros(1)), [np.exp(4.0)], rtol=1e-6)


def test_lanes():
    f = ODES["closure"]
    xs = np.stack([X, 0.9 * X])
    assert_allclose(func.vmap(func.grad(f))(xs), [func.grad(f)(x) for x in xs], rtol=1e-7)
    with pytest.raises(TypeError, match=r"lane to lane of vmap[\s\S]*odeint"):
        func.vmap(ODES["ivp"])(xs)


def test_compiled_functions_step_aside_and_say_so():
    f = ODES["args"]
    compiled = tape.compile(func.grad(f))
    with pytest.warns(RuntimeWarning, match="a function of SciPy's that calls others"):
        found = compiled(X)
    assert_allclose(found, func.grad(f)(X), rtol=1e-14)
    assert_allclose(compiled(0.9 * X), func.grad(f)(0.9 * X), rtol=1e-14)


def test_what_carries_nothing_stays_plain():
    def f(x):
        y = odeint(lambda y, t: -y, [1.0], T)
        assert type(y) is np.ndarray
        assert type(solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True).y) is np.ndarray
        return x * y[-1, 0]

    assert_allclose(func.grad(f)(2.0), np.exp(-1.0), rtol=1e-6)


def test_errors():
    with pytest.raises(TypeError, match=r"interpolants and times of events[\s\S]*t_eval"):
        func.grad(lambda x: solve_ivp(lambda t, y: -x * y, (0, 1), [1.0], dense_output=True).y[0, -1])(1.0)
    with pytest.raises(ValueError, match="`method` must be one of"):
        func.grad(lambda x: solve_ivp(lambda t, y: -x * y, (0, 1), [1.0], "Euler").y[0, -1])(1.0)
    with pytest.raises(RuntimeError, match="size of the array"):
        func.grad(lambda x: odeint(lambda y, t: [x, x], [1.0], T)[0, 0])(1.0)
    with pytest.raises(ZeroDivisionError):
        func.grad(lambda x: odeint(lambda y, t: x / 0 if t > 0 else 1 // 0, [1.0], T)[0, 0])(1.0)


def cubic(x):
    return lambda y: y**3 + x[0] * y - x[1]


FOUND = {
    "brentq": lambda x: optimize.brentq(cubic(x), 0, 2),
    "bisect": lambda x: optimize.bisect(lambda y, a: y**3 + a * y - x[1], 0, 2, args=x[0], xtol=1e-13),
    "toms748": lambda x: optimize.toms748(cubic(x), 0, 2, full_output=True)[0],
    "newton": lambda x: optimize.newton(cubic(x), 1.0, fprime=lambda y: 3 * y**2 + x[0]),
    "newton of many": lambda x: optimize.newton(lambda y: y**3 + x * y - 1, np.ones(3)) @ X,
    "root_scalar": lambda x: optimize.root_scalar(cubic(x), bracket=(0, 2)).root,
    "root": lambda x: optimize.root(lambda y: y**3 + x * y.sum() - x[::-1], np.ones(3), tol=1e-13).x @ X,
    "fsolve": lambda x: optimize.fsolve(lambda y: [y[0] * y[1] - x[0], y[0] + y[1] ** 2 - 2 - x[2]], [1.0, 1])[0],
    "fixed_point": lambda x: optimize.fixed_point(lambda y: np.cos(x[0] * y), 0.8, xtol=1e-12),
    "minimize": lambda x: optimize.minimize(
        lambda y: np.cosh(y - x).sum() + y[0] ** 2 * x[1], np.zeros(3), tol=1e-10
    ).x @ X,
    "the least value": lambda x: optimize.minimize(lambda y: np.cosh(y - x).sum() + y[0] ** 2, np.zeros(3)).fun,
    "its value and slope": lambda x: optimize.minimize(
        lambda y: (np.cosh(y - x).sum() + y[0] ** 2, np.sinh(y - x) + np.array([2 * y[0], 0, 0])), np.zeros(3),
        jac=True, tol=1e-10).x @ X,
    "fmin": lambda x: optimize.fmin(lambda y: np.cosh(y - x[:2]).sum(), [0.2, 0.2], disp=0, xtol=1e-7, ftol=1e-15)[0],
    "fmin_bfgs": lambda x: optimize.fmin_bfgs(lambda y: np.cosh(y - x).sum() + x[1], X, disp=0, full_output=1)[1],
    "fmin_l_bfgs_b": lambda x: optimize.fmin_l_bfgs_b(
        lambda y: (np.cosh(y - x).sum(), np.sinh(y - x)), np.zeros(3), bounds=[(0, 0.4)] * 3, factr=10, pgtol=1e-9
    )[0] @ X,
    "fminbound": lambda x: optimize.fminbound(lambda y: np.cosh(y - x[0]) + x[1] * y**2, 0, 1, xtol=1e-9),
    "golden": lambda x: optimize.golden(lambda y: np.cosh(y - x[0]) + x[1] * y**2),
    "brent": lambda x: optimize.brent(lambda y: np.cosh(y - x[0]) + x[1] * y**2),
    "basinhopping": lambda x: optimize.basinhopping(
        lambda y, a: np.cosh(y[0] - a * x[0]), [0.3], 2, minimizer_kwargs={"args": (2.0,), "tol": 1e-10}, rng=0).x[0],
    "newton_krylov": lambda x: optimize.newton_krylov(lambda y: y**3 + y - x, np.ones(3), f_tol=1e-12) @ X,
    "minimize_scalar": lambda x: optimize.minimize_scalar(lambda y: np.cosh(y - x[0]) + x[1] * y**2, tol=1e-12).x,
    "quad": lambda x: quad(lambda t: np.exp(-x[0] * t**2) * x[1], 0, x[2])[0],
    "quad of an argument": lambda x: quad(lambda t, a: np.abs(t - 0.5) * a, 0, 1, args=(x[0],), points=[0.5])[0],
    "quad of a half line": lambda x: quad(lambda t: np.exp(-x[0] * t), x[1], np.inf)[0],
    "quad of the line": lambda x: quad(lambda t: np.exp(-x[0] * t**2 + x[1] * t), np.inf, -np.inf)[0],
    "quad below": lambda x: quad(lambda t: np.exp(x[0] * t), -np.inf, x[1])[0],
    "quad by an end": lambda x: quad(np.cos, 0.3, x[0])[0] + quad(np.cos, x[0], X[0])[0] * x[1],
}  # fmt: skip


EXACT = {name for name in FOUND if "quad" in name or "newton" in name or "root" in name} | {
    "brentq", "bisect", "toms748", "fsolve", "fixed_point"
}  # fmt: skip
"""What differs by little less than the steps of the differences if these are small."""


@pytest.mark.parametrize("name", FOUND)
def test_roots_minima_and_integrals(name):
    f, grad = FOUND[name], func.grad(FOUND[name])
    found, value = func.grad_and_value(f)(X)
    assert value == f(X)
    h = 1e-5 if name in EXACT else 1e-3
    assert_allclose(found, differences(f, X, h), rtol=2e-5 if name in EXACT else 2e-3, atol=2e-5)
    assert_allclose(func.jacfwd(f)(X), found, rtol=1e-9)
    if name in ("brentq", "root", "the least value", "quad"):
        curvature = [differences(lambda x, k=k: grad(x)[k], X) for k in range(3)]
        assert_allclose(func.hessian(f)(X), curvature, rtol=1e-4, atol=1e-5)


def test_integrals_in_two_dimensions():
    for f in (
        lambda x: dblquad(lambda y, t: np.exp(-x[0] * t * y) * x[1], 0, x[2], lambda t: 0, lambda t: 1 - t)[0],
        lambda x: nquad(lambda y, t, a: a * y + t, [lambda t, a: (0, t), (0.2, x[1])], (x[0],), {"limit": 9})[0],
    ):
        found, value = func.grad_and_value(f)(X)
        assert value == f(X)
        assert_allclose(found, differences(f, X), rtol=1e-6, atol=1e-8)
    with pytest.raises(TypeError, match=r"tplquad needs plain[\s\S]*nquad \(in two dimensions\)"):
        func.grad(lambda a: tplquad(lambda x, y, z: a, 0, 1, 0, 1, 0, 1)[0])(1.1)


def test_a_search_over_a_region_ends_in_a_minimum():
    def f(x):
        found = optimize.differential_evolution(
            lambda y: np.cosh(y - x).sum() + y[0] ** 2, [(0, 1), (0.5, 1), (0, 1)], rng=0
        )
        return found.x @ x

    assert_allclose(func.grad(f)(X), differences(f, X, 1e-2), rtol=2e-2, atol=1e-3)
    assert_allclose(func.grad(lambda x: optimize.brute(lambda y: np.cosh(y[0] - x), [(0, 1)])[0])(0.3), 1.0)


def test_a_root_has_many_derivatives():
    g = lambda a: optimize.brentq(lambda y: y**3 - a, 0.1, 3)  # noqa: E731
    for k in range(5):
        g = func.grad(g)
        assert_allclose(g(1.3), np.prod(1 / 3 - np.arange(k + 1)) * 1.3 ** (1 / 3 - k - 1), rtol=1e-9)


def test_the_derivative_of_an_integrand_may_be_rougher():
    assert_allclose(func.grad(lambda a: quad(lambda t: a * np.cos(90 * t), 0, 1)[0])(0.0), np.sin(90) / 90, rtol=1e-9)


def test_roots_and_integrals_that_have_no_derivatives():
    for match, f in (
        ("no root, or a multiple one", lambda a: optimize.newton(lambda y: (y - a) ** 2, 0.9)),
        ("with constraints", lambda a: optimize.minimize(
            lambda y: (y[0] - a) ** 2, 0, constraints={"type": "eq", "fun": lambda y: y - 1}).x[0]),
        ("extrapolated", lambda a: quad(lambda t: a * t**-0.9, 0, 1)[0]),
        ("without weight", lambda a: quad(lambda t: a * t, 0, 1, weight="cos", wvar=2.0)[0]),
        ("in a loop", lambda a: func.vmap(lambda b: optimize.brentq(lambda y: y - b, 0, 2))(a * X)[0]),
        ("in a loop", lambda a: func.vmap(lambda b: quad(lambda t: t * b, 0, 2)[0])(a * X)[0]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=match):
            func.grad(f)(1.1)
    with pytest.raises(ValueError, match="different signs"):
        func.grad(lambda a: optimize.brentq(lambda y: y + a, 0, 2))(1.1)


def test_minimising_what_is_not_recorded():
    value_and_grad = tape.compile(lambda y: func.grad_and_value(lambda y: ((y - 1) ** 2).sum())(y)[::-1])
    f = lambda x: x @ optimize.minimize(value_and_grad, np.zeros(3), jac=True).x  # noqa: E731
    assert_allclose(func.grad(f)(X), np.ones(3), rtol=1e-6)
