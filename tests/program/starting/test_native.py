"""When work passes from Python to jitted code: not before that pays, and not later than pays."""

from __future__ import annotations

import os
import sys
from ast import literal_eval
from pathlib import Path

import numpy as np
import pytest
from cold_processes import ended, start
from hypothesis import given, strategies as st

import tape
from tape.autograd import grad
from tape.backprop import backward
from tape.base import jit_door
from tape.base.jit_door import LLVM, Account
from tape.history import propagate
from tape.jit.machine import kept
from tape.recording import liveness
from tape.recording.wengert import current

HEAVY = ["numba", "llvmlite", "scipy", "click", "rich", "tape.gradcheck.checking", "tape.jit"]


def fresh(program: str, caches: Path, **more: str) -> str:
    """What a fresh process prints, with nothing in the environment that says which sweep to use."""
    process = start(program, caches, **more)
    said, complaints = ended(process)
    assert process.returncode == 0, complaints
    assert complaints == ""
    return said


def chain(x, records):
    y = x
    for _ in range(records // 2):
        y = y * 0.5 + x
    return y.sum()


# A fresh process.


COLD = """
from tests.corpus.arrays.cold import main
main(programs=4, first=2000, calls=30)
"""


def test_random_programs_are_right_while_jitted_code_arrives(tmp_path):
    """Eagerly and compiled, in two threads: sweeps in Python, LLVM's first import, the first plans, jitted sweeps."""
    said = fresh(COLD, tmp_path)
    assert "times each: 0 wrong; sweep jitted, plans jitted" in said, said


SMALL = """
import sys, tape
x = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
{work}
print([m for m in {heavy} if m in sys.modules])
"""


def heavy(work, caches, **more):
    """The heavy modules that a fresh process has imported after some work with a tensor x of three numbers."""
    return literal_eval(fresh(SMALL.format(work=work, heavy=HEAVY), caches, **more))


@pytest.mark.parametrize(
    "work",
    [
        "(x * x).sum().backward()",
        "tape.autograd.grad((tape.sin(x) / x).sum(), x)",
        "for _ in range(100): (tape.exp(x) @ x).backward()",
        "import gc; y = (x * x).sum(); gc.collect(); y.backward(); gc.collect()",
    ],
)
def test_a_small_gradient_waits_for_nothing(work, tmp_path):
    assert heavy(work, tmp_path) == []
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "work",
    [
        "assert tape.autograd.gradcheck(lambda x: tape.tanh(x) * x, x)",
        "assert tape.autograd.gradgradcheck(lambda x: x * x * x, x)",
        "f = tape.compile(lambda x: (x * x).sum()); f(x), f(x)",
        "f = tape.compile(lambda x: tape.autograd.grad((tape.sin(x) * x).sum(), x)[0]); f(x), f(x)",
        "tape.sin(tape.ones(10_000))",
    ],
)
def test_small_work_does_without_numba(work, tmp_path):
    assert "numba" not in heavy(work, tmp_path)


def test_what_the_environment_says_is_done(warm):
    work = "(x * x).sum().backward()"
    assert "llvmlite" in heavy(work, warm, TAPE_JIT="1")
    long = "y = x\nfor _ in range(20_000): y = y * 0.5\ny.sum().backward()"  # twice what is swept jitted
    assert "llvmlite" not in heavy(long, warm, TAPE_JIT="0")


SWITCH = """
import sys, tape
x = tape.tensor([0.5, 2.0], requires_grad=True)
records, found = 0, []
while "tape.jit.driving.run" not in sys.modules and records < {most}:
    y = x
    for _ in range(500): y = y * 0.5 + x
    y = y.sum()
    found.append(tape.autograd.grad(y, x)[0].tolist())
    records += 1001
assert all(g == found[0] for g in found), found
print(records)
"""


@pytest.fixture(scope="module")
def switched(warm):
    """After how many records two processes went over whose sweep lies on disk."""
    return tuple(int(fresh(SWITCH.format(most=10**6), warm)) for _ in range(2))


def test_the_jitted_sweep_comes_when_it_pays(switched):
    """At the same record each time; the code is not loaded before so much was done as that costs."""
    first, second = switched
    price = (LLVM + jit_door.SWEEPS.load) / propagate.PER_RECORD
    assert first == second
    assert 0.9 * price <= first <= 1.1 * price + 1001


@pytest.fixture(scope="module")
def price_of_compiling():
    return (LLVM + jit_door.SWEEPS.compile) / propagate.PER_RECORD


def test_what_must_be_compiled_costs_more(tmp_path, switched, price_of_compiling):
    records = int(fresh(SWITCH.format(most=10**6), tmp_path))
    assert 0.9 * price_of_compiling <= records <= 1.1 * price_of_compiling + 1001
    assert records > max(switched)


def test_one_long_list_is_swept_jitted_at_once(warm):
    """Before the first rule is run, as the length of the list says what is to come."""
    long = "y = x\nfor _ in range(100_000): y = y * 0.5 + x\ny.sum().backward()"
    assert "llvmlite" in heavy(long, warm)


def test_a_note_says_what_is_compiled(tmp_path, warm, price_of_compiling):
    """By processes that use it; a damaged note is none."""
    notes = [p.name for p in (warm / "kernels").iterdir() if not p.read_bytes()[32:]]
    (tmp_path / "kernels").mkdir()
    for note in notes:
        (tmp_path / "kernels" / note).write_bytes(b"damaged")
    assert notes
    assert int(fresh(SWITCH.format(most=10**6), tmp_path)) >= 0.9 * price_of_compiling


FORKS = """
import os, sys, tape
def work(records):
    x = tape.tensor([0.5, 2.0], requires_grad=True)
    y = x
    for _ in range(records): y = y * 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0], x.grad
def in_child(records):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(records)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
work(100)
in_child(100)
in_child(900)
in_child(60_000)
print("tape.jit.driving.run" in sys.modules)
work(60_000)
in_child(60_000)
print("tape.jit.driving.run" in sys.modules)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_forked_before_and_after(warm):
    """A child goes over by itself, whether its parent has or not."""
    assert fresh(FORKS, warm).split() == ["False", "True"]


THREADS = """
import sys, threading, tape
sys.setswitchinterval(1e-5)
wrong = []
def work():
    try:
        for records in [10] * 20 + [3000] * 8 + [10] * 20:
            x = tape.tensor([0.5, 2.0], requires_grad=True)
            y = x
            for _ in range(records): y = y * 1.0
            y.sum().backward()
            assert x.grad.tolist() == [1.0, 1.0], x.grad
    except BaseException as error:
        wrong.append(error)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong, "tape.jit.driving.run" in sys.modules)
"""


def test_several_threads_go_over_together(warm):
    assert fresh(THREADS, warm) == "[] True\n"


def test_a_process_ends_while_a_thread_goes_over(warm):
    """The thread is no daemon, so Python waits for it; nothing of ours runs that nobody waits for."""
    program = (
        "import threading, tape\n"
        "x = tape.tensor([0.5, 2.0], requires_grad=True)\n"
        "def work():\n"
        "    y = x\n"
        "    for _ in range(60_000): y = y * 1.0\n"
        "    y.sum().backward()\n"
        "    assert threading.active_count() == 2, threading.enumerate()\n"
        "    print(x.grad.tolist())\n"
        "threading.Thread(target=work).start()\n"
    )
    assert fresh(program, warm) == "[1.0, 1.0]\n"


# Accounts.


@given(st.lists(st.floats(0.001, 3.0), max_size=40), st.floats(0.01, 2.0), st.floats(1.0, 5.0), st.booleans())
def test_never_twice_what_would_have_been_best(pieces, load, more, on_disk):
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TAPE_JIT", raising=False)
        patch.setattr(kept, "is_kept", lambda name: on_disk)
        patch.setattr(kept, "noted", lambda name: 0.0)
        patch.setattr(kept, "note", lambda name, seconds: None)
        rented = Account("of a test", load, load * more)
        price = load if on_disk else load * more
        paid = needed = 0.0
        for work in pieces:
            was_open = rented.is_open
            needed += work
            paid += work if rented.defers(work) else 0.0 if was_open else price
            best = min(needed, price)
            assert paid <= 2 * best * (1 + 1e-12)
            assert not was_open or rented.is_open


@pytest.mark.parametrize("on_disk", [False, True])
def test_plans_come_at_once_where_recording_took_as_long(undecided, monkeypatch, on_disk):
    rented = Account("of a test", 0.0, 1.5)
    monkeypatch.setattr(jit_door, "PLANS", rented)
    monkeypatch.setattr(kept, "is_kept", lambda name: on_disk)
    assert jit_door.plans_wait(0.1, 1.4) is not on_disk
    assert rented.is_open is on_disk
    assert not jit_door.plans_wait(0.1, 1.5)
    assert rented.is_open


def test_the_disk_is_asked_when_it_begins_to_matter(undecided, monkeypatch):
    asked = []
    monkeypatch.setattr(kept, "is_kept", lambda name: asked.append(name) or False)
    rented = Account("of a test", 1.0, 2.2)
    assert rented.defers(0.9)
    assert asked == []
    assert rented.defers(0.9)
    assert asked == ["of a test"]
    assert not rented.defers(0.9)


def test_forced(monkeypatch):
    monkeypatch.setenv("TAPE_JIT", "1")
    assert not Account("of a test", 1.0, 2.0).defers(0.0)
    monkeypatch.setenv("TAPE_JIT", "0")
    assert Account("of a test", 1.0, 2.0).defers(1e9)


# Both ways.


def test_a_sweep_goes_over_between_two_backwards(undecided, monkeypatch):
    """The same gradients before and after, of targets too, and of what is kept for a second time."""
    rented = Account("of a test", 0.02, 0.02)
    monkeypatch.setattr(backward, "SWEEPS", rented)
    x = tape.tensor(np.linspace(0.5, 2.0, 5), requires_grad=True)
    h = tape.tanh(chain(x, 400) * x * 0.02)
    y = (h * h).sum()
    found = []
    while not rented.is_open:
        found.append([g.numpy() for g in grad(y, (x, h), retain_graph=True)])
        assert len(found) < 100
    found.append([g.numpy() for g in grad(y, (x, h), retain_graph=True)])
    assert 2 <= len(found) <= 10
    for pair in found:
        for g, h in zip(pair, found[0]):
            np.testing.assert_allclose(g, h, rtol=1e-13)
    assert rented.settled


def test_every_sweep_goes_through_all_rows_before_anything_is_on_disk(undecided, monkeypatch):
    """How much may be done without importing LLVM is asked first, and then how much without compiling."""
    monkeypatch.setattr(jit_door, "LLVM", 0.02)
    monkeypatch.setattr(kept, "is_kept", lambda name: False)
    monkeypatch.delitem(sys.modules, "llvmlite.binding", raising=False)
    rented = Account("of a test", 0.013, 1.0)
    monkeypatch.setattr(backward, "SWEEPS", rented)
    x = tape.tensor(np.linspace(0.5, 2.0, 5), requires_grad=True)
    y = sum([x] * 400, x).sum()
    work = propagate.reach(current(), [y._node]).work
    for times in range(1, 11):
        (g,) = grad(y, x, retain_graph=True)
        np.testing.assert_allclose(g.numpy(), np.full(5, 401.0), rtol=1e-13)
        assert rented.free == pytest.approx(0.013 - times * work)
    assert not rented.is_open


def test_a_row_without_a_kernel_is_no_reason_to_go_over(undecided, monkeypatch):
    """Its rule runs in Python either way."""
    rented = Account("of a test", 1e-4, 1e-4)
    monkeypatch.setattr(backward, "SWEEPS", rented)
    x = tape.tensor(np.eye(3), requires_grad=True)
    y = tape.linalg.inv(x)
    rows, _, work = propagate.reach(current(), [y._node])
    assert (len(rows), work) == (1, 0.0)
    for _ in range(20):
        grad(y, x, tape.ones(3, 3, dtype=tape.float64), retain_graph=True)
    assert not rented.is_open


def test_looking_for_rows_ends_at_the_limit():
    x = tape.tensor([1.0], requires_grad=True)
    y = chain(x, 1000)
    rows, _, work = propagate.reach(current(), [y._node], limit=100 * propagate.PER_RECORD)
    assert 100 <= len(rows) <= 102
    assert work >= 100 * propagate.PER_RECORD
    assert len(propagate.reach(current(), [y._node]).rows) == 1001


def test_a_scan_goes_over(undecided, monkeypatch):
    """Rows that are alive stay and others go, in Python and jitted."""
    rented = Account("of a test", 2000 * liveness.PER_RECORD, 2000 * liveness.PER_RECORD)
    monkeypatch.setattr(liveness, "SCANS", rented)
    current().scan()
    x = tape.tensor([1.0], requires_grad=True)
    counts = []
    for _ in range(6):
        y = chain(x, 600)
        chain(x, 600)
        before = len(current())
        current().scan()
        counts.append(before - len(current()))
    assert rented.is_open
    assert counts[0] >= 600
    assert len(set(counts[1:])) == 1
    y.backward()
