"""Whether a KeyboardInterrupt is the user's at the terminal, or one that the checked function raised."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupts:
    """What is known of SIGINT.

    Attributes:
        came: whether it has come, or may have: to a handler that the function put in.
    """

    came = False


@contextmanager
def watched() -> Iterator[Interrupts]:
    """Note when SIGINT comes, and do what is done about it; outside of the main thread none does."""
    found, before = Interrupts(), signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> Any:
        found.came = True
        return before(number, frame) if callable(before) else None

    ours: Any = note if callable(before) else before
    try:
        signal.signal(signal.SIGINT, ours)
    except (ValueError, TypeError):  # another thread than the main one, or a handler that is not Python's
        ours = before
    try:
        yield found
    finally:
        if signal.getsignal(signal.SIGINT) is not ours:
            found.came = True
        elif ours is note:
            signal.signal(signal.SIGINT, before)
