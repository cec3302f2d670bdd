"""Large arrays are computed after a function was recorded, unless it looks at them; what is found is the same."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

import tape
from tape.base.errors import ShapeError
from tape.program.recorded.large import later
from tape.recording.recorder import forward_of

N = 1 << 17


def numbers(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape).astype(dtype)


@pytest.fixture
def all_later(monkeypatch):
    """Every array counts as large."""
    monkeypatch.setattr(later, "LARGE", 1)


def test_recording_keeps_no_large_arrays():
    def f(x):
        y = x
        for _ in range(30):
            y = tape.sin(y) * x + 0.5
        return y.sum()

    x = numbers(N)
    tape.record(tape.func.grad_and_value(f), numbers(3))
    tracemalloc.start()
    try:
        program = tape.record(tape.func.grad_and_value(f), x)
        assert tracemalloc.get_traced_memory()[1] < x.nbytes
    finally:
        tracemalloc.stop()
    gradient, value = program(x)
    t = tape.tensor(x, requires_grad=True)
    f(t).backward()
    np.testing.assert_allclose(gradient, t.grad.numpy(), rtol=1e-11)
    np.testing.assert_allclose(value, f(x), rtol=1e-11)


def test_recording_keeps_no_array_for_each_round_of_a_loop():
    """Which writes into an argument's copy and reads all of it; each array is smaller than what counts as large."""

    def f(x):
        y = x.copy()
        for i in range(100):
            y[i, 0] = y.sum() * 1e-4
        return y.sum()

    x = numbers(128, 128)
    assert later.LARGE_INPUT < x.nbytes < later.LARGE
    tape.record(tape.func.grad_and_value(f), numbers(101, 2))
    tracemalloc.start()
    try:
        program = tape.record(tape.func.grad_and_value(f), x)
        assert tracemalloc.get_traced_memory()[1] < 20 * x.nbytes
    finally:
        tracemalloc.stop()
    for found, wanted in zip(program(x), tape.func.grad_and_value(f)(x)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_what_python_asks_for_is_computed_then():
    def f(x):
        y = x * 2.0
        if y.sum() > 0:
            return float(y.max()) * x, (y > 2.0).sum()
        return -x, y

    fast = tape.compile(f)
    for sign in (1.0, -1.0, 1.0):
        x = sign * numbers(N)
        with np.errstate(all="ignore"):
            expected = f(tape.tensor(x))
        for found, wanted in zip(fast(x), expected):
            np.testing.assert_array_equal(found, wanted)
    assert len(fast.programs) >= 2


def test_what_was_asked_for_is_computed_once(monkeypatch):
    evaluated = []

    def counting(op):
        evaluated.append(op.name)
        return forward_of(op)

    def f(x):
        while x.sum() < 3 * N:
            x = tape.exp(x)
        return x

    monkeypatch.setattr("tape.program.recorded.large.later.forward_of", counting)
    tape.record(f, np.full(N, 0.1))
    assert evaluated.count("exp") == 2


def test_shapes_that_do_not_fit_are_told():
    with pytest.raises(ShapeError, match="cannot take shapes"):
        tape.record(lambda x, y: x * y, numbers(N), numbers(N + 1))


@pytest.mark.usefixtures("all_later")
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x * 2 + y / 3.0 - x**2,
        lambda x, y: tape.where(abs(x) > abs(y), x, y * 0.5),
        lambda x, y: (x + y[0]).sum(axis=0) + x.mean(),
        lambda x, y: x.T @ y,
        lambda x, y: tape.cat([x, y], axis=0).reshape(-1)[3:7],
        lambda x, y: tape.split(x, 2)[1] * tape.exp(y[:2]),
        lambda x, y: (x == x) & (abs(y) < 1.0),
        lambda x, y: x.sum() * y.mean() * 3.0,
        lambda x, y: tape.cumsum(x, axis=0) * y,
    ],
)
def test_values_and_dtypes_are_those_of_eager(f, dtype):
    x, y = numbers(4, 3, dtype=dtype), numbers(4, 3, seed=1, dtype=dtype)
    expected = f(tape.tensor(x), tape.tensor(y)).numpy()
    found = tape.compile(f)(x, y)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)


@pytest.mark.usefixtures("all_later")
def test_long_runs_of_numbers_after_a_sum_of_a_large_array():
    def f(x):
        y = (x * x).sum()
        for _ in range(700):
            y = tape.sin(y) + 1.0
        return y

    x = numbers(5)
    gradient, value = tape.record(tape.func.grad_and_value(f), x)(x)
    t = tape.tensor(x, requires_grad=True)
    eager = f(t)
    eager.backward()
    np.testing.assert_allclose(value, eager.item(), rtol=1e-12)
    np.testing.assert_allclose(gradient, t.grad.numpy(), rtol=1e-9)


def test_views_of_arrays_in_order_are_known_to_lie_in_order_or_not():
    def f(x):
        flat = (x.reshape(-1) * 2.0).reshape(512, 256)
        one, two = np.split(flat, 2, axis=1)
        return flat.ravel().sum() + flat[1:].ravel()[3] + flat.T.ravel()[1] + one.ravel()[300] + two.ravel()[2]

    x = np.random.default_rng(0).random(N)
    fast = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of running without being compiled
        for _ in range(2):
            np.testing.assert_allclose(fast(x), f(x), rtol=1e-13)


def test_histograms_of_many_numbers_compile():
    def f(x, w):
        counts, weights = (np.histogram(x, 50, weights=v)[0] for v in (None, w))
        return (weights / counts).sum()

    x, w = np.random.default_rng(1).random((2, 1 << 17))
    fast = tape.compile(tape.func.grad_and_value(f, argnums=1))
    wanted, value = tape.func.grad_and_value(f, argnums=1)(x, w)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            found, now = fast(x, w)
            np.testing.assert_allclose(now, value, rtol=1e-12)
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sort(0)[0],
        lambda x: x.topk(5)[0],
        lambda x: x.min(0)[0] * x,
        lambda x: x.median(0)[0],
        lambda x: x.quantile(0.3, 0),
        lambda x: x.kthvalue(7)[0],
        lambda x: x.cummax(0)[0],
        lambda x: tape.std_mean(x, 0)[0],
        lambda x: tape.linalg.svd(x.view(-1, 4), full_matrices=False)[1],
        lambda x: sum(x.view(4, -1).unbind()),
    ],
)
def test_parts_of_what_is_computed_later_are_computed_later(f):
    """Also where the program is recorded once more, to be differentiated."""
    x = tape.tensor(np.random.default_rng(0).permutation(np.linspace(-1.0, 1.0, 4000)), requires_grad=True)
    found = []
    for g in f, tape.compile(f):
        z = g(x)
        (first,) = tape.autograd.grad((z * z).sum(), x, create_graph=True)
        (second,) = tape.autograd.grad((first * first).sum(), x)
        found.append((z.detach(), first.detach(), second))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)
