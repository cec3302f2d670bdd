"""The list itself: rows, positions, scans, and the user's lines."""

from __future__ import annotations

import gc
import inspect

import numpy as np
import pytest

import tape
from tape.autograd import grad
from tape.base.row import HANDLE, WIDTH
from tape.jit.driving import dead_rows
from tape.recording import liveness, wengert
from tape.recording.wengert import WengertList, current


def leaf(value):
    return tape.tensor(np.array(value, float), requires_grad=True)


def line():
    """The caller's line."""
    return inspect.currentframe().f_back.f_lineno


@pytest.fixture
def records():
    """The thread's list with nothing dead on it."""
    gc.collect()
    current().scan()
    return current()


def test_a_record_is_whole(records):
    n = len(records)
    x = leaf(2.0)
    y = x * x
    assert len(records) == n + 1
    assert len(records.rows) == WIDTH * (n + 1)
    assert records.row(records.locate(y._node))[0] is y._node
    assert records.owns(y._node)
    assert not records.owns(x)


def test_positions_after_rows_were_dropped(records):
    x = leaf(2.0)
    made = [x * k for k in range(100)]
    kept = made[::7]
    del made
    records.scan()
    more = [x + k for k in range(10)]
    for y in (*kept, *more):
        assert records.row(records.locate(y._node))[0] == y._node
    with pytest.raises(RuntimeError, match="bug in tape"):
        records.locate(kept[0]._node + 1)


def test_scans_agree_and_keep_what_is_needed(records):
    """A living tensor keeps its whole history; a node keeps its record; the rest goes."""
    gc.collect()  # so that nothing goes between the two scans
    records.scan()
    n = len(records)
    x = leaf([1.0, 2.0])
    a = tape.exp(x)
    b = (a * a).sum()
    c = tape.sin(a)
    node = (c * 2).grad_fn
    del a, c
    [x * k for k in range(50)]
    jitted, held = dead_rows.scan_rows(records)
    plain, also = liveness.scan_in_python(records)
    np.testing.assert_array_equal(jitted, plain)
    assert held == also
    records.scan()
    assert len(records) - n == 5
    b.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([2.0, 4.0]))
    del b
    records.scan()
    assert len(records) - n == 3
    assert node.name() == "MulBackward0"
    del node
    records.scan()
    assert len(records) == n


def test_nothing_moves_while_a_sweep_runs(records):
    x = leaf(2.0)
    y = x * x
    seen = []

    def hook(g):
        [tape.exp(x) for _ in range(10)]
        n = len(records)
        records.scan()
        seen.append((records.busy, len(records) == n))

    y.register_hook(hook)
    y.backward()
    assert seen == [(1, True)]
    assert records.busy == 0


def test_scans_come_by_themselves_and_grow_with_what_lives():
    own = WengertList(1 << 10)
    assert own.limit - own.shift == wengert.ROWS_BETWEEN_SCANS
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = y * 1.0
    current().scan()
    room = current().limit - y._node
    assert room >= 2 * 50_000


def test_after_scan_upon_scan_records_are_found_by_arithmetic(records):
    """The second scan finds other records at the end than the first one did; later handles go on all the same."""
    x = leaf(2.0)
    kept = x * 1.0
    dead = [x * 3.0, x * 4.0]
    del dead
    for _ in range(2):
        records.scan()
        records.scan()
        z = x * kept
        assert records.rows[(z._node - records.shift) * WIDTH + HANDLE] == z._node


@pytest.mark.parametrize("transform", [tape.func.hessian, lambda f: lambda x: tape.autograd.functional.hessian(f, x)])
def test_a_derivative_that_has_been_taken_keeps_no_record(records, transform):
    n = len(records)
    transform(lambda x: (x * x * x).sum())(tape.tensor([1.0, 2.0]))
    gc.collect()
    records.scan()
    assert len(records) == n


def test_operators_functions_and_methods_know_their_line(records):
    x = leaf([1.0, 2.0])
    made = [
        (x * 2, line()),
        (2 * x, line()),
        (x**2, line()),
        (-x, line()),
        (x[0], line()),
        (x[:1], line()),
        (tape.exp(x), line()),
        (x.sum(), line()),
        (np.sin(x), line()),
        (np.concatenate([x, x]), line()),
        (np.ones(2) * x, line()),
        (np.float64(2.0) * x, line()),
        (tape.cat([x, x]), line()),
        (x @ x, line()),
        (tape.sort(x)[0], line()),
        ([x * k for k in range(2)][1], line()),
    ]
    for y, number in made:
        location = y.grad_fn.location
        assert (location.file, location.line) == (__file__, number), location
        assert str(number) in str(location)


def test_lines_of_an_expression_over_several():
    x = leaf(1.0)
    y = (
        tape.sin(x)
        * tape.cos(x)
    )  # fmt: skip
    first = y.grad_fn.next_functions[0][0].location
    second = y.grad_fn.next_functions[1][0].location
    assert second.line == first.line + 1
    assert "tape.cos(x)" in second.text


def test_the_backward_of_a_line_carries_that_line():
    """Records of a backward point to the user's forward line, and so do their errors."""
    x = leaf(2.0)
    y = x * x * x
    made_at = line() - 1
    (g,) = grad(y, x, create_graph=True)
    node, seen = g.grad_fn, set()
    stack = [node]
    while stack:
        node = stack.pop()
        if hasattr(node, "location") and node.next_functions:
            seen.add(node.location.line)
            stack += [n for n, _ in node.next_functions if n is not None]
    assert seen == {made_at}


def test_an_error_names_the_line():
    x = leaf(2.0)
    y = x * x
    number = line() - 1
    y.backward()
    with pytest.raises(RuntimeError, match=rf"test_wengert.py:{number} in test_an_error"):
        y.backward()
