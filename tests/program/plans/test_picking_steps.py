"""Reads, writes and sums at places that arrays of whole numbers say, of every kind of index: NumPy's bits, no stops."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import ops
import tape
from tape.program import record
from tape.program.plans.plan import Plan

RNG = np.random.default_rng(0)
LONG = RNG.integers(-5, 5, 200)
SHORT = RNG.integers(4, size=200)
MASK = np.array([True, False, True, True, False])
INDICES = {
    "one": LONG,
    "rows of rows": (LONG.reshape(20, 10),),
    "columns": (slice(None), SHORT),
    "columns of rows": (slice(1, 4), SHORT, slice(None, None, 2)),
    "two": (LONG, SHORT),
    "two that are spread": (LONG[:5, None], SHORT[:7]),
    "two apart": (LONG, slice(None), SHORT % 3),
    "three": (LONG, SHORT, SHORT % 3),
    "a mask": MASK,
    "a mask and more": (MASK, slice(None), 1),
    "even": (np.array([3, 2, 1]),),
    "one place": (np.array([2]),),
}
DTYPES = ["f8", "f4", "c16", "c8"]


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


def numbers(shape, dtype):
    x = RNG.standard_normal(shape) + (1j * RNG.standard_normal(shape) if dtype[0] == "c" else 0)
    return x.astype(dtype)


def replayed(f, *xs):
    program = record(f, *map(tape.tensor, xs))
    assert program.statistics().numpy == 0
    program.replay.sweeper(xs)
    (found,) = program.replay.sweeper(xs)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_reads_and_their_transposes(index, dtype):
    x = numbers((5, 4, 3), dtype)
    assert_array_equal(replayed(lambda x: ops.getitem(x, index=index), x), x[index])
    y, z = numbers(x[index].shape, dtype), np.zeros_like(x)
    np.add.at(z, index, y)
    assert_array_equal(replayed(lambda y: ops.scatter(y, index=index, shape=x.shape), y), z)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_writes(index, dtype):
    x = numbers((5, 4, 3), dtype)
    for y in (numbers(x[index].shape, dtype), numbers((), dtype)):
        z, added = x.copy(), x.copy()
        z[index] = y
        np.add.at(added, index, y)
        assert_array_equal(replayed(lambda x, y: ops.index_put(x, y, index=index), x, y), z)
        assert_array_equal(replayed(lambda x, y: ops.index_put(x, y, index=index, accumulate=True), x, y), added)


def test_many_rows_are_read_and_added_up_without_a_stop():
    """Of more numbers than places would be kept for in a table."""
    places = RNG.integers(50, size=20_000)

    def f(x):
        return (x[places] * np.arange(5)).sum()

    x = RNG.standard_normal((50, 5))
    gradient = tape.compile(tape.func.grad(f))
    for _ in range(3):
        found = gradient(x)
    np.testing.assert_allclose(found, np.outer(np.bincount(places, minlength=50), np.arange(5)))
    (program,) = gradient.programs
    assert program.statistics().numpy == 0


def test_a_place_that_an_argument_says_may_be_out_of_range():
    def f(x, i, j):
        return x[i, j].sum() + x[i].sum()

    fast, x = tape.compile(f), RNG.standard_normal((5, 4))
    for _ in range(3):
        assert fast(x, LONG, SHORT) == pytest.approx(f(x, LONG, SHORT))
    for i, j in ((LONG + 1, SHORT), (LONG, SHORT + 1), (LONG - 1, SHORT)):
        with pytest.raises(IndexError):
            fast(x, i, j)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ijk,ijk->ij", ((30, 5, 3), (30, 5, 3))), ("ij,ijk->ik", ((70, 7), (70, 7, 3))),
        ("ik,ijk->ji", ((70, 3), (70, 7, 3))), ("ab,ab->ba", ((10, 20), (10, 20))),
        ("i,ij->ji", ((90,), (90, 4))), ("ia,ib->abi", ((90, 2), (90, 4))),
    ],
)  # fmt: skip
def test_many_small_sums_of_products_are_no_stops(subscripts, shapes):
    def f(x, y):
        return (np.einsum(subscripts, x, y) ** 2).sum()

    xs = [RNG.standard_normal(shape) for shape in shapes]
    fast = tape.compile(tape.func.value_and_grad(f, argnums=(0, 1)))
    for _ in range(3):
        value, found = fast(*xs)
    expected_value, expected = tape.func.value_and_grad(f, argnums=(0, 1))(*xs)
    np.testing.assert_allclose(value, expected_value)
    for z, w in zip(found, expected, strict=True):
        np.testing.assert_allclose(z, w, rtol=1e-12, atol=1e-12)
    (program,) = fast.programs
    assert program.statistics().numpy == 0
