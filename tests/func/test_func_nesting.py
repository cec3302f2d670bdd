"""``tape.func``: nested derivatives, threads and what is around do not see each other's tensors and modes."""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from derivatives import V, X, bumpy, close, value

import tape
from tape.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize


def test_perturbations_are_not_confused():
    one = tape.tensor(1.0)
    for outer, within in itertools.product([grad, jacfwd, jacrev], repeat=2):
        close(outer(lambda x, d=within: x * d(lambda y: x + y)(one))(tape.tensor(3.0)), 1.0)
        close(outer(lambda x, d=within: x * d(lambda y: x * y)(one))(tape.tensor(3.0)), 6.0)


def test_the_same_tensor_in_and_around():
    x = tape.tensor(3.0)
    close(grad(lambda y: x * y)(x), 3.0)
    close(jacfwd(lambda y: x * y)(x), 3.0)


def test_a_captured_leaf_gets_its_gradient():
    for derivative in (grad, jacrev, jacfwd, lambda f: lambda x: linearize(f, x)[1](tape.tensor(1.0))):
        w = tape.tensor(2.0, requires_grad=True)
        found = derivative(lambda x, w=w: w * x**2)(tape.tensor(3.0))
        assert found.requires_grad
        found.backward()
        close(w.grad, 6.0)


def test_results_have_no_history_but_the_callers():
    w = tape.tensor(2.0, requires_grad=True)
    found, z = grad_and_value(lambda x: x**2 + w)(tape.tensor(3.0))
    assert not found.requires_grad
    assert z.requires_grad
    with tape.no_grad():
        assert not grad(lambda x: w * x**2)(tape.tensor(3.0)).requires_grad
    x = tape.tensor(3.0, requires_grad=True)
    found = grad(lambda x: x**3)(x)
    found.backward()
    close(x.grad, 18.0)


def test_no_grad_outside_is_not_obeyed_and_inside_is():
    with tape.no_grad():
        close(grad(grad(lambda x: x**3))(tape.tensor(2.0)), 12.0)
        close(jvp(lambda x: x**3, (tape.tensor(2.0),), (tape.tensor(1.0),))[1], 12.0)
        assert not tape.is_grad_enabled()

    def held(x):
        with tape.no_grad():
            c = x**2
        return x - c

    close(grad(held)(tape.tensor(3.0)), 1.0)
    close(jvp(held, (tape.tensor(3.0),), (tape.tensor(1.0),))[1], -5.0)
    assert tape.is_grad_enabled()


def test_modes_come_back_after_exceptions():
    def fails(x):
        raise KeyError("here")

    for derivative in (grad, jacrev, jacfwd, hessian):
        with tape.no_grad():
            with pytest.raises(KeyError):
                derivative(fails)(X)
            assert not tape.is_grad_enabled()
    assert tape.is_grad_enabled()


def test_detach_stops_both_modes():
    close(grad(lambda x: x * x.detach())(tape.tensor(3.0)), 3.0)
    close(jacfwd(lambda x: x * x.detach())(tape.tensor(3.0)), 3.0)


def test_a_value_that_escapes_is_an_ordinary_tensor():
    kept = []
    jvp(lambda x: kept.append(x * 2) or x, (X,), (V,))
    assert (kept[0] + 1).tolist() == pytest.approx((X * 2 + 1).tolist())
    assert "tangent" not in repr(kept[0])


def test_threads_differentiate_at_the_same_time():
    expected = value(hessian(bumpy)(X))
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: hessian(bumpy)(X), range(12)):
            close(found, expected)


def test_what_a_derivative_on_the_way_leaves_behind_is_no_history():
    """A gradient with respect to a constant depends on that, but nobody outside differentiates by it."""

    def program(v):
        return np.sum(tape.func.grad(lambda x: np.sum(x**3 * v))(np.ones(2)) ** 2)

    v = np.array([1.0, 2.0])
    found = tape.func.grad(program)(v)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, 18 * v)
    np.testing.assert_allclose(tape.func.hessian(program)(v), 18 * np.eye(2))
    outside = tape.tensor(2.0, requires_grad=True)
    kept = tape.func.grad(lambda v: tape.func.grad(lambda x: (x**3 * v * outside).sum())(tape.ones(2)).sum())
    assert not tape.func.grad(lambda v: tape.func.grad(lambda x: (x * v).sum())(v).sum())(tape.ones(2)).requires_grad
    assert tape.autograd.grad(kept(tape.ones(2)).sum(), outside)[0].item() == 6.0


def calls_of(program, *args):
    """How many functions are called."""
    calls = []
    sys.setprofile(lambda frame, event, value: calls.append(event))
    try:
        program(*args)
    finally:
        sys.setprofile(None)
    return len(calls)


@pytest.mark.parametrize("inner", [
    lambda y: grad(lambda z: (z**3).sum())(y),
    lambda y: jacrev(lambda z: z**3)(y).sum(0),
    lambda y: tape.func.vjp(lambda z: z**3, y)[1](y)[0],
], ids=["grad", "jacrev", "vjp"])  # fmt: skip
@pytest.mark.parametrize("step", [lambda y, d: y - 0.01 * d, lambda y, d: -0.01 * d + y], ids=["last", "first"])
def test_a_derivative_of_many_costs_as_much_as_they_are(inner, step):
    """Each goes back to its own argument, and no further: not through those before it."""

    def steps(count):
        def program(x):
            for _ in range(count):
                x = step(x, inner(x))
            return x.sum()

        return grad(program)

    steps(2)(X)
    few, many = calls_of(steps(8), X), calls_of(steps(40), X)
    assert many < 1.1 * 5 * few


@pytest.mark.parametrize("derivative", [jacfwd, lambda f: lambda x: jvp(f, (x,), (x,))])
def test_arguments_that_are_no_floats_are_told_as_such(derivative):
    with pytest.raises(RuntimeError, match="the arguments that are differentiated must be"):
        derivative(lambda x: x * 1.0)(tape.tensor([1, 2]))


def test_a_pullback_that_is_called_within_another_derivative_leaves_no_history():
    """What it gives depends on that one's argument, which is nothing from outside to that one."""

    def program(x):
        _, pull = tape.func.vjp(lambda y: y**2, x * 1)
        within = grad(lambda z: pull(z * z)[0].sum())
        return within(tape.ones(3)).sum() + within(x).sum()

    found = grad(program)(X)
    close(found, 4 + 8 * X)
    assert not found.requires_grad
    with tape.no_grad():
        assert not grad(program)(X).requires_grad
