"""Extremes of short rows, found without a call of NumPy's loop for each: NumPy's values, to the bit."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tape
from tape.program.plans.plan import Plan
from tape.program.plans.plan_steps.reducing import SHORT

WIDTHS = [1, 2, 3, 7, 8, 9, 10, 16, 17, SHORT, SHORT + 1]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 5e-324]


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def same_bits(found, wanted):
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(wanted).tobytes()


def verify(function, *args):
    fast = tape.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            for found, wanted in zip(fast(*args), function(*args), strict=True):
                same_bits(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows(width, dtype):
    """Rows of ordinary numbers, of numbers that are often equal, and of zeros of both signs, nan and infinities."""
    rng = np.random.default_rng(width)
    for x in (
        rng.normal(size=(23, width)), rng.integers(-2, 3, (23, width)) * 1.0, rng.choice(SPECIAL, (40, width)),
        rng.choice([0.0, -0.0, 1.0, -1.0], (40, width)), rng.choice([0.0, -0.0], (40, width)),
    ):  # fmt: skip
        verify(lambda x: (np.amax(x, axis=1), np.amin(x, axis=-1, keepdims=True)), x.astype(dtype))


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 4, 1), (2, 1, 3), (1, 1, 1)])
def test_axes(shape, axis):
    x = np.random.default_rng(0).choice([0.5, -0.5, 2.0, -2.0], shape)
    verify(lambda x: (np.amax(x, axis=axis), np.amin(x, axis=axis)), x)


@pytest.mark.parametrize("lies", ["turned", "each second", "backwards", "a part"])
def test_rows_that_do_not_lie_together(lies):
    x = np.random.default_rng(0).normal(size=(24, 24))
    x[3, 5] = np.nan
    look = {
        "turned": lambda x: x.T, "each second": lambda x: x[:, ::2], "backwards": lambda x: x[::-1, ::-1],
        "a part": lambda x: x[2:9, 3:11],
    }[lies]  # fmt: skip
    verify(lambda x: (np.amax(look(x), axis=1), np.amin(look(x), axis=1), np.amax(look(x), axis=0)), x)


def test_rows_of_whole_numbers_and_of_nothing():
    verify(lambda x: (np.amax(x, axis=1), np.amin(x, axis=1)), np.arange(12).reshape(4, 3))
    verify(lambda x: (np.amax(x, axis=1), np.amin(x, axis=1)), np.ones((0, 3)))
    with pytest.raises(ValueError, match="zero-size"):
        tape.compile(lambda x: np.amax(x, axis=1))(np.ones((3, 0)))


def test_gradients_at_ties_and_nan():
    x = np.array([[1.0, 3.0, 1.0], [np.nan, 2.0, np.nan], [0.0, -0.0, 0.0], [4.0, 5.0, 6.0]])
    wanted = [[0.5, 0.0, 0.5], [0.5, 0.0, 0.5], [1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0]]
    fast = tape.compile(tape.func.grad(lambda x: np.amin(x, axis=1)[[0, 2, 3]].sum() + np.amin(x, axis=1)[1]))
    for _ in range(3):
        np.testing.assert_array_equal(fast(x), wanted)
