"""Loops over arrays: what is found of one round holds for the others, and for those alone that are like it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from own_ops import library  # noqa: F401  (a fixture)

import ops
import tape
from ops import REGISTRY
from tape.program import record
from tape.program.adjoints import templates
from tape.program.adjoints.templates import RecordTemplate
from tape.program.plans.replay import KernelStep

OPERATIONS = {
    "product": lambda x, y: x @ y,
    "turned": lambda x, y: x.T @ y + y.T,
    "same twice": lambda x, y: x * x + y @ y,
    "solved": lambda x, y: np.linalg.solve(x + 5 * np.eye(3), y),
    "determined": lambda x, y: x * np.linalg.det(y + 4 * np.eye(3)) * 0.01,
    "rows": lambda x, y: x * y.sum(axis=0) + y[1],
    "number": lambda x, y: 0.5 * x - y / 3.0,
    "other number": lambda x, y: 0.25 * x + np.tanh(y),
    "power": lambda x, y: (x * x + 1.0) ** 0.7 * y,
    "greatest": lambda x, y: np.maximum(x, y) * x.max(axis=1, keepdims=True),
    "reshaped": lambda x, y: (x.reshape(9) * y.T.reshape(9)).reshape(3, 3),
}


def program(names, rounds):
    """A loop whose rounds are alike."""

    def f(x, y):
        total = 0.0
        for _ in range(rounds):
            for name in names:
                x, y = np.tanh(OPERATIONS[name](x, y)), x
            total = total + (x * x).sum()
        return total

    return f


def by_rules(slope, x, y):
    """The list of a program for whose records the rules run each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(templates, "MOST", -1)
        return record(slope, x, y).recorded


def records_of(listing):
    """The operations of a list, but for copies of gradients that only lie otherwise, which not all need."""
    return np.flatnonzero((listing.code >= 0) & (listing.code != REGISTRY["clone"].code)).tolist()


@pytest.mark.parametrize("first", range(2))
def test_records_done_again_are_those_that_the_rules_append(first):
    x, y = np.random.default_rng(first).normal(size=(2, 3, 3))
    slope = tape.func.grad(program(list(OPERATIONS)[first::2], 4), argnums=(0, 1))
    made = record(slope, x, y)
    for found, expected in zip(made(x, y), slope(x, y), strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    again, expected = made.recorded, by_rules(slope, x, y)
    for listing in (again, expected):  # an array that a rule makes is made once, or each time
        assert len(listing) > 300
    rows, others = records_of(again), records_of(expected)
    assert_array_equal(again.code[rows], expected.code[others])
    assert [again.spec_of(k) for k in rows] == [expected.spec_of(k) for k in others]


def test_rules_run_for_two_rounds_only(monkeypatch):
    done = []
    original = RecordTemplate.append
    monkeypatch.setattr(RecordTemplate, "append", lambda self, *args: done.append(self) or original(self, *args))
    x = np.ones((3, 3))
    record(tape.func.grad(program(["product"], 20)), x, x)
    assert len(done) >= 3 * 17


def test_a_round_in_which_a_rule_goes_another_way_has_its_own_records():
    """The rule of a determinant asks whether the matrix has an inverse."""

    def f(x, y):
        total = 0.0
        for k in range(6):
            total = total + np.linalg.det(y if k == 4 else x + k * np.eye(3)) * (k + 1)
        return total

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 3)), np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 1.0]])
    slope = tape.func.grad(f, argnums=(0, 1))
    for found, expected in zip(record(slope, x, y)(x, y), slope(x, y), strict=True):
        assert_allclose(found, expected, rtol=1e-9)


def test_operands_that_are_one_record_are_told_from_two():
    def f(x, y):
        total = 0.0
        for k in range(8):
            total = total + (x @ (x if k < 4 else y)).sum() * (k + 1.0)
        return total

    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 3, 3))
    slope = tape.func.grad(f, argnums=(0, 1))
    for found, expected in zip(record(slope, x, y)(x, y), slope(x, y), strict=True):
        assert_allclose(found, expected, rtol=1e-12)


def test_gradients_that_share_memory_are_changed_together():
    """A gradient that is a view of another's memory shows a change of it, compiled as it does otherwise."""

    def f(x, y):
        def loss(x, y):
            for _ in range(4):
                x = x.T.reshape(3, 3)
            return (x + y.T).sum()

        a, b = tape.func.grad(loss, argnums=(0, 1))(x, y)
        a[0] = 7.0
        return a, b

    x, y = np.ones((2, 3, 3))
    expected = f(x, y)
    compiled = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it may refuse to follow the change
        for found, wanted in zip(compiled(x, y), expected, strict=True):
            assert_array_equal(found, wanted)


def test_equal_kernels_are_made_once_and_read_their_own_numbers():
    def f(x, rows):
        for k in range(10):
            x = np.tanh(x * rows[k] + 0.5) @ np.ones((4, 4))
            x = np.tanh(x * rows[0, 2] + 0.5) @ np.ones((4, 4))
        return x

    rng = np.random.default_rng(2)
    x, rows = rng.normal(size=4), rng.normal(size=(10, 4))
    made = record(f, x, rows)
    steps = [s for s in made.replay.steps if isinstance(s, KernelStep)]
    assert len(steps) == 20
    assert len({id(s.kernel) for s in steps}) <= 4
    for _ in range(2):
        x, rows = rng.normal(size=4), rng.normal(size=(10, 4))
        assert_allclose(made(x, rows), f(x, rows), rtol=1e-12)


def test_constants_tell_kernels_apart():
    def f(x):
        for k in range(6):
            x = np.tanh(x * (0.1 * (k + 1)) + 0.5) @ np.ones((4, 4))
        return x

    x = np.linspace(-1, 1, 4)
    assert_allclose(record(f, x)(x), f(x), rtol=1e-12)


@pytest.mark.usefixtures("library")
def test_a_rule_of_the_users_may_count():
    """It sees what the library's own do not: it runs for each record."""
    calls = []

    def slope(g, x):
        calls.append(g)
        return g * len(calls)

    tripled = ops.general("tripled", lambda x: 3.0 * x, slope)

    def f(x):
        for _ in range(4):
            x = tripled(x)
        return x.sum()

    found = [program(tape.ones(3)).tolist() for program in (tape.func.grad(f), record(tape.func.grad(f), tape.ones(3)))]
    assert found == [[5.0 * 6 * 7 * 8] * 3, [24.0] * 3]


def test_parts_at_equal_indices_share_their_parameters():
    def parts(x):
        return sum((x[1:, 0] * x[:-1, k // 8]).sum() for k in range(16))

    for x in (np.arange(6.0).reshape(3, 2), np.ones((300, 200))):
        listing = tape.record(parts, x).recorded
        found = {int(k) for k in listing.param[listing.code == ops.REGISTRY["getitem"].code]}
        assert len(found) == 3


def test_equal_indices_of_other_kinds_are_others():
    def read(x):
        first = x[1, 1:2] + x[0, 0:1]
        return first, x[(True,)], x[True, 1:2], x[1, None, 1:2], x[False:True, np.int64(1)], x[-1:, 1]

    for x in (np.arange(6.0).reshape(3, 2), np.random.default_rng(0).normal(size=(300, 200))):
        for found, expected in zip(tape.compile(read)(x), read(x)):
            assert_array_equal(found, expected)
        for wrong in (slice(1.0, 2.0), (slice(0, 1), 1.0)):
            with pytest.raises((TypeError, IndexError)):
                tape.record(lambda x, wrong=wrong: x[1:2, 1] + x[0:1, 1] + x[wrong], x)


def test_parts_of_arrays_that_lie_otherwise():
    def read(x):
        y, z = x * 2.0, (x * 2.0).T
        return y[1:, :1].reshape(-1) * 2.0, z[1:, :1].reshape(-1) + 1.0, (y[1:, :1].sum() + z[1:, :1].sum()) * y[0, 1:]

    for x in (np.arange(9.0).reshape(3, 3), np.random.default_rng(0).normal(size=(200, 200))):
        for found, expected in zip(tape.compile(read)(x), read(x)):
            assert_allclose(found, expected, rtol=1e-13)
