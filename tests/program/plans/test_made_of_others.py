"""Ops that compiled programs make of others: NumPy's and SciPy's values, dtypes and warnings, without leaving them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

import tape

ODD = np.array([0.0, -0.0, 1.0, 1 + 1e-9, 1 + 1e-5, 1e300, np.inf, -np.inf, np.nan, 1e-9, 5.0])
X, Y = map(np.ravel, np.meshgrid(ODD, ODD))
QUESTIONS = {
    "isclose": lambda x, y: np.isclose(x, y),
    "isclose, nan": lambda x, y: np.isclose(x, y, equal_nan=True),
    "isclose, wide": lambda x, y: np.isclose(x, y, rtol=0.5, atol=2.0),
    "isclose to a number": lambda x, y: np.isclose(x, 1),
    "a number isclose": lambda x, y: np.isclose(0.0, x, atol=1e-3),
    "allclose": lambda x, y: np.allclose(x, y),
    "allclose to itself": lambda x, y: np.allclose(x, x * 1),
    "allclose, nan": lambda x, y: np.allclose(x, x * 1, equal_nan=True),
    "array_equal": lambda x, y: np.array_equal(x, x * 1),
    "array_equal, nan": lambda x, y: np.array_equal(x, y, equal_nan=True),
    "array_equal of other shapes": lambda x, y: np.array_equal(x, y[:3]),
    "count_nonzero": lambda x, y: np.count_nonzero(x),
    "count_nonzero of truth": lambda x, y: np.count_nonzero(x > y),
    "count_nonzero by rows": lambda x, y: np.count_nonzero(x.reshape(11, -1), axis=1, keepdims=True),
    "nan_to_num": lambda x, y: np.nan_to_num(x),
    "nan_to_num, said": lambda x, y: np.nan_to_num(x, nan=3, posinf=7.5, neginf=np.float64(-2.0)),
    "nan_to_num by an array": lambda x, y: np.nan_to_num(x, nan=np.arange(x.size)),
}


def told(function, *args):
    """What a function gives, and the warnings that it gives it with."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return function(*args), sorted({str(w.message) for w in caught})


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i8", "?"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_numpys_answers_to_odd_numbers(name, dtype):
    with np.errstate(all="ignore"):
        x, y = X.astype(dtype), Y.astype(dtype)
    fast = tape.compile(QUESTIONS[name])
    expected, warned = told(QUESTIONS[name], x, y)
    for _ in range(4):
        found, also = told(fast, x, y)
        assert_array_equal(found, expected)
        assert (type(found), np.asarray(found).dtype) == (type(expected), np.asarray(expected).dtype)
        assert also == warned


@pytest.mark.parametrize("order", [1, 2, 3, 1.5, 0.5, -1, -2.5, np.inf, -np.inf, 0])
@pytest.mark.parametrize(
    "x", [[1.0, -2.0, 3.0], [0.0, -0.0, 1.0], [np.inf, 1.0, -np.inf], [np.nan, 1.0], [1e200, 1e200]]
)
def test_norms_of_every_order(order, x):
    def norm(x):
        return np.linalg.norm(x, order)

    fast, x = tape.compile(norm), np.array(x)
    expected, warned = told(norm, x)
    for _ in range(4):
        found, also = told(fast, x)
        assert_allclose(found, expected, rtol=1e-14)
        assert also == warned


SPECIALS = "gammaln", "psi", "ndtr", "log_ndtr"


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("name", SPECIALS)
def test_special_functions_are_corrected_as_eagerly(name, dtype):
    special = getattr(scipy.special, name)

    def f(x):
        return special(x)

    x = np.concatenate([np.linspace(-20.3, 20.3, 300), [0, 1, 2, -1, -2, 64, -64, 100]]).astype(dtype)
    fast, slow = tape.compile(f), tape.func.vmap(f)
    for _ in range(3):
        found, expected = fast(x), slow(x)
        assert found.dtype == expected.dtype
        assert_allclose(found, expected, rtol=1e-12 if dtype == "f8" else 1e-6)
    if dtype == "f8":
        odd = np.array([np.inf, -np.inf, np.nan, 0.0, -3.0, 1e300])
        assert_allclose(fast(odd), slow(odd))


@pytest.mark.parametrize("name", [*SPECIALS, "gamma", "betaln"])
def test_derivatives_of_special_functions_stay_in_machine_code(name):
    special, several = getattr(scipy.special, name), name == "betaln"

    def f(x):
        return np.sum(special(x, x + 1.0) if several else special(x))

    x = np.array([0.3, 1.1, 1.7, 2.2, 7.5])
    for transform in (tape.func.grad, tape.func.hessian):
        fast = tape.compile(transform(f))
        for _ in range(3):
            assert_allclose(fast(x), transform(f)(x), rtol=1e-12)
        (program,) = fast.statistics().programs
        assert not program.stops
