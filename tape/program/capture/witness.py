"""Noticing that a function which is being recorded comes to where it would read something doubtful.

Only code that holds such a place is watched (`tape.program.capture.eyes`); where there are no doubts nothing is.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType

from ...base.location import locate
from ..recorded.trace import Untraceable
from ..world.looking import ENTERING, Import
from ..world.surroundings import Surroundings, Unknown
from .eyes import eyes

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
