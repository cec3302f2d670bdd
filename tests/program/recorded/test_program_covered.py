"""Writes into all of an array are what is written there: the values, gradients and dtypes of the write as it stands."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.program.plans.plan import Plan


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def everywhere(x, y):
    z = np.zeros_like(x)
    z[:] = y
    return (z * x).sum()


def by_dots(x, y):
    z = x * 2
    z[...] = np.sin(y)
    z[:, :] = z * x
    return (z * z).sum()


def broadcast(x, y):
    z = x * 2
    z[...] = y[0]
    w = np.ones(x.shape[1])
    w[:] = z.sum(axis=0)
    return (w * x).sum()


def a_number(x, y):
    z = x * y
    before = (z * z).sum()
    z[:] = 3.0
    return before + (z * x).sum()


def in_steps(x, y):
    z = x * 2
    view = z[:, :]
    view[0:] = y
    z[: len(x)] += x
    return (z * y).sum()


def in_part(x, y):
    z = x * 2
    z[1:] = y[1:]
    z[:, ::-1] = z * 1.5
    return (z * y).sum()


FUNCTIONS = [everywhere, by_dots, broadcast, a_number, in_steps, in_part]


@pytest.mark.parametrize("dtypes", [("f8", "f8"), ("f4", "f4"), ("f8", "f4"), ("f4", "f8")])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f, dtypes):
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal((17, 20)).astype(d) for d in dtypes)
    g = tape.func.grad_and_value(f, argnums=(0, 1))
    fast, ((x_bar, y_bar), value) = tape.compile(g), g(x, y)
    for _ in range(3):
        (found_x, found_y), found = fast(x, y)
        assert (found_x.dtype, found_y.dtype) == (x_bar.dtype, y_bar.dtype)
        close = {"rtol": 1e-12} if dtypes == ("f8", "f8") else {"rtol": 2e-4, "atol": 1e-4}
        np.testing.assert_allclose(found, value, **close)
        np.testing.assert_allclose(found_x, x_bar, **close)
        np.testing.assert_allclose(found_y, y_bar, **close)


@pytest.mark.parametrize("dtype", ["c16", "f8"])
@pytest.mark.parametrize("f", [everywhere, by_dots, a_number, in_steps, in_part], ids=lambda f: f.__name__)
def test_gradients_of_complex_arrays(f, dtype):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 17, 20)) + 1j * rng.standard_normal((2, 17, 20))
    y = y.astype(dtype) if dtype == "c16" else y.real.copy()
    g = tape.func.grad_and_value(lambda x, y: f(x, y).imag, argnums=(0, 1))
    fast, ((x_bar, y_bar), value) = tape.compile(g), g(x, y)
    for _ in range(3):
        (found_x, found_y), found = fast(x, y)
        assert (found_x.dtype, found_y.dtype) == (x_bar.dtype, y_bar.dtype)
        np.testing.assert_allclose(found, value, rtol=1e-12)
        np.testing.assert_allclose(found_x, x_bar, rtol=1e-12)
        np.testing.assert_allclose(found_y, y_bar, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_complex_arrays_are_not_copied(dtype):
    def f(x):
        z = x * 3
        z[:] = x * x
        z[:] = z * 2
        return (z * z).sum().real

    x = np.ones((20, 30), dtype)
    program = tape.record(tape.func.grad(f), x)
    ops = [program.listing.op(k) for k in range(len(program.listing))]
    assert not {"index_put", "put_view"} & {op.name for op in ops if op is not None}
    np.testing.assert_allclose(program(x), tape.func.grad(f)(x), rtol=1e-6)


def test_the_array_that_was_there_is_not_computed():
    def f(x):
        z = np.exp(x)
        z[:] = x * x
        return z

    program = tape.record(f, np.ones((20, 30)))
    ops = [program.listing.op(k) for k in range(len(program.listing))]
    assert not {"exp", "index_put", "put_view"} & {op.name for op in ops if op is not None}


@pytest.mark.parametrize("of", [lambda x: x, np.exp], ids=["an argument", "a result"])
def test_what_is_given_back_is_the_callers_own(of):
    def f(x):
        y, z, w = of(x), np.zeros(x.shape), np.zeros(x.shape)
        z[:] = y
        w[...] = y
        return z, w

    x = np.arange(600.0).reshape(20, 30) / 100
    fast = tape.compile(f)
    for _ in range(3):
        first, second = fast(x)
        np.testing.assert_allclose(first, of(x), rtol=1e-14)
        np.testing.assert_allclose(second, of(x), rtol=1e-14)
        first[0, 0] = -1.0
        assert not np.shares_memory(first, x)
        assert not np.shares_memory(first, second)
        assert x[0, 0] == 0.0
        assert second[0, 0] == of(x)[0, 0]


def test_a_write_that_raises_still_does():
    def f(x, y):
        z = x * 1
        z[:] = y
        return z

    with pytest.raises((ValueError, RuntimeError)):
        tape.compile(f)(np.ones((3, 4)), np.ones((4, 3)))
