"""Memory stays constant over loops of every form.

The tests run 10,000 steps, and scan four times as often as usual;
``PYTHONPATH=. python tests/recording/test_memory.py 1000000`` runs as many as asked and prints a table.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tape
from tape.autograd import grad
from tape.recording import wengert
from tape.recording.wengert import BYTES_BETWEEN_SCANS, current

STEPS = 5_000
OFTEN = wengert.ROWS_BETWEEN_SCANS // 8
MB = 1 << 20


def leaf(value):
    return tape.tensor(value, requires_grad=True)


def forward_and_backward(steps):
    x = leaf(0.5)
    for _ in range(steps):
        (x * x + x).backward()


def forward_only(steps):
    x = leaf(0.5)
    for _ in range(steps):
        x * x + x


def without_grad(steps):
    x = leaf(0.5)
    with tape.no_grad():
        for _ in range(steps):
            x * x + x


def one_running_tensor(steps):
    """A state that is kept alive and detached now and then would be easy; here it is reset to a new root."""
    x, state = leaf(0.5), leaf(0.1)
    for _ in range(steps):
        state = (state * x + x).detach()
        state.requires_grad_()


def running_value(steps):
    """A running mean of losses whose history is of no interest, kept with `.item()`-free arithmetic on data."""
    x, total = leaf(0.5), tape.tensor(0.0)
    for _ in range(steps):
        total += (x * x).detach()


def one_tensor_beside(steps):
    """A tensor with a history stays alive while a million others come and go."""
    x = leaf(0.5)
    kept = x * 2
    for _ in range(steps):
        x * x + x
    kept.backward()
    assert x.grad.item() == 2.0


def new_leaf_each_time(steps):
    for _ in range(steps):
        x = leaf(0.5)
        (x * x).backward()


def hooks(steps):
    x = leaf(0.5)
    for _ in range(steps // 4):
        y = x * x
        y.register_hook(lambda g: g)
        y.retain_grad()
        (y * y).backward()


def exceptions(steps):
    x, c = leaf([0.5, 0.5]), tape.ones(3)
    for _ in range(steps // 4):
        y = x * x
        with contextlib.suppress(RuntimeError, ValueError):
            y + c
        y.register_hook(fail)
        with contextlib.suppress(ZeroDivisionError):
            y.sum().backward()


def fail(g):
    raise ZeroDivisionError


def create_graph(steps):
    x = leaf(0.5)
    for _ in range(steps // 40):
        (g,) = grad(x * x * x, x, create_graph=True)
        g.backward()


def retained(steps):
    x = leaf(0.5)
    for _ in range(steps // 4):
        y = x * x
        y.backward(retain_graph=True)
        y.backward()


def nodes(steps):
    x = leaf(0.5)
    for _ in range(steps // 10):
        y = x * x + x
        assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"


def several_outputs(steps):
    x = leaf([0.5, 1.0])
    for _ in range(steps // 20):
        a, b = tape.split(x, 1)
        (a * b).sum().backward()


LOOPS = [
    forward_and_backward, forward_only, without_grad, one_running_tensor, running_value, one_tensor_beside,
    new_leaf_each_time, hooks, exceptions, create_graph, retained, nodes, several_outputs,
]  # fmt: skip


def measure(loop, steps):
    """Peak and remaining bytes of Python's memory over a loop, after a shorter one to warm up; longest list."""
    loop(2_000)
    gc.collect()
    current().scan()
    tracemalloc.start()
    loop(steps)
    _, peak = tracemalloc.get_traced_memory()
    gc.collect()
    current().scan()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, after


@pytest.fixture
def scanned_often(monkeypatch):
    """As many scans in an eighth of the steps."""
    monkeypatch.setattr(wengert, "ROWS_BETWEEN_SCANS", OFTEN)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_constant_memory(loop, scanned_often):
    """The list never holds more than what lies between two scans, whatever the number of steps."""
    loop(1000)
    gc.collect()
    current().scan()
    kept = len(current())
    loop(STEPS)
    assert len(current()) - kept <= 2 * OFTEN + 3 * kept
    gc.collect()
    current().scan()
    assert len(current()) <= kept
    assert len(current().hooks) <= kept


@pytest.mark.parametrize("loop", [forward_and_backward, forward_only], ids=lambda loop: loop.__name__)
def test_constant_memory_by_tracemalloc(loop, scanned_often):
    """Three times the steps take no more memory (tracing is slow: the loops are shorter here)."""
    with ThreadPoolExecutor(1) as pool:  # whose list has no records of other tests
        (short, _), (long, after) = pool.map(measure, (loop, loop), (2_000, 6_000))
    assert long < short + MB / 5  # not 50 bytes for each step more
    assert after < MB / 2


def resident():
    """Resident memory of this process in bytes; None where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def large_backward(n):
    x = leaf(np.ones(n))
    return lambda: tape.sin(x * 2.0).sum().backward()


def large_forward(n):
    x = leaf(np.ones(n))
    return lambda: tape.sin(x * 2.0).sum()


def large_new_leaf(n):
    return lambda: tape.sin(leaf(np.ones(n))).sum().backward()


def large_constant_small_result(n):
    """A batch that only the record holds: its bytes count, not those of the product."""
    w = leaf(np.ones(100))
    return lambda: tape.tensor(np.ones((n // 100, 100)))[:, :] @ w


def large_mask(n):
    x = leaf(np.ones(n))
    mask = np.zeros(n, bool)
    mask[:2] = True
    return lambda: x[mask.copy()].sum()


def large_leaf_small_result(n):
    return lambda: leaf(np.ones(n)).sum()


LARGE = [
    large_backward,
    large_forward,
    large_new_leaf,
    large_constant_small_result,
    large_mask,
    large_leaf_small_result,
]


@pytest.mark.parametrize("make", LARGE, ids=lambda make: make.__name__)
def test_large_arrays_bring_the_scan_forward(make):
    """Far more bytes than the budget pass through; what is alive stays within it."""
    n = 1_000_000
    step = make(n)
    passes = 3 * BYTES_BETWEEN_SCANS // (8 * n if make is not large_mask else n)
    start = tracked = held()
    for k in range(passes):
        step()
        if k % 4 == 0:
            tracked = max(tracked, held())
    assert tracked - start <= 1.6 * BYTES_BETWEEN_SCANS
    gc.collect()
    current().scan()


def held():
    """Bytes of the arrays that the list's rows keep alive, each counted once."""
    rows = current().rows
    arrays: dict[int, int] = {}

    def visit(value):
        if isinstance(value, np.ndarray):
            base = value if value.base is None else value.base
            arrays[id(base)] = getattr(base, "nbytes", 0)
        elif isinstance(value, tape.Tensor):
            visit(value._data)
        elif type(value) is tuple:
            for part in value:
                visit(part)

    for value in rows:
        visit(value)
    return sum(arrays.values())


def test_a_running_history_is_kept_whole():
    """A state with its whole history costs a bounded number of bytes per record."""
    assert bytes_per_record() < 700


def bytes_per_record(records=50_000):
    """Bytes that one scalar record ``y = y * x`` costs while its history is alive."""
    x = leaf(0.999)
    y = x * x
    current().scan()
    gc.collect()
    tracemalloc.start()
    for _ in range(records):
        y = y * x
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / records


def test_a_sweep_gives_back_the_memory_of_large_adjoints():
    from tape.jit.driving import run

    x = leaf(np.ones(2_000_000))
    y = x
    for _ in range(6):
        y = tape.sin(y) * y
    y.sum().backward()
    assert sum(block.nbytes for work in run.IDLE for _, block in work.arenas) <= 4 * (1 << 26)


def main(steps: int) -> None:
    """Print, for every loop, time, rows left, and how much resident memory grew over the second half."""
    print(f"bytes per record: {bytes_per_record():.0f}")
    for loop in LOOPS:
        loop(steps // 2)
        first, start = resident() or 0, time.perf_counter()
        loop(steps // 2)
        seconds, grown = time.perf_counter() - start, (resident() or 0) - first
        print(f"{loop.__name__:24} {seconds:7.2f} s {len(current()):7d} rows {grown / MB:+8.2f} MB resident")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
