"""Kernels that read slices, rolls, concatenations and padded arrays where their elements lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import record
from tape.program.plans.plan import Plan

SHAPES = [(150,), (9, 37), (20, 12), (3, 4, 33), (8, 16)]
MOVES = [
    lambda x: np.roll(x, 1, -1),
    lambda x: np.roll(x, -3, 0),
    lambda x: np.roll(x, 5),
    lambda x: np.pad(x[..., 2:], [(0, 0)] * (x.ndim - 1) + [(1, 1)]),
    lambda x: np.pad(x[1:], [(1, 0)] + [(0, 0)] * (x.ndim - 1)),
    lambda x: np.concatenate([x[..., :1], x[..., :-1]], axis=-1),
    lambda x: np.concatenate([x[2:], x[:2] * 0.5], axis=0),
    lambda x: np.concatenate([x[..., :5], np.zeros_like(x[..., :7]), x[..., 12:]], axis=-1),
    lambda x: np.flip(x, -1),
    lambda x: x[..., ::-1][..., ::-1],
    lambda x: np.broadcast_to(x[..., :1], x.shape),
    lambda x: np.broadcast_to(x[:1], x.shape),
    lambda x: x * (x > 0),
    lambda x: np.stack([x, -x])[1],
    lambda x: np.cumsum(x, axis=0),  # no kernel reads it as runs
    lambda x: np.sort(x, axis=-1),
]
"""Functions that keep the shape of an array."""


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def program(moves, inner):
    """Sums of arrays that are moved about; `inner` works on the inside of the array, as stencils do."""

    def f(x):
        moved = []
        for k in moves:
            moved.append(MOVES[k](x))
            y = moved[-1] * 0.5 + x
            if inner and x.shape[-1] > 2:
                inside = np.tanh(y[..., 2:] - x[..., 1:-1] * y[..., :-2])
                y = y + np.pad(inside, [(0, 0)] * (x.ndim - 1) + [(1, 1)])
            x = y
        return (x * moved[0]).sum(), x, moved[-1]

    return f


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, len(MOVES) - 1), min_size=1, max_size=5),
    st.booleans(),
    st.sampled_from(SHAPES),
    st.sampled_from([np.float64, np.float32]),
    st.sampled_from([0.0, np.nan, np.inf, -0.0]),
    st.integers(0, 2**32 - 1),
)
def test_random_moves_give_what_numpy_gives(moves, inner, shape, dtype, odd, seed):
    rng = np.random.default_rng(seed)
    f = program(moves, inner)
    made = record(f, rng.standard_normal(shape).astype(dtype))
    for fill in (None, odd):
        x = rng.standard_normal(shape).astype(dtype)
        if fill is not None:
            x.ravel()[[0, -1, x.size // 2]] = fill
        with np.errstate(all="ignore"):
            expected = f(x)
        for found, z in zip(made(x), expected, strict=True):
            rtol = 2e-4 if dtype == np.float32 else 1e-11
            assert_allclose(found, z, rtol=rtol, atol=rtol)
            assert np.asarray(found).dtype == z.dtype


@settings(max_examples=6)
@given(
    st.lists(st.integers(0, len(MOVES) - 1), min_size=1, max_size=4),
    st.sampled_from(SHAPES),
    st.integers(0, 2**32 - 1),
)
def test_their_gradients_are_those_of_eager_code(moves, shape, seed):
    rng = np.random.default_rng(seed)
    f = program(moves, True)
    slope = tape.func.grad(lambda x: f(x)[0])
    made = record(slope, rng.standard_normal(shape))
    x = rng.standard_normal(shape)
    assert_allclose(made(x), slope(x), rtol=1e-8, atol=1e-9)


def heat(u, k):
    """One step of the heat equation, and three more by rolls."""
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
    u = u + np.pad(k * around, 1)
    for _ in range(3):
        u = u + k * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4.0 * u)
    return u


def whole(shape):
    """Whole numbers, so that no sum or product of a few is rounded, in whichever order."""
    return np.random.default_rng(0).integers(-8, 9, shape).astype(np.float64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(18, 18), (17, 40), (3, 200)])
def test_stencils_move_nothing(shape, dtype):
    """Forward and in reverse, without a step that copies an array."""
    x, k = whole(shape).astype(dtype), dtype(0.25)
    made = record(heat, x, k)
    assert_array_equal(made(x, k), heat(x, k))
    slope = record(tape.func.grad(lambda u: (heat(u, 0.25) ** 2).sum()), x)
    assert_array_equal(slope(x), tape.func.grad(lambda u: (heat(u, 0.25) ** 2).sum())(x))
    moving = [Plan.jit("strided", name)[1] for name in ("place", "fill")] + [Plan.jit("linked", "move")[1]]
    for plan in (made.replay.sweeper.plan, slope.replay.sweeper.plan):
        assert not np.isin(plan.steps[:, 0], moving).any()
        assert not plan.halts


@pytest.mark.parametrize("how", [{"tier": "interpret"}, {"tier": "quick"}, {"tier": "optimised"}, {"threads": 2}])
def test_every_tier_and_several_threads_read_the_same(how):
    x = whole((40, 50))
    fast = tape.compile(heat, **how)
    for _ in range(3):
        assert_array_equal(fast(x, 0.25), heat(x, 0.25))


def test_a_value_is_made_when_something_else_asks_for_it():
    """After its operand is gone, or was written over."""

    def f(x):
        y = x * 2.0
        moved = np.roll(y, 1, 0)
        z = moved + 1.0  # a kernel reads it
        y[2:, 3] = 7.0  # y ends here
        later = np.sort(moved, axis=0) if x.shape[0] % 2 else moved
        return y * z, z - later, moved * y

    for shape in ((4, 32), (5, 32)):
        x = whole(shape)
        made = record(f, x)
        for found, expected in zip(made(x), f(x), strict=True):
            assert_array_equal(found, expected)


def test_operands_that_lie_otherwise_are_copied_first():
    def f(x):
        y = (x * 2.0).T
        return np.roll(y, 2, 1) + y[::-1] * np.concatenate([y[:, 3:], y[:, :3]], axis=1), np.roll(x[::2], 1, 1) - x[
            1::2
        ]

    x = whole((20, 33))
    made = record(f, x)
    for view in (x, np.asfortranarray(x), np.flip(np.flip(x).copy())):
        for found, expected in zip(made(view), f(view), strict=True):
            assert_array_equal(found, expected)


def test_jitted_code_calls_stencils():
    numba = pytest.importorskip("numba")
    x = whole((20, 33))
    program = record(heat, x, 0.25).njit()

    @numba.njit
    def twice(x, k):
        return program(program(x, k), k)

    assert_array_equal(twice(x, 0.25), heat(heat(x, 0.25), 0.25))
