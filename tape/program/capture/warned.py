"""Warnings that a function gives while it is recorded, which a replay does not give again."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..recorded.raising import REPEATED, shown
from ..recorded.trace import Untraceable

ONCE = ("tape.base.jit_door", "tape.numpy.arrays.leaving", "tape.numpy.classes", "tape.program.compiled")
"""Modules of this library that take care themselves to say things once."""


class Waiting(threading.local):
    """What this thread is warned of.

    Attributes:
        messages: the warnings that wait until it is known whether a function is recorded; None while none do.
        count: how many were shown.
    """

    messages: list[Any] | None = None
    count = 0

    def watch(self) -> None:
        """Let Python hand over warnings from now on."""
        module: Any = warnings
        show = getattr(module, "_showwarnmsg", None)
        if show is None or getattr(show, "waits", None) is self:  # another Python may show them in another way
            return

        def show_later(message: Any) -> None:
            if self.messages is None or sys._getframe(1).f_globals.get("__name__") in ONCE:
                self.count += 1
                show(message)
            else:
                self.messages.append(message)

        show_later.waits = self  # type: ignore[attr-defined]
        module._showwarnmsg = show_later


WAITING = Waiting()


@contextmanager
def repeating_none() -> Iterator[None]:
    """While a function is recorded: what it warns of is shown afterwards, unless every call would have to.

    Raises:
        Untraceable: if Python's filters show such a warning each time.
    """
    WAITING.watch()
    outer, WAITING.messages = WAITING.messages, []
    repeated: list[Any] = []
    try:
        yield
    finally:
        waited, WAITING.messages = WAITING.messages, outer
        for message in waited:
            if shown(message.category) in REPEATED:
                repeated.append(message)  # which the function itself gives again
            else:
                warnings._showwarnmsg(message)  # type: ignore[attr-defined]
    if repeated:
        first = repeated[0]
        raise Untraceable(f"it warns ({first.category.__name__}: {first.message}), which every call has to do")
