"""What is not recorded, beside arrays that are: plain numbers, lists, and objects that answer NumPy's protocols."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

P = np.array([0.5, -1.0, 2.0])
Q = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])
WRITING = {
    "ufunc": lambda x, b: np.add(P, P, out=b),
    "masked": lambda x, b: np.multiply(P, 2.0, out=b, where=x > 0),
    "numbers": lambda x, b: np.add(1.0, 2.0, out=(b,)),
    "reduce": lambda x, b: np.add.reduce(Q, axis=0, out=b, where=x > 0),
    "accumulate": lambda x, b: np.add.accumulate(P, out=b),
    "reduceat": lambda x, b: np.add.reduceat(P, [0, 1, 2], out=b),
    "product": lambda x, b: np.matmul(np.eye(3), P, out=b),
    "sum": lambda x, b: np.sum(Q, axis=0, out=b),
    "mean": lambda x, b: np.mean(Q, axis=0, out=b),
    "sums": lambda x, b: np.cumsum(P, out=b),
    "joined": lambda x, b: np.concatenate([P[:1], P[1:]], out=b),
    "clipped": lambda x, b: np.clip(P, 0, 1, out=b),
    "taken": lambda x, b: np.take(P, [0, 1, 0], out=b),
    "einsum": lambda x, b: np.einsum("ij->j", Q, out=b),
}


@pytest.mark.parametrize("name", WRITING)
def test_plain_numbers_are_written_into_a_recorded_array(name):
    def f(x):
        b = x * 2.0
        result = WRITING[name](x, b)
        return (b * x * x).sum() + (result * x).sum()

    slope = tape.func.grad(f)
    compiled = tape.compile(slope)
    for x in (np.array([0.7, -1.3, 2.2]), np.array([-0.1, 1.3, -0.2])):
        expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        assert_allclose(slope(x), expected, rtol=1e-6, atol=1e-7)
        assert_allclose(compiled(x), expected, rtol=1e-6, atol=1e-7)


BESIDE = {
    "0": lambda x: x / 0, "-0.0": lambda x: np.where(x > 9, x / -0.0, x), "list": lambda x: x / [0.5, 1.0, -2.0],
    "nested": lambda x: np.hypot(x, [[1.0, 2.0, 3.0]]), "reflected": lambda x: [1.0, 2.0, 3.0] / x,
    "power": lambda x: (1.0, 2.0, 3.0) ** (x * x), "maximum": lambda x: np.maximum(x, [0.0, 2.0, 2.0]) * x,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("name", BESIDE)
def test_numbers_and_lists_of_pythons_have_rules_beside_them_as_arrays_have(name):
    f, x = BESIDE[name], np.array([0.7, -1.3, 2.2])
    value, slopes = tape.func.jvp(f, (x,), (np.ones(3),))
    np.testing.assert_array_equal(value, f(x))
    backwards = tape.func.vjp(f, x)[1](np.ones_like(value))[0]
    np.testing.assert_array_equal(np.ravel(slopes), backwards)
    compiled = tape.compile(lambda x: tape.func.jvp(f, (x,), (np.ones(3),))[1])
    for _ in range(2):
        assert_allclose(compiled(x), slopes, rtol=1e-14)


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
