"""Counting references where nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Callable


def untraced(count: Callable[[], int]) -> int:
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
