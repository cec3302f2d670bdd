"""What derivatives give within compiled functions shares memory with vectors and arguments as it does eagerly."""

import numpy as np
import pytest

import tape
from tape.base.tree import leaves_of


def changed_and_viewed(x, y):
    y[0] = 5.0
    z = y[1:]
    z *= 2.0
    return x.sum(), (y, z)


AUX = {
    "itself": lambda x, y: (x.sum(), y),
    "twice": lambda x, y: (x.sum(), [x, x, y]),
    "views": lambda x, y: (x.sum(), (y, y[1:], y[::-1], x)),
    "looks": lambda x, y: ((x * x).sum(), (y.T, y[...], x, x[:2])),
    "changed": changed_and_viewed,
}
TAKING = {
    "grad": lambda f: tape.func.grad_and_value(f, has_aux=True),
    "jacrev": lambda f: tape.func.jacrev(f, has_aux=True),
    "vjp": lambda f: lambda x, y: tape.func.vjp(lambda x: f(x, y), x, has_aux=True)[::2],
    "nothing": lambda f: f,
}


def meetings(result, *arguments):
    """Which arrays among results and arguments share memory."""
    arrays = [x for x in leaves_of(result) if isinstance(x, np.ndarray)] + list(arguments)
    return [(i, j) for i, x in enumerate(arrays) for j, y in enumerate(arrays[:i]) if np.shares_memory(x, y)]


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("taking", TAKING)
@pytest.mark.parametrize("name", AUX)
def test_what_a_derivative_copies_of_its_arguments_is_a_copy_when_compiled(name, taking):
    eager, fast = TAKING[taking](AUX[name]), tape.compile(TAKING[taking](AUX[name]))
    for _ in range(3):
        mine, theirs = ((np.arange(3.0), np.ones(3)) for _ in range(2))
        found, expected = fast(*mine), eager(*theirs)
        assert repr(found) == repr(expected)
        assert meetings(found, *mine) == meetings(expected, *theirs)


def _pulled(*vectors, function=lambda x: x):
    value, pull = tape.func.vjp(function, *vectors)
    return value, pull(value)


PULLBACKS = {
    "the vector itself": lambda x, y: tape.func.vjp(lambda x: x, x)[1](x),
    "another one": lambda x, y: tape.func.vjp(lambda x: x * 1.0, x)[1](y),
    "twice": lambda x, y: tape.func.vjp(lambda x, y: x + y, x, y)[1](x),
    "of what is made": lambda x, y: tape.func.vjp(lambda x, y: x + y, x, y)[1](np.ones(3)),
    "beside the value": lambda x, y: _pulled(x), "beside the sum": lambda x, y: _pulled(x, y, function=np.add),
    "a linear function": lambda x, y: tape.func.linearize(lambda x: x, x)[1](x),
    "Jacobian": lambda x, y: tape.func.jacfwd(lambda x: x)(x),
    "part": lambda x, y: _pulled(x, function=lambda x: x[1:]),
}  # fmt: skip


@pytest.mark.parametrize("name", PULLBACKS)
def test_what_a_pullback_gives_has_memory_of_its_own(name):
    """Also in a program: who writes into a gradient changes neither the vector nor another gradient."""
    x, y = np.arange(3.0), np.arange(3.0) + 1
    compiled = tape.compile(PULLBACKS[name])
    for function in (PULLBACKS[name], compiled, compiled, compiled):
        found = tape.base.tree.leaves_of(function(x, y))
        kept = [np.array(v) for v in found]
        assert [v.strides for v in found] == [v.strides for v in tape.base.tree.leaves_of(PULLBACKS[name](x, y))]
        for k, v in enumerate(found):
            v[...] = -7.0
            assert all((v == w).all() for v, w in zip(found[k + 1 :], kept[k + 1 :]))
        assert (x == np.arange(3.0)).all()
        assert (y == np.arange(3.0) + 1).all()


@pytest.mark.parametrize("name", ["the vector itself", "twice", "beside the value"])
def test_pullbacks_within_derivatives_are_written_apart(name):
    def program(x):
        y = x * 2.0
        found = tape.base.tree.leaves_of(PULLBACKS[name](y, y * 3.0))
        found[-1][0] = 0.0
        return (y**2).sum() + sum((v**3).sum() for v in found)

    x = np.array([0.5, 1.0, 2.0])
    for f in (tape.func.grad(program), tape.compile(tape.func.grad(program))):
        steps = [1e-6 * e for e in np.eye(3)]
        np.testing.assert_allclose(f(x), [(program(x + s) - program(x - s)) / 2e-6 for s in steps], rtol=1e-6)
