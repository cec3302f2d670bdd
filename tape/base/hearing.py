"""Warnings of this thread, as Python shows them: counted, kept until it is known what to do with them, or dropped."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .locks import new_lock

ONCE: set[str] = set()
"""Modules of this library, by name, that take care themselves to say things once."""


class Waiting(threading.local):
    """What this thread is warned of.

    Attributes:
        messages: the warnings that wait until it is known whether a function is recorded; None while none do.
        count: how many were shown while somebody was `hearing`.
    """

    messages: list[Any] | None = None
    count = 0


WAITING = Waiting()
_beginning = new_lock()


class _Hook:
    """What Python calls to show a warning while somebody is `hearing`.

    Attributes:
        show: what it called before.
        count: how many are hearing.
    """

    show: Any = None
    count = 0

    def __call__(self, message: Any) -> None:
        if WAITING.messages is None or sys._getframe(1).f_globals.get("__name__") in ONCE:
            WAITING.count += 1
            self.show(message)
        else:
            WAITING.messages.append(message)


_hook = _Hook()


@contextmanager
def hearing() -> Iterator[None]:
    """Let Python hand over the warnings of this thread meanwhile; those of others are shown as ever."""
    module: Any = warnings
    with _beginning:
        if not _hook.count and hasattr(module, "_showwarnmsg"):  # another Python may show them in another way
            _hook.show, module._showwarnmsg = module._showwarnmsg, _hook
        _hook.count += 1
    try:
        yield
    finally:
        with _beginning:
            _hook.count -= 1
            if not _hook.count and getattr(module, "_showwarnmsg", None) is _hook:
                module._showwarnmsg = _hook.show


@contextmanager
def unheard() -> Iterator[None]:
    """Drop what this thread is warned of meanwhile."""
    with hearing():
        outer, WAITING.messages = WAITING.messages, []
        try:
            yield
        finally:
            WAITING.messages = outer
