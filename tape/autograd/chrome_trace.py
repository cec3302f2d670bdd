"""Events as a trace in the format that Chrome and Perfetto read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

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
