"""What a derivative gives with its history is no value that it kept: later ones may be taken of it, and are exact."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tape
from tape.autograd import functional
from tape.func import grad, jacfwd
from tape.recording import kept_values

X = np.array([0.5, 0.3, 0.8])


@pytest.fixture(autouse=True)
def nothing_told_so_far(monkeypatch):
    monkeypatch.setattr(kept_values, "_told", set())


CHAINED = {
    "jacobian": (lambda z: functional.jacobian(lambda t: t**3, z, create_graph=True).sum(0), lambda z: 3 * z**2),
    "forward": (
        lambda z: functional.jacobian(lambda t: t**3, z, create_graph=True, vectorize=True, strategy="forward-mode")
        .sum(0),
        lambda z: 3 * z**2,
    ),
    "hessian": (lambda z: functional.hessian(lambda t: (t**3).sum(), z, create_graph=True).sum(0), lambda z: 6 * z),
    "vjp": (lambda z: functional.vjp(lambda t: t**3, z, z, create_graph=True)[1], lambda z: 3 * z**3),
    "grad": (lambda z: grad(lambda t: (t**3).sum())(z), lambda z: 3 * z**2),
}  # fmt: skip
AROUND_CHAINS = {
    "nothing": lambda f, x: f(x),
    "grad": lambda f, x: grad(lambda t: f(t).sum())(x),
    "jacfwd": lambda f, x: jacfwd(f)(x).sum(0),
    "jacobian": lambda f, x: functional.jacobian(f, x, create_graph=True).sum(0),
}


@pytest.mark.parametrize("around", AROUND_CHAINS)
@pytest.mark.parametrize("names", list(itertools.product(CHAINED, CHAINED)))
@pytest.mark.filterwarnings("error")
def test_what_derivatives_give_with_a_history_may_be_differentiated_again(names, around):
    def chain(which):
        def f(z):
            for name in (*names, *names):
                z = 0.1 * CHAINED[name][which](z)
            return z

        return f

    found, expected = (AROUND_CHAINS[around](chain(which), tape.tensor(X)) for which in (0, 1))
    np.testing.assert_allclose(found.detach(), expected.detach())
