"""Sums of kernels whose code is long: what is there of the last vector is added to what was put aside."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape
from tape.jit.emission.fused import KernelWriter
from tape.jit.emission.kernel_functions import MOST_BEFORE
from tape.program.plans.operand_layout import Layout
from tape.program.plans.plan import Plan
from tape.program.plans.prepared import task_of, width_of
from tape.program.plans.replay import KernelStep

WIDTH = width_of(64, 1000, "optimised")
LENGTHS = [*range(9, 2 * WIDTH + 2), 8 * WIDTH, 8 * WIDTH + 3]
FEW, MANY = 4, 40


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def long(x, times=50):
    """The same numbers, after so many operations that full vectors have no loop of their own."""
    for k in range(1, times):
        x = (x + k) * 2.0 * 0.5 - k
    return x


def sums(count):
    def function(x):
        y = long(x)
        return [(y * float(k)).sum() for k in range(1, count + 1)]

    return function


def codes_of(function, *args):
    """The code of the kernels that a function becomes."""
    program = tape.record(function, *args)
    tasks = [task_of(Layout(program.listing, s.group)) for s in program.replay.steps if isinstance(s, KernelStep)]
    return [KernelWriter(task, WIDTH, parted=True).text() for task in tasks if task.many]


@pytest.mark.parametrize("count", [FEW, MANY])
def test_sums_are_added_without_masks(count):
    (code,) = codes_of(sums(count), np.ones(100))
    assert "aside:" in code
    assert code.count(" select ") == (count if count == FEW else 1) + count  # back to the sums, and in the function


@pytest.mark.parametrize("tier", ["quick", "optimised"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [FEW, MANY])
def test_whole_numbers_are_added_exactly(count, dtype, tier):
    for n in LENGTHS:
        x = np.random.default_rng(n).integers(-9, 9, n).astype(dtype)
        fast = tape.compile(sums(count), tier=tier)
        for _ in range(2):
            assert_array_equal(fast(x), sums(count)(x))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_stays_in_its_sum(n, bad):
    def function(x, y):
        return (long(x) / 1.0).sum(), (long(y) / 1.0).sum(), (long(x) / 1.0).sum(1), (long(y) / 1.0).sum(1)

    x, y = np.ones((2, 3, n))
    x[1, -1] = bad
    fast = tape.compile(function, tier="optimised")
    for _ in range(2):
        for found, wanted in zip(fast(x, y), function(x, y), strict=True):
            assert_array_equal(found, wanted)


def test_lanes_that_are_not_there_make_no_error():
    """The first lane fills the others, and would be too large beside what these have added up."""
    x = np.zeros(4 * WIDTH + 1)
    x[0], x[1], x[-1] = -1.7e308, 1.7e308, 1.7e308

    def function(x, y):
        for _ in range(220):
            x = x / y
        return x.sum()

    fast, ones = tape.compile(function, tier="optimised"), np.ones(len(x))
    assert "aside:" in codes_of(function, x, ones)[0]
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert fast(x, ones) == 1.7e308


@pytest.mark.parametrize("columns", [3, 8, 9, 2 * WIDTH + 1])
def test_sums_of_rows_and_of_all(columns):
    x = np.random.default_rng(columns).integers(-9, 9, (7, columns)).astype(float)

    def function(x):
        y = long(x)
        return y.sum(1), (y * y).sum(1, keepdims=True), y.sum(), (y * 3.0).sum()

    fast = tape.compile(function, tier="optimised")
    for _ in range(2):
        for found, wanted in zip(fast(x), function(x), strict=True):
            assert_array_equal(found, wanted)


@pytest.mark.parametrize("shape", [(5, 11), (40, 3), (1, 17), (9, 1)])
def test_numbers_that_are_read_before_a_loop_or_a_block(shape):
    """Of each kind: floating-point and whole numbers, and truth values; of all, and of each row."""
    rng = np.random.default_rng(0)
    x, row = rng.integers(-9, 9, shape).astype(float), rng.integers(-9, 9, (shape[0], 1)).astype(float)
    whole, truth, number = rng.integers(-9, 9, (shape[0], 1)), rng.integers(0, 2, (shape[0], 1)) > 0, np.array(3.0)

    def function(x, row, whole, truth, number):
        return np.where(truth, x * row, x + whole) * number, np.where(truth & (x > row), number, whole)

    fast = tape.compile(function, tier="optimised")
    for _ in range(2):
        for found, wanted in zip(fast(x, row, whole, truth, number), function(x, row, whole, truth, number)):
            assert_array_equal(found, wanted)


def test_of_many_numbers_some_are_read_where_they_are_needed():
    numbers = np.arange(1.0, MOST_BEFORE + 20)

    def function(x, c):
        for k in range(len(numbers)):
            x = abs(x - c[k])
        return x, x.sum()

    fast, x = tape.compile(function, tier="optimised"), np.random.default_rng(0).integers(0, 99, 101).astype(float)
    for _ in range(2):
        for found, wanted in zip(fast(x, numbers), function(x, numbers), strict=True):
            assert_array_equal(found, wanted)


def test_a_number_is_read_before_what_it_lies_in_is_written():
    """The result may take the place of the array out of which the number is."""

    def function(x):
        y = x * 2.0
        return y - y[1]

    fast, x = tape.compile(function, tier="optimised"), np.arange(100.0)
    for _ in range(3):
        assert_array_equal(fast(x), function(x))
