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
