"""No gradient flows through integers and truth values, in recorded lists as in any other."""

import numpy as np
import pytest

import tape

X = np.array([1.5, 2.0, -0.25])


def whole(x):
    return (x.astype(int) * x).sum()


def single(x):
    return (x[0].astype(int) * x).sum()


def filled(x):
    y = np.zeros(3, dtype=int)
    y[0] = x[0] * 3
    y[1:] = x[1:]
    return (y * x).sum()


def truth(x):
    return (x.astype(bool) * x).sum()


def joined(x):
    return (np.stack([v.astype(np.int32) for v in x]).astype(float) * x).sum()


def tensors(x):
    return (x.to(tape.int64) * x).sum()


@pytest.mark.parametrize("function", [whole, single, filled, truth, joined])
def test_arrays(function):
    expected = tape.func.grad(function)(X)
    compiled = tape.compile(tape.func.grad(function))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), expected)
    np.testing.assert_array_equal(tape.compile(tape.func.jacrev(function))(X), expected)


def test_what_whole_numbers_give():
    np.testing.assert_array_equal(tape.compile(tape.func.grad(whole))(X), [1.0, 2.0, 0.0])


def test_tensors():
    x = tape.tensor(X)
    assert tape.equal(tape.compile(tape.func.grad(tensors))(x), tape.func.grad(tensors)(x))


def test_a_result_of_integers_depends_on_nothing():
    def gradient(x):
        (found,) = tape.autograd.grad((x.to(tape.int64) * 1.0).sum(), x, allow_unused=True)
        return x if found is None else found

    x = tape.tensor(X, requires_grad=True)
    with pytest.raises(RuntimeError):
        gradient(x)
    with pytest.warns(RuntimeWarning, match="without compiling"), pytest.raises(RuntimeError):
        tape.compile(gradient)(x)
