"""Events: what a profile holds, nested as it happened, averages over those that are alike, a trace for Chrome."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .profile_table import table_of


class TimeRange:
    """A range of time, in microseconds."""

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float):
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class FunctionEvent:
    """Something that happened once: an operation, the rule of a record, or a block that the user named.

    Attributes:
        name: ``aten::mul`` for an operation, ``MulBackward0`` for its rule, or the user's own.
        thread: the number of its thread, from 1 on in the order of their first events.
        time_range: from when to when, in microseconds since the profile began.
        stack: the user's lines: that which it happened on first.
        scope: 0 for operations, 1 for rules, 7 for named blocks.
        sequence_nr: the record of an operation and of its rule: the same number for both; −1 for others.
        cpu_parent, cpu_children: what it happened within, and what happened within it.
        cpu_memory_usage: bytes of the arrays made, also within; `self_cpu_memory_usage` without those.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        *,
        input_shapes: Sequence[Any] = (),
        stack: Sequence[str] = (),
        scope: int = 0,
        cpu_memory_usage: int = 0,
        sequence_nr: int = -1,
        node_id: int = -1,
        is_async: bool = False,
    ):
        self.id, self.name, self.thread, self.node_id = id, name, thread, node_id
        self.time_range = TimeRange(start_us, end_us)
        self.input_shapes, self.stack = list(input_shapes), list(stack)
        self.scope, self.sequence_nr, self.is_async = scope, sequence_nr, is_async
        self.cpu_memory_usage = cpu_memory_usage
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.count = 1

    @property
    def key(self) -> str:
        """What events are grouped by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds that it took."""
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds that it took without what happened within."""
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children])

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes that it made itself."""
        return self.cpu_memory_usage - sum([child.cpu_memory_usage for child in self.cpu_children])

    device_time = device_time_total = self_device_time_total = 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} thread={self.thread} start_us={self.time_range.start:.3f} "
            f"end_us={self.time_range.end:.3f} cpu_children={[child.id for child in self.cpu_children]} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg:
    """Events of one key, added up.

    Attributes:
        key: their name.
        count: how many there are.
        cpu_time_total, self_cpu_time_total: their times together, in microseconds.
        input_shapes, stack: of the first.
    """

    def __init__(self) -> None:
        self.key = ""
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: list[Any] = []
        self.stack: list[str] = []
        self.scope = 0

    @property
    def cpu_time(self) -> float:
        """Microseconds on average."""
        return self.cpu_time_total / self.count if self.count else 0.0

    device_time = device_time_total = self_device_time_total = 0.0

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or the average of some, of the same key."""
        if not self.count:
            self.key, self.input_shapes, self.stack, self.scope = (
                other.key, other.input_shapes, other.stack, other.scope,
            )  # fmt: skip
        for fact in SUMS:
            setattr(self, fact, getattr(self, fact) + getattr(other, fact))
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total:.3f}us "
            f"cpu_time={self.cpu_time:.3f}us input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


SUMS = ("count", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage")


class EventList(list[Any]):
    """Events, or averages of them, in order of time or of first appearance.

    Attributes:
        by_shape, by_line: whether these are averages over events of one shape, or of one line.
    """

    def __init__(self, events: Iterable[Any] = (), *, by_shape: bool = False, by_line: bool = False):
        super().__init__(events)
        self.by_shape, self.by_line = by_shape, by_line

    def _populate_cpu_children(self) -> None:
        """Find out what happened within what: on one thread, a later start before the end."""
        open_: dict[int, list[FunctionEvent]] = {}
        for event in sorted(self, key=lambda e: (e.time_range.start, -e.time_range.end)):
            within = open_.setdefault(event.thread, [])
            while within and (
                event.time_range.start >= within[-1].time_range.end or event.time_range.end > within[-1].time_range.end
            ):
                within.pop()
            if within:
                event.cpu_parent = within[-1]
                within[-1].cpu_children.append(event)
            within.append(event)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events together, none counted twice."""
        return float(sum([event.self_cpu_time_total for event in self]))

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """Averages over the events of one name, and if asked for of one shape, or of the same user's lines.

        ``group_by_stack_n=1`` groups by the line that an operation stands on.
        """
        groups: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            key: tuple[Any, ...] = (event.key,)
            if group_by_input_shape:
                key += (str(event.input_shapes),)
            if group_by_stack_n > 0:
                key += tuple(event.stack[:group_by_stack_n])
            groups.setdefault(key, FunctionEventAvg()).add(event)
        for average in groups.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shape:
                average.input_shapes = []
        return EventList(groups.values(), by_shape=group_by_input_shape, by_line=group_by_stack_n > 0)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key, total.input_shapes, total.stack = "Total", [], []
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as a table, as text.

        Args:
            sort_by: the attribute to sort by, the largest first, such as ``"self_cpu_time_total"`` or ``"count"``.
            row_limit: how many rows to show; all if −1.
            header: text above the table.
            top_level_events_only: leave out what happened within other events.

        Raises:
            ValueError: if events have no such attribute to sort by.
        """
        widths = max_name_column_width, max_shapes_column_width, max_src_column_width
        return table_of(self, sort_by, row_limit, widths, header, top_level_events_only)

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events to a JSON file that ``chrome://tracing`` and Perfetto show."""
        write_trace(self, path)

    def __str__(self) -> str:
        return self.table()


CATEGORIES = {0: "cpu_op", 1: "cpu_op", 7: "user_annotation"}
"""What a trace calls events, by their scope."""


def write_trace(events: Any, path: Any) -> None:
    """Write events to a JSON file."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": list(entries(events))}, file)


def entries(events: Any) -> Iterator[dict[str, Any]]:
    """One entry for each thread and for each event, and arrows from operations to their rules."""
    pid = os.getpid()
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "tape"}}
    for thread in sorted({event.thread for event in events}):
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": thread, "args": {"name": f"thread {thread}"}}
    for event in events:
        yield _entry(event, pid)
    yield from _arrows(events, pid)


def _entry(event: Any, pid: int) -> dict[str, Any]:
    return {
        "ph": "X", "name": event.name, "cat": CATEGORIES[event.scope], "pid": pid, "tid": event.thread,
        "ts": event.time_range.start, "dur": event.time_range.elapsed_us(),
        "args": {
            "Input Dims": event.input_shapes, "Call stack": event.stack, "Sequence number": event.sequence_nr,
            "Bytes": event.cpu_memory_usage,
        },
    }  # fmt: skip


def _arrows(events: Any, pid: int) -> Iterator[dict[str, Any]]:
    """From each operation to the rules that were run for it."""
    made = {event.sequence_nr: event for event in events if event.scope == 0 and event.sequence_nr >= 0}
    for event in events:
        source = made.get(event.sequence_nr)
        if event.scope == 1 and source is not None:
            arrow = {"name": "fwdbwd", "cat": "fwdbwd", "id": event.id, "pid": pid}
            yield {"ph": "s", "tid": source.thread, "ts": source.time_range.start, **arrow}
            yield {"ph": "f", "bp": "e", "tid": event.thread, "ts": event.time_range.start, **arrow}
