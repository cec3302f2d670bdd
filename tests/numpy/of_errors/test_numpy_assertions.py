"""Assertions of `numpy.testing` within a function that is differentiated: they look at numbers and give none."""

import numpy as np
import pytest

import tape

X = np.array([1.5, 2.0])


def asserting(x):
    np.testing.assert_allclose(x + x, 2 * x)
    np.testing.assert_almost_equal(x.sum(), np.add.reduce(x))
    np.testing.assert_approx_equal(x[0], x[0] * 1.0)
    np.testing.assert_equal({"a": [x, 1]}, {"a": [x, 1]})
    np.testing.assert_array_less(x, x + 1)
    np.testing.assert_array_max_ulp(x, x)
    try:
        np.testing.assert_allclose(x[0], 1.5)
    except AssertionError:
        return (x**2).sum()
    return (x**3).sum()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("way", [tape.func.grad, tape.func.jacfwd])
def test_assertions_take_numbers_and_give_none(way):
    assert way(asserting)(X).tolist() == (3 * X**2).tolist()
    assert way(asserting)(2 * X).tolist() == (4 * X).tolist()


def test_assertions_fail_with_their_own_text():
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        tape.func.grad(lambda x: np.testing.assert_allclose(x, 2 * x))(X)
