"""Numerical derivatives against known ones, at sizes from 1e-8 to 1e8, and their error estimates."""

import numpy as np
import pytest

import tape
from tape.gradcheck import check
from tape.gradcheck.derivatives.compare import plain_step
from tape.gradcheck.derivatives.grid import central
from tape.gradcheck.derivatives.numeric import settle

EPS = np.array([2.0**-52])
SIZES = (1e-8, 1e-4, 1.0, 7.0, 1e4, 1e8)

FUNCTIONS = {
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda x: -np.sin(x)),
    "log": (np.log, lambda x: 1 / x),
    "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    "cube": (lambda x: x**3, lambda x: 3 * x * x),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / x**2),
    "exp(-x)": (lambda x: np.exp(-x), lambda x: -np.exp(-x)),
    "x + 1": (lambda x: x + 1, lambda x: 1.0),
    "x + 1e4": (lambda x: x + 1e4, lambda x: 1.0),
    "(1 + x) - 1": (lambda x: (1 + x) - 1, lambda x: 1.0),
    "log(1 + x)": (lambda x: np.log(1 + x), lambda x: 1 / (1 + x)),
    "abs": (np.abs, lambda x: 1.0),
    "constant": (lambda x: 0 * x + 3, lambda x: 0.0),
}


def on_line(f):
    return lambda x: np.atleast_1d(f(x))


@pytest.mark.parametrize("x", SIZES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_true_derivative_lies_within_the_error(name, x):
    f, derivative = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        found = settle(on_line(f), np.float64(x), x, EPS)
    true = derivative(x)
    assert abs(found.value[0] - true) <= 8 * found.error[0] + 1e-6 * abs(true)


@pytest.mark.parametrize("x", SIZES)
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"cos", "exp(-x)", "constant"}))
def test_the_error_is_small_enough_to_see_a_wrong_factor(name, x):
    f, derivative = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        found = settle(on_line(f), np.float64(x), x, EPS)
    assert 8 * found.error[0] < 5e-5 * abs(derivative(x))


@pytest.mark.parametrize("offset", [1e6, 1e8, 1e10])
def test_cancellation_inside_the_function_is_noticed(offset):
    """The output is small and says nothing about how noisy it is."""
    found = settle(on_line(lambda x: (offset + x) - offset), np.float64(1.0), 1.0, EPS)
    assert abs(found.value[0] - 1) <= 8 * found.error[0] + 1e-6


def test_a_step_of_many_periods_is_not_believed():
    found = settle(on_line(np.sin), np.float64(1e8), 1e8, EPS)
    assert found.value[0] == pytest.approx(np.cos(1e8), rel=1e-7)


def test_a_region_where_the_function_is_constant_is():
    found = settle(on_line(lambda x: np.maximum(x - 10.0, 0) + 1), np.float64(1.0), 1.0, EPS)
    assert found.value[0] == 0


@pytest.mark.parametrize(
    ("f", "x", "low", "high"),
    [
        (np.abs, 0.0, -1, 1),
        (lambda x: np.maximum(x, 0), 0.0, 0, 1),
        (lambda x: np.maximum(x, 2.0), 2.0, 0, 1),
        (lambda x: np.clip(x, -1, 3), 3.0, 0, 1),
    ],
)
def test_a_kink_gives_the_slopes_on_both_sides(f, x, low, high):
    found = settle(on_line(f), np.float64(x), 1.0, EPS)
    assert found.method[0] == "kink"
    assert (found.low[0], found.high[0]) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))


@pytest.mark.parametrize("f", [lambda x: x * np.abs(x), np.square, np.cos])
def test_smooth_at_zero_is_no_kink(f):
    found = settle(on_line(f), np.float64(0.0), 1.0, EPS)
    assert found.method[0] != "kink"
    assert abs(found.value[0]) < 1e-10


def test_no_difference_at_the_edge_of_the_domain():
    with np.errstate(all="ignore"):
        found = settle(on_line(np.sqrt), np.float64(0.0), 1.0, EPS)
    assert np.isnan(found.value[0])


def test_complex_step_sharpens_what_it_agrees_with():
    line = on_line(lambda x: (1e10 + x) - 1e10)
    found = settle(line, np.float64(7.0), 7.0, EPS, line)
    assert found.method[0] == "complex step"
    assert found.value[0] == pytest.approx(1.0, rel=1e-14)


def test_complex_step_is_not_believed_of_a_function_that_is_not_analytic():
    line = on_line(lambda x: np.abs(x) * 3 + 1e6)
    found = settle(line, np.float64(0.3), 0.3, EPS, line)
    assert found.method[0] != "complex step"
    assert found.value[0] == pytest.approx(3.0, rel=1e-6)


def test_plain_difference_divides_by_the_step_that_rounding_left():
    found = central(on_line(lambda x: 3.0 * float(x)), np.float32(1.0), 1e-3, np.array([2.0**-23]))
    assert found.step != 1e-3
    assert found.value[0] == pytest.approx(3.0, rel=1e-12)
    assert plain_step(0.0, 5.0, 2.0**-52) == plain_step(5.0, 1.0, 2.0**-52)


def test_a_vertical_tangent_has_an_infinite_derivative():
    """∛x at 0; that of −∛x is −∞, and one of the wrong sign is wrong."""
    assert check(np.cbrt, 0.0).ok
    assert check(lambda x: -np.cbrt(x), 0.0).ok
    for wrong in (-np.inf, np.nan):
        assert not check(np.cbrt, 0.0, gradient=lambda x, wrong=wrong: np.full_like(x, wrong)).ok


def test_elements_that_are_nan_leave_the_others_to_be_checked():
    x = np.array([np.nan, 2.0])
    right = check(lambda x: tape.nansum(x * x), (x,))
    assert [c.verdict for c in right.comparisons] == ["unsettled"]
    wrong = check(lambda x: np.nansum(x * x), (x,), gradient=lambda x: np.where(np.isnan(x), 0.0, 2.1 * x))
    assert [c.verdict for c in wrong.comparisons] == ["wrong"]


def test_noise_inside_of_a_function_is_measured():
    """A function that is noisier than its output's precision says is no wrong gradient; a wrong one stays wrong."""
    rough = 2.0**-30

    def noisy(x):
        return np.sum(x) * 1e-3 + np.round(np.sin(1e9 * np.sum(x)) * 4) / 4 * rough * 1e-9

    x = np.array([1.0, 2.0])
    assert check(noisy, (x,), gradient=lambda x: np.full_like(x, 1e-3)).ok
    assert not check(noisy, (x,), gradient=lambda x: np.full_like(x, 1.01e-3)).ok
