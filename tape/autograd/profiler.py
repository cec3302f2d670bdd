"""The profiler: time, calls and bytes per operation and per line, for forward and backward.

>>> import tape
>>> x = tape.ones(1000, requires_grad=True)
>>> with profile() as prof:
...     with record_function("loss"):
...         y = (x * x).sum()
...     y.backward()
>>> sorted({event.name for event in prof.function_events})
['MulBackward0', 'SumBackward0', 'aten::mul', 'aten::sum', 'backward', 'loss']
>>> print(prof.key_averages(group_by_stack_n=1).table(sort_by="self_cpu_time_total"))  # doctest: +SKIP
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from time import perf_counter_ns
from typing import Any

from ..base.location import locate
from .profile_events import EventList, FunctionEvent, FunctionEventAvg
from .profile_recorder import RECORDERS, USER_SCOPE, Note, Recorder
from .profile_table import memory_text, time_text

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "format_memory", "format_time", "profile",
           "record_function"]  # fmt: skip

format_time, format_memory = time_text, memory_text


def _profiler_enabled() -> bool:
    """Whether a profiler is on."""
    return bool(RECORDERS)


class profile:
    """Note every operation within the block: how long it took, how many bytes it made, on which line it stands.

    * An operation (``aten::mul``) is timed from before NumPy evaluates it until after; what the list does
      to record it, well below a microsecond, is not in it.
    * The rule of a record (``MulBackward0``) is timed where it is run: by its kernel within the jitted sweep, with
      the call of it, or in Python.
    * ``backward`` is the whole of a backward pass; what is left of it beside the rules (finding the records,
      preparing the kernels) is its self time.
    * A custom function is an event of its name, with the operations of its ``forward`` within.
    * Bytes are those of the arrays that an operation makes, or that a rule writes; a view makes none.

    All threads are noted.  Profiling an operation costs a few microseconds; when no profile is on, nothing.

    Args:
        enabled: whether to do anything at all.
        record_shapes: keep the shapes of operands, for ``key_averages(group_by_input_shape=True)``.
        profile_memory: taken as in PyTorch; bytes are counted in any case.
        with_stack: keep all lines that led to an operation; the line that it stands on is kept in any case.
        use_device: None or ``"cpu"``; there is no other.
        use_kineto, use_cpu, with_flops, with_modules, acc_events: taken as in PyTorch, without effect.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        use_device: str | None = None,
        use_kineto: bool = False,
        use_cpu: bool = True,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ):
        if use_device not in (None, "cpu"):
            raise ValueError(f"tape computes on the CPU alone, so use_device must be None or 'cpu'; got {use_device!r}")
        self.enabled, self.record_shapes, self.profile_memory = enabled, record_shapes, profile_memory
        self.with_stack = with_stack
        self._recorder: Recorder | None = None
        self._events: EventList | None = None

    def __enter__(self) -> profile:
        if self.enabled:
            if self._recorder is not None:
                raise RuntimeError("a profile can be entered once; make another one: with profile() as prof: …")
            recorder = Recorder(self.record_shapes, self.with_stack)
            recorder.start()
            self._recorder = recorder
        return self

    def __exit__(self, *_: Any) -> None:
        if self.enabled and self._recorder is not None:
            self._recorder.stop()

    @property
    def function_events(self) -> EventList:
        """All events, in order of their beginnings.

        Raises:
            RuntimeError: while the block has not been left, or if nothing was profiled.
        """
        recorder = self._recorder
        if recorder is None or recorder in RECORDERS:
            raise RuntimeError("a profile has events once its block has been left (and if it was enabled)")
        if self._events is None:
            self._events = _events_of(recorder)
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """See `EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        """See `EventList.total_average`."""
        return self.function_events.total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **layout: Any) -> str:
        """The events one by one; see `EventList.table`."""
        return self.function_events.table(sort_by, row_limit, **layout)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """See `EventList.export_chrome_trace`."""
        self.function_events.export_chrome_trace(path)

    @property
    def self_cpu_time_total(self) -> float:
        """See `EventList.self_cpu_time_total`."""
        return self.function_events.self_cpu_time_total

    def __str__(self) -> str:
        return self.table() if self._recorder is not None else "<unfinished profile>"


def _events_of(recorder: Recorder) -> EventList:
    """Notes as events, with what happened within them."""
    notes = sorted(recorder.notes, key=lambda note: (note.start, -note.end))
    events = EventList([_event(i, note, recorder.start_ns) for i, note in enumerate(notes)])
    events._populate_cpu_children()
    for event in reversed(events):
        if event.cpu_parent is not None:
            event.cpu_parent.cpu_memory_usage += event.cpu_memory_usage
    return events


def _event(i: int, note: Note, start: int) -> FunctionEvent:
    lines = [locate(*place) for place in note.places]
    return FunctionEvent(
        i, note.name, note.thread, (note.start - start) / 1e3, (note.end - start) / 1e3,
        input_shapes=note.shapes, stack=[f"{at.file}({at.line}): {at.function}" for at in lines], scope=note.scope,
        cpu_memory_usage=note.nbytes, sequence_nr=note.sequence_nr,
    )  # fmt: skip


class record_function(ContextDecorator):
    """Give a block, or a function, a name among the events.

    >>> @record_function("mine")
    ... def f(x):
    ...     return x + 1
    >>> with profile() as prof:
    ...     _ = f(1)
    >>> prof.function_events[0].name
    'mine'
    """

    def __init__(self, name: str, args: str | None = None):
        self.name, self.args = name, args
        self._entered: list[tuple[Recorder, int, Any]] = []

    def _recreate_cm(self) -> record_function:
        return type(self)(self.name, self.args)

    def __enter__(self) -> record_function:
        for recorder in RECORDERS:
            self._entered.append((recorder, perf_counter_ns(), recorder.places(2)))
        return self

    def __exit__(self, *_: Any) -> None:
        if self._entered:
            recorder, start, places = self._entered.pop()
            recorder.note(self.name, USER_SCOPE, (start, perf_counter_ns()), places)
