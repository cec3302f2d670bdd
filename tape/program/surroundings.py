"""What a function reads from around it, so that a recorded list is not used after it has changed.

A recorded list holds what the function found in its closure, in the globals that it names, in its defaults,
in the attributes that it names of objects and modules, and in lists and dicts of these.  When one of them stands
for something else, the function is recorded again.  Tensors that it finds there are read anew by every replay;
so are large arrays that meet what is recorded, and other arrays are verified to hold what they held.

Not noticed: what is behind more than `DEEPEST` names, behind ``__slots__``, properties and files; and a large
array that is computed with both by NumPy alone and beside traced values; what is in lists and dicts of more than
`LONGEST` things.
"""

from __future__ import annotations

import functools
import itertools
import random
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ops.sparse import is_sparse

from .. import dtypes
from ..location import in_library
from ..tensor import Tensor
from .fingerprint import fingerprint
from .fresh import is_fresh, sources_in

DEEPEST = 8
LONGEST = 1 << 10
TRUSTED = 1 << 16
"""An array of more bytes that meets what is recorded is taken to be used in no other way."""
PLAIN = (int, float, complex, str, bytes)
SETTLED = (*PLAIN, type(None), CodeType, np.generic, np.dtype)
CALLED = ("__call__", "__init__")
"""Methods that run without being named."""
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
MISSING = object()
_PYTHONS = tuple({sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib")})
_INSTALLED = tuple({sysconfig.get_paths()[k] for k in ("purelib", "platlib")})
_OTHERS = _PYTHONS + _INSTALLED


class Surroundings:
    """The names that a function and the functions it names read, and what they stand for.

    Attributes:
        tensors: those found there.
        arrays: by identity, those found there.
        generators: of random numbers.
        cells, bindings: cells with what is in them; spaces, names and what they stand for there.
        parts, contents: containers with what is in them; by identity, arrays and sparse matrices with fingerprints.
        long: containers of too many things.
        functions: those that are not of this library.
        spaces: what attributes and global names are kept in, each with the class that it is of, if it is of one.
        fresh: names of what gives something else whenever it is asked.
        stale: whether something here was changed, watched or not.
    """

    __slots__ = (
        "_seen", "arrays", "attributes", "bindings", "cells", "contents", "fresh", "functions", "generators", "long",
        "parts", "spaces", "stale", "tensors",
    )  # fmt: skip

    def __init__(self, function: Callable[..., Any], objects: Iterable[Any] = ()):
        self.cells: list[tuple[Any, Any]] = []
        self.bindings: list[tuple[Any, str, Any]] = [(vars(dtypes), "_default", dtypes.get_default_dtype())]
        self.parts: list[tuple[Any, list[Any]]] = []
        self.contents: dict[int, tuple[Any, Any]] = {}
        self.tensors: list[Tensor] = []
        self.arrays: dict[int, np.ndarray] = {}
        self.generators: list[Any] = []
        self.long: list[Any] = []
        self.functions: list[FunctionType] = []
        self.spaces: list[tuple[Any, Any]] = []
        self.fresh: list[str] = []
        self.stale = False
        self._seen: dict[Any, Any] = {}
        self.attributes: set[str] = set(CALLED)
        waiting: list[tuple[Any, int]] = []
        for thing in (function, *objects):
            self._look(thing, 0, waiting)
        known = -1
        while known != len(self.attributes) + len(waiting):  # looking at a method may bring new names
            known = len(self.attributes) + len(waiting)
            for thing, depth in waiting[:]:
                self._look_into(thing, depth, waiting)
        self._seen = {}

    def _look(self, thing: Any, depth: int, waiting: list[tuple[Any, int]]) -> None:
        if isinstance(thing, SETTLED) or depth > DEEPEST or id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        follow = functools.partial(self._follow, depth=depth + 1, waiting=waiting)
        if isinstance(thing, Tensor):
            self.tensors.append(thing)
        elif isinstance(thing, np.ndarray):
            self.arrays[id(thing)] = thing
        elif is_sparse(thing):
            self.contents[id(thing)] = thing, fingerprint(thing)
        elif isinstance(thing, GENERATORS):
            self.generators.append(thing)
        elif is_fresh(thing):
            self.fresh.append(getattr(thing, "__name__", f"an object of type {type(thing).__name__}"))
        elif isinstance(thing, FunctionType):
            self._look_at_function(thing, follow)
        elif isinstance(thing, MethodType):
            follow((thing.__func__, thing.__self__))
        elif isinstance(thing, functools.partial):
            follow((thing.func, *thing.args, *thing.keywords.values()))
        elif isinstance(thing, (list, tuple, dict, set)):
            self._look_at_container(thing, follow)
        elif isinstance(getattr(thing, "__wrapped__", None), FunctionType):
            follow((thing.__wrapped__,))
        elif is_users(thing):
            waiting.append((thing, depth))

    def _follow(self, things: Iterable[Any], depth: int, waiting: list[tuple[Any, int]]) -> None:
        for thing in things:
            self._look(thing, depth, waiting)

    def _look_at_function(self, function: FunctionType, follow: Callable[[Iterable[Any]], None]) -> None:
        for _, cell, value in enclosed(function):
            self.cells.append((cell, value))
            follow((value,))
        if function.__defaults__ or function.__kwdefaults__:
            follow((function.__defaults__, function.__kwdefaults__))
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is not None:
            follow((wrapped,))
        if in_library(function.__code__.co_filename):
            return
        self.functions.append(function)
        self.spaces.append((function.__globals__, None))
        if not is_pythons(function.__code__.co_filename):
            cells = {name: value for name, _, value in enclosed(function)}
            self.fresh += sources_in(function.__code__, function.__globals__, cells)
        for name in names_in(function.__code__):
            self.attributes.add(name)
            value = function.__globals__.get(name, MISSING)
            if value is not MISSING and not isinstance(value, ModuleType):
                self.bindings.append((function.__globals__, name, value))
            if not is_fresh(value):  # an attribute may have the same name
                follow((value,))

    def _look_at_container(self, container: Any, follow: Callable[[Iterable[Any]], None]) -> None:
        if len(container) > LONGEST:
            self.long.append(container)
            return
        parts = parts_of(container)
        if type(container) is not tuple:
            self.parts.append((container, parts))
        follow(parts)

    def _look_into(self, thing: Any, depth: int, waiting: list[tuple[Any, int]]) -> None:
        """Watch the attributes of an object that the function names."""
        kind = thing if isinstance(thing, type) else type(thing)
        named = self.attributes if thing is kind else self.attributes - {"__init__"}  # which ran when it was made
        owners: list[Any] = [] if isinstance(thing, ModuleType) else [k for k in kind.__mro__ if k is not object]
        spaces: list[Any] = list(map(vars, owners))
        if thing is not kind and hasattr(thing, "__dict__"):
            spaces.append(vars(thing))
        if spaces and spaces[-1] is getattr(thing, "__dict__", None):
            self._watch_missing(spaces)
        for space, owner in itertools.zip_longest(spaces, owners):
            if (id(space), None) not in self._seen:
                self._seen[id(space), None] = space
                self.spaces.append((space, owner))
            for name in named & set(space):
                key = id(space), name
                if key not in self._seen:
                    self._seen[key] = space
                    self.bindings.append((space, name, space[name]))
                    self._look(space[name], depth + 1, waiting)

    def _watch_missing(self, spaces: list[Any]) -> None:
        """Notice when an object gets an attribute of its own in the place of its class's."""
        own = spaces[-1]
        for name in self.attributes & set().union(*spaces[:-1]) - set(own):
            if (id(own), name) not in self._seen:
                self._seen[id(own), name] = own
                self.bindings.append((own, name, MISSING))

    def unchanged(self) -> bool:
        """Whether every name still stands for what it did."""
        if self.stale:
            return False
        try:
            for cell, value in self.cells:
                if cell.cell_contents is not value and not equal(cell.cell_contents, value):
                    return False
        except ValueError:  # it is empty now
            return False
        for space, name, value in self.bindings:
            now = space.get(name, MISSING)
            if now is not value and not equal(now, value):
                return False
        if self.parts and not all(holds(container, parts) for container, parts in self.parts):
            return False
        return not self.contents or all(fingerprint(array) == print for array, print in self.contents.values())

    def settle(self, captured: Iterable[int], appended: Iterable[Any] = ()) -> None:
        """After a recording: take in what it `appended` to lists, and watch the arrays, but for large captured ones."""
        known = set(map(id, appended))
        self.parts = [(c, parts_of(c) if id(c) in known else parts) for c, parts in self.parts]
        captured = {k for k in captured if k in self.arrays and self.arrays[k].nbytes > TRUSTED}
        for k in self.arrays.keys() - captured - self.contents.keys():
            self.contents[k] = self.arrays[k], fingerprint(self.arrays[k])

    def names(self, name: str) -> bool:
        """Whether the function, or one that it names, names something."""
        return name in self.attributes


def enclosed(function: FunctionType) -> Iterator[tuple[str, Any, Any]]:
    """The names that a function finds in functions around it, their cells, and what is in these."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            yield name, cell, cell.cell_contents
        except ValueError:  # it is empty yet
            continue


def parts_of(container: Any) -> list[Any]:
    """What is in a container, keys included."""
    return list(itertools.chain.from_iterable(container.items())) if isinstance(container, dict) else list(container)


def holds(container: Any, parts: list[Any]) -> bool:
    """Whether a container holds just these."""
    now = parts_of(container)
    return len(now) == len(parts) and all(map(alike, now, parts))


def alike(now: Any, value: Any) -> bool:
    return now is value or equal(now, value)


def equal(now: Any, value: Any) -> bool:
    """Whether something is the same number or text as before, if it is not the same object."""
    if type(now) is not type(value):
        return False
    if type(now) is MethodType:
        return bool(now == value)
    return isinstance(value, PLAIN) and bool(now == value) and repr(now) == repr(value)


def is_users(thing: Any) -> bool:
    """Whether an object, a class or a module is the user's rather than a library's."""
    if isinstance(thing, ModuleType):
        file = getattr(thing, "__file__", None) or ""
        return bool(file) and not in_library(file) and not file.startswith(_OTHERS)
    kind = thing if isinstance(thing, type) else type(thing)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return kind.__module__ != "builtins" and not in_library(file)


def is_pythons(file: str) -> bool:
    """Whether a source file is of Python's own library."""
    return file.startswith(_PYTHONS) and not file.startswith(_INSTALLED)


def names_in(code: CodeType) -> Iterator[str]:
    """The global names that a function's code, and the functions defined in it, read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)
