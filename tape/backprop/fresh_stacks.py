"""Sweeps within sweeps, on stacks of their own.

A custom function's backward may call backward again, as checkpoints do, and that may go thousands deep.
Python allows a thread some hundred frames of that; so every now and then the work is handed to a new
thread, which works on this thread's list, as this thread, while this one waits for it.
"""

from __future__ import annotations

import contextvars
import ctypes
import threading
from _thread import get_ident
from collections.abc import Callable
from typing import Any

from ..base.undisturbed import REACHED
from ..recording.wengert import LISTS, WengertList

DEPTH = 12
"""How many sweeps of a list may be nested on one stack."""

_working: dict[int, list[threading.Thread]] = {}
"""By the number of a list, the threads that stand in for its own, the one that is working last."""


def is_deep(wengert: WengertList) -> bool:
    """Whether the next sweep of a list is to begin on a fresh stack."""
    return wengert.busy % DEPTH == 0 and wengert.busy > DEPTH * len(_working.get(wengert.number, ()))


def on_fresh_stack(wengert: WengertList, function: Callable[[], Any]) -> Any:
    """What a function gives, or raises, when a new thread calls it in place of this one."""
    results: list[Any] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()
    done = threading.Lock()
    done.acquire()

    def work() -> None:
        LISTS[get_ident()] = wengert
        REACHED.add(get_ident())
        try:
            results.append(context.run(function))
        except BaseException as error:
            errors.append(error)
        finally:
            REACHED.discard(get_ident())
            del LISTS[get_ident()]
            done.release()

    stack = _working.setdefault(wengert.number, [])
    worker = threading.Thread(target=work, name=f"{threading.current_thread().name}, depth {wengert.busy}")
    stack.append(worker)
    try:
        worker.start()
        _wait(done, stack)
    finally:
        stack.remove(worker)
        if not stack:
            _working.pop(wengert.number, None)
    if errors:
        raise errors.pop()
    return results.pop()


def _wait(done: Any, stack: list[threading.Thread]) -> None:
    """Wait until a thread is done; an interrupt is for the one that is working, and comes back from there.

    Not by ``Thread.join``, which takes a thread for ended once it was interrupted itself; and looking up now
    and then, because an interrupt does not end the wait everywhere.
    """
    while True:
        try:
            while not done.acquire(timeout=0.1):
                pass
            return
        except BaseException as error:
            ident = ctypes.c_ulong(stack[-1].ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(type(error)))
