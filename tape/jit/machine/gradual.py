"""Passes over columns: functions of arrays that run as Python, and jitted once that pays.

Over the few records of a small program a pass takes a millisecond as it stands, and Numba would take half a second to
compile it.  Each has an account of its own (`tape.base.jit_door`).  Once on disk, its machine code is loaded without
Numba, as that of steps is (`tape.jit.machine.portable`).

A pass reads and writes single words of columns with one axis, so Python runs it on lists, four times as fast as on
arrays.  It allocates nothing and takes nothing else of NumPy's: what it needs room for comes as a column, and Numba
would compile array functions for longer than everything around them.  No whole number in it may leave 64 bits, where
Python would go on and jitted code wrap around; so both ways give the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any

import numpy as np

from ...base.jit_door import Account, tell_unusable
from ...base.rooms import Room
from ...base.undisturbed import undisturbed
from .frames import KERNEL, address_of

PER_WORD = 1e-7
"""Seconds that a pass in Python takes for each word of its columns."""
LOAD, COMPILE = 0.01, 0.5

_compiled, _portable = Room("tape.jit.machine.jitting"), Room("tape.jit.machine.portable")


class Pass:
    """A function of columns that Python calls.

    Args:
        function: what it computes; its result is a number or None.
        writes: the names of the columns that hold results; what else it changes nobody reads afterwards.

    Attributes:
        plain: the function as it is written.
        jitted: the same compiled, or None as long as it is not.
        written: the positions of the columns that hold results.
    """

    def __init__(self, function: Callable[..., Any], writes: tuple[str, ...]):
        self.plain: Any = function
        self.jitted: Any = None
        self.account = Account(f"{function.__module__}.{function.__qualname__}", LOAD, COMPILE, portable=True)
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self.written = tuple(map(names.index, writes))
        update_wrapper(self, function)

    def __call__(self, *columns: Any) -> Any:
        if self.jitted is None:
            if self.account.defers(PER_WORD * sum(map(np.size, columns))):
                return self.in_python(*columns)
            self.jitted = jit(self.plain)
        try:
            found = self.jitted(*columns)
        except (ImportError, AttributeError) as error:
            tell_unusable(error)
            self.jitted = self.in_python
            return self.in_python(*columns)
        if not self.account.settled:
            self.account.settle()
        return found

    def in_python(self, *columns: Any) -> Any:
        """The function as it is written, on lists."""
        lists = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns]
        found = self.plain(*lists)
        for i in self.written:
            columns[i][:] = lists[i]
        return found


def writing(*names: str) -> Callable[[Callable[..., Any]], Pass]:
    """Make a pass of a function with its results in the columns of these names."""
    return partial(Pass, writes=names)


def inner(function: Callable[..., Any]) -> Any:
    """A function that passes of its module call, as Python or jitted as they are."""
    function.__dict__["inner"] = True
    return function


class JittedPass:
    """A pass as machine code: one kernel for each way in which its columns have dtypes.

    Args:
        function: the pass as it is written.
    """

    def __init__(self, function: FunctionType):
        self.function = function
        self._kernels: dict[str, tuple[Any, Any]] = {}

    def __call__(self, *columns: Any) -> int | None:
        fields: list[int] = []
        kinds, copied = "", []
        for c in columns:
            if not isinstance(c, np.ndarray):
                kinds += "."
                fields += int(c), 0
                continue
            given = c if c.flags.c_contiguous else np.ascontiguousarray(c)
            if given is not c:
                copied.append((given, c))
            kinds += c.dtype.char
            fields += address_of(given), c.size
        if kinds not in self._kernels:
            self._kernels[kinds] = undisturbed(lambda: self._kernel(kinds))
        words = np.array([*fields, 0, 0], dtype=np.int64)
        self._kernels[kinds][1](address_of(words))
        for given, theirs in copied:
            if theirs.flags.writeable:
                theirs[:] = given
        return words.item(-2) if words.item(-1) else None

    def _kernel(self, kinds: str) -> tuple[Any, Any]:
        """What keeps machine code for columns of those dtypes loaded, and the code."""
        code = self.function.__code__
        facts = "pass", self.function.__module__, self.function.__qualname__, code.co_code.hex(), kinds
        kept, address = _portable.fetched(facts, lambda: _portable.text_of(self._typed(kinds), memory=False))
        return kept, KERNEL(address)

    def _typed(self, kinds: str) -> Any:
        """The pass as a kernel for Numba, in a copy of its module's names where inner functions are jitted too."""
        given = self.function.__globals__
        names = dict(given)
        for name, value in given.items():
            if type(value) is FunctionType and "inner" in value.__dict__:
                names[name] = _compiled.without_memory(FunctionType(value.__code__, names, name))
        return _compiled.pass_of(FunctionType(self.function.__code__, names, self.function.__name__), kinds)


def jit(function: Any) -> JittedPass:
    """A pass, jitted when it is called with columns of some dtypes."""
    return JittedPass(function)
