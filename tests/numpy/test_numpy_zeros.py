"""Signs of zeros: what NumPy's functions make of −0.0, eager and compiled, bit for bit."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tape
import tape.numpy
from tape.base.tensor import Face

SAMPLES = (
    np.array([-0.0]), np.array([0.0, -0.0]), np.array([-0.0, 0.0]), np.array([-0.0, -0.0, -0.0, 1.0, -1.0]),
    np.array([[-0.0, 0.0], [0.0, -0.0]]), np.array([[-0.0, -0.0]]), np.array([-0.3, 0.5, -2.0, -0.0]),
)  # fmt: skip

PROGRAMS = (
    *(f"np.{name}(x)" for name in (
        "sum", "prod", "mean", "max", "min", "median", "nansum", "nanmean", "nanmedian", "cumsum", "cumprod", "diff",
        "negative", "rint", "sign", "sqrt", "square", "cbrt", "sin", "tan", "expm1", "floor", "ceil", "trunc", "round",
        "modf", "frexp", "nan_to_num", "ediff1d", "sort", "add.reduce", "multiply.reduce", "add.accumulate", "conj",
    )),
    *(f"np.{name}(x, {value})" for value in (-0.0, 0.0, 1.0, -2.0) for name in (
        "add", "subtract", "multiply", "divide", "remainder", "fmod", "maximum", "minimum", "copysign", "heaviside",
        "hypot", "arctan2", "floor_divide",
    )),
    *(f"np.clip(x, {low}, {high})" for low in (None, -0.0, 0.0, -1.0) for high in (None, -0.0, 0.0, 1.0)),
    *(f"np.{name}(x, initial={value})" for name in ("max", "min") for value in (-0.0, 0.0)),
    "np.max(x[:0], initial=-0.0)", "np.quantile(x[:1].ravel()[:1], 0.3)", "np.linspace(x, -0.0, 3)",
    "np.linspace(-0.0, x, 3)", "x**3", "x**2", "x * 0.0", "0.0 - x", "x - x", "-x", "abs(x)", "x // 1.0", "x % -1.0",
    "np.where(x >= 0, 0.0, -0.0)", "np.full_like(x, -0.0)", "np.median(x, axis=-1)",
    "np.interp(x, [0.0, 1.0], [0.0, 1.0])", "np.interp(x, [-1.0, -0.0, 2.0], [3.0, -0.0, 5.0])",
    "np.interp(x, [-1.0, 0.0, 2.0], [-3.0, -0.0, -5.0])", "np.interp(x, [-0.3, 0.0, 2.0], [-0.0, -0.0, 0.0])",
    "np.gradient(x.ravel()) if x.size > 1 else x",
)  # fmt: skip


def bits(found):
    """Dtypes, shapes, values and signs, of several results in a row."""
    parts = found if isinstance(found, tuple) else (found,)
    arrays = [x._tensor.numpy(force=True) if isinstance(x, Face) else np.asarray(x) for x in parts]
    return [(x.dtype.str, x.shape, x.tolist(), np.signbit(x).tolist() if x.dtype.kind == "f" else 0) for x in arrays]


@pytest.mark.parametrize("program", PROGRAMS)
def test_signs_of_zeros(program):
    f = eval(f"lambda x: {program}", {"np": np})
    for x in SAMPLES:
        with np.errstate(all="ignore"):
            assert repr(bits(f(tape.numpy.array(x)))) == repr(bits(f(x))), (program, x)


SUMS = (
    "np.sum(x)", "np.mean(x)", "np.median(x)", "np.nansum(x)", "np.nanmean(x)", "np.sum(np.floor(x))", "np.prod(x)",
    "np.mean(np.sqrt(abs(x)) * -0.0)", "x.reshape(1, -1).sum(0)", "x.reshape(-1, 1).mean(1)", "(x * 1.5).sum(-1)",
    "(np.floor(x.ravel()[0]), np.sum(np.floor(x.ravel()[0])))", "np.sum(x, initial=-0.0)",
    "np.sum(x, -1, initial=-0.0)",
    "np.add.reduce(x * 1.5, initial=-0.0)", "np.sum(x, initial=-0.0, where=x == 0)", "np.sum(x[:0], initial=-0.0)",
    "np.diff(np.cumsum(x))", "x.reshape(1, -1)[0]",
    "np.einsum('i->', x.ravel())", "np.concatenate([x, x]).sum()", "np.broadcast_to(x, (1, *x.shape)).sum(0)",
)  # fmt: skip
FOLDED = (
    "x * 1.0", "1.0 * x", "x + -0.0", "x + 0.0", "x - 0.0", "0.0 - x", "-(-x)", "x / 1", "x**1", "+x", "(x > 0) * x",
    "np.where(x > 0, x, x)", "np.maximum(x, x)", "(x * 1j + x) * 1.0", "(x * 1j + x) / 1", "(x * 1j + x) + -0.0",
    "(x * 1j - x) - 0.0", "1 * (x * 1j - x)", "np.conj(np.conj(x * 1j))", "np.imag(x)", "np.imag(x.ravel()[0])",
    "np.imag(x.ravel()[0] * 2.0)", "np.real(x.ravel()[0])", "np.linspace(x, -0.0, 3)", "np.linspace(-0.0, x, 3)",
    "np.clip(x, 0.0, 1.0)", "np.clip(x, -1.0, -0.0)", "np.modf(x)",
)  # fmt: skip
ANYTHING = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, -2.5])


def apart(found):
    """Like `bits`, where all nans are the same, and parts of complex numbers are told apart."""
    parts = found if isinstance(found, tuple) else (found,)
    arrays = [np.asarray(x) for x in parts]
    numbers = [p for x in arrays for p in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    return [(x.dtype.str, x.shape, x.tolist(), (np.signbit(x) & ~np.isnan(x)).tolist()) for x in numbers]


@pytest.mark.parametrize("program", [*SUMS, *FOLDED])
def test_signs_of_zeros_compiled(program):
    f = eval(f"lambda x: {program}", {"np": np})
    for x in (*SAMPLES[:4], ANYTHING) if program in FOLDED else SAMPLES[:5]:
        compiled = tape.compile(f)
        with np.errstate(all="ignore"):
            compiled(x)
            assert repr(apart(compiled(x))) == repr(apart(f(x))), (program, x)


def test_the_imaginary_part_of_a_real_number_is_zero_in_programs():
    assert tape.record(np.imag, 5.0)(7.0) == 0.0
    assert tape.record(lambda x: np.imag(x[1]) + 1.0, np.ones(2))(np.array([3.0, 4.0])) == 1.0


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_what_is_beyond_a_vector_is_not_multiplied(function, mode):
    rng = np.random.default_rng(0)
    compiled = {sizes: tape.compile(lambda x, y: function(x, y, mode)) for sizes in ((1, 1), (3, 3), (5, 2), (2, 4))}
    for (n, m), program in compiled.items():
        for _ in range(4):
            x, y = (rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 2.0, -3.0, 4.0, 5.0], k) for k in (n, m))
            with np.errstate(all="ignore"):
                expected = function(x, y, mode)
                eager = function(tape.numpy.array(x), tape.numpy.array(y), mode)
                for found in (eager._tensor.numpy(force=True), program(x, y)):
                    np.testing.assert_allclose(found, expected, rtol=1e-15)
                    assert repr(apart(found * 0.0)) == repr(apart(expected * 0.0))


REAL = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1.0, -1.0, 4.0] * 3)
LIKE_NUMPYS = (
    *(f"np.{name}(x, {y})" for name in ("dot", "inner") for y in (0.0, -0.0, 2.0, "np.inf")),
    "np.dot(0.0, x)", "x.dot(-0.0)", "np.dot(x.reshape(4, 6), 0.0)", "np.dot(x.reshape(4, 3, 2), 0.0)",
    "np.dot(x[3:4], 0.0)", "np.dot(x[3], 0.0)", "np.float_power(x, 0.5)", "np.float_power(x[0], 0.5)",
    "np.float_power(x.astype(np.float32), 0.5)", "x**0.5", "np.power(x, 0.5)", "np.power(x[1], 0.5)", "x[1]**0.5",
    "x**np.float64(0.5)", "x.astype(np.float32)**0.5", "x**np.full(24, 0.5)", "np.clip(x, x * 0, x * 0 + 1)",
    "np.clip(x, x * -0.0, 2.0)", "np.clip(x, -1.0, 0 * x)", "np.clip(x, np.zeros(24), np.ones(24))",
    "np.clip(x.reshape(6, 4), np.zeros((6, 1)), np.ones((6, 1)))", "np.clip(x, np.zeros(1), np.ones(()))",
    "np.add.reduceat(x[3:5], [0, 0, 1])", "np.add.reduceat(x[[3, 3, 4, 3, 3]], [0, 2, 3])",
    "np.interp(x, [0.0, 1.0, 2.0, 4.0], [1.0, np.inf, 2.0, 3.0])",
    "np.interp(x, [0.0, 1.0, 2.0, 4.0], [-np.inf, np.inf, np.inf, 3.0])",
    "np.interp([0.0, 0.5, 1.0, 3.0], [0.0, 1.0, 2.0], x[[0, 5, 1]])", "np.power(x[4:6] * 1j, 2)", "(x[4] * 1j) ** 2",
    "np.float_power(x[3:6] * 1j, 0.5)", "np.power(x[5:] * 1j, 0.5)", "(x[5:] * 1j) ** 0.5", "(x[3:6] * 1j) ** 2",
)  # fmt: skip


@pytest.mark.parametrize("program", LIKE_NUMPYS)
def test_what_is_infinite_or_zero_is_numpys(program):
    f = eval(f"lambda x: {program}", {"np": np})
    with np.errstate(all="ignore"):
        expected = apart(f(REAL))
        eager = f(tape.numpy.array(REAL))._tensor.numpy(force=True)
        compiled = tape.compile(f)
        found = [apart(x) for x in (eager, compiled(REAL), compiled(REAL), tape.record(f, REAL)(REAL))]
    assert [repr(x) for x in found] == [repr(expected)] * 4


@pytest.mark.parametrize("y", [0.0, 2.0])
@pytest.mark.parametrize("function", [np.dot, np.inner])
def test_gradients_of_multiples(function, y):
    x, rows = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    found = tape.func.grad(lambda x, y: function(x, y) @ rows, (0, 1))(x, y)
    np.testing.assert_array_equal(found[0], y * rows)
    assert found[1] == x @ rows


@pytest.mark.parametrize("power", [np.float_power, np.power, operator.pow])
@pytest.mark.parametrize("exponent", [0.5, 1.5, 2.0])
def test_gradients_of_powers(power, exponent):
    x = np.array([1.0, 2.0, 3.0])
    for number in (x, x + 1j):
        found = tape.func.jacrev(lambda x: power(x, exponent))(number)
        np.testing.assert_allclose(np.diagonal(found), exponent * number ** (exponent - 1), rtol=1e-14)
