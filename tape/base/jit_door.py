"""The door to the jitted half, opened when that pays.

Importing LLVM and loading what is jitted takes longer than everything else in a small program, and making machine code
of it, once on a machine, several times as long.  So work begins in Python, and an *account* is kept of what jitted code
would have saved; when that comes to the price of having it, it is had.  Whatever the program turns out to be, it has
then waited for no more than about twice what would have been best, as somebody who rents skis until the rent comes to
their price.

The work is counted and not timed, so that a program takes the same way each time it runs, to the last bit, once the
code is on disk: the two sweeps round differently (`tape.history.propagate`).

All of it happens where it is waited for, and nothing in a thread beside: a process that forks or ends in the middle
of it would have to wait.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from functools import cache
from math import inf
from typing import Any

from .rooms import Room, opened

LLVM = 0.1
"""Seconds to import LLVM."""

_layout, _kept = Room("tape.jit.machine.object_layout"), Room("tape.jit.machine.kept")


@cache
def jitted(room: str) -> Any:
    """A module of `tape.jit`, by its name there; None where Python's objects cannot be read by address.

    ``TAPE_JIT=0`` in the environment does without all of them.  A process whose main thread is through imports none
    any more: what they import may want to be told of the end, which is too late (`threading._register_atexit`).
    """
    if forced() is False or not _layout.CHECKED:
        return None
    name = f"tape.jit.{room}"
    if name not in sys.modules and not threading.main_thread().is_alive():
        return None
    try:
        return opened(name)
    except (ImportError, AttributeError) as error:
        return tell_unusable(error)


def tell_unusable(error: Exception) -> None:
    """Say once that what is jitted is not to be had; what it would have done, Python does."""
    if not _told:
        _told.append(error)
        warnings.warn(
            f"llvmlite or Numba cannot be used as installed here ({type(error).__name__}: {error}), so Python does the "
            "work: the results are the same, and later.  pip install -U numba; TAPE_JIT=0 does without it and without "
            "this warning.",
            RuntimeWarning,
            stacklevel=3,
        )


_told: list[Exception] = []


def forced() -> bool | None:
    """What ``TAPE_JIT`` says: 1 for jitted from the first on, 0 for never; None where the accounts decide."""
    return {"0": False, "1": True}.get(os.environ.get("TAPE_JIT", ""))


class Account:
    """What was done in Python so far, in seconds that jitted code would have saved, against what that costs.

    The figures are those of one machine; another is slower or faster at both.  Threads that enter their work at the
    same moment may lose some of it, which costs a little time and nothing else.

    Of code that is not on disk each process that would compile it for itself alone may have too little use; so what
    each does in Python is noted on disk, and the one with which it comes to the price compiles.

    Args:
        name: of the jitted code, for the note that says it is on disk.
        load: seconds to load it from there, when LLVM has been imported.
        compile: seconds to make machine code of it.

    Attributes:
        free: how much more may be done in Python before anything else is asked; whoever does it takes it off.
        is_open: whether the jitted code is in use; it stays so.
        settled: whether that it is on disk has been noted there.
        noted: what this process has noted on disk of its work.
    """

    __slots__ = ("compile", "free", "is_open", "load", "name", "noted", "settled")

    def __init__(self, name: str, load: float, compile: float):
        self.name, self.load, self.compile = name, load, compile
        self.free = inf if forced() is False else load
        self.is_open = forced() is True
        self.settled, self.noted = False, 0.0

    def left(self, work: float = 0.0) -> float:
        """How much more may be done in Python, for somebody who has so much to do, or more."""
        if self.is_open:
            return 0.0
        left = self.free + (0.0 if "llvmlite.binding" in sys.modules else LLVM)
        # Whether the code is on disk is asked when it begins to matter, and anew each time.
        if work < left or _kept.is_kept(self.name):
            return left
        return left - self.load + self.compile - max(_kept.noted(self.name) - self.noted, 0.0)

    def defers(self, work: float) -> bool:
        """Whether so much work is to be done in Python, and enter it; if not, jitted code is in use from now on."""
        if self.is_open:
            return False
        if work < self.left(work):
            self.free -= work
            if self.load <= work and forced() is None:
                _kept.note(self.name, work)
                self.noted += work
            return True
        self.is_open = True
        return False

    def settle(self) -> None:
        """Note that the code has been used, and so lies on disk, where there is a place for it."""
        self.settled = True
        _kept.keep(self.name)


SWEEPS = Account("sweep", load=0.02, compile=0.4)
SCANS = Account("scan", load=0.01, compile=0.05)
PLANS = Account("plans", load=0.02, compile=0.3)


def plans_wait(work: float, before: float = 0.0) -> bool:
    """Whether so much of a program is to run in Python, because its steps would have to be compiled first.

    They are compiled at once where the program took as long to record as they take: twice that is the most it can be.
    """
    if PLANS.is_open or forced() is not None:
        return False
    if before >= PLANS.compile or _kept.is_kept(PLANS.name):
        PLANS.is_open = True
        return False
    return PLANS.defers(work)
