"""NumPy's constructors reach the recording: doors in its modules, open while a function of arrays is recorded.

SciPy's functions and sparse matrices have doors as well (`tape.numpy.scipys`), if somebody has imported them.

NumPy has no hook for `np.zeros`, and `math.sin` takes any number apart by itself.  So while some thread records, the
modules hold doors in their places: functions that lead to those of `tape.numpy` if this thread records and the caller
is the user's code, and to the originals otherwise.  Names that the user imported from there (``from numpy import
zeros``) lie in the globals and closures of the functions that are reached from the recorded one, and are replaced as
well.  Afterwards everything is as it was.

The other way, to re-create the function over other globals, was tried on paper and rejected: it would have to re-create
whatever it calls too, methods and closures and recursion included, under other identities.  A door that is not reached
is no danger: what is written into a plain array is refused there (`tape.numpy.leaving`).
"""

from __future__ import annotations

import cmath
import collections
import functools
import itertools
import math
import sys
import threading
import types
import weakref
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from ..rooms import AROUND, opened as opened_room
from .callee import callee
from .leaving import is_library, is_recorded
from .mathematics import FUNCTIONS as MATHEMATICS
from .namespace import functions
from .scipys import METHODS, ROOMS
from .vectorised import vectorize

Place = tuple[Any, Any]
"""A dict and a key in it, or a cell and None."""

_stand: list[tuple[str, ...]] = []
"""For which rooms doors stand in the modules, if they do."""

_recording: dict[int, int] = {}
"""By thread, how many functions of arrays it is recording, one inside the other."""

_lock = threading.RLock()
_installed: list[int] = [0]


def arrived() -> tuple[str, ...]:
    """The rooms of SciPy's that somebody has imported; none is imported for the sake of doors."""
    return tuple([name for name in (*ROOMS, *METHODS) if _is_ready(sys.modules.get(name))])


def _is_ready(module: Any) -> bool:
    return module is not None and not getattr(module.__spec__, "_initializing", False)


def doors() -> dict[int, tuple[Any, Callable[..., Any]]]:
    """By identity of a function of NumPy's, SciPy's or Python's: itself, and the door that stands in its place."""
    return _doors(standing())


def standing() -> tuple[str, ...]:
    """The rooms for which doors stand; those for which they would, if none do."""
    return _stand[-1] if _stand else arrived()


@functools.cache
def _doors(rooms: tuple[str, ...]) -> dict[int, tuple[Any, Callable[..., Any]]]:
    pairs = [(getattr(np, name), inside) for name, inside in functions("").items()]
    for room in ("linalg", "fft"):
        pairs += [(getattr(getattr(np, room), name), inside) for name, inside in functions(room).items()]
    pairs += [(getattr(module, name), inside) for (module, name), inside in MATHEMATICS.items()]
    known = {id(original) for original, _ in pairs}
    for room in rooms:
        module = sys.modules[room]
        for name, making in ROOMS.get(room, {}).items():
            original = getattr(module, name, None)
            if original is not None and id(original) not in known:
                pairs.append((original, making(original)))
    return {id(original): (original, _door(original, inside)) for original, inside in pairs}


def _door(original: Callable[..., Any], inside: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def door(*args: Any, **kwargs: Any) -> Any:
        if get_ident() in _recording and is_called_by(frame := sys._getframe(1), door) and is_recorded(frame):
            return inside(*args, **kwargs)
        return original(*args, **kwargs)

    return door


def is_called_by(frame: FrameType, door: Any) -> bool:
    """Whether the code of a frame itself calls a door, not compiled code (as of `numpy.random`) that it has called."""
    kind, name = callee(frame.f_code, frame.f_lasti)
    if kind == "attribute":
        return name == door.__name__
    if kind == "global":
        return frame.f_globals.get(name) is door
    return kind == "local" and frame.f_locals.get(name) is door


@functools.cache
def _modules(rooms: tuple[str, ...]) -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """The names of each module, those with doors in their places, and what they are without."""
    found, known = [], _doors(rooms)
    for module in (np, np.linalg, np.fft, math, cmath, *[sys.modules[room] for room in rooms]):
        there = {name: value for name, value in list(vars(module).items()) if id(value) in known}
        found.append((vars(module), {name: known[id(value)][1] for name, value in there.items()}, there))
    return found


@functools.cache
def _methods(rooms: tuple[str, ...]) -> list[tuple[type, str, Any, Any]]:
    """Methods of NumPy's and SciPy's classes: the class, the name, what stands in its place, and what it is without."""
    found: list[tuple[type, str, Any, Any]] = [(np.vectorize, "__call__", vectorize, np.vectorize.__call__)]
    for room in rooms:
        for kind, name, making in METHODS.get(room, lambda module: [])(sys.modules[room]):
            found.append((kind, name, making(vars(kind)[name]), vars(kind)[name]))
    return found


@contextmanager
def opened(function: Callable[..., Any]) -> Iterator[None]:
    """While this thread runs a function of arrays that is recorded."""
    ident = get_ident()
    closed.listen()
    with _lock:
        if not _stand:
            _modules(arrived())  # made before any door stands in its place, whoever is first
    places = places_in(function)
    with _lock:
        _recording[ident] = _recording.get(ident, 0) + 1
        _installed[0] += 1
        if not _stand and not closed.is_closed:
            _install(arrived())
        mine = [place for place in places if _take(place)]
    try:
        yield
    finally:
        with _lock:
            for place in mine:
                _give_back(place)
            _recording[ident] -= 1
            if not _recording[ident]:
                del _recording[ident]
            _installed[0] -= 1
            if not _installed[0] and _stand:
                _remove(_stand.pop())


class Closed:
    """Doors stand nowhere meanwhile, for whoever imports or compiles what knows NumPy's functions by identity.

    It is reentrant, and a listener of Numba's compilations, in whichever thread these are.
    """

    def __init__(self) -> None:
        self._depth = 0

    def __enter__(self) -> None:
        with _lock:
            self._depth += 1
            if _stand:
                _remove(_stand.pop())

    def __exit__(self, *_: Any) -> None:
        self.listen()
        with _lock:
            self._depth -= 1
            if not self._depth and _installed[0] and not _stand:
                _install(arrived())

    def on_start(self, event: Any) -> None:
        self.__enter__()

    def on_end(self, event: Any) -> None:
        self.__exit__()

    def listen(self) -> None:
        """Hear of Numba's compilations, once Numba is there, and let it learn the functions by which it knows NumPy."""
        event = sys.modules.get("numba.core.event")
        if event is None or event in _heard or not hasattr(sys.modules.get("numba"), "njit"):
            return
        _heard.append(event)
        with self:
            heard = type("Heard", (event.Listener,), {"on_start": self.on_start, "on_end": self.on_end})
            event.register("numba:compiler_lock", heard())
            target = opened_room("numba.core.registry").cpu_target
            target.typing_context.refresh()
            target.target_context.refresh()

    @property
    def is_closed(self) -> bool:
        return self._depth > 0


_heard: list[Any] = []
closed = Closed()
AROUND.append(closed)


def _install(rooms: tuple[str, ...]) -> None:
    """Put doors into the modules and classes."""
    _stand.append(rooms)
    for names, put, _ in _modules(rooms):
        names.update(put)
    for kind, name, inside, _ in _methods(rooms):
        setattr(kind, name, inside)


def _remove(rooms: tuple[str, ...]) -> None:
    """Put everything back."""
    for names, _, there in _modules(rooms):
        names.update(there)
    for kind, name, _, original in _methods(rooms):
        setattr(kind, name, original)


_taken: dict[tuple[int, Any], list[Any]] = {}
"""By place, how many recordings have a door there, and what it is without."""


def _take(place: Place) -> bool:
    """Put the door in a place, if there is an original or somebody's door already."""
    key, there = (id(place[0]), place[1]), _read(place)
    if key in _taken:
        _taken[key][0] += 1
        return True
    found = doors().get(id(there))
    if found is None:
        return False
    _taken[key] = [1, there]
    _put(place, found[1])
    return True


def _give_back(place: Place) -> None:
    key = id(place[0]), place[1]
    _taken[key][0] -= 1
    if not _taken[key][0]:
        _put(place, _taken.pop(key)[1])


def _read(place: Place) -> Any:
    space, name = place
    if name is not None:
        return space.get(name)
    try:
        return space.cell_contents
    except ValueError:
        return None


def _put(place: Place, value: Any) -> None:
    space, name = place
    if name is not None:
        space[name] = value
    else:
        space.cell_contents = value


_known: weakref.WeakKeyDictionary[Any, tuple[tuple[str, ...], list[Place]]] = weakref.WeakKeyDictionary()


def places_in(function: Any) -> list[Place]:
    """The globals and cells that a function, or what it names, reads an original from; looked for once."""
    try:
        rooms = standing()
        found = _known.get(function)
        if found is None or found[0] != rooms:
            found = _known[function] = rooms, list(_search(function))
        return found[1]
    except TypeError:
        return list(_search(function))


def _search(function: Any) -> Iterator[Place]:
    seen: set[int] = set()
    known = doors()
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
        elif isinstance(thing, types.FunctionType):
            if not is_library(thing.__globals__.get("__name__"), thing.__code__.co_filename):
                stack.append(getattr(thing, "__wrapped__", None))
                for place in _places_of(thing):
                    there = _read(place)
                    if id(there) in known:
                        yield place
                    else:
                        stack.append(there)
            elif hasattr(thing, "__wrapped__"):
                stack.append(thing.__wrapped__)
                stack += [v for p in _cells_of(thing) if isinstance(v := _read(p), _CALLED)]
        else:
            stack += _held_by(thing)


_CALLED = (types.FunctionType, types.MethodType, type, functools.partial)


MOST = 256
"""Things in a container that are looked at for functions."""


def _held_by(thing: Any) -> Iterator[Any]:
    """What an object, or a container, could call: its class, functions, objects and containers in it."""
    kind = type(thing)
    if kind in (list, tuple, dict, set, frozenset, collections.deque):
        parts = itertools.islice(thing.values() if kind is dict else thing, MOST)
        yield from [part for part in parts if type(part) not in _IDLE]
    elif kind not in _IDLE:
        yield kind
        if not is_library(kind.__module__, getattr(sys.modules.get(kind.__module__), "__file__", None) or ""):
            yield from [part for part in getattr(thing, "__dict__", {}).values() if type(part) not in _IDLE]


_IDLE = {int, float, complex, bool, str, bytes, type(None), np.ndarray, types.ModuleType, *np.sctypeDict.values()}
"""Types of what calls nothing."""


def _places_of(function: types.FunctionType) -> Iterator[Place]:
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        yield from ((function.__globals__, name) for name in code.co_names if name in function.__globals__)
    yield from _cells_of(function)


def _cells_of(function: types.FunctionType) -> list[Place]:
    return [(cell, None) for cell in function.__closure__ or ()]
