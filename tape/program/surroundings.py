"""What a function reads from around it, so that a recorded list is not used after it has changed.

A recorded list holds what the function found in its closure and in the globals that it names: numbers,
arrays, tensors, other functions.  When one of these names stands for something else, the function is
recorded again.  Arrays and tensors that are changed in place are read anew by every replay anyway.
Attributes of objects are not watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..location import in_library
from ..tensor import Tensor

DEEPEST = 8
WATCHED = (int, float, complex, str, bytes, tuple, frozenset, type(None), np.ndarray, np.generic, Tensor, FunctionType)
_MISSING = object()


class Surroundings:
    """The names that a function and the functions it names read, and what they stand for."""

    __slots__ = ("_cells", "_names")

    def __init__(self, function: Callable[..., Any]):
        self._cells: list[tuple[Any, Any]] = []
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._look(function, set(), 0)

    def _look(self, function: Any, seen: set[int], depth: int) -> None:
        function = getattr(function, "__func__", function)
        if not isinstance(function, FunctionType):
            function = getattr(function, "__wrapped__", None)
        if not isinstance(function, FunctionType) or id(function) in seen or depth > DEEPEST:
            return
        seen.add(id(function))
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if isinstance(value, WATCHED):
                self._cells.append((cell, value))
            self._look(value, seen, depth + 1)
        if in_library(function.__code__.co_filename):
            return
        for name in names_in(function.__code__):
            value = function.__globals__.get(name, _MISSING)
            if isinstance(value, WATCHED):
                self._names.append((function.__globals__, name, value))
                self._look(value, seen, depth + 1)

    def unchanged(self) -> bool:
        """Whether every name still stands for what it did."""
        for cell, value in self._cells:
            if cell.cell_contents is not value and not equal(cell.cell_contents, value):
                return False
        for space, name, value in self._names:
            now = space.get(name, _MISSING)
            if now is not value and not equal(now, value):
                return False
        return True


def equal(now: Any, value: Any) -> bool:
    """Whether something is the same number or text as before, if it is not the same object."""
    plain = (int, float, complex, str, bytes)
    return type(now) is type(value) and isinstance(value, plain) and bool(now == value) and repr(now) == repr(value)


def names_in(code: CodeType) -> Iterator[str]:
    """The global names that a function's code, and the functions defined in it, read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)
