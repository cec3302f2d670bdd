"""`np.ldexp` at the ends of the range, and `np.fabs` of every dtype, are NumPy's under a derivative and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import tape

NUMBERS = (
    0.0, -0.0, 1.0, -1.5, 5e-324, 1e-310, 2.3e-308, 1e-300, 1e300, 1.7e308, np.inf, -np.inf, np.nan, 0.1, 1 / 3,
)  # fmt: skip
PLACES = (
    0, 1, -1, 50, -50, -53, -60, -100, -130, 130, 1023, 1024, -1022, -1074, -1075, 2000, -2000, 2098, -2100,
    2**31 - 1, -(2**31),
)  # fmt: skip


def same(found, expected):
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    return found.dtype == expected.dtype and np.array_equal(
        np.signbit(found)[is_number], np.signbit(expected)[is_number]
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_powers_of_two_beyond_a_floats_own(dtype):
    with np.errstate(all="ignore"):
        x, n = np.meshgrid(np.array(NUMBERS).astype(dtype), np.array(PLACES, "i4"))
        expected, compiled = np.ldexp(x, n), tape.compile(np.ldexp)
        assert same(tape.func.vjp(lambda x: np.ldexp(x, n), x)[0], expected)
        assert same(compiled(x, n), expected)
        assert same(compiled(x, n), expected)
    slope = tape.func.grad(lambda x: np.ldexp(x, np.array([-3, 2, 0])).sum())(np.array([0.3, 4.0, 2.0], dtype))
    assert slope.tolist() == [0.125, 4.0, 1.0]


@pytest.mark.parametrize("x", [True, -3, -2.5, *[np.array([1, 0, 3], d) for d in "?bBiIlfde"], np.ones(2, complex)])
def test_absolute_values_that_are_floats(x):
    def outcome(f):
        try:
            z = f(x)
        except TypeError as error:
            return str(error)
        return z.dtype, z.tolist(), type(z)

    compiled = tape.compile(lambda x: np.fabs(x))
    expected = outcome(np.fabs)
    assert [outcome(compiled), outcome(compiled)] == [expected, expected]
    assert tape.func.grad(np.fabs)(-2.0) == -1.0
