"""What Python is told is verified on the way; paths form a tree that machine code descends, and those in use stay."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import GuardMissed
from tape.program.entries.shortcut import PAYS
from tape.program.plans.in_python import NumPyStep


def grown(x):
    while x < 100.0:
        x = x * 1.5
    return x


def read_as(kind):
    """A function that is told a number of that kind."""

    def f(x):
        told = np.asarray(x).astype(kind)[0].item()
        return x * (2.0 if told == told else 3.0) + np.copysign(1.0, told.real)

    return f


NUMBERS = 1.5, 0.0, -0.0, np.nan, -np.nan, 1.5, np.inf, -0.0, np.nan


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128, np.complex64])
def test_numbers_that_were_told_are_compared_exactly(kind):
    f = read_as(kind)
    fast = tape.compile(f)
    for _ in range(2):
        for number in NUMBERS:
            x = np.array([number, 2.0])
            np.testing.assert_array_equal(fast(x), f(x))


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.int64, np.uint16])
def test_whole_arrays_that_were_told_are_compared(kind):
    def f(x):
        told = tuple((x > 0).astype(kind).tolist())
        return x * sum(k * int(v) for k, v in enumerate(told))

    fast = tape.compile(f)
    draw = np.random.default_rng(0)
    for _ in range(2):
        for _ in range(10):
            x = draw.normal(size=11)
            np.testing.assert_array_equal(fast(x), f(x))


def test_a_guard_on_an_argument_as_it_is_ends_a_replay_before_anything_runs():
    program = tape.record(lambda x, n: x * float(n), np.ones(3), np.float64(2.0))
    np.testing.assert_array_equal(program(np.full(3, 2.0), np.float64(2.0)), [4.0] * 3)
    with pytest.raises(tape.program.GuardMissed, match=r"gives 2\.0, and for these inputs it gives 3\.0") as missed:
        program(np.ones(3), np.float64(3.0))
    assert (missed.value.index, missed.value.value) == (0, 3.0)


def test_a_replay_ends_at_the_first_guard_that_misses(monkeypatch):
    ran = []
    evaluate = NumPyStep.evaluate
    monkeypatch.setattr(NumPyStep, "evaluate", lambda step, values: ran.append(step.op.name) or evaluate(step, values))

    def f(x):
        if x[0] > 0.0:
            return np.linalg.pinv(np.outer(x, x) + np.diag(x)).sum()
        return x.sum()

    program = tape.record(f, np.array([1.0, 2.0]))
    np.testing.assert_allclose(program(np.array([2.0, 3.0])), f(np.array([2.0, 3.0])))
    assert "pinv" in ran
    ran.clear()
    with pytest.raises(tape.program.GuardMissed):
        program(np.array([-1.0, 2.0]))
    assert "pinv" not in ran
    assert program.missed == 1


def test_calls_that_take_other_paths_in_turn_stay_in_machine_code(monkeypatch):
    fast = tape.compile(grown)
    starts = np.random.default_rng(0).permutation(np.geomspace(0.5, 90.0, 12)).tolist()
    for _ in range(2 * PAYS):
        for x in starts:
            assert fast(x) == grown(x)
    depths = {len(program.guards) for program in fast.programs}
    assert len(depths) == len(fast.programs) > 8
    monkeypatch.setattr(tape.program.compiled.CompiledFunction, "general", None)
    for x in [*starts, *reversed(starts)]:
        assert fast(x) == grown(x)


def chosen(x, k):
    return x * float(k) + x[0]


def test_the_paths_in_use_stay_where_there_are_too_many():
    fast = tape.compile(chosen, most_paths=4)
    x = np.array([1.0, 2.0])
    hot = [np.float64(k) for k in (1, 2, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in hot:
            fast(x, k)
        for rare in range(10, 20):
            for k in hot * 4:
                np.testing.assert_array_equal(fast(x, k), chosen(x, k))
            np.testing.assert_array_equal(fast(x, np.float64(rare)), chosen(x, rare))
            assert len(fast.programs) <= 4
    seen = {float(program.guards[0].seen) for program in fast.programs}
    assert seen >= {1.0, 2.0, 3.0}


def test_paths_that_are_never_taken_again_are_given_up():
    fast = tape.compile(chosen, most_paths=3)
    x = np.array([1.0, 2.0])
    for k in range(3):
        fast(x, np.float64(k))
    with pytest.warns(RuntimeWarning, match="3 paths were recorded, and .* still gives new values"):
        fast(x, np.float64(7))
    assert fast.statistics().eager == 1


def test_a_few_replays_do_not_pay_for_recording_more():
    fast = tape.compile(chosen, most_paths=3)
    x = np.array([1.0, 2.0])
    for k in range(3):
        fast(x, np.float64(k))
        fast(x, np.float64(k))
    with pytest.warns(RuntimeWarning, match="without compiling where it takes another path"):
        np.testing.assert_array_equal(fast(x, np.float64(7)), chosen(x, 7))
    assert {float(program.guards[0].seen) for program in fast.programs} == {0.0, 1.0, 2.0}
    np.testing.assert_array_equal(fast(x, np.float64(1)), chosen(x, 1))


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_many_numbers_as_arguments_reach_their_places(dtype):
    """Numbers that lie side by side are put there together."""

    def f(xs, y, *others):
        return sum(k * x for k, x in enumerate(xs)) * y, xs[0] - others[-1]

    fast = tape.compile(f)
    for seed in range(3):
        xs = np.random.default_rng(seed).uniform(size=40).astype(dtype)
        numbers = xs.tolist() if dtype is float else list(xs)
        for found, wanted in zip(fast(numbers, numbers[1], *numbers[:5]), f(xs.astype(float), xs[1], *xs[:5])):
            np.testing.assert_allclose(found, wanted, rtol=1e-5 if dtype is not float else 1e-13)
    assert len(fast.programs) == 1


# What Python is told, and the paths that follow.


def loops(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total = total + x[i] * x[i]
        else:
            total = total - x[i]
    return total


def test_each_path_is_recorded_once():
    fast = tape.compile(loops)
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.standard_normal(3)
        assert_allclose(fast(x), np.sum(np.where(x > 0, x * x, -x)))
    assert len(fast.programs) == 8


def test_each_path_of_a_plain_number_is_recorded():
    fast = tape.compile(lambda x: x - x if x < 0 else x)
    assert [fast(x) for x in (-1.3, 1.34, -2.0, 2.0)] == [0.0, 1.34, 0.0, 2.0]
    assert len(fast.programs) == 2
    with pytest.raises(GuardMissed, match=r"bool\(\) gives True, and for these inputs it gives False"):
        fast.programs[0].run([1.0])


def test_a_loop_until_convergence():
    @tape.compile
    def root(a):
        x = a * 1.0
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in np.linspace(0.5, 9, 30):
            assert_allclose(root(float(a)), np.sqrt(a))
    assert 1 < len(root.programs) < 12


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: float(x.sum()), lambda x: x.sum().item(), lambda x: int(x.sum()), lambda x: x.tolist()[0],
        lambda x: np.asarray(x).copy()[0], lambda x: np.asarray(tape.stop_gradient(x))[0],
        lambda x: bool(x.sum()) * 1.0, lambda x: max(x), lambda x: x[x > 0.5].sum(), lambda x: x[x.argmax()],
        lambda x: 1.0 if x[0] in x[1:] else 2.0,
        lambda x: sorted(x)[1], lambda x: x[int(x[0])],
    ],
)  # fmt: skip
def test_whatever_python_is_told_of_a_value_is_verified(ask):
    def f(x):
        return ask(x) * x.sum()

    fast = tape.compile(f)
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(12):
            x = rng.random(3)
            expected = f(tape.tensor(x))
            assert_allclose(fast(x), expected.numpy() if isinstance(expected, tape.Tensor) else expected)


def test_a_function_that_always_takes_another_path_runs_as_it_is():
    fast = tape.compile(lambda x: x * float(x[0]), most_paths=4)
    for k in range(4):
        assert_array_equal(fast(np.array([k, 2.0])), np.array([k, 2.0]) * k)
    with pytest.warns(RuntimeWarning, match=r"4 paths were recorded.*test_program_paths"):
        fast(np.array([5.0, 2.0]))
    for k in range(10):
        assert_array_equal(fast(np.array([k, 2.0])), np.array([k, 2.0]) * k)


def test_a_program_alone_refuses_another_path():
    program = tape.record(loops, np.array([1.0, -1.0]))
    assert program(np.array([2.0, -1.0])) == 5.0
    with pytest.raises(GuardMissed, match=r"bool\(\) gives True.*\n.*paths.py:\d+ in loops: if x\[i\] > 0"):
        program(np.array([-2.0, -1.0]))
    with pytest.raises(TypeError, match="recorded for arguments"):
        program(np.ones(3))
