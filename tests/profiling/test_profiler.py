"""The profiler: what it notes, how it adds up, what it leaves behind."""

from __future__ import annotations

import json
import threading
import warnings

import numpy as np
import pytest

import tape
from tape.autograd import Function, grad, profiler
from tape.autograd.profile_recorder import Doors
from tape.autograd.profiler import EventList, FunctionEvent, FunctionEventAvg, profile, record_function
from tape.backprop import backward
from tape.custom import call, function
from tape.history.hooks import WATCHERS
from tape.recording import halves
from tape.recording.recorder import MANY, bind
from tape.recording.short_ways import SHORT


@pytest.fixture(autouse=True)
def nothing_left():
    """Every place that a profile listens at is as it was."""
    before = places()
    yield
    assert places() == before
    assert not WATCHERS


def places():
    held = [dict(zip(apply.__code__.co_freevars, apply.__closure__)) for apply, _ in SHORT]
    cells = [cells[name].cell_contents for cells in held for name in ("forward", "for_many") if name in cells]
    return [*cells, bind.__defaults__, halves.in_32_bits, backward.differentiate, call.run, function.run,
            tape.Tensor.__getitem__]  # fmt: skip


def line_of(text):
    """Where a piece of source is in this file."""
    with open(__file__, encoding="utf-8") as file:
        return next(k for k, line in enumerate(file, 1) if text in line and "line_of" not in line)


def named(events, name):
    return [event for event in events if event.name == name]


class Twice(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_operations_and_their_rules_with_counts_lines_and_bytes(either):
    x = tape.ones(10, 10, requires_grad=True)
    with profile(record_shapes=True) as prof:
        y = x * 2  # the product
        for _ in range(3):
            y = y.sin() + x  # the loop
        y.sum().backward()  # the end
    counts = {average.key: average.count for average in prof.key_averages()}
    assert counts == {
        "aten::mul": 1, "aten::sin": 3, "aten::add": 3, "aten::sum": 1, "backward": 1,
        "MulBackward0": 1, "SinBackward0": 3, "AddBackward0": 3, "SumBackward0": 1,
    }  # fmt: skip
    lines = {
        "aten::mul": "# the product",
        "SinBackward0": "# the loop",
        "aten::sum": "# the end",
        "backward": "# the end",
    }
    for name, text in lines.items():
        for event in named(prof.function_events, name):
            assert event.stack == [
                f"{__file__}({line_of(text)}): test_operations_and_their_rules_with_counts_lines_and_bytes"
            ]
    (product,) = named(prof.function_events, "aten::mul")
    assert (product.input_shapes, product.cpu_memory_usage) == ([[10, 10], []], 800)
    assert all(event.cpu_memory_usage == 800 for event in named(prof.function_events, "SinBackward0"))
    assert np.isfinite(x.grad.numpy()).all()


def test_an_operation_is_noted_once_however_many_elements_it_has():
    x = tape.ones(MANY)
    with profile() as prof:
        x.sin()
        x[1:].sin()
    assert {average.key: average.count for average in prof.key_averages()}["aten::sin"] == 2


def test_a_rule_has_the_number_of_its_operation(either):
    x, y = tape.ones(3, requires_grad=True), tape.ones(3, requires_grad=True)
    with profile() as prof:
        z = Twice.apply(x + y)[1]
        z.backward()
    numbers = {event.name: event.sequence_nr for event in prof.function_events}
    for operation, rule in (
        ("aten::add", "AddBackward0"),
        ("Twice", "TwiceBackward"),
        ("aten::select", "SelectBackward0"),
    ):
        assert numbers[operation] == numbers[rule] >= 0
    assert numbers["aten::mul"] == numbers["backward"] == -1
    assert len({numbers[name] for name in ("aten::add", "Twice", "aten::select")}) == 3


def test_nesting_and_times_add_up(either):
    x = tape.ones(50, requires_grad=True)
    with profile() as prof:
        with record_function("outer"):
            y = x * 2
            with record_function("inner"):
                z = Twice.apply(y).sum()
        z.backward()
    events = prof.function_events
    outer, inner, twice, whole = (named(events, name)[0] for name in ("outer", "inner", "Twice", "backward"))
    assert [child.name for child in outer.cpu_children] == ["aten::mul", "inner"]
    assert [child.name for child in inner.cpu_children] == ["Twice", "aten::sum"]
    assert [child.name for child in twice.cpu_children] == ["aten::mul"]
    assert [child.name for child in whole.cpu_children] == ["SumBackward0", "TwiceBackward", "MulBackward0"]
    assert (outer.cpu_memory_usage, outer.self_cpu_memory_usage) == (808, 0)
    assert sum(e.self_cpu_time_total for e in (outer, *outer.cpu_children)) <= outer.cpu_time_total
    for event in events:
        assert 0 <= event.self_cpu_time_total <= event.cpu_time_total
    top = [event for event in events if event.cpu_parent is None]
    assert sum(e.cpu_time_total for e in top) == pytest.approx(prof.self_cpu_time_total)
    assert [e.time_range.start for e in events] == sorted(e.time_range.start for e in events)


def test_averages_by_shape_and_by_line():
    with profile(record_shapes=True) as prof:
        for n in (2, 3, 3):
            x = tape.ones(n) * 2  # times two
            x = x * x  # squared
    assert [(a.key, a.count) for a in prof.key_averages()] == [("aten::mul", 6)]
    by_shape = {str(a.input_shapes): a.count for a in prof.key_averages(group_by_input_shape=True)}
    assert by_shape == {"[[2], []]": 1, "[[2], [2]]": 1, "[[3], []]": 2, "[[3], [3]]": 2}
    by_line = {a.stack[0]: a.count for a in prof.key_averages(group_by_stack_n=1)}
    where = f"{__file__}({{}}): test_averages_by_shape_and_by_line"
    assert by_line == {where.format(line_of("# times two")): 3, where.format(line_of("# squared")): 3}
    total = prof.total_average()
    assert (total.key, total.count) == ("Total", 6)
    assert total.cpu_time == pytest.approx(total.cpu_time_total / 6)


def test_a_stack_has_the_lines_that_led_there():
    def inner(x):
        return x * 2

    def outer(x):
        return inner(x)

    with profile(with_stack=True) as prof:
        outer(tape.ones(2))
    stack = named(prof.function_events, "aten::mul")[0].stack
    assert [entry.rpartition(": ")[2] for entry in stack[:3]] == [
        "inner",
        "outer",
        "test_a_stack_has_the_lines_that_led_there",
    ]
    assert not any("tape/profiling" in entry for entry in stack)


def test_tables():
    x = tape.ones(100, requires_grad=True)
    with profile() as prof:
        for _ in range(4):
            (x.exp() * 2).sum().backward()
    averages = prof.key_averages(group_by_stack_n=1)
    for by in ("cpu_time_total", "self_cpu_time_total", "cpu_time", "count", "self_cpu_memory_usage"):
        rows = averages.table(sort_by=by).splitlines()[3:-2]
        values = [next(getattr(a, by) for a in averages if a.key == row.split()[0]) for row in rows]
        assert values == sorted(values, reverse=True)
        assert len(rows) == len(averages)
    text = averages.table(row_limit=2, header="of four rounds")
    assert text.startswith("of four rounds\n---")
    assert len(text.splitlines()) == 8
    assert "Source Location" in text
    assert "Self CPU time total: " in text
    assert str(prof) == prof.table()
    assert "backward" in prof.table(top_level_events_only=True)
    assert "ExpBackward0" not in prof.table(top_level_events_only=True)
    with pytest.raises(ValueError, match=r"sorted by one of count, .*; got sort_by='colour'"):
        prof.table(sort_by="colour")
    assert EventList().table() == ""


def test_a_trace_loads(tmp_path):
    x = tape.ones(3, requires_grad=True)
    with profile(record_shapes=True) as prof, record_function("a “named” block"):
        (x * x).sum().backward()
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    trace = json.loads(path.read_text(encoding="utf-8"))
    spans = [entry for entry in trace["traceEvents"] if entry["ph"] == "X"]
    assert [entry["name"] for entry in spans] == [event.name for event in prof.function_events]
    for entry in spans:
        assert entry["dur"] >= 0
        assert {"ts", "pid", "tid", "cat", "args"} <= set(entry)
    starts, ends = ([e for e in trace["traceEvents"] if e["ph"] == ph] for ph in "sf")
    assert len(starts) == len(ends) == 2
    assert {e["id"] for e in starts} == {e["id"] for e in ends}


def test_every_way_to_an_operation_is_noted():
    x = tape.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    sin = tape.sin
    with profile() as prof:
        sin(x)
        x.sin()
        np.sin(x)
        2 - x
        x - 2
        x**2
        np.ones((2, 2)) * x
        x @ x
        x[0]
        x[0, :1]
        x.half() + 1
        tape.cat([x, x])
        with tape.no_grad():
            x.add_(1)
    counts = {average.key: average.count for average in prof.key_averages()}
    expected = {"sin": 3, "sub": 2, "square": 1, "mul": 1, "matmul": 1, "select": 1, "getitem": 1, "cast": 1, "add": 2}
    for name, count in expected.items():
        assert counts[f"aten::{name}"] == count, name


def test_higher_derivatives_and_errors(either):
    x = tape.ones(3, requires_grad=True)
    with profile() as prof:
        (g,) = grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
        with pytest.raises(RuntimeError, match="mul"):
            tape.ones(2) * tape.ones(3)
    rule = named(prof.function_events, "PowBackward0")[0]
    assert "aten::mul" in {child.name for child in rule.cpu_children}
    assert len(named(prof.function_events, "backward")) == 2


def test_the_profile_ends_with_an_exception():
    def fail():
        _ = tape.ones(2) * 2
        raise KeyError

    with pytest.raises(KeyError), profile() as prof:
        fail()
    assert [event.name for event in prof.function_events] == ["aten::mul"]


def test_anomaly_mode_within_a_profile(either):
    x = tape.zeros(3, requires_grad=True)
    with np.errstate(all="ignore"):
        y = (x / x).sum()
    with (
        profile() as prof,
        tape.autograd.set_detect_anomaly(True),
        warnings.catch_warnings(action="ignore"),
        pytest.raises(RuntimeError, match="DivBackward0"),
    ):
        y.backward()
    assert "DivBackward0" in {event.name for event in prof.function_events}


def test_threads_are_told_apart():
    def work():
        x = tape.ones(3, requires_grad=True)
        (x * 2).sum().backward()

    with profile() as prof:
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    for name in ("aten::mul", "MulBackward0", "backward"):
        assert [event.thread for event in named(prof.function_events, name)] == [1, 2]
    assert all(event.cpu_parent is None or event.cpu_parent.thread == event.thread for event in prof.function_events)


def test_one_at_a_time_and_only_afterwards():
    with profile() as prof:
        assert profiler._profiler_enabled()
        assert tape.autograd._profiler_enabled()
        with pytest.raises(RuntimeError, match="a profiler is on already"), profile():
            pass
        with pytest.raises(RuntimeError, match="once its block has been left"):
            prof.function_events  # noqa: B018
    assert not profiler._profiler_enabled()
    with pytest.raises(RuntimeError, match="entered once"), prof:
        pass
    with profile(enabled=False) as off:
        _ = tape.ones(2) * 2
    with pytest.raises(RuntimeError, match="if it was enabled"):
        off.table()
    with pytest.raises(ValueError, match="CPU alone"):
        profile(use_device="cuda")


def test_doors_that_are_opened_are_closed():
    """An op may be listened to, and be itself again; the test's own fixture sees to the rest."""
    doors = Doors()
    heard = []
    before = places()
    doors.open(lambda op, f: heard.append or f, lambda name, f: f, lambda f: f, lambda f: f, lambda f: f)
    assert places() != before
    doors.close()
    assert places() == before


def test_record_function_as_a_decorator_and_out_of_order():
    @record_function("my_func")
    def f(x, y):
        """Add."""
        return x + y

    assert f(1, 2) == 3
    with profile() as prof:
        f(1, 2)
        first = record_function("outer")
        first.__enter__()
        with record_function("inner"):
            first.__exit__(None, None, None)
    assert (f.__name__, f.__doc__) == ("f", "Add.")
    assert {event.name for event in prof.function_events} == {"my_func", "outer", "inner"}
    assert "my_func" in str(prof)


def test_events_by_hand():
    average = FunctionEventAvg()
    average.add(FunctionEvent(id=0, name="foo", thread=0, start_us=10, end_us=15))
    average.add(FunctionEvent(id=1, name="foo", thread=0, start_us=20, end_us=30))
    average.add(average)
    assert (average.key, average.count, average.cpu_time_total, average.self_cpu_time_total) == ("foo", 4, 30, 30)
    assert (average.cpu_time, average.device_time) == (7.5, 0)
    ranges = [(0, 0, 10), (0, 1, 3), (0, 1, 2), (0, 4, 9), (0, 9, 10), (1, 0, 5), (1, 1, 2), (1, 4, 6), (1, 6, 7)]
    events = EventList(FunctionEvent(i, "", thread, start, end) for i, (thread, start, end) in enumerate(ranges))
    events._populate_cpu_children()
    children = [[child.id for child in event.cpu_children] for event in events]
    assert children == [[1, 3, 4], [2], [], [], [], [6], [], [], []]
