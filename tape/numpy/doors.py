"""NumPy's constructors reach the recording: which doors there are in its modules, and whom they let through.

SciPy's functions and sparse matrices have doors as well (`tape.numpy.of_scipy.scipy_functions`), if somebody has
imported them.

NumPy has no hook for `np.zeros`, and `math.sin` takes any number apart by itself.  So while some thread records, the
modules show doors in their places: functions that lead to those of `tape.numpy` if this thread records and the caller
is the user's code, and to the originals otherwise.  Names that the user imported from there (``from numpy import
zeros``) lie in the globals and closures of the functions that are reached from the recorded one, and are replaced as
well.  Afterwards everything is as it was: `tape.numpy.opening` puts doors there and takes them back.  Classes, and the
name ``type``, are another matter (`tape.numpy.classes`).

Who reads a name of a module is seen from the instruction that does.  Code that calls what it reads there and then gets
the door.  Code that may keep it, compare it or hand it on gets a `Door`, which equals the function.  C code that the
user's has called (as that of `numpy.random`), and libraries, get the function itself.

The other way, to re-create the function over other globals, was tried on paper and rejected: it would have to re-create
whatever it calls too, methods and closures and recursion included, under other identities.  A door that is not reached
is no danger: what is written into a plain array is refused there (`tape.numpy.arrays.leaving`).
"""

from __future__ import annotations

import cmath
import functools
import math
import sys
from _thread import get_ident
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from .arrays.leaving import is_recorded, recording
from .classes import with_doors
from .iterating import CLASSES
from .mathematics import FUNCTIONS as MATHEMATICS
from .names.taken import Door
from .namespace import functions
from .of_scipy.scipy_functions import METHODS, ROOMS
from .vectorised import vectorize

MODULES = np, np.linalg, np.fft, math, cmath
"""The modules that doors stand in, themselves."""


def arrived() -> tuple[str, ...]:
    """The rooms of SciPy's that somebody has imported; none is imported for the sake of doors."""
    loaded = sys.modules
    return tuple([name for name in _ROOMS if name in loaded and is_ready(loaded[name])])


_ROOMS = tuple({**ROOMS, **METHODS})


def is_ready(module: Any) -> bool:
    """Whether a module is there, and no thread is still importing it."""
    return module is not None and not getattr(module.__spec__, "_initializing", False)


@functools.cache
def _own_doors() -> dict[int, tuple[Any, Callable[..., Any]]]:
    """The doors for NumPy's and Python's functions."""
    pairs = [(np, name, inside) for name, inside in functions("").items()]
    for room in ("linalg", "fft"):
        pairs += [(getattr(np, room), name, inside) for name, inside in functions(room).items()]
    pairs += [(module, name, inside) for (module, name), inside in MATHEMATICS.items()]
    found: list[tuple[Any, str, Any]] = [(vars(m).get(name), m.__name__, inside) for m, name, inside in pairs]
    return {
        id(original): (original, _door(original, inside, _wanted(original)))
        for original, home, inside in found
        if is_of(home, original)
    }


def is_of(home: str, function: Any) -> bool:
    """Whether a function is of the package in which it is found: what somebody else has put there gets no door."""
    inner = getattr(function, "__func__", function)
    module = inner.__globals__.get("__name__") if type(inner) is FunctionType else getattr(inner, "__module__", None)
    package = home.partition(".")[0]
    return str(module).partition(".")[0] in (package, f"_{package}")


@functools.cache
def doors(rooms: tuple[str, ...]) -> dict[int, tuple[Any, Callable[..., Any]]]:
    """By identity of a function of NumPy's, SciPy's or Python's: itself, and the door that stands in its place."""
    found = dict(_own_doors())
    for room in rooms:
        names = vars(sys.modules[room])
        for name, making in ROOMS.get(room, {}).items():
            original: Any = names.get(name)
            if id(original) not in found and is_of(room, original):
                found[id(original)] = original, _door(original, making(original), _wanted(original))
    return found


@functools.cache
def by_identity(rooms: tuple[str, ...]) -> dict[int, Any]:
    """By identity of a function or a method, which its door keeps: that door."""
    found = {id(original): door for _, _, door, original in methods(rooms)}
    return found | {known: door for known, (_, door) in doors(rooms).items()}


@functools.cache
def insides(rooms: tuple[str, ...]) -> dict[int, Any]:
    """The same: what the door leads to, whoever calls it."""
    return {known: inside for known, door in by_identity(rooms).items() if (inside := getattr(door, "inside", None))}


Wanted = Callable[[FrameType], bool]


def is_anybodys(original: Any) -> bool:
    """Whether calls of a function are recorded whoever calls it, and not only the user's.

    Functions of `math` take recorded numbers from whoever has some: C code calls them too, in ``map(math.sin, x)``.
    SciPy's own helpers are called by SciPy.
    """
    module = getattr(original, "__module__", None) or ""
    return module in ("math", "cmath") or module.startswith("scipy._lib.")


def _wanted(original: Any) -> Wanted:
    """Whose calls of a function are recorded."""
    return _from_anybody if is_anybodys(original) else is_recorded


def _from_anybody(frame: FrameType) -> bool:
    return True


def _door(original: Callable[..., Any], inside: Callable[..., Any], is_wanted: Wanted) -> Callable[..., Any]:
    @functools.wraps(original)
    def door(*args: Any, **kwargs: Any) -> Any:
        if get_ident() in recording and is_wanted(sys._getframe(1)):
            return inside(*args, **kwargs)
        return original(*args, **kwargs)

    door.inside = inside  # type: ignore[attr-defined]
    return door


def _method(original: Callable[..., Any], inside: Callable[..., Any]) -> Callable[..., Any]:
    """A door for a method that tells recorded arguments by itself."""

    @functools.wraps(original)
    def method(*args: Any, **kwargs: Any) -> Any:
        return inside(*args, **kwargs)

    method.inside = inside  # type: ignore[attr-defined]
    return method


@functools.cache
def _plain_class(module: Any) -> type:
    """The class of a module while no door stands in it; asked for before one does."""
    return type(module)


@functools.cache
def modules(rooms: tuple[str, ...]) -> list[tuple[Any, type, type]]:
    """Each module, its class, and the one that it has while doors stand in it."""
    found, known = [], doors(rooms)
    for module in (*MODULES, *[sys.modules[room] for room in rooms]):
        inside = {
            name: (known[id(value)][1], is_anybodys(value))
            for name, value in vars(module).copy().items()
            if id(value) in known
        }
        plain = _plain_class(module)
        found.append((module, plain, with_doors(module, plain, inside)))
    return found


@functools.cache
def _plain_method(kind: type, name: str) -> Any:
    """A method of a class as it is without doors; asked for before there is one."""
    return vars(kind)[name]


Method = tuple[type, str, Any, Any]
"""A class, the name of a method, what stands in its place, and what it is without."""


@functools.cache
def methods(rooms: tuple[str, ...]) -> list[Method]:
    """Methods of NumPy's and SciPy's classes."""
    original = _plain_method(np.vectorize, "__call__")
    found: list[Method] = [(np.vectorize, "__call__", _method(original, vectorize), original)]
    for kind, name, inside in CLASSES:
        original = _plain_method(kind, name)
        found.append((kind, name, _door(original, inside, is_recorded), original))
    for room in rooms:
        for kind, name, making in METHODS.get(room, lambda module: [])(sys.modules[room]):
            original = _plain_method(kind, name)
            found.append((kind, name, _method(original, making(original)), original))
    return [method for method in found if is_of(method[0].__module__, method[3])]


def exchange(rooms: tuple[str, ...], is_open: bool) -> None:
    """Put doors in the place of methods, or these back; what somebody else has put there stays."""
    for kind, name, door, original in methods(rooms):
        there = vars(kind).get(name)
        if there is original or is_door(there):
            setattr(kind, name, door if is_open else original)


def is_door(thing: Any) -> bool:
    """Whether something is a door, which calls what it stands for `__wrapped__`."""
    return type(thing) is Door or (type(thing) is FunctionType and thing.__code__ in DOORS)


DOORS = [part for door in (_door, _method) for part in door.__code__.co_consts if isinstance(part, CodeType)]
