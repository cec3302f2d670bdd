"""A compiled function that asks for what is another in every call, or that changes what is around it."""

from __future__ import annotations

import datetime
import itertools
import os
import random
import secrets
import time
import uuid
import warnings
from time import perf_counter as now

import numpy as np
import pytest
from numpy.random import RandomState

import tape
from tape.program import compile

ONE = np.ones(2)
HELD = {}
COUNTED = []


def imported_inside(x):
    import time as clock

    return x.sum() * clock.perf_counter()


def imported_names(x):
    from secrets import randbelow

    return x.sum() * randbelow(10**9)


def asks_a_clock():
    return time.monotonic_ns()


class Timed:
    def __init__(self):
        self.clock = time.perf_counter_ns

    def __call__(self, x):
        return x.sum() * self.clock()


# What is fresh in every call.


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: x.sum() * random.Random().random(), "Random"),
        (lambda x: x.sum() * random.SystemRandom().random(), "SystemRandom"),
        (lambda x: x.sum() * time.perf_counter_ns(), "time.perf_counter_ns"), (lambda x: x.sum() * now(), "now"),
        (lambda x: x.sum() * asks_a_clock(), "time.monotonic_ns"), (Timed(), "perf_counter_ns"),
        (imported_inside, "time.perf_counter"), (imported_names, "secrets.randbelow"),
        (lambda x: x.sum() * datetime.datetime.now().timestamp(), "datetime.datetime.now"),
        (lambda x: x.sum() * secrets.randbits(50), "secrets.randbits"),
        (lambda x: x.sum() * uuid.uuid4().int, "uuid.uuid4"),
        (lambda x: sum([x.sum() * time.time_ns() for _ in range(2)]), "time.time_ns"),
    ],
)  # fmt: skip
def test_what_is_another_in_every_call(function, name):
    fast = compile(function)
    with pytest.warns(RuntimeWarning, match=f"reads .*{name}.*which is not known to give the same"):
        found = [float(fast(ONE)) for _ in range(3)]
    assert len(set(found)) == 3
    assert not fast.programs


def with_a_seed_of_none(x, seed=None):
    return x.sum() * np.random.default_rng(seed).random()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * np.random.default_rng().standard_normal(2)).sum(), lambda x: x.sum() * RandomState().rand(),
        lambda x: x.sum() * np.random.Generator(np.random.PCG64(None)).random(), with_a_seed_of_none,
        lambda x: x.sum() * np.random.SeedSequence().generate_state(1)[0],
    ],
)  # fmt: skip
def test_generators_that_are_made_without_a_seed(function):
    fast = compile(function)
    with pytest.warns(RuntimeWarning, match="drew random numbers"):
        found = [float(fast(ONE)) for _ in range(3)]
    assert len(set(found)) == 3
    assert not fast.programs


@pytest.mark.parametrize("kind", ["enclosed", "attribute", "argument", "enumerate"])
def test_an_iterator_goes_on(kind):
    batches = (np.full(2, float(k)) for k in itertools.count())
    timed = Timed()
    timed.batches = iter(batches)
    numbered = enumerate(batches)
    fast = compile(
        {
            "enclosed": lambda w, it: (w * next(batches)).sum(),
            "attribute": lambda w, it: (w * next(timed.batches)).sum(),
            "argument": lambda w, it: (w * next(it)).sum(),
            "enumerate": lambda w, it: (w * next(numbered)[1]).sum(),
        }[kind]
    )
    with pytest.warns(RuntimeWarning, match="reads .*, which is not known"):
        assert [fast(ONE, batches if kind == "argument" else None) for _ in range(3)] == [0, 2, 4]


def test_the_environment_is_asked_in_every_call(monkeypatch):
    fast = compile(lambda x: x.sum() * float(os.environ["SCALE"]))
    monkeypatch.setenv("SCALE", "2")
    with pytest.warns(RuntimeWarning, match=r"os\.environ"):
        assert fast(ONE) == 4
    monkeypatch.setenv("SCALE", "3")
    assert fast(ONE) == 6


class Solver:
    def __init__(self):
        self.time, self.made = 2.0, time.time()


def test_other_things_of_these_names_are_compiled():
    solver, seed = Solver(), 7
    functions = [
        lambda x: x * solver.time, lambda x: x * np.random.default_rng(seed).standard_normal(2),
        lambda x: x * random.Random(7).random(), lambda x: x * random.Random(seed).random(),
        lambda x: x * datetime.timedelta(days=1).total_seconds(),
        lambda x: x * len(os.path.join("a", "b")), lambda x: x * sum(k for k in range(3)),
    ]  # fmt: skip
    for function in functions:
        fast, expected = compile(function), function(tape.tensor(ONE)).numpy()
        for _ in range(3):
            np.testing.assert_array_equal(fast(ONE), expected)
        assert fast.programs[0].replays == 3


# What it changes around itself.


def calls_of(function, n=5, most_paths=32):
    """What a compiled function gives, call after call, and whether it warned."""
    fast = compile(function, most_paths=most_paths)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return [float(fast(ONE)) for _ in range(n)], bool(caught), fast


@pytest.mark.parametrize("most_paths", [2, 32])
def test_a_list_that_is_appended_to_and_read(most_paths):
    seen, inner = [], {"seen": []}
    readers = [
        lambda x: (seen.append(1), x.sum() * len(seen))[1],
        lambda x: (seen.extend([1]), x.sum() * sum(seen))[1],
        lambda x: (inner["seen"].append(1), x.sum() * len(inner["seen"]))[1],
        lambda x: (COUNTED.append(1), x.sum() * counted())[1],
    ]
    for reader in readers:
        seen.clear()
        found, warned, _ = calls_of(reader, most_paths=most_paths)
        assert found == [2, 4, 6, 8, 10]
        assert warned == (most_paths == 2)
    assert len(seen) == 0
    assert len(COUNTED) == len(inner["seen"]) == 5
    COUNTED.clear()


def counted():
    return len(COUNTED)


def test_results_that_are_kept_around_it():
    history, state, timed, latest = [], {}, Timed(), None

    def listed(x):
        history.append(x.sum())
        return x.sum()

    def kept(x):
        state["x"] = {"deep": [x * 2]}
        return x.sum()

    def attribute(x):
        timed.loss = x.sum()
        return timed.loss * 2

    def enclosed(x):
        nonlocal latest
        latest = x.sum()
        return latest * 3

    def in_the_module(x):
        global latest_of_all
        latest_of_all = x.sum()
        return x.sum()

    for function, expected in ((listed, 2), (kept, 2), (attribute, 4), (enclosed, 6), (in_the_module, 2)):
        found, warned, _ = calls_of(function)
        assert found == [expected] * 5
        assert warned
    assert [float(x) for x in history] == [2] * 5
    assert np.asarray(state["x"]["deep"][0]).tolist() == [2, 2]
    assert float(timed.loss) == float(latest) == float(latest_of_all) == 2


def test_what_was_changed_before_a_refusal_is_changed_once():
    seen, count = [], 0

    def f(x):
        nonlocal count
        count += 1
        seen.append(count)
        HELD[count] = count
        return x.sum() * random.random() * 0 + count

    found, warned, _ = calls_of(f)
    assert warned
    assert found == [1, 2, 3, 4, 5] == seen == list(HELD)
    HELD.clear()


def test_a_name_that_was_not_there_before():
    timed = Timed()

    def f(x):
        timed.count = getattr(timed, "count", 0) + 1
        return x.sum() * timed.count

    assert calls_of(f)[0] == [2, 4, 6, 8, 10]


def test_a_shortcut_does_not_outlive_what_another_path_changed():
    timed = Solver()

    def f(x):
        count = getattr(timed, "count", 0)
        if x < 0:
            timed.count = count + 1
        return x * 0 + count

    fast = compile(f)
    assert [fast(1.0) for _ in range(600)] == [0] * 600
    assert [fast(-1.0), fast(1.0)] == [0, 1]


def test_what_is_made_once_is_compiled():
    cache, timed = {}, Solver()

    def f(x):
        if "table" not in cache:
            cache["table"] = np.arange(2.0)
        timed.scale = 3.0
        return (x * cache["table"]).sum() * timed.scale

    found, warned, fast = calls_of(f)
    assert found == [3] * 5
    assert not warned
    assert fast.statistics().replays == 4
