"""Imports and compilations where no interrupt comes.

An interrupt cuts a library in two wherever it is: Numba's registries are generators, which bear no exception, so half
of what was to be registered would be missing for the rest of the process; a module of ours that declares ops would
declare them twice.  Python raises interrupts in the main thread only.  So what imports or compiles goes to a thread of
its own there, and the main thread waits for it: an interrupt ends the wait at once, while the work goes on to its end
in the background, where the next of its kind waits for it.

A thread takes 50 µs to start, which is nothing beside what is done in it; what is there already never comes here.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from _thread import get_ident
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from ops.core.scalar_code import COMPILING

from .locks import before_fork, new_lock

T = TypeVar("T")

REACHED: set[int] = set()
"""Threads besides the main one that interrupts are sent to (`tape.backprop.fresh_stacks`)."""

OURS = frozenset({"tape", "ops", "numba", "llvmlite", "numpy", "scipy"})
"""Packages that the work may import."""

PATIENCE = 30.0
"""Seconds that a fork waits for work in the background."""

_turn = new_lock()
"""Held by the thread that works for another, so that one does at a time."""


def undisturbed(work: Callable[[], T]) -> T:
    """What `work` gives, or raises, when a thread calls it that no interrupt reaches.

    Whoever is such a thread calls it itself.  So does one that holds what the other would wait for: the lock of a
    module that it is importing, or Numba's lock, which is the thread's own.
    """
    ident = get_ident()
    main = threading.main_thread()
    if not (ident == main.ident or ident in REACHED) or not main.is_alive() or _is_importing() or _is_compiling():
        return work()
    results: list[T] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()
    done = threading.Lock()
    done.acquire()

    def run() -> None:
        try:
            with _turn:
                results.append(context.run(work))
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    try:
        threading.Thread(target=run, name="undisturbed").start()
    except RuntimeError:  # no more threads are to be had
        return work()
    while not done.acquire(timeout=0.1):  # now and then: an interrupt that another thread got ends no wait
        pass
    if errors:
        try:
            raise errors.pop()
        finally:
            errors = []  # else the traceback would hold its own frame
    return results.pop()


COMPILING.append(undisturbed)


def _is_importing() -> bool:
    """Whether this thread is amid the import of a module that the work might import too."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and str(frame.f_globals.get("__name__")).partition(".")[0] in OURS:
            return True
        frame = frame.f_back
    return False


def _is_compiling() -> bool:
    """Whether this thread holds Numba's lock for compilations."""
    room = sys.modules.get("numba.core.compiler_lock")
    lock = getattr(room, "global_compiler_lock", None)
    return lock is not None and bool(lock.is_locked())


@before_fork
def _let_work_end() -> None:
    if _turn.acquire(timeout=PATIENCE):
        _turn.release()
