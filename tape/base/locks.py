"""Locks that a forked process finds free.

In the child of a fork only the thread that forked goes on.  What another thread held at that
moment nobody would ever give back, so all locks of the library begin anew there.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_renewals: list[Callable[[], None]] = []


def new_lock() -> Any:
    """A lock that its own thread may take again."""
    made = threading.RLock()
    _locks.add(made)
    return made


F = TypeVar("F", bound=Callable[..., Any])


def once(function: F) -> F:
    """A function whose results are kept, and worked out by one thread at a time.

    `functools.cache` lets two threads work out the same, and forgets one of the results: machine code that was given
    out by its address would be unloaded.
    """
    kept, lock = cache(function), new_lock()

    @wraps(function)
    def locked(*args: Any) -> Any:
        with lock:
            return kept(*args)

    return locked  # type: ignore[return-value]


def in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Call a function in the child after every fork, once the locks are free."""
    _renewals.append(renew)
    return renew


def _begin_anew() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()
    for renew in _renewals:
        renew()


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(after_in_child=_begin_anew)
