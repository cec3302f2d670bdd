"""NumPy's constructors reach the recording: doors in its modules, open while a function of arrays is recorded.

SciPy's functions and sparse matrices have doors as well (`tape.numpy.scipy_functions`), if somebody has imported them.

NumPy has no hook for `np.zeros`, and `math.sin` takes any number apart by itself.  So while some thread records, the
modules show doors in their places: functions that lead to those of `tape.numpy` if this thread records and the caller
is the user's code, and to the originals otherwise.  Names that the user imported from there (``from numpy import
zeros``) lie in the globals and closures of the functions that are reached from the recorded one, and are replaced as
well.  Afterwards everything is as it was.  Classes, and the name ``type``, are another matter (`tape.numpy.classes`).

The other way, to re-create the function over other globals, was tried on paper and rejected: it would have to re-create
whatever it calls too, methods and closures and recursion included, under other identities.  A door that is not reached
is no danger: what is written into a plain array is refused there (`tape.numpy.arrays.leaving`).
"""

from __future__ import annotations

import cmath
import functools
import math
import sys
import weakref
from _thread import get_ident
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

import numpy as np

from ..base.locks import in_child, new_lock
from ..base.rooms import AROUND, opened as opened_room
from . import answering  # noqa: F401  what the user gets answers everything
from .arrays.array_text import forget
from .arrays.callee import callee
from .arrays.leaving import is_recorded, recording as _recording
from .arrays.originals import hold
from .classes import IN_BUILTINS, NAMED, SEEING, TYPE, kind_of, with_doors
from .iterating import CLASSES
from .mathematics import FUNCTIONS as MATHEMATICS
from .named_places import MISSING, Place, Taken, has_builtins, naming_type, search
from .namespace import functions
from .scipy_functions import METHODS, ROOMS
from .vectorised import vectorize

MODULES = np, np.linalg, np.fft, math, cmath
"""The modules that doors stand in, themselves."""

_stand: list[tuple[str, ...]] = []
"""For which rooms doors stand in the modules, if they do."""

_lock = new_lock()
"""Held for what is done to modules and places.  Nobody who holds it imports, compiles or waits for another lock."""


def arrived() -> tuple[str, ...]:
    """The rooms of SciPy's that somebody has imported; none is imported for the sake of doors."""
    loaded = sys.modules
    return tuple([name for name in _ROOMS if name in loaded and _is_ready(loaded[name])])


_ROOMS = *ROOMS, *METHODS


def _is_ready(module: Any) -> bool:
    return module is not None and not getattr(module.__spec__, "_initializing", False)


def doors() -> dict[int, tuple[Any, Callable[..., Any]]]:
    """By identity of a function of NumPy's, SciPy's or Python's: itself, and the door that stands in its place."""
    return _doors(standing())


def standing() -> tuple[str, ...]:
    """The rooms for which doors stand; those for which they would, if none do."""
    return _stand[-1] if _stand else arrived()


@functools.cache
def _own_doors() -> dict[int, tuple[Any, Callable[..., Any]]]:
    """The doors for NumPy's and Python's functions, as `doors` has them."""
    pairs = [(vars(np)[name], inside) for name, inside in functions("").items()]
    for room in ("linalg", "fft"):
        pairs += [(vars(getattr(np, room))[name], inside) for name, inside in functions(room).items()]
    pairs += [(vars(module)[name], inside) for (module, name), inside in MATHEMATICS.items()]
    return {id(original): (original, _door(original, inside, _wanted(original))) for original, inside in pairs}


@functools.cache
def _doors(rooms: tuple[str, ...]) -> dict[int, tuple[Any, Callable[..., Any]]]:
    found = dict(_own_doors())
    for room in rooms:
        names = vars(sys.modules[room])
        for name, making in ROOMS.get(room, {}).items():
            original = names.get(name)
            if original is not None and id(original) not in found:
                found[id(original)] = original, _door(original, making(original), _wanted(original))
    return found


Wanted = Callable[[FrameType, Any], bool]


def _wanted(original: Any) -> Wanted:
    """Whose calls of a function are recorded.

    Functions of `math` take recorded numbers from whoever has some: C code calls them too, in ``map(math.sin, x)``.
    """
    return _by_anybody if getattr(original, "__module__", None) in ("math", "cmath") else _by_the_user


def _by_anybody(frame: FrameType, door: Any) -> bool:
    return True


def _by_the_user(frame: FrameType, door: Any) -> bool:
    return is_recorded(frame) and is_called_by(frame, door)


def _for_the_user(frame: FrameType, door: Any) -> bool:
    return is_recorded(frame)


def _door(original: Callable[..., Any], inside: Callable[..., Any], is_wanted: Wanted) -> Callable[..., Any]:
    @functools.wraps(original)
    def door(*args: Any, **kwargs: Any) -> Any:
        if get_ident() in _recording and is_wanted(sys._getframe(1), door):
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
def _plain_class(module: Any) -> type:
    """The class of a module while no door stands in it; asked for before one does."""
    return type(module)


@functools.cache
def _modules(rooms: tuple[str, ...]) -> list[tuple[Any, type, type]]:
    """Each module, its class, and the one that it has while doors stand in it."""
    found, known = [], _doors(rooms)
    for module in (*MODULES, *[sys.modules[room] for room in rooms]):
        inside = {name: known[id(value)][1] for name, value in list(vars(module).items()) if id(value) in known}
        plain = _plain_class(module)
        found.append((module, plain, with_doors(module, plain, inside)))
    return found


@functools.cache
def _plain_method(kind: type, name: str) -> Any:
    """A method of a class as it is without doors; asked for before there is one."""
    return vars(kind)[name]


@functools.cache
def _methods(rooms: tuple[str, ...]) -> list[tuple[type, str, Any, Any]]:
    """Methods of NumPy's and SciPy's classes: the class, the name, what stands in its place, and what it is without."""
    found: list[tuple[type, str, Any, Any]] = [
        (np.vectorize, "__call__", vectorize, _plain_method(np.vectorize, "__call__"))
    ]
    for kind, name, inside in CLASSES:
        original = _plain_method(kind, name)
        found.append((kind, name, _door(original, inside, _for_the_user), original))
    for room in rooms:
        for kind, name, making in METHODS.get(room, lambda module: [])(sys.modules[room]):
            original = _plain_method(kind, name)
            found.append((kind, name, making(original), original))
    return found


class opened:
    """While this thread runs a function of arrays that is recorded, called with arguments that may call others.

    An interrupt anywhere in here leaves no door: what is taken back is taken back as often as it takes.

    Attributes:
        ident: the thread, from when something may have been changed until nothing is.
        mine: the places that may have doors for this.
    """

    ident: int | None = None
    mine: Sequence[Place] = ()

    def __init__(self, function: Callable[..., Any], arguments: Any = ()):
        self.function, self.arguments = function, arguments

    def __enter__(self) -> None:
        ident = get_ident()
        closed.listen()
        with _lock:
            rooms = standing()
            if not _stand:
                _modules(rooms)  # made before any door stands in its place, whoever is first
        places = places_in(self.function, rooms)
        if self.arguments:
            places = [*places, *search(self.arguments, _doors(rooms), NAMED, _taken.without_door)]
        try:
            self.ident = ident
            with _lock:
                _recording.setdefault(ident, set()).add(id(self))
                if not _stand:
                    _install(rooms)
                if ident not in closed.depths:
                    SEEING.add(ident)
                self.mine = places
                for place in places:
                    _taken.take(place, ident, self, closed.depths, _door_for)
            if places:
                _introduce()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        try:
            self._close()
        except BaseException:  # an interrupt; what was done already is not done twice
            self._close()
            raise

    def __del__(self) -> None:
        """The same where an interrupt came before the first line of `__exit__`."""
        if self.ident is not None:
            self._close()

    def _close(self) -> None:
        ident = self.ident
        if ident is None:
            return
        with _lock:
            for place in self.mine:
                _taken.give_back(place, ident, self)
            mine = _recording.get(ident, set())
            mine.discard(id(self))
            if not mine:
                _end(ident)
            self.ident = None


def _end(ident: int) -> None:
    """A thread records no more."""
    _recording.pop(ident, None)
    SEEING.discard(ident)
    forget(ident)
    if not _recording and _stand:
        _remove(_stand[-1])
        _stand.clear()


class Closed:
    """No door stands for a thread meanwhile, as it imports or compiles what knows NumPy's functions by identity.

    Other threads go on recording, so doors in modules are for those alone that see them (`SEEING`), and so are names of
    the user's, unless another thread records with the same ones: Numba is told what those doors stand for.  It is
    reentrant, and a listener of Numba's compilations, which waits for nobody.

    Attributes:
        depths: by thread, how often it was entered.
    """

    def __init__(self) -> None:
        self.depths: dict[int, int] = {}

    def __enter__(self) -> None:
        ident = get_ident()
        with _lock:
            self.depths[ident] = self.depths.get(ident, 0) + 1
            SEEING.discard(ident)
            _taken.show(self.depths)

    def __exit__(self, *_: Any) -> None:
        self.listen()
        ident = get_ident()
        with _lock:
            self.depths[ident] -= 1
            if not self.depths[ident]:
                if ident in _recording:
                    _install(arrived())
                    SEEING.add(ident)
                del self.depths[ident]
                _taken.show(self.depths)

    def on_start(self, event: Any) -> None:
        self.__enter__()
        _introduce()

    def on_end(self, event: Any) -> None:
        self.__exit__()

    def listen(self) -> None:
        """Hear of Numba's compilations, once Numba is there, and let it learn the functions by which it knows NumPy."""
        event = sys.modules.get("numba.core.event")
        if event is None or event in _heard or not _is_ready(sys.modules.get("numba")):
            return
        with _lock:
            if event in _heard:
                return
            _heard.append(event)
        with self:
            heard = type("Heard", (event.Listener,), {"on_start": self.on_start, "on_end": self.on_end})
            event.register("numba:compiler_lock", heard())
            typeof = opened_room("numba.extending").typeof_impl
            usual = typeof.dispatch(type)
            typeof.register(type)(lambda kind, context: usual(kind_of(kind), context))
            target = opened_room("numba.core.registry").cpu_target
            contexts = target.typing_context, target.target_context  # whoever makes them waits for the compiler lock
            with opened_room("numba.core.compiler_lock").global_compiler_lock:
                for context in contexts:
                    context.refresh()


_heard: list[Any] = []
closed = Closed()
AROUND.append(closed)


def _introduce() -> None:
    """Tell Numba what the doors in users' names stand for, which it may meet in the code that a thread compiles."""
    if not (_heard and closed.depths):
        return
    context = opened_room("numba.core.registry").cpu_target.typing_context
    unknown = ValueError, opened_room("numba.core.errors").NumbaError
    for original, door in _taken.shown():
        with suppress(*unknown):
            kind = context.resolve_value_type(original)
            try:
                context.resolve_value_type(door)
            except unknown:
                context.insert_global(door, kind)


@in_child
def _begin_anew() -> None:
    """In the child of a fork only the thread that forked goes on recording."""
    ident = get_ident()
    for other in [thread for thread in _recording if thread != ident]:
        _taken.leave(other)
        _end(other)
    for other in [thread for thread in closed.depths if thread != ident]:
        del closed.depths[other]
    _taken.show(closed.depths)


def _install(rooms: tuple[str, ...]) -> None:
    """Put doors into the modules and classes; of those for fewer rooms that stand there, nobody sees the change."""
    hold(MODULES)
    before = [opened for _, _, opened in _modules(_stand[-1])] if _stand else []
    if _stand and _stand[-1] == rooms:
        return
    _stand[:] = [rooms]  # said first, so that an interrupt leaves nothing that would not be removed
    for module, plain, open_one in _modules(rooms):
        if type(module) is plain or type(module) in before:
            module.__class__ = open_one
    for kind, name, inside, _ in _methods(rooms):
        setattr(kind, name, inside)
    _naming[:] = [names for names in naming_type() if "type" not in names] + [n for n in _naming if "type" in n]
    for names in _naming:
        names["type"] = TYPE


def _remove(rooms: tuple[str, ...]) -> None:
    """Put everything back."""
    for module, plain, open_one in _modules(rooms):
        if type(module) is open_one:
            module.__class__ = plain
    for kind, name, _, original in _methods(rooms):
        setattr(kind, name, original)
    for names in _naming:
        if names.get("type") is TYPE:
            del names["type"]
    _naming.clear()


_naming: list[dict[str, Any]] = []
"""The globals of modules in which the name `type` was put."""

_taken = Taken()


def _door_for(place: Place, there: Any) -> Any:
    stands = IN_BUILTINS.get(place[1])
    if stands is not None and (there is stands.kind or (there is MISSING and has_builtins(place[0]))):
        return stands
    found = doors().get(id(there))
    return found[1] if found else NAMED.get(id(there))


_known: weakref.WeakKeyDictionary[Any, tuple[tuple[str, ...], list[Place]]] = weakref.WeakKeyDictionary()


def places_in(function: Any, rooms: tuple[str, ...]) -> list[Place]:
    """The globals and cells that a function, or what it names, reads an original from; looked for once."""
    try:
        found = _known.get(function)
        if found is None or found[0] != rooms:
            found = _known[function] = rooms, _found(function, rooms)
        return found[1]
    except TypeError:
        return _found(function, rooms)


def _found(function: Any, rooms: tuple[str, ...]) -> list[Place]:
    return list(search(function, _doors(rooms), NAMED, _taken.without_door))
