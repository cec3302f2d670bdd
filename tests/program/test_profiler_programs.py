"""The profiler and compiled functions: each replay is one row, whichever way the call takes."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.autograd.profiler import profile
from tape.program.compiled import CompiledFunction
from tape.program.entries.shortcut import PAYS
from tape.program.recorded_program import Program


@pytest.fixture(autouse=True)
def nothing_left():
    before = [kind.__call__ for kind in (CompiledFunction, Program)], Program.untracked
    yield
    assert ([kind.__call__ for kind in (CompiledFunction, Program)], Program.untracked) == before


def replays(prof):
    return [event for event in prof.function_events if event.name == "aten::replay"]


@pytest.mark.parametrize("x", [np.ones(100), tape.ones(100), 1.5], ids=["array", "tensor", "number"])
def test_each_replay_is_one_row_also_where_calls_have_an_entry(x):
    compiled = tape.compile(lambda x: x * 2.0 + 1.0)
    for _ in range(PAYS + 10):
        expected = compiled(x)
    with profile(record_shapes=True) as prof:
        for _ in range(3):
            found = compiled(x)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
    events = replays(prof)
    assert len(events) == len(prof.function_events) == 3
    assert all(event.input_shapes == [list(np.shape(x))] for event in events)
    assert events[0].cpu_memory_usage == 8 * np.size(x)
    assert any("test_profiler_programs.py" in line for line in events[0].stack)


def test_a_program_that_is_called_itself_is_one_row():
    program = tape.record(lambda x: (x * x).sum(), tape.ones(3))
    with profile() as prof:
        program(tape.ones(3))
    assert len(replays(prof)) == 1


def test_a_replay_that_is_recorded_is_one_row_forward_and_one_backward():
    x = tape.ones(100, requires_grad=True)
    compiled = tape.compile(lambda x: (x.sin() * 2).sum())
    compiled(x).backward()
    with profile() as prof:
        compiled(x).backward()
    names = [event.name for event in prof.function_events]
    assert (names.count("aten::replay"), names.count("ReplayBackward0"), names.count("backward")) == (1, 1, 1)
    assert len(names) == 3
