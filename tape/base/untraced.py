"""What the interpreter does beside the program, put off for a moment: tracing, and the search for circles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from .locks import new_lock

Count = TypeVar("Count", bound=int)


def untraced(count: Callable[[], Count]) -> Count:
    """What `count` says with tracing off: a debugger that reads a frame's names holds what they refer to."""
    trace = sys.gettrace()
    sys.settrace(None)
    try:
        return count()
    finally:
        sys.settrace(trace)


_probe = [object()]
UNCOUNTED = sys.getrefcount(_probe[0]) - 1
"""What `sys.getrefcount` says of a list element beyond the list's own reference.

Of a local variable it says one less from CPython 3.14 on, which lends those to what it calls; an element it does not.
"""


def _counts() -> bool:
    held = [int("1000003")]
    for references in range(1, 5):
        if sys.getrefcount(held[0]) - UNCOUNTED != references:
            return False
        held.append(held[0])
    return True


COUNTS = sys.implementation.name == "cpython" and untraced(_counts)
"""Whether `sys.getrefcount` says of an int how many hold it; where it does not, nothing is taken for garbage."""


@contextmanager
def paused() -> Iterator[None]:
    """Look for no circles meanwhile: for work of the library's own that makes many objects, all of which stay.

    >>> with paused():
    ...     rows = [[k] for k in range(100_000)]
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def thaw() -> None:
    """Take back what `gc.freeze()` set aside, of which Python finds neither the objects nor who refers to what.

    >>> gc.freeze(), thaw(), gc.get_freeze_count()
    (None, None, 0)
    """
    gc.unfreeze()  # without asking whether there is any: the answer is counted anew, object by object


MANY = 10_000
"""So many new objects there may be before circles are looked for where most objects stay."""
_recordings: list[tuple[int, int, int]] = []
"""For each recording, in whichever thread, how often circles were looked for before the first."""
_counting = new_lock()


@contextmanager
def seldom() -> Iterator[None]:
    """Look for circles seldom meanwhile: for somebody else's code during which most objects stay.

    A search visits each new object, to find that it stays, and some hundred new ones are reason enough for it
    otherwise.

    >>> with seldom():
    ...     rows = [[k] for k in range(100_000)]
    """
    with _counting:
        usual = _recordings[0] if _recordings else gc.get_threshold()
        if not _recordings and 0 < usual[0] < MANY:
            gc.set_threshold(MANY, *usual[1:])
        _recordings.append(usual)
    try:
        yield
    finally:
        with _counting:
            _recordings.pop()
            if not _recordings and gc.get_threshold() == (MANY, *usual[1:]):
                gc.set_threshold(*usual)
