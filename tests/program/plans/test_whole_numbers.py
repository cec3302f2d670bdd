"""Kernels that read whole numbers and change dtypes: NumPy's values, and what is no step of its own any more."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program.plans.in_python import NumPyStep
from tape.program.plans.plan import Plan

RNG = np.random.default_rng(5)
HUGE = 2**53 + 1
"""A whole number that no floating-point number of double precision is."""
EXTREMES = np.array([0, 1, -1, 7, HUGE, -HUGE, HUGE + 2, 2**63 - 1, -(2**63), 2**63 - 513] + [3] * 27)


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def alone(function, *examples):
    """The ops of a program that NumPy runs one by one."""
    steps = tape.record(function, *examples).replay.steps
    return [step.op.name for step in steps if isinstance(step, NumPyStep)]


def check(function, *args, rtol=0.0, **how):
    """Compare a compiled function with NumPy's values: exactly, or as products and sums in one instruction round."""
    fast = tape.compile(function, **how)
    with np.errstate(all="ignore"):
        for _ in range(3):
            wanted, found = function(*args), fast(*args)
            assert type(found) is type(wanted)
            assert np.asarray(found).dtype == np.asarray(wanted).dtype
            assert_allclose(found, wanted, rtol=rtol, atol=rtol)


ROUNDED = 1e-13
BINARY = [
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.less, np.less_equal, np.greater,
    np.greater_equal, np.equal, np.not_equal,
]  # fmt: skip


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
@pytest.mark.parametrize("tier", ["interpret", "quick", "optimised"])
def test_extremes_count_as_in_numpy(op, tier):
    """Numbers that double precision does not hold are rounded, also where they are compared."""
    x = EXTREMES.astype(np.float64)
    x[::3] = np.nextafter(x[::3], np.inf)
    check(lambda x, i: op(x, i), x, EXTREMES, tier=tier)
    check(lambda x, i: op(i, x), x, EXTREMES, tier=tier)
    with np.errstate(all="ignore"):
        assert not alone(lambda x, i: op(x, i), x, EXTREMES)


def test_whole_numbers_among_themselves_stay_whole():
    """NumPy compares and adds those without rounding."""
    i, j = EXTREMES, np.roll(EXTREMES, 1)
    j[5] = EXTREMES[5] + 1
    check(lambda i, j: (i < j) * 1.0, i, j)
    check(lambda i, j: (i + j) * 0.5, i, j)
    check(lambda i: (i > HUGE - 1) * 0.5, i)
    check(lambda i, j: np.where(i < j, i, j) * 0.5, i, j)
    check(lambda i, j: i / j, i, np.abs(j) + 1)
    check(lambda i: np.sqrt(abs(i)) + np.sin(i), i)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint64, np.int64, np.bool_, np.float32])
def test_every_dtype(dtype):
    """Only those of 64 bits are read by kernels; the others are turned before."""
    x, i = RNG.standard_normal(37), np.arange(37).astype(dtype)
    check(lambda x, i: (x + 2) * i - x, x, i, rtol=ROUNDED)
    check(lambda x, i: i.astype(np.float64) * x + i, x, i, rtol=ROUNDED)
    check(lambda x, i: (x.astype(np.float32) + 1).astype(float) * i, x, i, rtol=ROUNDED)
    check(lambda x, i: i.astype(np.float32) * np.float32(2) + x.astype(np.float32), x, i, rtol=ROUNDED)


def test_numbers_of_32_bits_keep_their_signs():
    i = np.array([0, 1, -1, 2**31 - 1, -(2**31), 2**24 + 1, -(2**24) - 1], np.int32)
    for dtype in (np.float64, np.float32, np.int64):
        check(lambda i, dtype=dtype: i.astype(dtype), i)
        assert not tape.record(lambda i, dtype=dtype: i.astype(dtype), i).statistics().stops


SHAPES = [
    ((37,), ()),
    ((5, 37), (37,)),
    ((5, 37), (5, 1)),
    ((4, 5, 6), (5, 1)),
    ((4, 5, 6), (4, 1, 6)),
    ((9, 1), (37,)),
]


@pytest.mark.parametrize(("whole", "part"), SHAPES, ids=str)
def test_they_are_spread(whole, part):
    x, i = RNG.standard_normal(whole), RNG.integers(-9, 9, part)
    check(lambda x, i: (x * x + i) * x, x, i, rtol=ROUNDED)
    check(lambda x, i: ((x + i) * x).sum(axis=-1), x, i, rtol=ROUNDED)
    check(lambda x, i: ((x - i) * x).sum(), x, i, rtol=ROUNDED)
    y, j = RNG.standard_normal(part), RNG.integers(-9, 9, whole)
    check(lambda y, j: (y + 2) * j - y, y, j, rtol=ROUNDED)


VIEWS = {
    "reversed": lambda i: i[::-1], "every other": lambda i: i[::2], "rolled": lambda i: np.roll(i, 1, axis=0),
    "turned": lambda i: i.T, "from the second": lambda i: i[1:], "rows": lambda i: i[:, 1:],
    "picked": lambda i: i[[2, 0, 1]],
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_wherever_they_lie(name):
    i = RNG.integers(-9, 9, (12, 40))
    view = VIEWS[name]
    x = RNG.standard_normal(view(i).shape)
    check(lambda x, i: (x + 2) * view(i) + x, x, i, rtol=ROUNDED)
    check(lambda x, i: (x * view(i)).sum(axis=0), x, i, rtol=ROUNDED)
    check(lambda x, i: (x + 2) + i, x, view(i), rtol=ROUNDED)


@pytest.mark.parametrize("threads", [1, 2])
def test_many(threads):
    x, i = RNG.standard_normal((400, 1001)), RNG.integers(-9, 9, (400, 1001))
    check(lambda x, i: np.sqrt(abs(x)) * i + (x > i).astype(float), x, i, threads=threads, rtol=ROUNDED)


def test_rounds_of_a_loop():
    """Rows of whole numbers, one for each round."""
    steps = 40

    def f(x, labels):
        for k in range(steps):
            x = x * 0.5 + (x * x - x) * labels[k] + (x > labels[k]).astype(float)
        return x

    check(f, RNG.standard_normal(17), RNG.integers(0, 3, (steps, 17)), rtol=ROUNDED)
    check(f, np.array(0.3), RNG.integers(0, 3, steps), rtol=ROUNDED)


def test_truths_become_numbers_where_they_are():
    def payoff(s, k):
        inside = (s > k).astype(float)
        return (inside * (s - k)).sum() - np.where(s < k, inside, s).mean()

    s, k = RNG.standard_normal((2, 300))
    assert not alone(tape.func.grad(payoff), s, k)
    fast = tape.compile(tape.func.grad(payoff))
    for _ in range(3):
        assert_array_equal(fast(s, k), tape.func.grad(payoff)(s, k))


def test_a_gradient_beside_labels():
    def loss(w, x, label):
        score = (x @ w) * (2 * label - 1)
        return np.log1p(np.exp(-score)).sum() + (label * score).sum()

    w, x, label = RNG.standard_normal(4), RNG.standard_normal((50, 4)), RNG.integers(0, 2, 50)
    fast = tape.compile(tape.func.grad(loss))
    for _ in range(3):
        assert_allclose(fast(w, x, label), tape.func.grad(loss)(w, x, label), rtol=1e-12)
