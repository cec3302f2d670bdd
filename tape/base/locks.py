"""Locks that a forked process finds free.

In the child of a fork only the thread that forked goes on.  What another thread held at that
moment nobody would ever give back, so all locks of the library begin anew there.
"""

from __future__ import annotations

import _thread
import os
import sys
import weakref
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_renewals: list[Callable[[], None]] = []


class UninterruptedLock(_thread.RLock):  # type: ignore[misc]  # it is not final
    """A lock that is not taken by a ``with`` that an interrupt keeps from its body.

    From CPython 3.14 on, a ``with`` calls `__enter__` as any function, and looks for signals when a built-in one has
    returned: the lock would be taken by then, and nobody would give it back.  After a return from Python it does not.
    """

    def __enter__(self, blocking: bool = True, timeout: float = -1) -> bool:
        before = self._recursion_count()  # type: ignore[attr-defined]
        try:
            return self.acquire(blocking, timeout)
        except BaseException:
            while self._recursion_count() > before:  # type: ignore[attr-defined]
                self.release()
            raise


CALLS_ENTER = sys.version_info >= (3, 14)


def new_lock() -> Any:
    """A lock that its own thread may take again."""
    made = UninterruptedLock() if CALLS_ENTER else _thread.RLock()
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


class kept:
    """An attribute that is worked out when it is first read, and stands in the object from then on.

    `functools.cached_property` of Python 3.11 holds a lock meanwhile, one for all objects, which a forked child would
    wait for in vain.  Of threads that come at the same moment each works it out, and one result is kept.
    """

    def __init__(self, function: Callable[[Any], Any]):
        self.function, self.name = function, function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, x: Any, owner: Any = None) -> Any:
        if x is None:
            return self
        return vars(x).setdefault(self.name, self.function(x))


def in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Call a function in the child after every fork, once the locks are free."""
    _renewals.append(renew)
    return renew


_waited: list[Callable[[], None]] = []
_foreign: list[Any] = []
_held: list[Any] = []


def before_fork(wait: Callable[[], None]) -> Callable[[], None]:
    """Call a function before every fork, while no lock is held for it."""
    _waited.append(wait)
    return wait


def held_at_fork(lock: Any) -> None:
    """Let whoever forks wait for a lock of another library's, and hold it meanwhile, so that the child finds it free.

    Of two such locks, the one that is held while the other is waited for comes after that.
    """
    _foreign.append(lock)


def _hold() -> None:
    for wait in _waited:
        wait()
    for lock in reversed(_foreign):
        lock.__enter__()
        _held.append(lock)


def _let_go() -> None:
    while _held:
        _held.pop().__exit__(None, None, None)


def _begin_anew() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()
    for renew in _renewals:
        renew()
    _let_go()


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_begin_anew)
