"""What the interpreter does beside the program, put off for a moment: tracing, and the search for circles."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

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
