"""What is said, once, of a function that runs without being compiled."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from ...base.location import in_library


class SaidOnce:
    """Warnings of `tape.compile` about one function, each of which is given once."""

    __slots__ = ("function", "said")

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.said: set[str] = set()

    def warn(self, reason: str, since: str = "from here on") -> None:
        """Say why calls run as they are, at the user's line."""
        if reason in self.said:
            return
        self.said.add(reason)
        name = getattr(self.function, "__qualname__", repr(self.function))
        frame, depth = sys._getframe(1), 2
        while frame.f_back is not None and in_library(frame.f_code.co_filename):
            frame, depth = frame.f_back, depth + 1
        text = f"tape.compile runs {name} without compiling {since}: {reason.removesuffix('.')}."
        warnings.warn(text, RuntimeWarning, stacklevel=depth)
