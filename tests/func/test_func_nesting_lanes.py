"""``tape.func``: derivatives within `vmap` and within forward mode that differentiate more than once, in all orders."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

POINTS = np.array([[0.7, -0.4], [0.3, 0.9], [-0.2, 0.5]])


def cubic(x):
    return x * x * x[0]


def filled(x):
    """As `cubic`, in an array that is filled by elements, and written over once more."""
    y = np.zeros(x.shape)
    for i in range(2):
        y[i] = x[i] * x[0]
    y[:] = y * x
    return y


def by_grad(f):
    return grad(lambda x: (f(x) * f(x)).sum())


def by_vjp(f):
    def pulled(x):
        z, pull = vjp(f, x)
        return pull(z)[0]

    return pulled


def by_jvp(f):
    return lambda x: jvp(f, (x,), (2 * x,))[1]


def by_linearize(f):
    def pushed(x):
        _, push = linearize(f, x)
        return push(2 * x)

    return pushed


def by_rows(f):
    """What `vmap` gives, without it."""
    return lambda x: (tape if isinstance(x, tape.Tensor) else np).stack([f(x), f(x * x)])


def by_vmap(f):
    return lambda x: vmap(f)((tape if isinstance(x, tape.Tensor) else np).stack([x, x * x]))


SLOWLY = {jacfwd: jacrev, hessian: lambda f: jacrev(jacrev(f)), by_vmap: by_rows, by_linearize: by_jvp}
"""The same by other ways, which have no lanes."""

REVERSE = by_grad, by_vjp, jacrev, by_linearize
INNER = [(hessian, mode) for mode in REVERSE] + [(jacfwd, jacrev, mode) for mode in (jacrev, by_grad)]


def nested(modes, f):
    for mode in reversed(modes):
        f = mode(f)
    return f


@pytest.mark.parametrize("outer", [jacfwd, by_jvp, by_vmap, hessian])
@pytest.mark.parametrize("inner", INNER, ids=lambda modes: " of ".join(mode.__name__ for mode in modes))
@pytest.mark.parametrize("of", [np.array, tape.tensor])
def test_what_differentiates_twice_within_directions_may_be_within_others(outer, inner, of):
    found = nested((outer, *inner), cubic)(of(POINTS[0]))
    expected = nested([SLOWLY.get(mode, mode) for mode in (outer, *inner)], cubic)(of(POINTS[0]))
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("modes", list(itertools.product((jacfwd, jacrev, by_jvp, hessian), repeat=2)))
@pytest.mark.parametrize("f", [cubic, filled])
def test_lanes_are_what_a_loop_gives(modes, f):
    derivative = nested(modes, f)
    expected = np.array([derivative(x) for x in POINTS])
    assert_allclose(vmap(derivative)(POINTS), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("modes", [(jacfwd, jacfwd, by_jvp), (by_jvp, by_jvp, by_jvp), (jacfwd, hessian, jacrev)])
def test_what_moves_beneath_lanes_is_written_there(modes):
    derivative = nested(modes, filled)
    assert_allclose(vmap(derivative)(POINTS), np.array([derivative(x) for x in POINTS]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("of", [np.array, tape.tensor])
def test_an_argument_that_is_the_same_in_all_lanes_is_differentiated_twice_within_others(of):
    weights = of(POINTS)

    def twice(x):
        def lane(w):
            return grad(lambda y: (y * grad(lambda z: (z**4 * w).sum())(y)).sum())(x)

        return vmap(lane)(weights).sum(0)

    total = POINTS.sum(0)
    assert_allclose(np.asarray(vmap(twice)(weights)), 16 * POINTS**3 * total, rtol=1e-9)
    x = of(POINTS[0])
    assert_allclose(np.asarray(jvp(twice, (x,), (x,))[1]), 48 * POINTS[0] ** 3 * total, rtol=1e-9)


def test_an_argument_may_move_as_what_is_mapped_does():
    """The tangent of what is mapped depends on that of the argument: that has to do with outer derivatives only."""

    def program(y):
        y = y * y
        return vmap(lambda w: grad(lambda c: (c**3 * w).sum())(y))(np.stack([y, 2 * y])).sum(0)

    x = POINTS[1]
    found = grad(lambda x: jvp(program, (x,), (x,))[1].sum())(x)
    assert_allclose(found, 324 * x**5, rtol=1e-9)


def test_branches_on_what_is_the_same_in_all_lanes_stay_possible():
    def program(x):
        return x * x * x if x[0] > 0 else x * x

    modes = (jacfwd, hessian, jacrev)
    expected = nested((jacrev, jacrev, jacrev, jacrev), program)(POINTS[0])
    assert_allclose(nested(modes, program)(POINTS[0]), expected, rtol=1e-9, atol=1e-9)
    assert_allclose(nested((by_jvp, hessian, by_grad), program)(POINTS[0]),
                    nested((by_jvp, jacrev, jacrev, by_grad), program)(POINTS[0]), rtol=1e-9)  # fmt: skip


OFF = {"no_grad": lambda t: t.no_grad(), "switched": lambda t: t.set_grad_enabled(False)}
WITHOUT_RECORDING = {
    "square": lambda t, x: x * x, "product": lambda t, x: x * x.sin(), "sum": lambda t, x: x * x.sum(),
    "matrix": lambda t, x: t.outer(x, x) @ x, "where": lambda t, x: t.where(x > 0, x * x, x),
    "copy": lambda t, x: x.clone(),
}  # fmt: skip
TWICE = {
    "hessian": lambda t, f, x, vs: t.func.hessian(f)(x), "jacfwd": lambda t, f, x, vs: t.func.jacfwd(t.func.grad(f))(x),
    "jvp": lambda t, f, x, vs: t.vmap(lambda v: t.func.jvp(t.func.grad(f), (x,), (v,))[1])(vs),
    "scaled": lambda t, f, x, vs: t.vmap(lambda v: t.func.grad(lambda y: f(v * y))(x))(vs),
    "shifted": lambda t, f, x, vs: t.vmap(lambda v: t.func.grad(lambda y: f(y) + f(v + y))(x))(vs),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("twice", TWICE)
@pytest.mark.parametrize("off", OFF)
@pytest.mark.parametrize("what", WITHOUT_RECORDING)
def test_what_is_first_met_without_recording_is_recorded_later(what, off, twice):
    """A tensor without lanes that first meets some where nothing is recorded gets its lanes anew where it is."""
    torch = pytest.importorskip("torch")

    def found(library):
        def f(x):
            with OFF[off](library):
                y = WITHOUT_RECORDING[what](library, x)
            return (y * x * WITHOUT_RECORDING[what](library, x)).sum()

        x, vs = library.tensor([1.0, 2.0], dtype=library.float64), library.eye(2, dtype=library.float64)
        return TWICE[twice](library, f, x, vs)

    assert_allclose(found(tape).numpy(), found(torch).numpy(), rtol=1e-12)
