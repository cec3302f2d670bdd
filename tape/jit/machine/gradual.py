"""Passes over columns: functions of arrays that run as Python, and jitted once that pays.

Over the few records of a small program a pass takes a millisecond as it stands, and Numba would take half a second to
compile it.  Each has an account of its own (`tape.base.jit_door`).  What it computes are whole numbers, so both ways
give the same; where one relies on wrapping around, it must do so in NumPy's numbers too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Any

import numpy as np

from ...base.jit_door import Account, tell_unusable
from ...base.rooms import Room

PER_WORD = 5e-7
"""Seconds that a pass in Python takes for each word of its columns."""
LOAD, COMPILE = 0.02, 0.4

_compiled = Room("tape.jit.machine.jitting")


class Pass:
    """A function of columns that Python calls.

    Attributes:
        plain: the function as it is written.
        jitted: the same compiled, or None as long as it is not.
    """

    def __init__(self, function: Callable[..., Any]):
        self.plain: Any = function
        self.jitted: Any = None
        self.account = Account(f"{function.__module__}.{function.__qualname__}", LOAD, COMPILE)
        update_wrapper(self, function)

    def __call__(self, *columns: Any) -> Any:
        if self.jitted is None:
            if self.account.defers(PER_WORD * sum(map(np.size, columns))):
                return self.in_python(*columns)
            try:
                self.jitted = jit(self.plain)
            except (ImportError, AttributeError) as error:
                tell_unusable(error)
                self.jitted = self.in_python
        found = self.jitted(*columns)
        if not self.account.settled:
            self.account.settle()
        return found

    def in_python(self, *columns: Any) -> Any:
        """The function as it is written; whole numbers may wrap around."""
        with np.errstate(all="ignore"):
            return self.plain(*columns)


def inner(function: Callable[..., Any]) -> Any:
    """A function that passes of its module call, as Python or jitted as they are."""
    function.__dict__["inner"] = True
    return function


def jit(function: Any) -> Any:
    """A pass, jitted, in a copy of its module's names where inner functions are jitted too."""
    names = dict(function.__globals__)
    for name, value in function.__globals__.items():
        if type(value) is FunctionType and "inner" in value.__dict__:
            names[name] = _compiled.inner(FunctionType(value.__code__, names, name))
    return _compiled.entry(FunctionType(function.__code__, names, function.__name__))
