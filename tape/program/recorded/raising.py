"""What NumPy does about floating-point errors here, and which a replay made.

A replay computes without asking how such errors are handled, so it is done only where they raise nothing.  Those that
it makes it takes note of: in machine code by the processor's flags, in Python by what NumPy tells of them.  Kinds of
errors are NumPy's own numbers of them (see `tape.jit.machine.fenv`).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

from ...base.jit_door import jitted
from ...base.locks import new_lock
from ...jit.machine.fenv import DIVIDE, INVALID, OVER

_found: Any = getattr(getattr(getattr(np, "_core", None), "umath", None), "_extobj_contextvar", None)
STATE: ContextVar[Any] | None = _found if isinstance(_found, ContextVar) else None
"""Where NumPy keeps what `np.errstate` says; None if it has another place."""

HARMLESS = ("ignore", "warn")

UNKNOWN = object()

handling: Callable[[Any], Any] = STATE.get if STATE is not None else lambda nothing: UNKNOWN
"""What NumPy keeps of what `np.errstate` and `np.seterr` say here; what is given, if they have said nothing."""

_known: tuple[Any, bool] = object(), False
"""What NumPy kept when it was last asked, which never changes but is replaced, and the answer."""
calm = ctypes.c_int64(0)
"""The address of that where the answer was that nothing raises, for machine code to compare with; else 0."""
_replacing = new_lock()


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
        harmless = (*HARMLESS, "call") if np.geterrcall() is _note else HARMLESS
        answer = any(how not in harmless for how in np.geterr().values())
        with _replacing:
            calm.value = 0  # before what it was the address of goes away, and others may be made there
            _known = state, answer
            calm.value = 0 if answer or state is UNKNOWN else id(state)
    return answer


def is_quiet() -> bool:
    """Whether a floating-point error is no more than a warning here."""
    return not raises()


_ignoring: tuple[Any, int] = object(), 0
"""What NumPy kept when it was last asked what it ignores, and the answer."""


def ignored() -> int:
    """The kinds of errors of which NumPy says nothing here.

    >>> with np.errstate(divide="ignore", under="ignore"):
    ...     ignored() == DIVIDE
    True
    """
    global _ignoring
    state = handling(None)
    known, answer = _ignoring
    if state is not known or state is UNKNOWN:
        how: dict[str, Any] = {**np.geterr()}
        answer = sum([kind for name, kind in KINDS.items() if how[name] == "ignore"])
        _ignoring = state, answer
    return answer


# Errors that replays make.

KINDS = {"divide": DIVIDE, "over": OVER, "invalid": INVALID}
"""NumPy's names of the errors that it warns of, and its numbers of them."""
ALL_KINDS = sum(KINDS.values())


class _Noted(threading.local):
    kinds = 0


noted = _Noted()
"""The kinds of errors that replays in this thread made since that was begun."""


@cache
def _fenv() -> Any:
    """The processor's flags, None if they cannot be read."""
    room = jitted("machine.fenv")
    return None if room is None else room.fenv()


def forget_errors() -> None:
    """Begin to take note of errors in this thread."""
    flags, noted.kinds = _fenv(), 0
    if flags is not None:
        flags.forget()


def note_errors() -> int:
    """Take note of what the flags say, which the next loop of NumPy's takes down; the kinds since that was begun."""
    flags = _fenv()
    if flags is not None:
        noted.kinds |= flags.raised()
    return noted.kinds


def note_kinds(kinds: int) -> None:
    """Take note of errors that were made for this thread in another one."""
    noted.kinds |= kinds


def _note(text: str, kind: int) -> None:
    """What NumPy calls for an error."""
    note_kinds(kind)


def noting() -> np.errstate:
    """NumPy takes note of errors here, and does nothing else about them."""
    return np.errstate(divide="call", over="call", invalid="call", under="ignore", call=_note)


def flags_of(kinds: int) -> int:
    """The processor's flags of some kinds."""
    flags = _fenv()
    return 0 if flags is None else int(flags.flags(kinds))
