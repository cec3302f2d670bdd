"""Functions of SciPy's that call the user's, on recorded values: what the function reads from around it counts too."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import odeint, solve_ivp

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
    if name in ("closure", "initial", "span"):
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
