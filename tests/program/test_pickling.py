"""Programs and compiled functions that are pickled, copied, and sent to other processes."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape
from tape.program import ProgramFileError

Pair = namedtuple("Pair", "a b")
X = np.array([1.0, -2.0, 3.0])


@tape.compile(tier="quick", threads=1)
def decorated(x):
    return x * 2.0 if x.sum() > 0 else decorated(-x)


def plain(x):
    return (x * x).sum()


named = tape.compile(plain, tier="quick", threads=1)


class Model:
    @staticmethod
    @tape.compile
    def static(x):
        return x * 3.0

    @tape.compile
    def scaled(self, x):
        return x * self.scale

    def __init__(self, scale):
        self.scale = scale


def of_loss():
    return tape.record(tape.func.grad_and_value(lambda x, t: {"v": ((x - t) ** 2).sum()}["v"]), X, 0.5)


def through_pickle(x):
    return pickle.loads(pickle.dumps(x))


def lasting(protocol):
    return lambda x: pickle.loads(pickle.dumps(x, protocol))


WAYS = [copy.copy, copy.deepcopy, *map(lasting, range(2, pickle.HIGHEST_PROTOCOL + 1))]


# Programs.


@pytest.mark.parametrize("way", WAYS)
def test_a_program_comes_back(way):
    program = of_loss()
    back = way(program)
    assert back is not program
    assert (back.tier, back.threads, back.key) == (program.tier, program.threads, program.key)
    for args in ((X, 0.5), (X * 2, -1.0)):
        for z, w in zip(back(*args), program(*args), strict=True):
            assert_array_equal(z, w)
    with pytest.raises(TypeError, match="recorded for"):
        back(np.ones(4), 0.5)


@pytest.mark.parametrize("way", WAYS)
def test_guards_come_along_as_they_are_verified(way):
    program = tape.record(lambda x: x * float(tape.exp(x).sum()), X)
    back = way(program)
    assert [(g.seen, g.location) for g in back.guards] == [(g.seen, g.location) for g in program.guards]
    assert_array_equal(back(X), program(X))
    with pytest.raises(RuntimeError, match="holds only while"):
        back(X - 100.0)


def test_a_copy_shares_what_was_captured_and_a_deep_copy_does_not():
    w = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    program = tape.record(lambda x: (w * x).sum(), X)
    copy.copy(program)(X).backward()
    assert_array_equal(w.grad, X)
    z = copy.deepcopy(program)(X)
    assert z == program(X).item()
    assert not getattr(z, "requires_grad", False)


def test_a_pickled_program_is_data():
    """Of globals it names the one that reads the bytes."""
    names = []

    class Watching(pickle.Unpickler):
        def find_class(self, module, name):
            names.append(f"{module}.{name}")
            return super().find_class(module, name)

    Watching(io.BytesIO(pickle.dumps(of_loss()))).load()
    assert names == ["tape.program.recorded_program.from_bytes"]


def test_a_damaged_program_is_refused():
    function, (whole,) = of_loss().__reduce__()
    rng = np.random.default_rng(0)
    for _ in range(50):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= int(rng.integers(1, 256))
        with pytest.raises(ProgramFileError):
            function(bytes(damaged))
    for end in (0, 10, len(whole) - 1):
        with pytest.raises(ProgramFileError):
            function(whole[:end])


def test_what_no_file_holds_is_refused():
    program = tape.record(lambda x: Pair(x, x * 2.0), X)
    assert copy.copy(program)(X).b.tolist() == (X * 2).tolist()
    for way in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot hold a Pair"):
            way(program)


# Compiled functions.


@pytest.mark.parametrize("way", WAYS[2:])
@pytest.mark.parametrize("function", [decorated, Model.static])
def test_a_decorated_function_is_pickled_by_name(function, way):
    assert way(function) is function


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_function_keeps_its_options(way):
    back = way(named)
    assert (back.function, back.tier, back.threads, back.most_paths) == (plain, "quick", 1, named.most_paths)
    assert back(X) == named(X) == 14.0


def test_bound_methods():
    assert_array_equal(through_pickle(Model(3.0).scaled)(X), X * 3)


def test_a_function_without_a_name_is_refused_as_pickle_does():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(tape.compile(lambda x: x))


# Other processes.


def test_spawned_processes():
    jobs = [decorated, named, Model.static, Model(0.5).scaled, of_loss(), tape.record(plain, X)]
    given = [(X,)] * 4 + [(X, 0.25), (X,)]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        found = list(pool.map(called, jobs, given))
    for z, job, args in zip(found, jobs, given, strict=True):
        expected = job(*args)
        pairs = zip(z, expected, strict=True) if isinstance(z, tuple) else [(z, expected)]
        for a, b in pairs:
            assert_array_equal(a, b)
    with spawn.Pool(1) as pool:
        assert [z.tolist() for z in pool.map(decorated, [X, X * 2])] == [(X * 2).tolist(), (X * 4).tolist()]


def called(job, args):
    return job(*args)


WRITES = """
import pathlib, sys, cloudpickle, tape
@tape.compile(tier="quick")
def doubled(x):
    return x * 2.0 if x.sum() > 0 else doubled(-x)
pathlib.Path(sys.argv[1]).write_bytes(cloudpickle.dumps([doubled, tape.compile(lambda x: doubled(x) + 1.0)]))
"""
READS = """
import pathlib, pickle, sys, numpy as np
doubled, more = pickle.loads(pathlib.Path(sys.argv[1]).read_bytes())
x = np.array([-1.0, -2.0])
print(doubled.__qualname__, doubled.tier, *doubled(x), *doubled(x), *more(x), len(doubled.programs))
"""


def test_functions_of_main_are_pickled_by_value(tmp_path):
    """By cloudpickle, which other libraries send functions with."""
    pytest.importorskip("cloudpickle")
    for code in (WRITES, READS):
        command = [sys.executable, "-c", code, str(tmp_path / "file")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["doubled", "quick", *["2.0", "4.0"] * 2, "3.0", "5.0", "1"]
