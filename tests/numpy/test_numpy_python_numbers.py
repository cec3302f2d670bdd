"""Numbers of Python's that are recorded: what `math`, ``.item()`` and ``.tolist()`` give goes by Python's rules."""

from __future__ import annotations

import cmath
import math
import warnings

import numpy as np
import pytest
from arrays import seen

import tape

X = np.array([0.3, -0.7, 2.0])
SPACE = {"np": np, "math": math, "cmath": cmath}
MADE = ("math.sin(x[{}])", "x[{}].item()", "x.tolist()[{}]", "(math.fsum([x[{}], 1.0]) * 2)")
NUMERIC = """
A / (B + 3) | A // B | A % B | A ** 2 | 2 ** A | abs(A) ** B | divmod(A, B)[1] | A - B * 3 | 1 / B | -A + +B | abs(B)
round(B, 1) * A | A * x[0] | np.sin(A) * B | A * x | x @ x * A | max(A, B) | min(A, 0.0) | sum([A, B]) | A.real * B
A.conjugate() + B.imag | (A > B) + (B > A) * A | ((A > 0) - (B > 0)) * A | A if (A > B) is True else B | A * True
np.where(x > A, x, B).sum() | np.array([A, B, 1.0]) @ x | np.float64(A) / 0.5 | math.exp(A) / math.exp(B) | A == 'a'
np.maximum(A, x).sum() | A * np.float64(2) | float.__mul__(2.0, 3.0) * A | math.hypot(A, B) ** 0.5 | (A, B) < (B, A)
math.dist(x, x * A) | math.dist([1.0, 2, 3], x) * A
math.dist([A, 1.0], (2.0, B)) | math.dist((A,), [B]) | cmath.polar(A + 1j * B)[0] * B | cmath.polar(A - 1j)[1]
"""
ELSE = """
A.item() | A.shape | A.dtype | A.sum() | A.T | A[()] | len(A) | list(A) | 1.0 in A | A.astype(float) | A.tolist()
A / 0.0 | A // 0 | A % 0.0 | divmod(A, 0.0) | 1 / (A - A) | (A - A) ** -1.0 | (abs(A) + 9) ** 1e9 | ~A | A @ A | A | 1
A < None | A < [1] | A + 'a' | A + None | [1, 2] * A | (1, 2) * A | A << 1 | hasattr(A, 'ndim') | A == [1.0] | A == None
repr(A) | str(A) | f'{A:.3f}' | isinstance(A, np.float64) | isinstance(A, float) | A.is_integer()
"""


def programs(text):
    found = [piece.strip() for line in text.strip().splitlines() for piece in line.split(" | ")]
    return [piece for piece in found if piece]


def function(program, made):
    text = program.replace("A", made.format(0)).replace("B", made.format(1))
    return eval(f"lambda x: {text}", dict(SPACE))


def outcome(f, x):
    """What a function gives, with its type; or the type of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return seen(f(x))
        except Exception as error:
            return type(error)


def numbers(found):
    """The numbers in an outcome, with which a compiled function's are compared."""
    return found if isinstance(found, type) else np.asarray(found[-1]).tolist()


def same(found, expected):
    if isinstance(found, type) or isinstance(expected, type):
        return found is expected
    if found[0] != expected[0] or isinstance(expected[-1], (str, bool)):
        return found == expected
    return np.allclose(found[-1], expected[-1], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("made", MADE)
def test_they_give_and_raise_what_pythons_do(made):
    for program in programs(NUMERIC) + programs(ELSE):
        f, found = function(program, made), []
        expected = outcome(f, X)
        tape.func.grad(lambda x, f=f, found=found: (found.append(outcome(f, x)), x.sum())[1])(X)
        assert same(found[0], expected), (program, expected, found)


def test_compiled_they_are_the_same():
    for program in programs(NUMERIC) + programs(ELSE):
        f = function(program, MADE[0])
        fast = tape.compile(f)
        for x in (X, X, -X, 2 * X):
            expected, found = numbers(outcome(f, x)), numbers(outcome(fast, x))
            assert found == expected or np.allclose(found, expected, rtol=1e-13, atol=1e-15), program


def test_a_power_of_a_negative_one_is_complex_and_has_a_derivative():
    def f(x):
        return (math.sin(x[1]) ** 0.5).imag * x[0]

    step = 1e-6 * np.eye(3)[1]
    slope = (f(X + step) - f(X - step)) / 2e-6
    np.testing.assert_allclose(tape.func.grad(f)(X), [f(X) / X[0], slope, 0], rtol=1e-6)


def test_lanes_have_a_truth_each():
    def f(x):
        positive = [math.sin(e) > 0 for e in x]
        return x[0] * (positive[1] + positive[2]) + sum(positive) - -positive[0] * 2 + (True + positive[1]) * x[1]

    rows = np.stack([X, -X, 2 * X])
    np.testing.assert_array_equal(tape.func.vmap(f)(rows), [f(row) for row in rows])


def test_beside_an_array_of_32_bits_they_do_not_count_as_64():
    def f(x):
        small = np.ones(2, np.float32)
        return small * math.sin(x[0]), np.maximum(math.sin(x[0]), small), small * x[0]

    kinds = []
    tape.func.grad(lambda x: (kinds.extend(z.dtype for z in f(x)), x.sum())[1])(X)
    assert kinds == [z.dtype for z in f(X)]


def test_the_library_reads_what_the_user_is_told_is_not_there():
    def f(x):
        t = math.sin(x[0])
        assert not hasattr(t, "shape")
        w = np.zeros(3)
        w[1] = t
        w[[0, 2]] = [t, x[1].item()]
        t = t + 0.0 * np.asarray(t).sum() + 0.0 * np.atleast_1d(t)[0]
        return np.sum(np.array([t, 1.0]) * t) + np.stack([t, x[0]]).sum() + w @ np.full(3, t) + np.hstack([t, x]).prod()

    expected = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(tape.func.grad(f)(X), expected, rtol=1e-7)


def test_the_angle_of_a_complex_number_that_is_looked_at_is_recorded():
    def f(x):
        return cmath.polar(x[0] + 1j * x[1])

    np.testing.assert_allclose(tape.record(f, X)(2 * X), f(2 * X), rtol=1e-15)


def kinds(x):
    other = x.copy()
    other += np.float32(1.5)
    names = type(x).__name__, type(other).__name__
    return (x * 2 if isinstance(x, (int, float, np.number)) else x * 3), other.dtype.name, names


SCALARS = (
    np.float64(2.0), np.array(2.0), np.float32(2.0), np.array(2.0, np.float32), np.float16(2.0), np.complex64(1j),
    np.array([2.0]),
)  # fmt: skip


@pytest.mark.parametrize("first", range(len(SCALARS)))
def test_numbers_of_numpys_are_numbers_in_compiled_functions(first):
    """A number and an array without axes are not the same to a function, whichever it was recorded for."""
    compiled = tape.compile(kinds)
    for x in (*SCALARS[first:], *SCALARS[:first]) * 3:
        assert compiled(x) == kinds(x)


def test_a_program_takes_numbers_and_arrays_without_axes():
    for x in (np.float64(3.0), np.array(3.0), 3.0):
        program = tape.record(lambda x: 2 * x + 1, x)
        assert [program(y) for y in (np.float64(4.0), np.array(4.0), 4.0)] == [9.0] * 3


def test_absolute_values_of_complex_numbers_are_those_of_their_class():
    """Python and NumPy's scalars take `hypot`, the ufunc `np.abs` does not: they differ in the last digit."""
    functions = {"abs": abs, "np.abs": np.abs, "polar": lambda z: cmath.polar(z)[0]}
    for z in np.random.default_rng(0).normal(size=(50, 2)) @ [1, 1j]:
        for name, f in functions.items():
            assert tape.func.jvp(f, (z,), (z,))[0] == f(z), name
            assert tape.compile(f)(z) == f(z), name
    assert tape.func.grad(lambda x: abs(x * (3 + 4j)))(np.float64(2.0)) == 5.0
