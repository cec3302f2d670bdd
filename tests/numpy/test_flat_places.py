"""`x.flat` read at places that are recorded: operands, as those of `x[i]` are."""

from __future__ import annotations

import numpy as np
import pytest

import tape

X = np.array([[0.4, -0.7, 1.3], [0.2, 0.9, 0.1]])
READ = {
    "a number": lambda x: x.flat[np.argmin(x)],
    "from the end": lambda x: x.flat[-1 - np.argmax(x)],
    "numbers in a list": lambda x: x.flat[[np.argmin(x), 0]],
    "an array": lambda x: x.T.flat[np.argsort(x, axis=None)[::2]],
}


@pytest.mark.parametrize("name", READ)
def test_places_are_read_and_differentiated(name):
    f = READ[name]
    compiled, gradient = tape.compile(f), tape.compile(tape.func.grad(lambda x: f(x).sum()))
    for x in (X, -X, X[:, ::-1], X * 2):
        np.testing.assert_array_equal(compiled(x), f(x))
        numeric = [(np.sum(f(x + h)) - np.sum(f(x - h))) / 2e-6 for h in np.eye(6).reshape(6, 2, 3) * 1e-6]
        np.testing.assert_allclose(gradient(x).ravel(), numeric, atol=1e-8)
    stack = np.stack([X, -X])
    np.testing.assert_array_equal(tape.func.vmap(f)(stack), [f(x) for x in stack])


def test_a_place_that_is_not_there_is_an_error():
    with pytest.raises(IndexError):
        tape.func.grad(lambda x: x.flat[np.argmin(x) + 6])(X)
