"""Sums along the first axes that a kernel adds up in memory, row after row: NumPy's values, in every tier."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.jit.emission.task import OF_COLUMNS
from tape.program.plans.plan import Plan
from tape.program.plans.replay import KernelStep

SHAPES = [(50, 140), (5, 3, 140), (5, 4, 3, 133), (1, 9, 170), (2, 1, 9, 135), (7, 127)]


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def first(x, y, z):
    return np.sin(x).sum(0)


def kept(x, y, z):
    return (x * y + z).sum(axis=0, keepdims=True), np.tanh(x)


def all_but_the_last(x, y, z):
    return np.cos(x).sum(tuple(range(x.ndim - 1))) * 2


def of_every_kind(x, y, z):
    t = np.exp(x * z)
    return t.sum(0), t.sum(-1), (t * y).sum(), t.sum(tuple(range(x.ndim - 1))), t.sum(1)


def of_slices(x, y, z):
    return (x[::2] * y).sum(0), (np.roll(x, 3, axis=-1) * x[..., ::-1]).sum(0)


def gradient(x, y, z):
    return tape.func.grad(lambda y, z: (np.tanh(x * y + z) ** 2).sum(), argnums=(0, 1))(y, z)


FUNCTIONS = [first, kept, all_but_the_last, of_every_kind, of_slices, gradient]


def operands(shape, dtype=np.float64):
    rng = np.random.default_rng(len(shape))
    return [rng.standard_normal(s).astype(dtype) for s in (shape, shape[-1:], (*shape[:-1], 1))]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_values(f, shape):
    xs = operands(shape)
    wanted = f(*xs)
    for tier in ("quick", None):
        fast = tape.compile(f, tier=tier)
        for _ in range(2):
            found = fast(*xs)
            for a, b in zip(*([z] if isinstance(z, np.ndarray) else z for z in (found, wanted)), strict=True):
                assert a.shape == b.shape
                assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_single_precision():
    xs = operands((5, 3, 140), np.float32)
    for found, wanted in zip(tape.compile(of_every_kind, tier="quick")(*xs), of_every_kind(*xs)):
        assert found.dtype == np.float32
        assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("shape", "expected"), [((50, 140), 1), ((50, 20), 1), ((50, 12), 0), ((3000, 140), 0)])
def test_rows_that_fill_vectors_are_added_in_the_kernel(shape, expected):
    program = tape.record(lambda x: np.sin(x).sum(0), np.ones(shape))
    hows = [t.how for s in program.replay.steps if isinstance(s, KernelStep) for t in s.group.targets]
    assert hows.count(OF_COLUMNS) == expected


def test_nan_stays_in_its_column():
    x = np.ones((9, 3, 150))
    x[4, 1, 7] = np.nan
    found = tape.compile(lambda x: (x * 2.0).sum(0), tier="quick")(x)
    assert np.argwhere(np.isnan(found)).tolist() == [[1, 7]]
    assert (found[~np.isnan(found)] == 18.0).all()


def test_threads_do_not_change_the_bits():
    x = np.random.default_rng(0).standard_normal((1800, 140))
    found = [tape.compile(lambda x: np.tanh(x).sum(0), threads=n)(x) for n in (1, 2, None)]
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
