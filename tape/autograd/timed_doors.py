"""Where the profiler listens: the places through which every evaluation goes, and what is put there while it is on.

Nothing asks on its way whether it is profiled.  Instead the function that evaluates an op is
exchanged where it is kept: in the closures of `tape.recording.short_ways`, in the defaults of `bind`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ops import Op

from ..backprop import backward
from ..base.tensor import Tensor
from ..custom import call, function
from ..program.compiled import CompiledFunction
from ..program.recorded_program import Program
from ..recording import halves
from ..recording.evaluate import forward_of
from ..recording.recorder import bind
from ..recording.short_ways import SHORT

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
            cell = apply.__closure__[apply.__code__.co_freevars.index("forward")]
            self._replace(cell, "cell_contents", of_op(op, cell.cell_contents))
        lift = (bind.__defaults__ or ())[0]
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
        while self._before:
            setattr(*self._before.pop())

    def _replace(self, holder: Any, name: str, new: Any) -> None:
        self._before.append((holder, name, getattr(holder, name)))
        setattr(holder, name, new)


def _through(of_op: Timed, evaluate: Callable[[Op], Callable[..., Any]]) -> Callable[[Op], Callable[..., Any]]:
    return cache(lambda op: of_op(op, evaluate(op)))
