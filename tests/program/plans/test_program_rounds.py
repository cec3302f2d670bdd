"""Loops with array records in them: planned for one round, differentiated for a few, and stamped for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program.adjoints import adjoint
from tape.program.plans import replay as replays
from tape.program.plans.plan import Plan
from tape.program.plans.replay import Replay
from tape.program.plans.round_step import RoundsStep
from tape.program.plans.rounds import rounds_of
from tape.program.plans.stamping import BodyPlan, Stamp
from tape.program.recorded.stretches import stretches

A = np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3) / 9
ROWS = np.random.default_rng(0).normal(size=(40, 3))
SCALES = np.random.default_rng(1).uniform(0.5, 1.0, 40).tolist()


def filtered(x: Any) -> Any:
    """Products, a solve that may refuse, a determinant of which Python is told, and a row of data in each round."""
    p, total = np.eye(3), 0.0
    for row in ROWS:
        p = A @ p @ A.T * 0.5 + x[0] * np.eye(3)
        fit = np.linalg.solve(p, row - x)
        total = total + row @ fit + np.log(np.linalg.det(p))
    return total


def numbered(x: Any) -> Any:
    """A number of its own in each round, and a matrix of its own."""
    for k, scale in enumerate(SCALES):
        x = np.tanh((A + 0.01 * k) @ x * scale) + x[::-1] * 0.1
    return (x * x).sum()


def delayed(x: Any) -> Any:
    """What was two rounds before."""
    y, z = x, np.sin(x)
    for _ in range(60):
        y, z = np.tanh(A @ y + np.concatenate([z[1:], z[:1]])), y
    return (y * z).sum()


def collected(x: Any) -> Any:
    """What each round gives is read after all of them."""
    found = []
    for _ in range(60):
        x = np.tanh(A @ x)
        found.append(x)
    found = np.stack(found)
    return (found * found[::-1]).sum() + (found[3] @ A).sum()


def nested(x: Any) -> Any:
    """A loop within a loop."""
    for _ in range(12):
        y = x
        for _ in range(12):
            y = np.tanh(A @ y)
        x = x + 0.1 * np.concatenate([y[1:], y[:1]])
    return (x * x).sum()


def read_by_rows(x: Any) -> Any:
    """Each round reads a part of the variable."""
    y = np.ones(3)
    for k in range(40):
        y = np.tanh(A @ y + x[k % 3] * np.array([1.0, 2.0, 3.0]) + x)
    return (y * y).sum()


def uneven(x: Any) -> Any:
    """Some rounds go another way."""
    for k in range(60):
        x = np.tanh(A @ x)
        if k % 17 == 5:
            x = x[::-1] + 0.5
        x = x + 0.01 * np.outer(x, x) @ x
    return x.sum()


def written(x: Any) -> Any:
    """An array is written into, round by round."""
    y = np.zeros(120)
    for k in range(39):
        x = np.tanh(A @ x)
        y[3 * k : 3 * k + 3] = x * y[k]
        y[k + 1] = x[0]
    return (y * y).sum()


def told(x: Any) -> Any:
    """Python is told a number in each round."""
    for _ in range(40):
        x = A @ x * (0.5 if x.sum() > -100 else -0.25) + np.concatenate([x[1:], x[:1]]) * 0.1
    return (x * x).sum()


def sorted_rounds(x: Any) -> Any:
    """Something without a kernel in each round."""
    for _ in range(40):
        x = np.sort(np.tanh(A @ x)) + np.linalg.eigh(np.outer(x, x))[0] * 0.1
    return (x * x).sum()


def relaxed(x: Any) -> Any:
    """Each round writes into an array, reads parts of what it was two writes before, and of a copy."""
    m, edge = np.outer(np.ones(20), x), x[:2]
    for _ in range(150):
        before = m.copy()
        m[1:-1, 1:] = np.tanh(before[2:, 1:] @ A[:2, :2] + before[:-2, :-1]) + edge
        m[0] = m[1] @ A
        edge = m[3, 1:]
    return (m * m).sum() + edge[0]


def shifted_in_place(x: Any) -> Any:
    """Each round writes into an array that nobody else reads."""
    m = np.outer(np.ones(50), x)
    for k in range(150):
        m[:2] = np.tanh(m[2:4] @ A)
        m[k % 2 * 0 + 4] = m[0] @ A + m[1]
    return (m * m).sum()


BY_ROUNDS = (
    filtered, numbered, delayed, collected, nested, read_by_rows, uneven, told, relaxed, shifted_in_place,
)  # fmt: skip
OTHERS = (written, sorted_rounds)
X = np.array([0.9, 0.7, 0.8])


def loops(steps: Any) -> list[RoundsStep]:
    return [step for step in steps if isinstance(step, RoundsStep)]


@pytest.mark.parametrize("function", [*BY_ROUNDS, *OTHERS])
def test_loops_give_what_eager_gives(function: Callable[..., Any]) -> None:
    compiled = tape.compile(tape.func.grad_and_value(function))
    for x in (X, X, X * 1.1, X * 1.1):
        gradient, value = tape.func.grad_and_value(function)(x)
        found = compiled(x)
        assert_allclose(found[1], value, rtol=1e-12)
        assert_allclose(found[0], gradient, rtol=1e-10, atol=1e-12)
    if function in BY_ROUNDS:
        assert loops(compiled.programs[0].replay.steps)


@pytest.mark.parametrize("function", [*BY_ROUNDS, *OTHERS])
def test_stamped_adjoints_are_the_same_records(function: Callable[..., Any], monkeypatch: Any) -> None:
    found = []
    for loops_of in (adjoint.loops_of, lambda sweep: []):
        monkeypatch.setattr(adjoint, "loops_of", loops_of)
        found.append(tape.record(tape.func.grad_and_value(function), X).recorded)
    stamped, plain = found
    for name in ("code", "first", "args", "outputs"):
        assert_array_equal(getattr(stamped, name), getattr(plain, name))
    for k in range(len(plain)):
        assert stamped.spec_of(k) is plain.spec_of(k)
        assert stamped.location(k) == plain.location(k)
        assert repr(stamped.parameters(k)) == repr(plain.parameters(k))
    assert [g.row for g in stamped.guards] == [g.row for g in plain.guards]
    assert [g.location for g in stamped.guards] == [g.location for g in plain.guards]


@pytest.mark.parametrize("function", [filtered, numbered])
def test_rounds_are_appended_at_once(function: Callable[..., Any], monkeypatch: Any) -> None:
    calls: list[int] = []
    plain = adjoint._Sweep.one
    monkeypatch.setattr(
        adjoint._Sweep, "one", lambda self, row, ended=False: (calls.append(row), plain(self, row, ended))
    )
    tape.record(tape.func.grad_and_value(function), X)
    rounds = 40
    assert len(calls) < 20 * rounds / 4


@pytest.mark.parametrize("function", BY_ROUNDS)
def test_no_step_writes_past_its_memory(function: Callable[..., Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))
    program = tape.record(tape.func.grad_and_value(function), X)
    assert program.replay.sweeper.plan.memory.canaries
    assert loops(program.replay.steps)
    assert_allclose(program(X)[1], function(X), rtol=1e-12)


def test_a_singular_matrix_in_a_late_round_is_refused() -> None:
    def solved(x: Any) -> Any:
        y, m = np.ones(2), np.diag(x)
        for _ in range(60):
            m = m * np.array([[1.0, 0.5], [0.5, 1.0]])
            m = m - np.diag(np.array([0.03125, 0.0]))
            y = np.linalg.solve(m, y) * 1e-3 + 1.0
        return y.sum()

    compiled = tape.compile(solved)
    good = np.array([4.0, 1.0])
    assert_allclose(compiled(good), solved(good))
    assert loops(compiled.programs[0].replay.steps)
    singular = np.array([0.03125 * 30, 1.0])  # it is 0 after thirty rounds
    with pytest.raises(np.linalg.LinAlgError):
        solved(singular)
    with pytest.raises(np.linalg.LinAlgError):
        compiled(singular)
    assert_allclose(compiled(good * 2), solved(good * 2))


def test_a_guard_that_fails_comes_before_what_numpy_raises() -> None:
    def solved(x: Any) -> Any:
        y, m = np.ones(2), np.eye(2) * x[0] + np.array([[0.0, 0.1], [0.1, 0.0]])
        for _ in range(40):
            m = m - np.eye(2) * x[1]
            if m[0, 0] < 0.5:
                return y.sum() * 2.0
            y = np.linalg.solve(m, y * 0.5 + np.concatenate([y[1:], y[:1]])) @ m
        return y.sum()

    compiled = tape.compile(solved)
    assert_allclose(compiled(np.array([4.0, 0.01])), solved(np.array([4.0, 0.01])))
    assert loops(compiled.programs[0].replay.steps)
    early = np.array([3.1, 0.125])  # in the loop as it was recorded the matrix becomes singular, after it was left
    assert_allclose(compiled(early), solved(early))
    assert_allclose(compiled(early * [1.1, 1.0]), solved(early * [1.1, 1.0]))


def test_memory_does_not_grow_with_the_rounds() -> None:
    def advanced(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.tanh(np.concatenate([x[1:], x[:1]]) @ WIDE * 0.1)
        return x.sum()

    def nbytes(n: int) -> int:
        return int(tape.record(lambda x: advanced(x, n), np.ones(50)).replay.sweeper.plan.memory.nbytes)

    WIDE = np.ones((50, 50))
    assert nbytes(400) == nbytes(100)


def bodies(function: Callable[..., Any], monkeypatch: Any) -> list[BodyPlan]:
    """The plans of the rounds of a function's loops."""
    found: list[BodyPlan] = []
    planned = Stamp._planned
    monkeypatch.setattr(Stamp, "_planned", lambda self: found.append(planned(self)) or found[-1])
    assert_allclose(tape.record(function, X)(X), function(X), rtol=1e-12)
    return found


def test_what_each_round_writes_into_stays_where_it_is(monkeypatch: Any) -> None:
    (body,) = bodies(shifted_in_place, monkeypatch)
    (output,) = body.carried.values()
    assert body.ends[output].spec.shape == (50, 3)


def test_what_is_read_after_a_write_is_copied_before(monkeypatch: Any) -> None:
    def kept(x: Any) -> Any:
        m = np.outer(np.ones(50), x)
        for _ in range(150):
            before = m.copy()
            m[:2] = np.tanh(m[2:4] @ A)
            m[4] = (before @ np.outer(m[0], m[1]))[9]
        return (m * m).sum()

    (body,) = bodies(kept, monkeypatch)
    assert not body.carried


def test_views_of_what_another_loop_made_are_not_kept_for_it() -> None:
    def looked(x: Any) -> Any:
        m = np.outer(np.ones(20), x)
        for _ in range(40):
            m = np.tanh(m @ A)
            m = np.concatenate([m[1:] * m[:-1], m[:1] @ A])
        return (m * m).sum()

    replay = tape.record(tape.func.grad(looked), X).replay
    forward, _ = loops(replay.steps)
    always = [k for k, kept in zip(forward.made[0].tolist(), forward.kept) if not kept]
    assert [replay.listing.spec_of(k).shape for k in always] == [(20, 3)]  # type: ignore[union-attr]


def test_short_rounds_do_not_copy_large_arrays() -> None:
    def turned(x: Any) -> Any:
        m, other = np.outer(np.ones(4000), x), np.outer(np.ones(4000), x * x)
        for _ in range(200):
            m, other = other, m
            m[1] = np.tanh(A @ other[1] + m[2])
        return m.sum() + other.sum()

    assert not loops(tape.record(turned, X).replay.steps)


def test_few_rounds_that_write_are_not_weighed() -> None:
    def few(x: Any) -> Any:
        m = np.outer(np.ones(50), x)
        for _ in range(30):
            m[:2] = np.tanh(m[2:4] @ A)
            m[4] = m[0] @ A + m[1]
        return (m * m).sum()

    assert not loops(tape.record(few, X).replay.steps)


def test_long_rounds_may_have_large_arrays() -> None:
    def stirred(x: Any) -> Any:
        m = np.outer(np.ones(1000), x)
        for _ in range(20):
            for _ in range(8):
                x = np.tanh(A @ x)
            m[1:-1] = np.tanh(m[2:] @ A) * x
        return m.sum()

    program = tape.record(tape.func.grad_and_value(stirred), X)
    assert loops(program.replay.steps)
    assert_allclose(program(X)[1], stirred(X), rtol=1e-12)


def test_plain_and_single_numbers_that_change_keep_their_precision() -> None:
    def single(x: Any) -> Any:
        for scale in SCALES:
            x = np.tanh(A.astype(np.float32) @ x * scale) + x[::-1] * scale
        return x.sum()

    x = X.astype(np.float32)
    compiled = tape.compile(single)
    for _ in range(2):
        found = compiled(x)
        assert found.dtype == np.float32
        assert_allclose(found, single(x), rtol=1e-5)


def test_loops_of_one_kernel_stay_one_kernel() -> None:
    def lorenz(x: Any) -> Any:
        a, b, c = x[0], x[1], x[2]
        for _ in range(200):
            a, b, c = a + 0.01 * (b - a), b + 0.01 * (a * (28.0 - c) - b), c + 0.01 * (a * b - c)
        return a + b + c

    assert not loops(tape.record(tape.func.grad(lorenz), X).replay.steps)


def test_straightened_loops_are_done_record_by_record() -> None:
    program = tape.record(tape.func.grad_and_value(delayed), X)
    expected = program(X)
    program.replay.straighten()
    program.replay._sweeper = None
    assert not loops(program.replay.steps)
    assert_allclose(program(X)[0], expected[0], rtol=1e-13)


def test_loops_without_jitted_code_are_the_same() -> None:
    program = tape.record(tape.func.grad_and_value(filtered), X)
    found = program.replay.in_python([X])
    assert_allclose(found[0], program(X)[0], rtol=1e-10)


def test_loops_get_better_kernels(monkeypatch: Any) -> None:
    monkeypatch.setattr(
        replays, "next_tier", lambda group, tier, one_by_one=False: None if tier == "optimised" else ("optimised", 1)
    )
    compiled = tape.compile(tape.func.grad_and_value(collected))
    for _ in range(4):
        found = compiled(X)
    assert_allclose(found[1], collected(X), rtol=1e-12)
    tiers = {k.tier for k in compiled.programs[0].statistics().kernels}
    assert tiers == {"optimised"}


def test_statistics_count_each_round() -> None:
    program = tape.record(delayed, X)
    whole = program.statistics()
    program.replay.straighten()
    program.replay._sweeper = None
    straight = program.statistics()
    assert whole.steps == straight.steps
    assert whole.flops == straight.flops
    assert max(kernel.rounds for kernel in whole.kernels) >= 30


@pytest.mark.parametrize(("pattern", "times"), [(range(40), 10), ([1, 2, 3, 3], 100), (list(range(30)) * 3 + [50], 8)])
def test_stretches_are_found(pattern: Any, times: int) -> None:
    before, after = [101, 102, 103], [104] * 3
    like = np.array([*before, *list(pattern) * times, *after])
    ((start, period, count), *_) = stretches(like)
    assert period == len(list(pattern))
    assert abs(start - len(before)) <= 1
    assert count >= times - 1
    assert_array_equal(like[start : start + period], like[start + period : start + 2 * period])


def test_nothing_repeats_itself_in_an_irregular_list() -> None:
    assert list(stretches(np.random.default_rng(0).integers(0, 50, 4000))) == []
    assert rounds_of(tape.record(lambda x: (x * x).sum(), X).listing) == []
    assert Replay(tape.record(delayed, X).listing, by_rounds=False).steps
