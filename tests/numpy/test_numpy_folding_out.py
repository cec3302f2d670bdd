"""Means and variances into an ``out=`` of another dtype: NumPy divides there, and so rounds otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from common.covering import covering

import tape

RNG = np.random.default_rng(0)
FUNCTIONS = ["mean", "var", "std", "nanmean", "nanvar", "nanstd", "median"]
METHODS = {
    "mean": lambda x, **how: x.mean(**how), "var": lambda x, **how: x.var(**how), "std": lambda x, **how: x.std(**how),
}  # fmt: skip
HOW = {
    "all": {}, "axis": {"axis": 0}, "last": {"axis": -1}, "kept": {"axis": (0, 1), "keepdims": True},
    "where": {"axis": 1, "where": RNG.random((40, 7)) > 0.3}, "dtype": {"dtype": np.float64},
}  # fmt: skip


def numbers(dtype):
    x = (RNG.normal(size=(40, 7)) * 1e3 + 1e4) / (100 if dtype == "f2" else 1)
    return (x + 1j * x[::-1] if dtype == "c8" else x).astype(dtype)


def filling(name, how, out, method=False):
    shape = np.shape(np.mean(np.ones((40, 7)), **{k: v for k, v in how.items() if k in ("axis", "keepdims")}))

    function = METHODS[name] if method else getattr(np, name)

    def f(x):
        filled = np.full(shape, 0.5, out)
        function(x, **how, out=filled)
        return filled * 1

    return f


def is_numpys(f, x):
    """Programs add up in another order; so they round, but not what is divided."""
    expected, compiled, eps = f(x), tape.compile(f), np.finfo(x.dtype).eps
    found = tape.func.vjp(f, x)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(expected.dtype).eps)
    for found in (compiled(x), compiled(x)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=8 * eps)
        narrow = x.real.dtype if expected.dtype.kind == "f" else x.dtype
        assert (expected.astype(narrow) != expected).any() == (found.astype(narrow) != found).any()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dtype", ["f2", "f4", "c8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_more_room_than_the_array_has(name, dtype, how):
    real = dtype != "c8" or name.endswith(("var", "std"))
    named = HOW[how]
    if name == "median":
        named = {k: v for k, v in named.items() if k in ("axis", "keepdims")}
    if name != "mean" and how in ("dtype", "where") and name != "median":
        return  # which is refused
    if (how == "dtype" or name in ("median", "nanvar", "nanstd")) and dtype == "c8":
        return  # which casts complex numbers, or orders them, or rounds where NaN is left out
    is_numpys(filling(name, named, "f8" if real else "c16"), numbers(dtype))
    if name in METHODS:
        is_numpys(filling(name, named, "f8" if real else "c16", method=True), numbers(dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_less_room_than_the_array_has(name):
    is_numpys(filling(name, {"axis": 0}, "f4"), numbers("f8"))


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd"])
def test_without_what_is_no_number(name):
    x = numbers("f4")
    x[3, 2] = x[5] = np.nan
    x[6, 6] = 1e4
    for how in ({}, {"axis": 0}):
        is_numpys(filling(name, how, "f8"), x)


@pytest.mark.parametrize("name", ["var", "std", "nanvar"])
def test_degrees_of_freedom(name):
    for how in ({"ddof": 1}, {"axis": 0, "ddof": 2}, {"axis": 1, "correction": 1}):
        is_numpys(filling(name, how, "f8"), numbers("f4"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_flow_there(name):
    x, w = numbers("f8"), np.arange(1.0, 8.0)

    function = getattr(np, name)

    def of(room):
        def f(x):
            filled = np.zeros(7, room)
            function(x.astype("f4"), axis=0, out=filled)
            return (filled * w).sum()

        return f

    np.testing.assert_allclose(tape.func.grad(of("f8"))(x), tape.func.grad(of("f4"))(x), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    "how", [{}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"axis": 0, "where": HOW["where"]["where"]}]
)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_mean_in_16_bits_is_that_of_a_sum_in_16_bits(dtype, how):
    x = numbers("f2").astype(dtype)
    for scale in (1, 10, 100):
        for f in (lambda x: np.mean(x, dtype="f2", **how), lambda x: x.mean(dtype=np.float16, **how)):
            with np.errstate(all="ignore"):
                expected, found, compiled = f(x * scale), tape.func.vjp(f, x * scale)[0], tape.compile(f)(x * scale)
            assert found.dtype == compiled.dtype == np.float16
            np.testing.assert_allclose(found, expected, rtol=0.02)
            np.testing.assert_allclose(compiled, expected, rtol=0.02)


SHARES = {"a third": 0.33, "most": 0.9, "list": [0.1, 0.7], "f4": np.float32(0.2), "array": np.array([0.05, 0.5, 0.95])}


@pytest.mark.parametrize(
    ("name", "dtypes", "method", "shares", "where"),
    covering(
        ["quantile", "percentile"],
        [("f4", "f8"), ("f2", "f4"), ("f8", "f4"), ("f4", "c16"), ("f2", "f8")],
        ["linear", "hazen", "midpoint", "weibull"],
        SHARES,
        [((7,), None), ((4, 5), 0), ((3, 4), (0, 1))],
        meet=3,
    ),
)
def test_a_quantile_is_taken_in_the_dtype_of_out(name, dtypes, method, shares, where):
    function, (dtype, out), shares, (shape, axis) = getattr(np, name), dtypes, SHARES[shares], where
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    q = shares if name == "quantile" else np.multiply(shares, 100)[()]

    def f(x):
        filled = np.zeros(np.shape(np.quantile(np.ones(shape), shares, axis=axis)), out)
        return function(x, q, axis=axis, method=method, out=filled) * 1

    expected = f(x)
    found = tape.func.vjp(f, x)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    eps = max(np.finfo(out).eps, np.finfo(dtype).eps)  # programs round in another order
    np.testing.assert_allclose(tape.compile(f)(x), expected, rtol=8 * eps, atol=8 * eps)
