"""The recorder: notes what happened when, for how long, on which line of the user's.

Nothing asks on its way whether it is profiled.  Instead the function that evaluates an op is
exchanged where it is kept: in the closures of `tape.recording.short_ways`, in the defaults of `bind`.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from ops import Op
from ops.core.bundle import Bundle

from ..backprop import backward
from ..base.location import in_library
from ..base.row import CODE, HANDLE, LASTI
from ..base.tensor import Tensor
from ..custom import call, function
from ..history.hooks import WATCHERS, Rules, Steps, Watcher
from ..history.propagate import node_name
from ..jit.driving.steps_by_record import steps_by_record
from ..program.compiled import CompiledFunction
from ..program.recorded_program import Program
from ..recording import halves
from ..recording.recorder import bind, forward_of, user_frame
from ..recording.short_views import GENERAL
from ..recording.short_ways import SHORT
from ..recording.wengert import current, op_of

Timed = Callable[[Any, Callable[..., Any]], Callable[..., Any]]
"""Gives a function that also notes how long it took, under the name of an op or of its own."""


class Doors:
    """Listens while open; closed, everything is as it was."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def open(
        self,
        of_op: Timed,
        of_name: Timed,
        of_call: Callable[..., Any],
        of_item: Callable[..., Any],
        of_replay: Callable[..., Any],
    ) -> None:
        """Put timed functions in place: of ops, whole backwards, custom functions, reading by index, and replays.

        Compiled functions take the general way meanwhile: their entries are machine code without doors.
        """
        for apply, op in SHORT:
            for name, cell in zip(apply.__code__.co_freevars, apply.__closure__):
                if name in ("forward", "for_many") and cell.cell_contents is not None:
                    self._replace(cell, "cell_contents", of_op(op, cell.cell_contents))
        lift = (bind.__defaults__ or ())[0]
        GENERAL.append(self)
        self._replace(bind, "__defaults__", (lift, _through(of_op, forward_of)))
        self._replace(halves, "in_32_bits", _through(of_op, halves.in_32_bits))
        self._replace(backward, "differentiate", of_name("backward", vars(backward)["differentiate"]))
        run = of_call(call.run)
        for room in (call, function):
            self._replace(room, "run", run)
        self._replace(Tensor, "__getitem__", of_item(Tensor.__getitem__))
        self._replace(Program, "untracked", of_replay(vars(Program)["untracked"]))
        for kind in (Program, CompiledFunction):
            self._replace(kind, "__call__", lambda self, *args, **kwargs: self.general(args, kwargs))

    def close(self) -> None:
        """Put everything back."""
        GENERAL[:] = []
        while self._before:
            setattr(*self._before.pop())

    def _replace(self, holder: Any, name: str, new: Any) -> None:
        self._before.append((holder, name, getattr(holder, name)))
        setattr(holder, name, new)


def _through(of_op: Timed, evaluate: Callable[[Op], Callable[..., Any]]) -> Callable[[Op], Callable[..., Any]]:
    return cache(lambda op: of_op(op, evaluate(op)))


FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7
"""What an event is of, in PyTorch's numbers."""


class Note(NamedTuple):
    """One thing that happened; times are in nanoseconds, places are pairs of code and offset."""

    name: str
    scope: int
    start: int
    end: int
    places: tuple[Any, ...]
    shapes: list[list[int]]
    nbytes: int
    sequence_nr: int
    thread: int


class Recorder(Watcher):
    """Notes everything that happens while it is on.

    Args:
        shapes: whether to keep the shapes of operands.
        stack: whether to keep all of the user's lines that led to an operation, not its own alone.
    """

    def __init__(self, shapes: bool, stack: bool):
        self.shapes, self.stack = shapes, stack
        self.notes: list[Note] = []
        self.threads: dict[int, int] = {}
        self.start_ns = 0
        self._doors = Doors()

    def start(self) -> None:
        """Listen from now on.

        Raises:
            RuntimeError: if another recorder does.
        """
        if RECORDERS:
            raise RuntimeError("a profiler is on already, and another one would time the first; leave its block first")
        RECORDERS.append(self)
        WATCHERS.append(self)
        self._doors.open(self.of_op, self.of_name, self.of_call, self.of_item, self.of_replay)
        self.start_ns = perf_counter_ns()

    def stop(self) -> None:
        """Listen no longer."""
        self._doors.close()
        RECORDERS.remove(self)
        WATCHERS.remove(self)

    def note(
        self,
        name: str,
        scope: int,
        times: tuple[int, int],
        places: tuple[Any, ...],
        operands: Sequence[Any] = (),
        nbytes: int = 0,
        number: int = -1,
    ) -> None:
        """Note something that happened."""
        thread = self.threads.setdefault(get_ident(), len(self.threads) + 1)
        shapes = list(map(shape_of, operands)) if self.shapes else []
        self.notes.append(Note(name, scope, *times, places, shapes, nbytes, number, thread))

    def places(self, depth: int) -> tuple[Any, ...]:
        """The user's line, `depth` frames up or further; with a stack, also the lines that led there."""
        here = current().where
        if here is not None:
            return (here,)
        frame = sys._getframe(depth)
        if not self.stack:
            return (user_frame(frame),)
        found, walk = [], frame
        while walk is not None:
            if not in_library(walk.f_code.co_filename):
                found.append((walk.f_code, walk.f_lasti))
            walk = walk.f_back  # type: ignore[assignment]
        return tuple(found)

    def of_op(self, op: Op, evaluate: Callable[..., Any]) -> Callable[..., Any]:
        """The evaluation of an op, timed: NumPy's work, without what the list does about it."""
        name = f"aten::{op.name}"

        def timed(*values: Any, **params: Any) -> Any:
            number, z, start = next_handle(), None, perf_counter_ns()
            try:
                z = evaluate(*values, **params)
            finally:
                times = start, perf_counter_ns()
                nbytes = 0 if z is None or op.is_view(params) else size_of(z)
                self.note(name, FUNCTION, times, self.places(2), values, nbytes, number)
            return z

        return timed

    def of_name(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of ours, timed."""

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = perf_counter_ns()
            try:
                return function(*args, **kwargs)
            finally:
                self.note(name, FUNCTION, (start, perf_counter_ns()), self.places(2))

        return timed

    def of_call(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A call of a custom function, timed; the operations in its forward are events within."""

        def timed(function: Any, args: tuple[Any, ...], *rest: Any) -> Any:
            number, start = next_handle(), perf_counter_ns()
            try:
                return run(function, args, *rest)
            finally:
                times, tensors = (start, perf_counter_ns()), [x for x in args if isinstance(x, Tensor)]
                self.note(function.__name__, FUNCTION, times, self.places(2), tensors, number=number)

        return timed

    def of_replay(self, evaluate: Callable[..., Any]) -> Callable[..., Any]:
        """A replay of a program that is not recorded, timed as a whole; one that is recorded is an op."""

        def timed(program: Any, given: Sequence[Any]) -> Any:
            values, start = None, perf_counter_ns()
            try:
                values = evaluate(program, given)
            finally:
                times, nbytes = (start, perf_counter_ns()), 0 if values is None else size_of(tuple(values))
                self.note("aten::replay", FUNCTION, times, self.places(2), given, nbytes)
            return values

        return timed

    def of_item(self, getitem: Callable[..., Any]) -> Callable[..., Any]:
        """Reading by one integer, timed; other indices are timed as the ops that they are."""

        def timed(x: Any, index: Any) -> Any:
            wengert = current()
            before, places, number = wengert.where, self.places(2), next_handle()
            wengert.where = places[0]  # else the record's line would be found by counting frames
            start = perf_counter_ns()
            try:
                return getitem(x, index)
            finally:
                if type(index) is int:
                    self.note("aten::select", FUNCTION, (start, perf_counter_ns()), places, (x,), number=number)
                wengert.where = before

        return timed

    def rules(self, inner: Rules) -> Rules:
        """The rules of a record, timed; where the results of an op gather, nothing is computed."""

        def timed(row: list[Any], g: Any, positions: tuple[int, ...], record: bool) -> Iterable[tuple[int, Any, Any]]:
            if op_of(row).name == "output":
                return inner(row, g, positions, record)
            found: list[tuple[int, Any, Any]] = []
            start = perf_counter_ns()
            try:
                found += inner(row, g, positions, record)
            finally:
                self.note_row(row, (start, perf_counter_ns()), (g,), sum([size_of(bar) for _, _, bar in found]))
            return found

        return timed

    def steps(self, inner: Steps, run: Any) -> Steps:
        """The steps of a jitted sweep, timed record by record."""

        def timed(first: int, count: int) -> None:
            for k, n, nbytes in steps_by_record(run.work.steps, first, count):
                start = perf_counter_ns()
                try:
                    inner(k, n)
                finally:
                    self.note_row(run.row_of_step(k), (start, perf_counter_ns()), (), nbytes)

        return timed

    def note_row(self, row: list[Any], times: tuple[int, int], operands: Sequence[Any], nbytes: int) -> None:
        """Note that the rules of a record have been run."""
        place, number = (row[CODE], row[LASTI]), row[HANDLE] + 1 - 1
        self.note(node_name(row), BACKWARD_FUNCTION, times, (place,), operands, nbytes, number)


RECORDERS: list[Recorder] = []
"""The recorder that is on, if one is."""


def next_handle() -> int:
    """The handle of the next record of this thread, as `itertools.count` shows it without counting; −1 for none."""
    wengert = current()
    if not wengert.recording:
        return -1
    return int(repr(wengert.next.__self__).removeprefix("count(").removesuffix(")"))  # type: ignore[attr-defined]


def size_of(z: Any) -> int:
    """Bytes of a result, or of several."""
    if isinstance(z, (tuple, Bundle)):
        return sum(map(size_of, z.parts.values() if isinstance(z, Bundle) else z))
    return int(getattr(getattr(z, "_data", z), "nbytes", 0))


def shape_of(x: Any) -> list[int]:
    """A shape as events show it; that of several results is not shown."""
    return [] if isinstance(x, Bundle) else list(np.shape(getattr(x, "_data", x)))
