"""What a compiled function does to its arguments, and arguments that have too many values to be recorded for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import Untraceable, compile, record

ONE = np.ones(2)


# Lists and dicts that it changes.


def momentum(state, g):
    state["m"] = 0.9 * state["m"] + g
    return state["m"] * 2


def test_a_dict_that_is_changed_is_changed_by_every_call():
    state, fast = {"m": np.zeros(2)}, compile(momentum)
    with pytest.warns(RuntimeWarning, match="changed a list, dict or set among its arguments") as caught:
        assert_allclose(fast(state, ONE), 2 * ONE)
    assert [w.filename for w in caught] == [__file__]
    assert_allclose(fast(state, ONE), 3.8 * ONE)
    assert_allclose(fast(state, ONE), 5.42 * ONE)
    assert type(state["m"]) is np.ndarray
    assert_allclose(state["m"], 2.71 * ONE)
    state = {"m": tape.zeros(2)}
    with pytest.warns(RuntimeWarning):
        found = [compile(momentum)(state, tape.ones(2))[0].item() for _ in range(3)]
    assert_allclose(found, [2, 3.8, 5.42])


def log(x, out):
    out.append(x.sum())
    return x * 2


def nested(x, out):
    out[0]["all"].append(x * 3)
    return x * out[0]["k"]


def doubled(items):
    items[0] = items[0] * 2
    return items[0].sum()


def swapped(items):
    items["a"], items["b"] = items["b"], items["a"]
    return items["a"] * 2 + items["b"]


def popped(items):
    return items.pop() * 2


def grown(x, seen):
    seen.add(len(seen))
    return x * len(seen)


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (log, lambda a: (a(ONE), [])), (nested, lambda a: (a(ONE), ({"all": [a(ONE)], "k": 2.0},))),
        (doubled, lambda a: ([a(ONE)],)), (swapped, lambda a: ({"a": a(ONE), "b": a(5 * ONE)},)),
        (popped, lambda a: ([a(ONE), a(2 * ONE), a(3 * ONE)],)), (grown, lambda a: (a(ONE), set())),
    ],
)  # fmt: skip
def test_what_a_function_does_to_containers_is_done_once_by_every_call(function, make):
    for kind in (np.array, tape.tensor):
        found, expected, fast = make(kind), make(tape.tensor), compile(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(3):
                assert_array_equal(np.asarray(fast(*found)), np.asarray(function(*expected)))
        arrays = tape.base.tree.transform(lambda x: x.numpy() if isinstance(x, tape.Tensor) else x, expected)
        np.testing.assert_equal(tape.base.tree.transform(np.asarray, found), arrays)
        assert kind is tape.tensor or not any(isinstance(x, tape.Tensor) for x in tape.base.tree.leaves_of(found))


def test_a_container_that_is_only_read_is_compiled():
    fast = compile(lambda items: items[0] * 2 + min(items[1]))
    for k in (1.0, 2.0):
        assert_array_equal(fast([k * ONE, {3: 1.0, 1: 2.0}]), 2 * k * ONE + 1)
    assert fast.statistics().replays == 2


def test_an_error_leaves_what_was_changed_as_eager_execution_does():
    def f(items):
        items.append(1.0)
        raise ValueError("mine")

    items = [ONE]
    with pytest.raises(ValueError, match="mine"):
        compile(f)(items)
    assert len(items) == 2
    with pytest.raises(Untraceable, match="among its arguments"):
        record(log, ONE, [])


class State:
    def __init__(self):
        self.m = np.zeros(2)


def test_an_object_that_a_result_is_kept_in():
    def f(state, g):
        state.m = 0.9 * state.m + g
        state.new = g.sum()
        return state.m * 2

    state, fast = State(), compile(f)
    with pytest.warns(RuntimeWarning, match="kept a result"):
        assert_allclose(fast(state, ONE), 2 * ONE)
    assert_allclose(fast(state, ONE), 3.8 * ONE)
    assert_allclose(fast(state, ONE), 5.42 * ONE)
    assert float(state.new) == 2


# Arguments with many values.


def adam(w, g, m, v, t):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v


def test_an_int_that_counts_is_given_up():
    fast, args = compile(adam, most_paths=3), (ONE, ONE, 0 * ONE, 0 * ONE)
    tensors = list(map(tape.tensor, args))
    with pytest.warns(RuntimeWarning, match=r"argument 't' keeps getting new values.*float or an array") as caught:
        found = [fast(*args, t)[0] for t in range(1, 30)]
    assert_allclose(found, [adam(*tensors, t)[0].numpy() for t in range(1, 30)])
    assert len(caught) == 1
    assert fast.statistics().signatures == 3
    assert len(fast.programs) == 3
    assert_allclose(fast(*args, 2)[0], adam(*tensors, 2)[0].numpy())
    assert fast.statistics().replays == 4
    fast(*args, 1.0), fast(*args, 2.0)
    assert fast.statistics().replays == 6


def test_a_float_beside_narrow_arrays_is_given_up():
    fast, w = compile(lambda w, lr: w - lr * np.tanh(w), most_paths=3), np.ones(3, np.float32)
    with pytest.warns(RuntimeWarning, match=r"argument 'lr' keeps getting new values.*np\.float32") as caught:
        assert {fast(w, 0.1 * k).dtype for k in range(20)} == {w.dtype}
    assert len(caught) == 1
    assert len(fast.programs) == 3
    again = compile(lambda w, lr: w - lr * np.tanh(w))
    for k in range(5):
        assert again(w, np.float32(0.1 * k)).dtype == np.float32
    assert len(again.programs) == 1


def test_other_arguments_are_still_compiled():
    fast = compile(lambda x, power, name: x**power if name == "power" else x * power, most_paths=3)
    with pytest.warns(RuntimeWarning, match="'power'"):
        assert [fast(2 * ONE, k, "power")[0] for k in range(6)] == [1, 2, 4, 8, 16, 32]
    assert_array_equal(fast(3 * ONE, 2, name="times"), 6 * ONE)
    assert_array_equal(fast(4 * ONE, 2, name="times"), 8 * ONE)
    assert fast.programs[-1].replays == 2


def test_arguments_that_change_together(monkeypatch):
    monkeypatch.setattr("tape.program.entries.program_cache.MOST_SIGNATURES", 5)
    fast = compile(lambda x, i, j: x * i + j, most_paths=3)
    with pytest.warns(RuntimeWarning, match="arguments 'i' and 'j' keep getting new values") as caught:
        assert [fast(ONE, k, j=-k)[0] for k in range(12)] == 12 * [0]
    assert len(caught) == 1
    assert len(fast.programs) <= 5


# What may be compiled, and how.


async def later(x):
    return x


def several(x):
    yield x


class Callable:
    async def __call__(self, x):
        return x


@pytest.mark.parametrize("make", [compile, lambda f: record(f, ONE)])
@pytest.mark.parametrize(
    ("function", "match"),
    [
        (3.0, "requires a function; got 3.0, of type float"), (later, "later is a coroutine function"),
        (several, "several is a generator"), (Callable(), "is a coroutine function"),
    ],
)  # fmt: skip
def test_a_function_that_returns_its_result_is_required(make, function, match):
    with pytest.raises(TypeError, match=match):
        make(function)


@pytest.mark.parametrize("make", [compile, lambda f, **options: record(f, ONE, **options)])
@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"tier": "fast"}, ValueError, "'interpret', 'quick', 'optimised', or None; got 'fast'"),
        ({"threads": 0}, ValueError, "at least 1; None .* got 0"), ({"threads": -1}, ValueError, "got -1"),
        ({"threads": "a"}, TypeError, "threads= must be a whole number"), ({"threads": True}, TypeError, "got True"),
    ],
)  # fmt: skip
def test_options_are_verified(make, options, error, match):
    with pytest.raises(error, match=match):
        make(abs, **options)


def test_the_number_of_paths_is_verified():
    with pytest.raises(ValueError, match="most_paths= must be a whole number of at least 1; got 0"):
        compile(most_paths=0)
