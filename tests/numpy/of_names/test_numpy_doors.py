"""Doors in modules and in users' names: interrupts, other threads, and Numba's own locks leave everything as it was."""

from __future__ import annotations

import gc
import inspect
import math
import subprocess
import sys
import threading
import types
from math import exp

import numpy as np
import pytest
import scipy.sparse
from numpy import zeros

import tape
from tape.numpy import doors, opening
from tape.numpy.names import named_places, taken
from tape.program.world.watched import Space

X = np.array([1.0, 2.0, 3.0])
ZEROS, EXP = zeros, exp


def filled(x):
    y = zeros(3)
    y[:] = x * exp(x[0])
    return np.array([y.sum(), math.sin(x[1])]).sum() if type(x) is np.ndarray else None


def assert_nothing_stands():
    assert [type(module) for module in (np, math, np.linalg)] == [types.ModuleType] * 3
    assert (zeros, exp, np.zeros, math.exp) == (ZEROS, EXP, ZEROS, EXP)
    assert "type" not in globals()


FILES = doors.__file__, named_places.__file__, taken.__file__, opening.__file__


def interrupted_at(number, work=lambda: tape.func.grad(filled)(X)):
    """Work, or record, with an interrupt at an event in the rooms about doors; whether there were so many events."""
    left, latest = [number], {}

    def trace(frame, event, _):
        code = frame.f_code
        if code.co_filename not in FILES or code.co_flags & inspect.CO_GENERATOR or code.co_name == "__del__":
            return None  # what is raised in the last is told of, and no more
        goes_back = event == "line" and frame.f_lineno < latest[id(frame)]
        latest[id(frame)] = frame.f_lineno
        if goes_back:  # to let go of a lock, where no interrupt comes
            return trace
        left[0] -= event in ("call", "line")
        if left[0] < 0:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return left[0] < 0


def test_an_interrupt_leaves_no_door_wherever_it_comes():
    expected = tape.func.grad(filled)(X)
    number = 0
    while interrupted_at(number):
        assert_nothing_stands()
        number += 1 + number // 40
    assert number > 50
    np.testing.assert_array_equal(tape.func.grad(filled)(X), expected)
    assert_nothing_stands()


def test_an_interrupt_leaves_no_thread_shut_wherever_it_comes():
    def shutting(x):
        y = zeros(3)
        with opening.closed(), opening.closed():
            assert np.zeros is ZEROS
        z = np.zeros(3)
        y[:], z[:] = x, x * x
        return (y * z).sum()

    def work():
        with opening.closed():
            pass
        tape.func.grad(shutting)(X)

    work()
    number = 0
    while interrupted_at(number, work):
        assert not opening.shut
        assert_nothing_stands()
        number += 1 + number // 40
    assert number > 50
    np.testing.assert_allclose(tape.func.grad(shutting)(X), 3 * X**2)


def test_a_function_first_seen_while_another_thread_records_with_its_names():
    inside, go, found = threading.Event(), threading.Event(), []

    def other(x):
        inside.set()
        go.wait(30)
        return filled(x)

    thread = threading.Thread(target=lambda: found.append(tape.func.grad(other)(X)))
    thread.start()
    assert inside.wait(30)
    mine = types.FunctionType(filled.__code__, globals(), "mine")
    found.append(tape.func.grad(mine)(X))
    go.set()
    thread.join(30)
    found.append(tape.func.grad(mine)(X))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert_nothing_stands()


COMPILES_MEANWHILE = """
import faulthandler, threading
faulthandler.dump_traceback_later(60, exit=True)
import numba, tape
from numba.core.cpu import CPUContext
from tape.numpy.opening import listen

begun, made = threading.Event(), CPUContext.__init__

def slow(self, *args, **kwargs):
    begun.set()
    threading.Event().wait(0.3)
    made(self, *args, **kwargs)

CPUContext.__init__ = slow
compiles = threading.Thread(target=lambda: numba.njit(lambda x: x))
compiles.start()
assert begun.wait(30)
listen()
compiles.join(30)
print(compiles.is_alive())
"""


def test_numba_is_made_ready_by_two_threads():
    pytest.importorskip("numba")
    command = [sys.executable, "-c", COMPILES_MEANWHILE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr


@pytest.mark.parametrize("kind", [np.vectorize, vars(scipy.sparse)["spmatrix"]])
def test_what_another_recording_puts_back_is_no_door(kind):
    """A recording that is given up lets the classes that it read be as they were, while another thread records."""
    (mapping,) = gc.get_referents(vars(kind))
    before = dict(mapping)
    outside = Space(mapping, kind, set())
    with opening.opened(lambda x: x):
        assert any(now is not then for now, then in zip(mapping.values(), before.values(), strict=True))
        standing = dict(mapping)
        within = Space(mapping, kind, set())
        outside.whole = within.whole = True
        assert outside.holds()
        outside.put_back()
        assert dict(mapping) == standing
    assert within.holds()
    within.put_back()
    assert dict(mapping) == before


class Lazy:
    """A property of one's own, without a dict."""

    __slots__ = ("fget",)

    def __init__(self, fget):
        self.fget = fget

    def __get__(self, thing, owner=None):
        return self if thing is None else self.fget(thing)


class Model:
    def __init__(self, x):
        self.x = x

    @Lazy
    def value(self):
        y = zeros(3)
        y[0] = self.x[0] * 2.0
        return y


def test_functions_behind_descriptors_are_found():
    gradient = tape.func.grad(lambda x: Model(x).value.sum())
    for function in (gradient, tape.compile(gradient)):
        np.testing.assert_array_equal(function(np.ones(3)), [2.0, 0.0, 0.0])
