"""Functions that go another way where an operation raises: each call decides it by its own numbers."""

import math

import numpy as np
import pytest

import tape

X, PLACES = np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2])


def picked(x, i):
    return x[i]


def taken(x, i):
    return np.take(x, i)


def taken_along(x, i):
    return np.take_along_axis(x, i, 0)


def sorted_into(x, i):
    return np.digitize(x, i) * x


def whole_powers(x, i):
    return x * i ** (2 - i)


def root(x, i):
    with np.errstate(invalid="raise"):
        return np.sqrt(x - i.min())


def root_of_one(x, i):
    with np.errstate(all="raise"):
        return x * np.sqrt(x[0] - i[0])


def quotient(x, i):
    with np.errstate(all="raise"):
        return x / (1.5 - i[0]) + x / i[1:].min()


def weighted(x, i):
    return np.average(x, weights=i) * x


def geometric(x, i):
    return np.geomspace(x[0], 8.0, 3) * (i + 1) + np.geomspace(i[1], 8.0, 3)


def logarithm(x, i):
    return x * math.log(i[1])


CASES = [
    (picked, np.array([0, 1, 5])), (taken, np.array([0, 1, 5])), (taken_along, np.array([0, 1, 5])),
    (sorted_into, np.array([0, 3, 1])), (whole_powers, np.array([1, 2, 3])), (root, np.array([2, 2, 2])),
    (root_of_one, np.array([2, 0, 0])), (quotient, np.array([0, 0, 0])), (weighted, np.array([1, -1, 0])),
    (geometric, np.array([1, 0, 0])), (logarithm, np.array([0, 0, 0])),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("first", ["good", "bad"])
@pytest.mark.parametrize("transform", [lambda f: f, tape.func.grad], ids=["value", "grad"])
@pytest.mark.parametrize(("body", "bad"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_each_call_decides_whether_an_operation_fails(body, bad, transform, first):
    def f(x, i):
        try:
            y = body(x, i)
        except (ArithmeticError, LookupError, ValueError):
            y = 7.0 * x
        return y.sum()

    assert f(X, bad) == 42.0
    assert f(X, PLACES) != 42.0
    exact, fast = transform(f), tape.compile(transform(f))
    calls = [PLACES, bad] if first == "good" else [bad, PLACES]
    for i in calls * 3:
        np.testing.assert_allclose(fast(X, i), exact(X, i), rtol=1e-12)


def test_shapes_that_do_not_go_together_are_the_same_in_each_call():
    def f(x, y):
        try:
            return (x + y).sum()
        except ValueError:
            return (x * x).sum()

    fast = tape.compile(f)
    for k in range(3):
        assert fast(X + k, np.ones(2)) == f(X + k, np.ones(2))
    assert fast.statistics().replays == 3
