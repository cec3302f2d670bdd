"""Entries to long programs let other threads run, and each thread gets its own results."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

import tape
from tape.program.entries.entry import BRIEF
from tape.program.entries.shortcut import PAYS

N = 2000


def long(x, k):
    y = x
    for _ in range(60):
        y = np.sin(y) * x + k
    return y.sum(), y[:5]


def entered():
    """The function compiled, with an entry."""
    fast = tape.compile(long)
    x = np.random.default_rng(0).uniform(size=N)
    for _ in range(PAYS + 2):
        fast(x, 0.5)
    assert fast._entry is not None
    assert sum(len(s.group.rows) * s.group.size for s in fast.programs[0].replay.steps[:1]) > BRIEF
    return fast, x


def test_other_threads_run_meanwhile():
    """Although nobody else asks a thread that holds the GIL to give it back."""
    fast, x = entered()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60.0)
    done, counted = threading.Event(), [0]

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    other = threading.Thread(target=count)
    other.start()
    try:
        before, end = counted[0], time.monotonic() + 20.0
        while counted[0] < before + 20 and time.monotonic() < end:
            fast._entry((x, 0.5), {})
    finally:
        sys.setswitchinterval(interval)
        done.set()
        other.join()
    assert counted[0] >= before + 20


def test_threads_that_call_at_once_get_what_is_theirs():
    fast, x = entered()
    wanted = {k: fast(x, k) for k in (0.25, 0.5, 0.75, 1.0)}
    wrong, start = [], threading.Barrier(len(wanted))

    def call(k):
        start.wait()
        for _ in range(150):
            total, first = fast(x, k)
            if total != wanted[k][0] or not np.array_equal(first, wanted[k][1]):
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in wanted]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_an_argument_that_another_thread_takes_out_of_its_list_stays_until_the_end():
    fast = tape.compile(lambda xs: long(xs[0], xs[1])[0])
    numbers = np.random.default_rng(0).uniform(size=N)
    xs = [numbers.copy(), 0.5]
    for _ in range(PAYS + 2):
        wanted = fast(xs)
    assert fast._entry is not None
    done = threading.Event()

    def replace():
        while not done.is_set():
            xs[0] = numbers.copy()
            time.sleep(0)

    other = threading.Thread(target=replace)
    other.start()
    try:
        assert all(fast(xs) == wanted for _ in range(400))
    finally:
        done.set()
        other.join()


def brief(x, w, k):
    return (x * w).sum() + k


def steady(x, w, k):
    y = x
    for _ in range(4):
        y = np.sin(y) * x + k * w
    return y.sum()


@pytest.mark.parametrize(("function", "n"), [(brief, 60), (steady, 200)])
def test_so_it_is_while_what_lies_by_columns_is_copied(function, n):
    """NumPy lets other threads run while it copies; these take away what was looked at, and call at the same time."""
    rows = np.random.default_rng(0).uniform(size=(n, n))
    columns = np.asfortranarray(rows * 2.0)
    fast = tape.compile(lambda xs: function(*xs))
    xs = [rows.copy(), columns.copy("K"), 0.5]
    for _ in range(PAYS + 2):
        wanted = fast(xs)
    assert fast._entry is not None
    interval, done, wrong = sys.getswitchinterval(), threading.Event(), []

    def replace():
        while not done.is_set():
            xs[0], xs[1], xs[2] = rows.copy(), columns.copy("K"), float("0.5")
            [np.full((n, n), 9e9) for _ in range(3)]

    def call():
        wrong.extend(found for found in (fast(xs) for _ in range(300)) if abs(found - wanted) > 1e-9 * wanted)

    threads = [threading.Thread(target=call) for _ in range(3)]
    other = threading.Thread(target=replace)
    sys.setswitchinterval(1e-5)
    try:
        for t in (other, *threads):
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
        done.set()
        other.join()
    assert not wrong
