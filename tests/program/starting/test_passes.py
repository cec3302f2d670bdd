"""Passes over the columns of a program: the same in Python and jitted, and when they go over."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tape
from tape.autograd import grad
from tape.base.jit_door import Account
from tape.jit.column_passes import gradual, grouping, repeats, rule_rows, shorten


def columns(rng, rows):
    """A listing of records with one or two operands: opcodes, where their operands begin, operands."""
    arity = rng.integers(1, 3, rows)
    arity[:2] = 0
    first = np.concatenate([[0], np.cumsum(arity)])
    args = np.array([rng.integers(0, k) for k in range(rows) for _ in range(arity[k])], dtype=np.int64)
    code = rng.integers(0, 3, rows)
    code[:2] = -1
    return code, first, args


@given(st.integers(3, 60), st.integers(0, 2**32 - 1))
def test_passes_do_the_same_as_python_and_jitted(rows, seed):
    rng = np.random.default_rng(seed)
    code, first, args = columns(rng, rows)
    outputs = rng.integers(0, rows, 2)
    for each, given_columns in (
        (shorten.mark_needed, (first, args, outputs, np.zeros(rows, np.bool_))),
        (shorten.mark_constant, (code, first, args, code < 0)),
    ):
        alike(each, given_columns)


def alike(each, columns):
    """What a pass gives, which is the same in Python and jitted, as are the columns that it writes."""
    mine, theirs = ([c.copy() if isinstance(c, np.ndarray) else c for c in columns] for _ in range(2))
    each.jitted = each.jitted or each.jit()
    found = each.in_python(*mine)
    assert each.jitted(*theirs) == found
    for i in each.written:
        assert np.array_equal(mine[i], theirs[i]), each.__name__
    return found, mine


ROOMS = grouping, repeats, rule_rows, shorten
PASSES = {name for room in ROOMS for name, each in vars(room).items() if type(each) is gradual.Pass}


def spiral(p):
    x, y, z = p[0], p[1], p[2]
    for _ in range(60):
        x, y, z = x + 0.01 * (y - x), y + 0.01 * (x * (p[2] - z) - y), z + 0.01 * (x * y - np.sin(z) / (1.0 + x * x))
    return x * y + z


def arrays(p):
    A = np.outer(p, p) + 3.0 * np.eye(3)
    total = p
    for _ in range(12):
        total = np.tanh(A @ total) + np.where(total > 0.3, total * 1.0, -(-total)) / 2.0
    return (total * total).sum() + np.exp(total).mean()


def test_every_pass_does_the_same_to_programs_as_python_and_jitted(monkeypatch):
    visited = set()

    def both(self, *columns):
        found, mine = alike(self, columns)
        visited.add(self.__name__)
        for i in self.written:
            columns[i][:] = mine[i]
        return found

    monkeypatch.setattr(gradual.Pass, "__call__", both)
    p = np.array([0.3, -0.2, 0.9])
    for program in (spiral, arrays):
        for function in (program, tape.func.grad(program), tape.func.hessian(program)):
            assert np.allclose(tape.compile(function)(p), function(p), rtol=1e-12)
    x = tape.tensor(p, requires_grad=True)
    assert np.allclose(tape.compile(lambda x: grad(spiral(x), x)[0])(x), tape.func.grad(spiral)(p), rtol=1e-12)
    assert visited == PASSES


@pytest.mark.parametrize("repetitions", [5, 40])
def test_loops_are_found(repetitions):
    rng = np.random.default_rng(repetitions)
    body = rng.integers(0, 100, 31)
    code = np.concatenate([rng.integers(0, 100, 50), np.tile(body, repetitions), rng.integers(0, 100, 50)])
    operands = np.full(3 * len(code), -1, np.int64)
    operands[::3] = np.maximum(np.arange(len(code)) - 1, 0)
    found = repeats.loops(code, operands, np.zeros(len(code) + 1, np.int64), 1, (128, 32))
    assert any(count >= repetitions - 2 and unit == 31 for _, _, count, unit in found)


@given(st.lists(st.integers(0, 2), max_size=60), st.integers(1, 5))
def test_windows_that_came_before(code, window):
    code, windows = np.array(code, dtype=np.int64), []
    for before in repeats.OpWindows(code).latest_alike(window).tolist():
        windows.append(code[len(windows) :][:window].tolist())
        assert before == max((k for k, w in enumerate(windows[:-1]) if w == windows[-1]), default=-1)
    assert len(windows) == max(len(code) - window + 1, 0)


def test_a_pass_goes_over_and_warns_of_nothing(undecided):
    @gradual.over("l", "out")
    def sums(out):
        for k in range(1, len(out)):
            out[k] += out[k - 1]

    sums.account = Account("of a test", 100 * gradual.PER_WORD, 100 * gradual.PER_WORD)
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while sums.jitted is None:
            out = np.arange(30)
            sums(out)
            results.append(out.tolist())
    assert len(results) == 4
    assert all(result == results[0] for result in results)


def test_threads_that_meet_at_a_pass(undecided):
    @gradual.over("l", "out")
    def double(out):
        for k in range(len(out)):
            out[k] *= 2

    double.account = Account("of a test", 50 * gradual.PER_WORD, 50 * gradual.PER_WORD)
    start, wrong = threading.Barrier(4), []

    def work():
        start.wait()
        for _ in range(10):
            out = np.arange(10)
            double(out)
            if out.tolist() != list(range(0, 20, 2)):
                wrong.append(out)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert double.jitted is not None


def test_processes_that_use_a_pass_a_little_have_it_compiled_together(undecided, monkeypatch, tmp_path):
    monkeypatch.setenv("TAPE_CACHE_DIR", str(tmp_path))
    deferred = []
    while not deferred or deferred[-1]:
        assert len(deferred) < 9
        each = Account("of a test", 0.1, 2.0)  # as another process has it
        deferred.append(each.defers(0.5))
    assert len(deferred) in (4, 5)  # LLVM may have to be imported
    each.settle()
    assert Account("of a test", 0.1, 2.0).left(0.5) == 0.1
