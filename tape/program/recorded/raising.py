"""Whether a floating-point error is more than a warning to NumPy here.

A replay computes without asking how such errors are handled, so it is done only where they raise nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

_found: Any = getattr(getattr(getattr(np, "_core", None), "umath", None), "_extobj_contextvar", None)
STATE: ContextVar[Any] | None = _found if isinstance(_found, ContextVar) else None
"""Where NumPy keeps what `np.errstate` says; None if it has another place."""

HARMLESS = ("ignore", "warn")

UNKNOWN = object()

handling: Callable[[Any], Any] = STATE.get if STATE is not None else lambda nothing: UNKNOWN
"""What NumPy keeps of what `np.errstate` and `np.seterr` say here; what is given, if they have said nothing."""

_known: tuple[Any, bool] = object(), False
"""What NumPy kept when it was last asked, which never changes but is replaced, and the answer."""


def raises() -> bool:
    """Whether a floating-point error would raise, print or call something here.

    >>> with np.errstate(over="raise"):
    ...     raises()
    True
    >>> raises()
    False
    """
    global _known
    state = handling(None)
    if state is None:
        return False
    known, answer = _known
    if state is not known or state is UNKNOWN:
        answer = any(how not in HARMLESS for how in np.geterr().values())
        _known = state, answer
    return answer


def is_quiet() -> bool:
    """Whether a floating-point error is no more than a warning here."""
    return not raises()
