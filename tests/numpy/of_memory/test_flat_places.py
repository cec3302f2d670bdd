"""`x.flat`, `put` and the like at places that are recorded: operands, as those of `x[i]` are."""

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


def along(x):
    y = x * 1.0
    np.put_along_axis(y, np.argsort(x, axis=1)[:, :2], x[:, :2] * 5.0, axis=1)
    np.put_along_axis(y, -1 - np.argmax(x, axis=0)[None], 9.0, axis=0)
    np.put_along_axis(y, np.argsort(x, axis=None)[:2], 7.0, axis=None)
    return y


def put(x):
    y = x * 1.0
    np.put(y, np.argsort(x, axis=None)[:3] + 20, [1.0, x[0, 0]], mode="wrap")
    y.put(np.argmin(x), 4.0)
    y.flat[np.argmax(x)] = x[1, 1] * 3.0
    y.T.flat[[np.argmin(x), 0]] = [x[0, 1], 2.0]
    return y


@pytest.mark.parametrize("f", [along, put, lambda x: np.take(x, np.argsort(x, axis=None) + 4, mode="wrap")])
def test_places_are_written_in_each_lane(f):
    stack = np.stack([X, -X, X[::-1]])
    np.testing.assert_array_equal(tape.func.vmap(f)(stack), [f(x) for x in stack])
    compiled, gradient = tape.compile(f), tape.compile(tape.func.grad(lambda x: f(x).sum()))
    for x in stack:
        np.testing.assert_array_equal(compiled(x), f(x))
        numeric = [(np.sum(f(x + h)) - np.sum(f(x - h))) / 2e-6 for h in np.eye(6).reshape(6, 2, 3) * 1e-6]
        np.testing.assert_allclose(gradient(x).ravel(), numeric, atol=1e-7)


def test_indices_that_do_not_fit_are_errors():
    def of(places):
        return lambda x: np.put_along_axis(x * 1.0, places + np.argmax(x) * 0, 1.0, axis=1)

    with pytest.raises(ValueError, match="same number of dimensions"):
        tape.func.vmap(of(np.zeros(3, int)))(X[None])
    with pytest.raises(IndexError, match="out of bounds"):
        tape.func.vmap(of(np.full((2, 1), 7)))(X[None])
