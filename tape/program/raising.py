"""Whether floating-point errors are more than warnings: a replay computes without asking how they are handled."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import numpy as np

_state: Any = getattr(getattr(getattr(np, "_core", None), "umath", None), "_extobj_contextvar", None)
"""Where NumPy keeps what `np.errstate` says; nothing if it has another place."""

HARMLESS = ("ignore", "warn")


def raises() -> bool:
    """Whether a floating-point error would raise, print or call something here.

    >>> with np.errstate(over="raise"):
    ...     raises()
    True
    >>> raises()
    False
    """
    if isinstance(_state, ContextVar) and _state.get(None) is None:
        return False
    return any(how not in HARMLESS for how in np.geterr().values())
