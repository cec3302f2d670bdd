"""Zeros with signs, infinities, nan, subnormal and extreme numbers: every tier gives what NumPy gives eagerly."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tape
from ops import REGISTRY

DTYPES = ("float64", "float32")
TOLERANCE = 8
"""Units in the last place by which kernels may differ; see also `tolerance_of`."""
CANCELLING = ("logaddexp", "logaddexp2")
UNDEFINED = {"empty_like"}
OPS = [
    op
    for op in REGISTRY.values()
    if op.kind == "elementwise"
    and op.arity in (1, 2)
    and not op.variadic
    and op.name not in {*UNDEFINED, "special_hyp0f1"}
]


def special(dtype):
    f = np.finfo(dtype)
    x = [0, f.smallest_subnormal, f.tiny / 4, f.tiny, 1e-10, f.eps, 0.1, 0.5, 1 - f.eps, 1, 1 + f.eps, 1.5, 2, 2.5, 3]
    x += [5.9, 10, 37.5, 88.7, 104, 170, 700, 745, 800, 1e5, 2.0**24, 2.0**53, f.max / 2, f.max, np.inf, np.nan]
    x = np.array(x, dtype)
    return np.concatenate([x, -x])


def operands(op, dtype):
    x = special(dtype)
    if op.arity == 1:
        return (x,)
    few = np.concatenate([x[[0, 1, 3, 7, 9, 12, 28, 29, 30]], -x[[0, 1, 7, 9, 12, 28, 29]]])
    return np.repeat(x, len(few)), np.tile(few, len(x))


def parameters(op):
    return {"n": 1} if op.name == "polygamma" else {}


def differing(found, expected, tolerance):
    """Where results differ: in more than rounding, or in the sign of a zero."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind != "f":
        return found != expected
    nan = np.isnan(expected)
    with np.errstate(all="ignore"):
        allowed = tolerance * np.spacing(np.abs(expected))
        near = (found == expected) | (np.isfinite(found) & (np.abs(found - expected) <= allowed))
    return np.where(nan, ~np.isnan(found), ~near | (np.signbit(found) != np.signbit(expected)))


def tolerance_of(op, dtype, expected):
    """Cancellation leaves the rounding errors of what cancels, which is of order one."""
    if op.name not in CANCELLING:
        return TOLERANCE
    with np.errstate(all="ignore"):
        return np.maximum(TOLERANCE, 4 * np.finfo(dtype).eps / np.spacing(np.abs(expected)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_arrays(op, dtype):
    xs, params = operands(op, dtype), parameters(op)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = op.forward(*xs, **params)
        ways = {
            "eager": lambda: op(*map(tape.tensor, xs), **params).numpy(),
            "quick": lambda: tape.compile(lambda *xs: op(*xs, **params), tier="quick")(*xs),
            "optimised": lambda: tape.compile(lambda *xs: op(*xs, **params), tier="optimised")(*xs),
        }
        if op.lane is not None:  # others are evaluated by NumPy or SciPy, however many
            ways["many"] = lambda: op(*[tape.tensor(np.resize(x, 5000)) for x in xs], **params).numpy()[: xs[0].size]
        for way, call in ways.items():
            bad = differing(call(), expected[:5000], tolerance_of(op, dtype, expected))
            shown = [(*(x[k] for x in xs), expected[k]) for k in np.flatnonzero(bad)[:3]]
            assert not bad.any(), f"{way} differs at {shown}"


@pytest.mark.parametrize("tier", ["interpret", "optimised"])
@pytest.mark.parametrize("op", [op for op in OPS if op.lane is not None and op.arity == 1], ids=lambda op: op.name)
def test_numbers(op, tier):
    fast = tape.compile(lambda x: op(x, **parameters(op)), tier=tier)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for x in special("float64")[[0, 1, 7, 9, 23, 28, 29, 30, 31, 32, 38, 40, 54, 60]]:
            expected = op.forward(x, **parameters(op))
            assert not differing(fast(x), expected, TOLERANCE), (x, fast(x), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("f", [np.fmax, np.fmin])
def test_of_zeros_of_both_signs_it_is_the_one_that_numpy_takes(f, dtype):
    """NumPy's loops differ among themselves: vectors of the processor take the second, single numbers the first."""
    programs = {
        "of arrays": f,
        "fused": lambda x, y: f(x * 1.0, y * 1.0) * 1.0,
        "of a number": lambda x, y: f(x, 0.0) + f(-0.0, y),
        "of views": lambda x, y: f(x[::2], y[::-2]),
        "of one of them": lambda x, y: f(x, y[0]),
        "of two": lambda x, y: f(x[0], y[-1]),
        "with a number that is none": lambda x, y: f(x, 1e-60) + f(-1e-60, y),
    }
    rng = np.random.default_rng(0)
    for name, program in programs.items():
        compiled = tape.compile(program)
        for n in (2, 3, 4, 9, 33, 1000) if name == "of views" else (1, 2, 3, 4, 9, 33, 1000):
            x, y = rng.choice([0.0, -0.0, np.nan, 1.0], (2, n), p=[0.4, 0.4, 0.1, 0.1]).astype(dtype)
            eager = program(tape.numpy.array(x), tape.numpy.array(y))._tensor.numpy(force=True)
            expected = program(x, y)
            for found in (eager, compiled(x, y), compiled(x, y)):
                np.testing.assert_array_equal(found, expected)
                is_number = ~np.isnan(expected)
                assert np.array_equal(np.signbit(found)[is_number], np.signbit(expected)[is_number]), (name, n)


# Dtypes.

KINDS = ("bool", "int8", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_results_have_the_dtype_that_they_have_eagerly(op):
    """With every other operand in every other dtype; the next op with those that are left out."""
    params = parameters(op)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for k, kind in enumerate(KINDS, OPS.index(op)):
            x = np.array([1, 2, 1], kind)
            others = [()] if op.arity == 1 else [(x,), (2,), (0.5,), (True,), (np.ones(3),), (np.ones(3, np.int64),)]
            for other in others[k % 2 :: 2] if op.arity > 1 else others:
                try:
                    rest = [tape.tensor(y) if isinstance(y, np.ndarray) else y for y in other]
                    expected = op(tape.tensor(x), *rest, **params).numpy()
                except (TypeError, RuntimeError, ValueError):
                    continue
                found = tape.compile(lambda x, other=other: op(x, *other, **params))(x)
                assert found.dtype == expected.dtype, (kind, other)


def test_powers_of_truth_values():
    for x, n in ((np.True_, 2), (np.array([True, False]), 2), (np.array([True]), 3), (np.False_, True)):
        assert tape.compile(lambda v, n=n: v**n)(x).dtype == (x**n).dtype
        assert tape.compile(lambda v, n=n: np.power(v, n))(x).dtype == np.power(x, n).dtype


SHAPES = ((1,), ()), ((1,), (1,)), ((5,), ()), ((2, 3), (1,)), ((1, 3), (2, 1)), ((5,), (5,))


@pytest.mark.parametrize("tier", ["interpret", "quick", "optimised"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_powers_of_one_half_that_are_computed(tier, shapes):
    x, e = np.full(shapes[0], -np.inf), np.full(shapes[1], 0.25)[()]

    def f(x, e):
        return x ** (e + 0.25) * 3.0 + 2.0

    with np.errstate(invalid="ignore"):
        expected = f(x, e)
        np.testing.assert_array_equal(tape.func.vjp(f, x, e)[0], expected)
        np.testing.assert_array_equal(tape.compile(f, tier=tier)(x, e), expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_powers_of_one_half_by_function_and_operator(dtype):
    x = np.array([-np.inf, -0.0, 2.0], dtype)
    for f in (lambda x: np.power(x, 0.5), lambda x: x**0.5, lambda x: np.power(x, np.full(3, 0.5, dtype))):
        with np.errstate(invalid="ignore"):
            expected = f(x)
            for found in (tape.func.vjp(f, x)[0], tape.compile(f)(x)):
                assert found.dtype == expected.dtype
                np.testing.assert_array_equal(found, expected)
                np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("tier", [None, "quick", "optimised"])
def test_real_numbers_beside_a_complex_constant(tier):
    x = np.array([1.0, 2.0, 0.0])
    for f in (lambda x: x == 1j, lambda x: x * 1.0 != 2.0 + 0j, lambda x: (x * 2.0) * (1 + 2j)):
        found = tape.compile(f, tier=tier)(x)
        np.testing.assert_array_equal(found, f(x))
        assert found.dtype == f(x).dtype
