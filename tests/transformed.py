"""Functions transformed and compiled, beside what the same transformation gives by itself."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.func import grad, hessian, jacfwd, jacrev, jvp, vmap

X = np.array([1.0, 2.0, 3.0, 4.0])
TRANSFORMATIONS = {
    "itself": lambda f: f,
    "grad": grad,
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[1],
    "hessian": hessian,
    "twice": lambda f: jacrev(jacrev(f)),
    "lanes": vmap,
    "grads": lambda f: vmap(grad(f)),
}
IN_LANES = ("lanes", "grads")


def quietly(fast, *args):
    """A call of a compiled function that is compiled."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="tape.compile runs")
        return fast(*args)


def cases(functions, leaving_out=()):
    """Each function with each transformation, by name; `leaving_out` are such pairs."""
    pairs = [(f, name) for f in functions for name in TRANSFORMATIONS if (f, name) not in leaving_out]
    return [pytest.param(f, name, id=f"{f.__name__}-{name}") for f, name in pairs]


def check_as_in_eager_execution(function, transformation, compare=True):
    """Compile what a transformation makes of a function, and call it at several inputs."""
    made = TRANSFORMATIONS[transformation](function)
    inputs = [np.stack([x, x + 1]) if transformation in IN_LANES else x for x in (X, X[::-1] / 3, X - 2.2)]
    fast = tape.compile(made)
    results = [quietly(fast, tape.tensor(x)).numpy() for x in (*inputs, inputs[0])]
    for x, found in zip((*inputs, inputs[0]), results):
        if compare:
            assert_allclose(found, made(tape.tensor(x)).numpy(), rtol=1e-12, atol=1e-12)


def check_never_wrong(function, transformation):
    """The same at two inputs, compiled or not."""
    made = TRANSFORMATIONS[transformation](function)
    fast = tape.compile(made)
    for x in (X, X + 1):
        assert_allclose(fast(tape.tensor(x)).numpy(), made(tape.tensor(x)).numpy())
