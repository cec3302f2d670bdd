"""Imports and compilations where no interrupt comes."""

from __future__ import annotations

import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tape.base import undisturbed as room
from tape.base.undisturbed import undisturbed

ROOT = Path(__file__).resolve().parents[2]
variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)


def test_another_thread_works_for_the_main_one():
    token = variable.set(3)
    ident, value = undisturbed(lambda: (threading.get_ident(), variable.get()))
    variable.reset(token)
    assert (ident != threading.get_ident(), value) == (True, 3)


def test_what_is_raised_comes_back():
    with pytest.raises(ZeroDivisionError):
        undisturbed(lambda: 1 / 0)


def test_a_thread_that_no_interrupt_reaches_works_itself():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(undisturbed(threading.get_ident) == threading.get_ident()))
    thread.start()
    thread.join()
    assert seen == [True]


def test_work_within_work_is_the_same_thread():
    assert undisturbed(lambda: undisturbed(threading.get_ident) == threading.get_ident())


def test_who_holds_the_lock_of_numba_works_itself():
    lock = pytest.importorskip("numba.core.compiler_lock").global_compiler_lock
    with lock:
        assert undisturbed(threading.get_ident) == threading.get_ident()


def test_who_is_importing_the_library_works_itself():
    """Another thread would wait for the lock of the module that is half imported."""
    space = {"__name__": "tape.half_imported", "undisturbed": undisturbed, "ident": threading.get_ident}
    exec(compile("same = undisturbed(ident) == ident()", "half_imported.py", "exec"), space)
    assert space["same"]


def test_the_function_runs_here_where_no_more_threads_are_to_be_had(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert undisturbed(threading.get_ident) == threading.get_ident()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of a timer")
def test_an_interrupt_ends_the_wait_and_not_the_work():
    done, began = [], threading.Event()

    def work():
        began.set()
        time.sleep(0.4)
        done.append(True)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            undisturbed(work)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert began.is_set()
    assert not done
    assert undisturbed(lambda: list(done)) == [True]  # which waited for it


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_for_work_in_the_background():
    thread = threading.Thread(target=lambda: held(0.3))
    thread.start()
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        os._exit(0 if undisturbed(lambda: 7) == 7 and not thread.is_alive() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def held(seconds):
    """What a thread does that works for another."""
    with room._turn:
        time.sleep(seconds)


INTERRUPTED = """
import os, random, signal, sys, time
import numpy as np
import tape

def loss(x):
    y = np.zeros(x.size)
    for i in range(5):
        y[i] = np.sin(x[i]) * x[0]
    return (y * np.exp(-x)).sum() + np.linalg.det(np.outer(x[:3], x[:3]) + np.eye(3))

def work():
    compiled = tape.compile(tape.func.grad(loss))
    found = [compiled(x) for _ in range(2)]
    t = tape.tensor(x, requires_grad=True)
    (t.sin() * t).sum().backward()
    return found[-1], t.grad.numpy().copy()

def interrupt(*_):
    raise KeyboardInterrupt

x, rng, came = np.linspace(0.1, 1, 20), random.Random(int(sys.argv[1])), 0
signal.signal(signal.SIGALRM, interrupt)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    try:  # again and again, as Python drops what comes while the collector calls
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-3, 0.2), 0.5)
        while True:
            work()
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
        came += 1
compiled, eager = work()
np.testing.assert_allclose(compiled, tape.func.grad(loss)(x), rtol=1e-12)
np.testing.assert_allclose(eager, np.sin(x) + x * np.cos(x), rtol=1e-12)
import numba
assert numba.njit(lambda v: np.sin(v).sum())(x) > 0
print("as before", came > 3)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of a timer")
def test_interrupts_while_numba_is_loaded_for_the_first_time():
    """At moments that nobody chose, from the first import on."""
    pytest.importorskip("numba")
    command = [sys.executable, "-c", INTERRUPTED, "7"]
    env = {**os.environ, "TAPE_JIT": "1"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=env, check=False)
    assert answer.stdout.strip() == "as before True", answer.stderr
