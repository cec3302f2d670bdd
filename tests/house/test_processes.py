"""Forked and spawned processes: they record and sweep, whatever other threads were doing at the fork."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import tape
from tape.autograd import grad
from tape.backprop import backward as backward_room
from tape.base.locks import new_lock
from tape.recording import wengert
from tape.recording.wengert import LISTS, current

pytestmark = pytest.mark.filterwarnings("ignore:os.fork")  # JAX in the same process says so
ROOT = Path(__file__).resolve().parents[2]

forks = hasattr(os, "fork")


def leaf(*values):
    return tape.tensor(np.array(values, float), requires_grad=True)


def gradient(values):
    """A gradient with kernels, stops and a hook, for a child to compute."""
    x = leaf(*values)
    y = (x.exp() * x).logsumexp(0)
    y.register_hook(lambda g: g * 2)
    y.backward()
    return x.grad.tolist()


def in_child(work):
    """What a forked child makes of a function; None where it fails or does not end."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that threads and forks do not mix is what is tested
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)
            os.write(write, pickle.dumps(work()))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        content = answer.read()
    os.waitpid(child, 0)
    return pickle.loads(content) if content else None


INTERRUPTED = """
import signal, sys
import numpy as np
import pytest
import tape
from tape.recording.wengert import current

x = tape.tensor(np.linspace(0, 1, 50), requires_grad=True)
def work():
    x.grad = None
    y = x
    for _ in range(300):
        y = y.sin() + x * y
    y.sum().backward()
    return x.grad.numpy().copy()

def interrupt(*_):
    raise KeyboardInterrupt

expected = work()
signal.signal(signal.SIGALRM, interrupt)
rng, came = np.random.default_rng(0), 0
while came < int(sys.argv[1]):
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 2e-2))
        while True:
            work()
    except KeyboardInterrupt:
        came += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert (current().busy, current().recording, current().where) == (0, True, None)
    np.testing.assert_array_equal(work(), expected)
print("as before", came)
"""


if forks:  # not on Windows

    def test_a_forked_child_records_and_sweeps():
        assert in_child(lambda: gradient([0.5, 1.0])) == gradient([0.5, 1.0])

    def test_a_child_goes_on_with_what_was_recorded():
        x = leaf(2.0)
        y = x * x
        assert in_child(lambda: (y.backward(), x.grad.item())[1]) == 4.0
        assert x.grad is None
        y.backward()
        assert x.grad.item() == 4.0

    def test_locks_held_by_other_threads_are_free_in_the_child():
        """Whatever they were in the midst of: recording, releasing, adding to a gradient."""
        mine, held, done = new_lock(), threading.Event(), threading.Event()
        taken = [mine, current()._lock, backward_room._adding, wengert._starting]

        def hold():
            for lock in taken:
                lock.acquire()
            held.set()
            done.wait()
            for lock in taken:
                lock.release()

        def work():
            thread_gradients: list = []
            other = threading.Thread(target=lambda: thread_gradients.append(gradient([0.5, 1.0])))
            other.start()
            other.join(30)
            with mine:
                return gradient([0.5, 1.0]), thread_gradients

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        try:
            found = in_child(work)
        finally:
            done.set()
            thread.join()
        assert found == (gradient([0.5, 1.0]), [gradient([0.5, 1.0])])

    def test_a_program_that_another_thread_is_making_ready_runs_in_the_child():
        """Its locks are the library's own; so are all others, but for that of a thread which waits for another."""
        program = tape.record(lambda x: np.tanh(x) * x, np.ones(100))
        locks = [program._lock, program.replay._lock]
        held, done = threading.Event(), threading.Event()

        def hold():
            with locks[0], locks[1]:
                held.set()
                done.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        try:
            found = in_child(lambda: (program.replay.sweeper is not None, float(program(np.ones(100))[0])))
        finally:
            done.set()
            thread.join()
        assert found == (True, pytest.approx(np.tanh(1.0)))
        made = [
            file.relative_to(ROOT).as_posix()
            for folder in ("tape", "ops")
            for file in sorted((ROOT / folder).rglob("*.py"))
            if re.search(r"\bR?Lock\(\)|import .*\bcached_property", file.read_text(encoding="utf-8"))
        ]
        assert made == ["tape/backprop/fresh_stacks.py", "tape/base/locks.py", "tape/base/undisturbed.py"]

    def test_the_sweeps_of_other_threads_are_not_the_childs():
        """They never end there, and would keep rows from being reclaimed for ever."""
        swept, go_on = threading.Event(), threading.Event()
        box: list = []

        def sweep():
            x = leaf(1.0)
            y = x * 2
            y.register_hook(lambda g: (swept.set(), go_on.wait())[0])
            box.append(y)
            y.backward()

        thread = threading.Thread(target=sweep)
        thread.start()
        swept.wait()
        number = box[0]._node >> wengert.THREAD_SHIFT

        def work():
            return wengert._by_number[number].busy, set(LISTS) == {threading.get_ident()}, gradient([1.0])

        try:
            assert wengert._by_number[number].busy == 1
            assert in_child(work) == (0, True, gradient([1.0]))
        finally:
            go_on.set()
            thread.join()

    def test_a_fork_within_a_hook():
        x = leaf(3.0)
        y = x * x
        answers = []
        y.register_hook(
            lambda g: answers.append(in_child(lambda: (tape.enable_grad()(gradient)([1.0]), current().busy)))
        )
        y.backward()
        assert answers == [(gradient([1.0]), 1)]
        assert x.grad.item() == 6.0

    def test_many_children_at_once():
        context = multiprocessing.get_context("fork")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            with context.Pool(3) as pool:
                assert pool.map(gradient, [[0.5, 1.0]] * 12) == [gradient([0.5, 1.0])] * 12

    def test_real_interrupts_of_forward_and_backward():
        """Ctrl-C again and again, at moments that nobody chose."""
        command = [sys.executable, "-c", INTERRUPTED, "20"]
        env = {**os.environ, "TAPE_JIT": "1"}
        answer = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=env, check=False)
        assert answer.stdout.strip() == "as before 20", answer.stderr


def test_spawned_processes():
    """Each starts from nothing and gets its work as pickles; the caches on disk are shared."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        assert pool.map(gradient, [[0.5, 1.0], [1.5]]) == [gradient([0.5, 1.0]), gradient([1.5])]
        (sent,) = pool.map(doubled, [leaf(1.0, 2.0)])
    assert (sent.tolist(), sent.requires_grad) == ([2.0, 4.0], True)


def doubled(x):
    assert x.requires_grad
    (g,) = grad((x * x).sum(), x)
    return g.detach().requires_grad_()
