"""Writes into parts of arrays: in the array's own memory where nobody reads what was there, and seen by nobody else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.base.spec import spec
from tape.jit.machine.regions import DATA
from tape.jit.sweeps.strided import AXES, ROWS as ROWS_AT
from tape.program import record
from tape.program.plans.plan import Plan
from tape.program.plans.plan_steps.plan_places import DataRegion, Place, PlanValue

ROWS, COLUMNS = 5, 6
PARTS = [
    slice(1, 4), slice(None, None, 2), slice(None, None, -1), 2, -1, (slice(None), 1), (slice(1, 3), slice(2, None)),
    (3, slice(None, None, -2)), (2, 3), ..., (..., 0), slice(2, 2), (slice(None, 4), slice(1, None, 2)),
]  # fmt: skip
"""Indices of an array of ROWS × COLUMNS."""


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


part = st.sampled_from(PARTS)
action = st.one_of(
    st.tuples(st.just("write"), part, st.floats(-2, 2)),  # from an array of its own
    st.tuples(st.just("number"), part, st.floats(-2, 2)),
    st.tuples(st.just("look"), part, st.just(0.0)),  # kept, and read at the end
    st.tuples(st.just("shift"), st.booleans(), st.just(0.0)),  # from another part of itself
    st.tuples(st.just("keep"), st.just(...), st.just(0.0)),  # the whole, as it is now
    st.tuples(st.just("add"), part, st.floats(-2, 2)),
)


def program(actions):
    """A function of an array that changes a copy of it, or one that it makes, and what it saw on the way."""

    def f(x, start):
        A = start * 1.0
        seen = []
        for kind, index, c in actions:
            if kind == "write":
                A[index] = np.tanh(c * x[index])
            elif kind == "number":
                A[index] = c
            elif kind == "look":
                seen.append(A[index])
            elif kind == "keep":
                seen.append(A.copy())
            elif kind == "add":
                A[index] += c * x[index]
            elif index:
                A[1:] = A[:-1]
            else:
                A[:, :-1] = A[::-1, 1:] * 0.5
        total = sum(((k + 1.5) * (s * s).sum() for k, s in enumerate(seen)), (A * A * x).sum())
        return total, A

    return f


@settings(max_examples=20)
@given(st.lists(action, min_size=1, max_size=10), st.sampled_from([np.float64, np.float32]), st.integers(0, 2**32 - 1))
def test_random_writes_give_what_numpy_gives(actions, dtype, seed):
    rng = np.random.default_rng(seed)
    f = program(actions)
    draw = lambda: rng.standard_normal((ROWS, COLUMNS)).astype(dtype)  # noqa: E731
    made = record(f, draw(), draw())
    for _ in range(2):
        x, start = draw(), draw()
        kept = start.copy()
        (total, A), (expected, B) = made(x, start), f(x, start)
        rtol = 1e-4 if dtype == np.float32 else 1e-12
        assert_allclose(total, expected, rtol=rtol, atol=rtol)
        assert_allclose(A, B, rtol=rtol, atol=rtol)
        assert A.dtype == B.dtype
        assert_array_equal(start, kept)


@settings(max_examples=8)
@given(st.lists(action, min_size=1, max_size=7), st.integers(0, 2**32 - 1))
def test_their_gradients_are_those_of_eager_code(actions, seed):
    rng = np.random.default_rng(seed)
    f = program(actions)
    slope = tape.func.grad(lambda x, start: f(x, start)[0], argnums=(0, 1))
    draw = lambda: rng.standard_normal((ROWS, COLUMNS))  # noqa: E731
    made = record(slope, draw(), draw())
    x, start = draw(), draw()
    for found, expected in zip(made(x, start), slope(x, start), strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dtype", [np.complex128, np.int64, np.int8, np.bool_, np.float32])
def test_numbers_of_every_kind_are_put(dtype):
    def f(x, y):
        z = np.concatenate([x, x[:1]])
        z[1:3] = y[::-1]
        z[0] = y[0]
        z[::2] = z[1::2]
        return z[::-1]

    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 100, n).astype(dtype) for n in (5, 2))
    assert_array_equal(record(f, x, y)(x, y), f(x, y))


def placed(plan):
    """How many elements the steps that copy move."""
    address, offsets = Plan.jit("strided", "place")[1], plan.steps[:, 1] // 8 - plan.first
    words = [plan.words[k:] for k in offsets[plan.steps[:, 0] == address]]
    return sum(int(w[ROWS_AT] * w[AXES]) for w in words)


def test_a_loop_of_writes_copies_the_array_once():
    """Nothing of the array's size is moved or kept for each write."""

    def f(x):
        y = np.zeros(len(x) + 2)
        for i in range(40):
            y[i : i + 3] = np.tanh(y[i : i + 3] * 0.5 + x[i : i + 3])
        return (y * y).sum()

    for g in (f, tape.func.grad(f)):
        small, large = (record(g, np.ones(n)).replay.sweeper.plan for n in (2_000, 4_000))
        assert 0 < placed(large) - placed(small) < 5 * 2_000
        assert large.memory.nbytes < small.memory.nbytes + 8 * 5 * 2_000
        assert not large.halts


@given(st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(PARTS)), min_size=1, max_size=6), st.data())
@settings(max_examples=60, deadline=None)
def test_who_looks_at_a_cell(views, data):
    """Counted by cell: never fewer than the views that share memory with a part; of one, no others but large ones."""
    chunk, memory = DataRegion().take(8 * ROWS * COLUMNS), np.zeros((ROWS, COLUMNS))

    def look(index):
        array = memory[(*index, ...)] if index == (2, 3) else memory[index]
        offset = chunk.offset + array.ctypes.data - memory.ctypes.data
        return array, PlanValue(Place(DATA, offset), array.strides, spec(array.shape, array.dtype), chunk)

    kept = {}
    for k, (first, part) in enumerate(views):
        (array, value), (wanted, target) = look(first), look(part)
        chunk.look(k, value)
        kept[k] = array
        going = data.draw(st.sets(st.sampled_from(sorted(kept))))
        shared = {i for i, a in kept.items() if i not in going and np.shares_memory(a, wanted)}
        large = {i for i, a in kept.items() if i not in going and 2 * a.size > memory.size}
        found = set(chunk.onlookers(target, going))
        assert shared <= found <= kept.keys() - going
        assert len(shared) > 1 or found <= shared | large
        for i in data.draw(st.sets(st.sampled_from(sorted(kept)))):
            chunk.leave(i)
            del kept[i]
        if not kept:
            break


def a_view_of_a_row(x):
    y, z = np.zeros((2, 3)), x * 2
    v = y[0]
    v[...] = z
    z += 1
    return y, z, v


def two_views(x):
    y = np.zeros((2, 3))
    v, w = y[0], y[:, 1]
    y[0, :] = x * x
    y[1] = v * 2
    w *= 3
    v[...] = v + w.sum()
    return y, v, w


def all_of_an_array(x):
    y, z = np.zeros(3), x * 2
    y[...] = z
    z[0] = 7.0
    y[1] += 1
    return y, z


def a_slice(x):
    y, z = np.zeros(3), x[1:] * 2
    v = y[1:]
    v[...] = z
    return z, v, y


def a_view_of_itself(x):
    z = x * 2
    y = z[:]
    y[...] = y
    return y, z


def every_other(x):
    a = x.copy()
    b = a[::2]
    a *= 2
    a[...] = a[::-1].copy()
    c = b + 1
    a[...] = c.sum()
    return a, b, c


@pytest.mark.parametrize(
    "function", [a_view_of_a_row, two_views, all_of_an_array, a_slice, a_view_of_itself, every_other]
)
def test_views_that_look_again_when_they_are_read(function):
    """They have the values and the gradients that NumPy's have, and share memory with whom NumPy's do."""
    fast, x = tape.compile(function), np.array([1.0, 2.0, 3.0])

    def total(x):
        return sum((z * z).sum() * (k + 1) for k, z in enumerate(function(x)))

    slow, quick = tape.func.grad(total), tape.compile(tape.func.grad(total))
    for shift in range(3):
        found, own = fast(x + shift), function(x + shift)
        for a, b in zip(found, own, strict=True):
            assert_array_equal(a, b)
        shared = [[[np.shares_memory(a, b) for a in some] for b in some] for some in (found, own)]
        assert shared[0] == shared[1]
        assert_allclose(quick(x + shift), slow(x + shift))
