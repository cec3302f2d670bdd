"""Sums of short rows that a kernel makes: NumPy's values, in every tier, and which rows are so summed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.jit.emission.task import OF_ROWS, OF_SHORT_ROWS
from tape.program.plans.plan import Plan
from tape.program.plans.replay import KernelStep

WIDTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17]
HUGE = 1e308


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def hows(function, *shapes):
    program = tape.record(function, *map(np.ones, shapes))
    return [t.how for s in program.replay.steps if isinstance(s, KernelStep) for t in s.group.targets]


@pytest.mark.parametrize("tier", ["quick", None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", WIDTHS)
def test_values(width, dtype, tier):
    rng = np.random.default_rng(width)
    x, y = rng.standard_normal((2, 37, width)).astype(dtype)

    def f(x, y):
        z = x * y
        return z.sum(axis=1), z.mean(axis=-1, keepdims=True), z.sum(0), (abs(x) + z).sum()

    fast = tape.compile(f, tier=tier)
    for _ in range(2):
        for found, wanted in zip(fast(x, y), f(x, y), strict=True):
            assert found.shape == wanted.shape
            assert found.dtype == dtype
            assert_allclose(found, wanted, rtol=1e-13 if dtype is np.float64 else 1e-5, atol=1e-5)


@pytest.mark.parametrize("tier", ["quick", None])
@pytest.mark.parametrize("width", [3, 4, 5, 6, 7])
def test_elements_of_short_rows_are_added_one_after_the_other(width, tier):
    rows = np.random.default_rng(width).standard_normal((50, width)) * 10.0 ** np.arange(width)
    rows[0, :3], rows[1, :3] = (HUGE, HUGE, -HUGE), (-HUGE, HUGE, HUGE)
    fast = tape.compile(lambda x: (-x).sum(axis=1), tier=tier)
    for _ in range(3):
        with np.errstate(all="ignore"):
            assert_array_equal(fast(rows), (-rows).sum(axis=1))
    assert OF_SHORT_ROWS[0] in hows(lambda x: (-x).sum(axis=1), rows.shape)


@pytest.mark.parametrize(("width", "expected"), [(2, 0), (3, 1), (8, 1), (16, 1)])
def test_rows_of_three_are_added_in_the_kernel(width, expected):
    assert sum(how in OF_ROWS for how in hows(lambda x, y: (x * y).sum(1), (50, width), (50, width))) == expected


@pytest.mark.parametrize(("width", "expected"), [(8, 0), (15, 0), (16, 1)])
def test_where_functions_are_called_rows_fill_vectors(width, expected):
    assert sum(how in OF_ROWS for how in hows(lambda x: np.tanh(x).sum(1), (50, width))) == expected
