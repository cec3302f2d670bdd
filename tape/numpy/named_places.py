"""Where a function finds what it names: globals, closures, modules of the user's, and the functions that these name."""

from __future__ import annotations

import builtins
import collections
import contextlib
import functools
import itertools
import sys
import types
from collections.abc import Container, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .arrays.leaving import is_library

Place = tuple[Any, Any]
"""A dict and a key in it, or a cell and None."""

MISSING = object()


def read(place: Place) -> Any:
    space, name = place
    if name is not None:
        return space.get(name, MISSING)
    try:
        return space.cell_contents
    except ValueError:
        return None


def put(place: Place, value: Any) -> None:
    space, name = place
    if name is None:
        space.cell_contents = value
    elif value is MISSING:
        space.pop(name, None)
    else:
        space[name] = value


def has_builtins(names: dict[str, Any]) -> bool:
    """Whether what a module does not name itself is what Python calls so."""
    return names.get("__builtins__") in (builtins, vars(builtins))


def search(function: Any, known: Container[int]) -> Iterator[Place]:
    """The places that a function, or what it names, reads something known from, by identity."""
    seen: set[int] = set()
    stack = [function]
    while stack and len(seen) < 10_000:
        thing = stack.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, functools.partial):
            stack += [thing.func, *thing.args, *thing.keywords.values()]
        elif isinstance(thing, types.MethodType):
            stack += [thing.__func__, thing.__self__]
        elif isinstance(thing, type):
            if not is_library(thing.__module__, getattr(sys.modules.get(thing.__module__), "__file__", None) or ""):
                stack += [getattr(v, "__func__", getattr(v, "fget", None) or v) for v in vars(thing).values()]
        elif isinstance(thing, FunctionType):
            if not is_library(thing.__globals__.get("__name__"), thing.__code__.co_filename):
                stack.append(getattr(thing, "__wrapped__", None))
                for place in _places_of(thing):
                    there = read(place)
                    if id(there) in known or place[1] == "type":
                        yield place
                    else:
                        stack.append(there)
            elif hasattr(thing, "__wrapped__"):
                stack.append(thing.__wrapped__)
                stack += [v for p in _cells_of(thing) if isinstance(v := read(p), _CALLED)]
        else:
            stack += _held_by(thing)


_CALLED = (FunctionType, types.MethodType, type, functools.partial)
MOST = 1000
"""Things in a container that are looked at for functions."""


def _held_by(thing: Any) -> Iterator[Any]:
    """What an object, or a container, could call: its class, functions, objects and containers in it."""
    kind = type(thing)
    if kind in (list, tuple, dict, set, frozenset, collections.deque):
        parts = itertools.islice(thing.values() if kind is dict else thing, MOST)
        yield from [part for part in parts if type(part) not in _IDLE]
    elif kind not in _IDLE:
        yield kind
        with contextlib.suppress(AttributeError):  # what a class says of its attributes itself is not asked
            kept = object.__getattribute__(thing, "__dict__")
            if not is_library(kind.__module__, getattr(sys.modules.get(kind.__module__), "__file__", None) or ""):
                yield from [part for part in itertools.islice(kept.values(), MOST) if type(part) not in _IDLE]


_IDLE = {int, float, complex, bool, str, bytes, type(None), np.ndarray, ModuleType, *np.sctypeDict.values()}
"""Types of what calls nothing."""


def _places_of(function: FunctionType) -> Iterator[Place]:
    codes, names = [function.__code__], function.__globals__
    enclosed = [read(place) for place in _cells_of(function)]
    modules = [vars(thing) for thing in enclosed if isinstance(thing, ModuleType) and not _is_library(thing)]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
        yield from _named_in(code, [names, *modules])
        if "type" in code.co_names and "type" not in names:
            yield names, "type"
    yield from _cells_of(function)


def _named_in(code: CodeType, spaces: list[dict[str, Any]]) -> Iterator[Place]:
    """The globals that code names, and what it names in modules of the user's, in turn."""
    for space in spaces:
        for name in code.co_names:
            if name in space:
                yield space, name
                module = space[name]
                if isinstance(module, ModuleType) and vars(module) not in spaces and not _is_library(module):
                    spaces.append(vars(module))


def _is_library(module: ModuleType) -> bool:
    return is_library(module.__name__, vars(module).get("__file__") or "")


def _cells_of(function: FunctionType) -> list[Place]:
    return [(cell, None) for cell in function.__closure__ or ()]
