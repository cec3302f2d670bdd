"""Lists as arrays: what is kept for each record is numbers."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tape
from tape.program.recorded.listing import distinct


def steps(x, count):
    for _ in range(count):
        x = x * 1.5
        x = x - 0.5
    return x


def test_a_line_is_kept_once():
    program = tape.record(steps, 1.0, 1000)
    recorded = program.recorded
    assert len(recorded) > 2000
    assert len(recorded.lines) < 10
    first = steps.__code__.co_firstlineno
    found = [recorded.location(k).line - first for k in range(len(recorded)) if recorded.op(k) is not None]
    assert found == [2, 3] * 1000


OPERATORS = {
    "+": lambda x: x + x, "2+": lambda x: 2.0 + x, "-": lambda x: x - 2, "neg": lambda x: -x, "abs": lambda x: abs(x),
    "**": lambda x: x**x, "**2": lambda x: x**2, "**3": lambda x: x**3, "**a": lambda x: x ** np.float64(1.5),
    "2**": lambda x: 2.0**x, "%": lambda x: x % 0.4, "<": lambda x: x < 0.4, "==": lambda x: x == x,
    "@": lambda x: x @ x,
}  # fmt: skip


@pytest.mark.parametrize("make", [tape.tensor, np.array])
@pytest.mark.parametrize("name", OPERATORS)
def test_the_line_of_an_operator_is_the_user_s(name, make):
    recorded = tape.record(OPERATORS[name], make([0.5, 0.25])).recorded
    found = {recorded.location(k).file for k in range(len(recorded)) if recorded.op(k) is not None}
    assert found == {__file__}


def test_a_long_list_is_no_work_for_the_collector():
    """It would look at every tuple that is kept, and at everything else in the process."""
    tape.record(steps, 1.0, 10)
    gc.collect()
    gc.disable()
    try:
        before = gc.get_count()[0]
        program = tape.record(steps, 1.0, 2000)
        added = gc.get_count()[0] - before
    finally:
        gc.enable()
    assert len(program.recorded) > 4000
    assert added < 2000


@pytest.mark.parametrize("numbers", [[], [0], [3, 0, 3, 3, 1, 0], [10**9, 5, 10**9, 0]])
def test_distinct_numbers(numbers):
    numbers = np.array(numbers, dtype=np.int64)
    where, which = distinct(numbers)
    assert sorted(where) == list(where)
    assert len(where) == len(set(numbers.tolist()))
    np.testing.assert_array_equal(numbers[where][which], numbers)
