"""Seeing each instruction of some code, by which a doubtful reading is noticed while a function is recorded."""

from __future__ import annotations

import dis
import sys
import threading

import numpy as np
import pytest

import tape
from tape.program.capture import witness as room
from tape.program.capture.witness import eyes
from tape.program.recorded.trace import Untraceable
from tape.program.world import reading
from tape.program.world.reading import ENTERING

TEXT = "def f(x):\n    y = [x + k for k in range(1)]\n    return y * 2\n"
monitored = pytest.mark.skipif(sys.version_info < (3, 12), reason="CPython 3.11 has no monitoring")


def fresh():
    """A function whose code has never run."""
    space = {}
    exec(TEXT, space)
    return space["f"]


def seen_in(f):
    found = []
    with eyes([f.__code__], lambda frame, offset: found.append((frame.f_code, offset))):
        f(1)
    assert {code for code, _ in found} == {f.__code__}
    return [offset for _, offset in found]


def test_the_first_run_is_seen_as_the_second_is():
    f = fresh()
    first = seen_in(f)
    assert first == seen_in(f) == seen_in(fresh())
    reads = [step.offset for step in dis.get_instructions(f.__code__) if step.opname.startswith(("LOAD_", "STORE_"))]
    assert first[0] == ENTERING
    assert len(set(reads) & set(first)) >= 3


def test_an_exception_leaves_the_function_at_any_instruction():
    for at in seen_in(fresh()):

        def look(frame, offset, at=at):
            if offset == at:
                raise KeyError(at)

        with pytest.raises(KeyError), eyes([(f := fresh()).__code__], look):
            f(1)
        assert f(1) == [1, 1]


def test_a_generator_that_began_before_is_seen_to_go_on():
    def numbers():
        yield 1
        yield 2

    begun, found = numbers(), []
    next(begun)
    with eyes([numbers.__code__], lambda frame, offset: found.append(offset)):
        next(begun)
    assert found[0] == ENTERING
    assert len(found) > 1


def test_only_this_thread_and_only_this_code():
    f, other, found = fresh(), fresh(), []
    with eyes([f.__code__], lambda frame, offset: found.append(offset)):
        thread = threading.Thread(target=f, args=(1,))
        thread.start()
        thread.join()
        other(1)
        inside = len(found)
        f(1)
    assert inside == 0 < len(found)
    f(1)
    assert found == seen_in(f)


def test_one_inside_the_other():
    f, found = fresh(), []
    with eyes([f.__code__], lambda frame, offset: found.append(offset)):
        inner = seen_in(f)
        del found[:]
        f(1)
    assert found == inner


def test_every_instruction_with_a_name_is_known():
    """A new Python whose instructions read names in another way fails here first."""
    assert not reading.UNKNOWN


def test_what_an_unknown_instruction_names_is_read_in_every_way(monkeypatch):
    monkeypatch.setattr(reading, "UNKNOWN", {"LOAD_GLOBAL"})
    monkeypatch.setattr(reading, "GLOBAL", ())
    found = reading.reads_of.__wrapped__((lambda: np.ones).__code__)
    assert [(load.how, load.name) for load in found.loads] == [("global", "np")]
    assert "np" in found.attributes


@monitored
def test_other_tools_go_on():
    """A debugger that traces, or a profiler that monitors, keeps what it has."""
    traced = []
    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: traced.append(frame.f_code) or None)
    try:
        f = fresh()
        seen_in(f)
    finally:
        sys.settrace(before)
    assert f.__code__ in traced
    assert room.Monitor.NAME not in map(sys.monitoring.get_tool, range(6))


@monitored
def test_where_other_tools_have_taken_all_a_function_runs_as_it_is():
    mine = [number for number in range(6) if sys.monitoring.get_tool(number) is None]
    for number in mine:
        sys.monitoring.use_tool_id(number, "somebody's")
    try:
        with pytest.raises(Untraceable, match="monitoring"), eyes([fresh().__code__], print):
            pass
        held = iter(range(9))
        fast = tape.compile(lambda x: x * (next(held) if x.size > 5 else 2.0))
        with pytest.warns(RuntimeWarning, match="monitoring"):
            assert fast(np.ones(1)) == 2
    finally:
        for number in mine:
            sys.monitoring.free_tool_id(number)
