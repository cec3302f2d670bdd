"""Objects of a user's class that answer NumPy's protocols themselves, beside arrays that are being recorded."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape


class Quantity:
    """Numbers with a unit, as libraries of units have them."""

    def __init__(self, numbers, unit):
        self.numbers, self.unit = numbers, unit

    def __array_ufunc__(self, ufunc, how, *inputs, **options):
        return Quantity(getattr(ufunc, how)(*map(numbers, inputs), **options), self.unit)

    def __array_function__(self, function, types, args, kwargs):
        return Quantity(function(*map(numbers, args), **kwargs), self.unit)

    def __mul__(self, other):
        return Quantity(self.numbers * numbers(other), self.unit)

    __rmul__ = __mul__


class Aside:
    """Something that takes no part in ufuncs."""

    __array_ufunc__ = None

    def __radd__(self, other):
        return other * 3


def numbers(x):
    if isinstance(x, (list, tuple)):
        return [*map(numbers, x)]
    return x.numbers if isinstance(x, Quantity) else x


LENGTH = Quantity(np.array([1.0, -2.0, 3.0]), "m")
PROGRAMS = {
    "ufunc": lambda x: np.multiply(x, LENGTH),
    "ufunc, after it": lambda x: np.hypot(LENGTH, x),
    "operator": lambda x: x * LENGTH,
    "operator, after it": lambda x: LENGTH * x,
    "difference": lambda x: x * x - LENGTH,
    "number": lambda x: x[0] * LENGTH,
    "joined": lambda x: np.concatenate([x, LENGTH]),
    "chosen": lambda x: np.where(x > 0, x * x, LENGTH),
    "aside": lambda x: Quantity(x + Aside(), "m"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_answer_as_beside_plain_arrays(name):
    program = PROGRAMS[name]

    def f(x):
        found = program(x)
        return (found.numbers * found.numbers).sum()

    slope = tape.func.grad(f)
    compiled = tape.compile(slope)
    for x in (np.array([0.7, -1.3, 2.2]), np.array([0.4, -1.1, 0.2])):
        expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        assert_allclose(slope(x), expected, rtol=1e-6, atol=1e-7)
        assert_allclose(compiled(x), expected, rtol=1e-6, atol=1e-7)
        assert_allclose(tape.func.jacfwd(f)(x), expected, rtol=1e-6, atol=1e-7)
