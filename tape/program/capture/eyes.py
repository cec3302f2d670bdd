"""Seeing each instruction that some code runs in this thread: by Python's monitoring, or by its tracing.

CPython 3.12 brought monitoring (PEP 669), and rebuilt tracing on it in such a way that the instructions of code that
asks for them when it is entered are seen from its next run on only.  CPython 3.11 has tracing alone.
"""

from __future__ import annotations

import sys
import threading
from _thread import get_ident
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from ..recorded.trace import Untraceable
from ..world.looking import ENTERING

_monitoring: Any = getattr(sys, "monitoring", None)
Look = Callable[[FrameType, int], None]
"""Told the frame and the offset of the instruction that comes next, or `ENTERING`; may raise an exception there."""


@contextmanager
def traced(codes: Sequence[CodeType], look: Look) -> Iterator[None]:
    """See the instructions of some code objects in this thread meanwhile, in place of whoever traces it."""
    watched = set(map(id, codes))

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        if id(frame.f_code) not in watched:
            return None
        look(frame, ENTERING)
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return step

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            look(frame, frame.f_lasti)
        return step

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield
    finally:
        sys.settrace(before)


class Monitor:
    """What is seen by Python's monitoring, which is one for all threads: who looks at which code.

    Attributes:
        looks: by thread, for each of the recordings under way there, one inside the other, the identities of the code
            objects that are watched, and who is told.
        counts: by identity, a code object and how many recordings watch it.
        tool: the number that Python knows this by, of six that all tools of a process share; None while nobody watches.
    """

    NAME = "tape.compile"
    NUMBERS = (4, 3, 5, 2, 1, 0)
    """Those that no kind of tool is asked to use come first."""

    def __init__(self) -> None:
        self.looks: dict[int, list[tuple[set[int], Look]]] = {}
        self.counts: dict[int, list[Any]] = {}
        self.tool: int | None = None
        self._lock = threading.RLock()

    @contextmanager
    def monitored(self, codes: Sequence[CodeType], look: Look) -> Iterator[None]:
        """See the instructions of some code objects in this thread meanwhile.

        Raises:
            Untraceable: if other tools have all the numbers.
        """
        mine = set(map(id, codes)), look
        self._watch(codes)
        looks = self.looks.setdefault(get_ident(), [])
        looks.append(mine)
        try:
            yield
        finally:
            looks.remove(mine)
            if not looks:
                self.looks.pop(get_ident(), None)
            self._leave(codes)

    def _watch(self, codes: Sequence[CodeType]) -> None:
        events = _monitoring.events
        with self._lock:
            if self.tool is None:
                self.tool = self._number()
                self._listen(True)
            for code in codes:
                held = self.counts.setdefault(id(code), [code, 0])
                held[1] += 1
                if held[1] == 1:
                    wanted = events.PY_START | events.PY_RESUME | events.INSTRUCTION
                    _monitoring.set_local_events(self.tool, code, wanted)

    def _leave(self, codes: Sequence[CodeType]) -> None:
        with self._lock:
            assert self.tool is not None
            for code in codes:
                held = self.counts[id(code)]
                held[1] -= 1
                if not held[1]:
                    _monitoring.set_local_events(self.tool, code, 0)
                    del self.counts[id(code)]
            if not self.counts:
                self._listen(False)
                _monitoring.free_tool_id(self.tool)
                self.tool = None

    def _listen(self, on: bool) -> None:
        events = _monitoring.events
        for event, told in ((events.PY_START, self._entered), (events.PY_RESUME, self._entered),
                            (events.INSTRUCTION, self._came)):  # fmt: skip
            _monitoring.register_callback(self.tool, event, told if on else None)

    def _number(self) -> int:
        for number in self.NUMBERS:
            if _monitoring.get_tool(number) is None:
                _monitoring.use_tool_id(number, self.NAME)
                return number
        raise Untraceable(
            "other tools (debuggers, profilers, …) have taken all of Python's monitoring (sys.monitoring)"
        )

    def _entered(self, code: CodeType, offset: int) -> None:
        self._tell(code, ENTERING, sys._getframe(1))

    def _came(self, code: CodeType, offset: int) -> None:
        self._tell(code, offset, sys._getframe(1))

    def _tell(self, code: CodeType, offset: int, frame: FrameType) -> None:
        for codes, look in reversed(self.looks.get(get_ident(), ())):
            if id(code) in codes:
                look(frame, offset)


eyes = Monitor().monitored if sys.version_info >= (3, 12) else traced
