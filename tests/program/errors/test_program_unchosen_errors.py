"""Errors of numbers that are not chosen, left out, beside infinities, or that overflow where no result reads them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tape

INFINITIES = np.array([1.0, np.inf, -np.inf, 2.0])
CHOSEN = {
    "a quotient": lambda x: np.where(x > 0, 1 / x, 0),
    "a quotient in the other place": lambda x: np.where(x <= 0, 0, 2 / x),
    "a root": lambda x: np.where(x > 0, np.sqrt(x), 0),
    "a product": lambda x: np.where(x < 0, (x * 1e200) * 1e200, 0),
    "by select": lambda x: np.select([x > 0], [1 / x], 0),
    "by what is known": lambda x: np.where(np.True_, x, np.log(x)),
}
BETWEEN = {
    "quantile": lambda x: np.quantile(x, 0.3),
    "quantiles": lambda x: np.quantile(x, [0.1, 0.3]),
    "percentile": lambda x: np.percentile(x, 30),
    "midpoint": lambda x: np.percentile(x, 30, method="midpoint"),
    "without nan": lambda x: np.nanquantile(x, 0.3),
}
WHOLE = {
    "sum": lambda a: a + a,
    "product": lambda a: a * a,
    "difference": lambda a: -a - a,
    "remainder": lambda a: a % (a - a),
}


def warned_of(function, *arguments):
    """What warnings a function gives, where each is given."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*arguments)
    return sorted({str(one.message) for one in found})


def check_each_call(function, good, bad, tier=None):
    """Recorded of harmless numbers or of the others, each call tells what the function itself tells."""
    for first in (good, bad):
        fast = tape.compile(function, tier=tier)
        warned_of(fast, first)
        for _ in range(10):
            assert warned_of(fast, bad) == warned_of(function, bad) != []
            assert warned_of(fast, good) == warned_of(function, good)


@pytest.mark.parametrize("tier", [None, "quick", "optimised"])
@pytest.mark.parametrize("size", [4, 100, 5000])
@pytest.mark.parametrize("function", CHOSEN.values(), ids=CHOSEN)
def test_of_what_is_not_chosen(function, size, tier):
    """Also where one instruction computes and chooses, and where it is known while recording."""
    check_each_call(function, np.ones(size), np.where(np.arange(size) == size // 2, -0.0, -1.0), tier)


@pytest.mark.parametrize("function", BETWEEN.values(), ids=BETWEEN)
def test_of_infinities_between_which_something_is(function):
    check_each_call(function, np.ones(4), INFINITIES)


@pytest.mark.parametrize("dtype", [np.int8, np.int64])
@pytest.mark.parametrize("function", WHOLE.values(), ids=WHOLE)
def test_of_whole_numbers_that_overflow(function, dtype):
    check_each_call(function, dtype(1), dtype(np.iinfo(dtype).max))


UNREAD_WHOLE = {
    "rounded": (lambda x: x.astype(np.int64), 1.0, np.nan),
    "rounded to few bits": (lambda x: x.astype(np.int8), 1.0, 1e300),
    "rounded, then read": (lambda x: np.floor(x * 2.0).astype(np.int32) + 1, 1.0, np.inf),
    "put among whole numbers": (lambda x: np.zeros(x.shape, np.int64).__setitem__(..., x), 1.0, -np.inf),
    "a quotient": (lambda x: x // x, 1, 0),
    "a remainder": (lambda x: 7 % x, 1, 0),
    "another": (lambda x: np.fmod(x, x), 1, 0),
    "both": (lambda x: divmod(x, x), 1, 0),
    "the largest quotient": (lambda x: x // -1, 1, np.iinfo(np.int64).min),
    "a reciprocal": (np.reciprocal, 1, 0),
}


@pytest.mark.parametrize("size", [1, 5, 2000])
@pytest.mark.parametrize("name", UNREAD_WHOLE)
def test_of_whole_numbers_that_no_result_reads(name, size):
    function, good, bad = UNREAD_WHOLE[name]
    beyond = np.where(np.arange(size) == size // 2, bad, good)
    check_each_call(lambda x: (function(x), x * 2)[1], np.full(size, good), beyond)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
@pytest.mark.parametrize("function", WHOLE.values(), ids=WHOLE)
def test_of_numbers_that_overflow_and_no_result_reads(function, dtype):
    check_each_call(lambda a: (function(a), a / 2)[1], dtype(1), dtype(np.iinfo(dtype).max))


@pytest.mark.parametrize("number", [-0.0, 2.0, np.inf])
@pytest.mark.parametrize("share", [0.3, [0.1, 0.7]])
def test_a_quantile_of_one_number(number, share):
    x = np.array([number])
    with np.errstate(invalid="ignore"):
        expected = np.quantile(x, share)
        assert np.array(tape.compile(lambda x: np.quantile(x, share))(x)).tobytes() == np.array(expected).tobytes()


LEFT_OUT = {
    "divide": lambda x, y: np.divide(x, y, out=np.zeros_like(x), where=y > 0),
    "of a number": lambda x, y: np.divide(1.0, y, out=np.zeros_like(x), where=y > 0),
    "by a number": lambda x, y: np.log(y, out=np.zeros_like(x), where=y > 0) + np.power(x, 0.5, out=x * 1, where=x > 0),
    "of itself": lambda x, y: np.multiply(z := x * 1, y, out=z, where=y > 0),
    "of other lengths": lambda x, y: np.divide(x, y[:, None], out=np.zeros((3, 3)), where=y[:, None] > 0),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", LEFT_OUT)
def test_errors_are_told_after_what_where_left_out(name, dtype):

    def told(f, x, y):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f(x.astype(dtype), y.astype(dtype))
        return {str(w.message) for w in caught}

    compiled = tape.compile(LEFT_OUT[name])
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0.0, -1.0, 2.0])
    for _ in range(40):
        assert told(compiled, x, y) == set()
    with np.errstate(over="ignore"):
        x, y = np.array([1.0, np.finfo(dtype).max, 3.0]), np.array([1.0, np.finfo(dtype).tiny, np.inf])
    for other in (y, np.array([1.0, 4.0, np.inf])):
        for _ in range(3):
            assert told(compiled, x, other) == told(LEFT_OUT[name], x, other)
