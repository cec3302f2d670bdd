"""What a replay says where a guard does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from .trace import Guard


class GuardMissed(RuntimeError):
    """A replay met another value than the one that the recorded list holds for.

    Attributes:
        index: which guard.
        value: what was met.
    """

    def __init__(self, index: int, guard: Guard, value: Any):
        super().__init__(index, guard, value)
        self.index, self.guard, self.value = index, guard, value

    def __str__(self) -> str:
        guard = self.guard
        return (
            f"the recorded list holds only while {guard.what} gives {shown(guard.seen)}, and for these inputs it "
            f"gives {shown(self.value)}.\n  asked at {guard.location}\n"
            "Call the function through tape.compile, which records every path taken, or choose with tape.where()."
        )


def shown(value: Any) -> str:
    """A value in a message."""
    return repr(np.asarray(value).item() if np.size(value) == 1 else value)
