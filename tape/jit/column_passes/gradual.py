"""Passes over columns: functions of arrays that run as Python, and jitted once that pays.

Over the few records of a small program a pass takes a millisecond as it stands, and LLVM takes a tenth of a second to
compile it.  Each has an account of its own (`tape.base.jit_door`).  Its machine code comes and lies on disk as that of
steps does (`tape.jit.machine.shipped`).

A pass reads and writes single words of columns with one axis, so Python runs it on lists, four times as fast as on
arrays.  It allocates nothing and takes nothing else of NumPy's: what it needs room for comes as a column, and Numba
would compile array functions for longer than everything around them.  No whole number in it may leave 64 bits, where
Python would go on and jitted code wrap around; so both ways give the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

import numpy as np

from ...base.jit_door import Account, tell_unusable
from ...base.rooms import Room
from ..machine.frames import KERNEL, address_of

PER_WORD = 1e-7
"""Seconds that a pass in Python takes for each word of its columns."""
LOAD, COMPILE = 0.01, 0.1

DTYPES: dict[str, np.dtype[Any]] = {
    "l": np.dtype(np.int64), "i": np.dtype(np.int32), "?": np.dtype(np.bool_), "d": np.dtype(np.float64),
}  # fmt: skip

_shipped = Room("tape.jit.machine.shipped")


class Pass:
    """A function of columns that Python calls.

    Args:
        function: what it computes; its result is a number or None.
        kinds: the character of each column's dtype (``l`` is int64 everywhere), and a dot for a whole number.
        writes: the names of the columns that hold results; what else it changes nobody reads afterwards.

    Attributes:
        plain: the function as it is written.
        jitted: the same compiled, or None as long as it is not.
        written: the positions of the columns that hold results.
    """

    def __init__(self, function: Callable[..., Any], kinds: str, writes: tuple[str, ...]):
        self.plain: Any = function
        self.kinds = kinds
        self.jitted: Any = None
        self.account = Account(f"{function.__module__}.{function.__qualname__}", LOAD, COMPILE)
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self.written = tuple(map(names.index, writes))
        update_wrapper(self, function)

    def __call__(self, *columns: Any) -> Any:
        if self.jitted is None:
            if self.account.defers(PER_WORD * sum(map(np.size, columns))):
                return self.in_python(*columns)
            self.jitted = self.jit()
        try:
            found = self.jitted(*columns)
        except (ImportError, AttributeError) as error:
            tell_unusable(error)
            self.jitted = self.in_python
            return self.in_python(*columns)
        if not self.account.settled:
            self.account.settle()
        return found

    def jit(self) -> JittedPass:
        """The same as machine code."""
        return JittedPass(self)

    def in_python(self, *columns: Any) -> Any:
        """The function as it is written, on lists."""
        lists = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns]
        found = self.plain(*lists)
        for i in self.written:
            columns[i][:] = lists[i]
        return found


def over(kinds: str, *writes: str) -> Callable[[Callable[..., Any]], Pass]:
    """Make a pass of a function of such columns, with its results in those of these names."""
    return partial(Pass, kinds=kinds, writes=writes)


def inner(function: Callable[..., Any]) -> Any:
    """A function that passes of its module call, as Python or jitted as they are."""
    function.__dict__["inner"] = True
    return function


class JittedPass:
    """A pass as machine code.

    Columns that lie otherwise, or have other dtypes, are copied, and what was written copied back.
    """

    def __init__(self, given: Pass):
        self.name = f"column_passes.{given.plain.__module__.rpartition('.')[2]}.{given.plain.__qualname__}"
        self.dtypes = [None if kind == "." else DTYPES[kind] for kind in given.kinds]
        self.kept, address = _shipped.fetched(self.name, lambda: text_of(given))
        self.kernel = KERNEL(address)

    def __call__(self, *columns: Any) -> int | None:
        fields: list[int] = []
        copied = []
        for c, dtype in zip(columns, self.dtypes, strict=True):
            if dtype is None:
                fields += int(c), 0
                continue
            given = c if c.dtype == dtype and c.flags.c_contiguous else np.ascontiguousarray(c, dtype)
            if given is not c:
                copied.append((given, c))
            fields += address_of(given), c.size
        words = np.array([*fields, 0, 0], dtype=np.int64)
        self.kernel(address_of(words))
        for given, theirs in copied:
            if theirs.flags.writeable:
                theirs[:] = given
        return words.item(-2) if words.item(-1) else None


def text_of(given: Pass) -> str:
    """The LLVM code of a pass, by Numba."""
    dtypes = [None if kind == "." else DTYPES[kind] for kind in given.kinds]
    jitting = _shipped.for_numba("jitting")
    text: str = jitting.text_of(jitting.pass_of(given.plain, dtypes))
    return text
