"""Noticing that a function which is being recorded comes to where it would read something doubtful.

Only code that holds such a place is watched; where there are no doubts nothing is.  Each instruction is seen by
Python's monitoring, or by its tracing.  CPython 3.12 brought monitoring (PEP 669), and rebuilt tracing on it in such a
way that the instructions of code that asks for them when it is entered are seen from its next run on only.  CPython
3.11 has tracing alone.
"""

from __future__ import annotations

import importlib
import random
import sys
from _thread import get_ident
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from ...base.location import locate
from ...base.locks import new_lock
from ..recorded.trace import Untraceable
from ..world.reading import ENTERING, Import
from ..world.surroundings import Surroundings, Unknown

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
        self._lock = new_lock()

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


SEED = random.Random.seed.__code__
"""What runs when Python's generator of random numbers gets a seed, or none."""


class Again(Exception):
    """What is around the function has become known only now: it is to be recorded anew."""


class Stop(BaseException):
    """Leaves the function: nothing of it is to run any more, not even what handles exceptions."""


class Witness:
    """Sees what runs in this thread.

    Attributes:
        reason: why the function cannot be recorded, once that is known.
    """

    def __init__(self, around: Surroundings):
        self.reason: Untraceable | Again | None = None
        self._sites: dict[int, dict[int, Unknown]] = {}
        self._codes: list[CodeType] = []
        for doubt in around.doubts:
            if doubt.places is None:
                raise untraceable(doubt.unknown, None)
            for code, offset in doubt.places:
                if id(code) not in self._sites:
                    self._codes.append(code)
                self._sites.setdefault(id(code), {}).setdefault(offset, doubt.unknown)
        if any(function is random.Random for function in around.seeded):
            self._sites[id(SEED)] = {}
            self._codes.append(SEED)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch meanwhile, if there is anything to watch for.

        Raises:
            Untraceable, Again: if something doubtful would have been read.
        """
        if not self._sites:
            yield
            return
        try:
            with eyes(self._codes, self._look):
                yield
        except Stop:
            pass
        finally:
            if self.reason is not None:
                raise self.reason from None

    def _look(self, frame: FrameType, offset: int) -> None:
        """Code of a function that is watched begins or goes on (`ENTERING`), or comes to an instruction."""
        code = frame.f_code
        if code is not SEED:
            unknown = self._sites[id(code)].get(offset)
            if unknown is not None:
                self._stop(unknown, frame)
        elif offset == ENTERING and frame.f_locals.get("a") is None:
            self._stop(Unknown(random.Random, "random.Random without a seed"), frame.f_back or frame)

    def _stop(self, unknown: Unknown, frame: FrameType) -> None:
        if self.reason is not None:  # it stopped before, and what handles exceptions runs
            raise Stop
        if isinstance(unknown.thing, Import) and unknown.thing not in sys.modules:
            try:
                importlib.import_module(unknown.thing)
                self.reason = Again()
            except Exception:
                self.reason = untraceable(unknown, frame)
        else:
            self.reason = untraceable(unknown, frame)
        raise Stop


def untraceable(unknown: Unknown, frame: FrameType | None) -> Untraceable:
    """Why something unknown keeps a function from being recorded, and what to do."""
    where = "it" if frame is None else str(locate(frame.f_code, frame.f_lasti))
    return Untraceable(
        f"{where} reads {unknown.name}, which is not known to give the same again; pass what it gives as an argument "
        "or, if it never changes, promise that with tape.compile(f, assume_constant=[…])"
    )
