"""Where a function finds what it names: globals, closures, modules of the user's, and the functions that these name.

A door in a module stands there for whoever reads it.  The library's own code calls NumPy and `math` as they are: it
names twins of these modules, in which no door stands.  What the library itself computes while a function is recorded
would ask at each call in vain whose it is, and a module of another class makes a search of every ``np.name``: together
a quarter of a first call.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import functools
import itertools
import sys
import types
from collections.abc import Callable, Container, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...base.location import in_library
from .callee import only_calls, only_passes, writes_texts

Place = tuple[Any, Any]
"""A dict and a key in it, or a cell and None."""

MISSING = object()

BUILT_IN = "type", "eval"
"""The names of Python's own that something stands for."""

READING = "float", "complex"
"""Those that something stands for where texts are written, as they read numbers from texts."""

OURS = "tape", "ops"

COMPUTING = frozenset({"numpy", "scipy", "numba", "pandas"})
LIBRARIES = COMPUTING | {*OURS} | sys.stdlib_module_names
"""The packages whose code is nobody's own program: a constructor called there gives a plain array."""


def is_library(module: Any, file: str) -> bool:
    """Whether a module, in a file, is a library's; the user may have modules of his own that are named like ours."""
    return type(module) is str and _is_of_library(module, file)


@functools.cache
def _is_of_library(module: str, file: str) -> bool:
    package = module.partition(".")[0]
    return package in LIBRARIES and package != "__main__" and (package not in OURS or in_library(file))


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


class Taken:
    """The places that doors stand in, and who records with them.

    A place is the user's own, and everybody reads the same there.  It has its original back while all who record with
    it import or compile.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[int, Any], tuple[Place, Any, Any, dict[int, set[int]]]] = {}
        """By place: itself, what it is without the door, the door, and by thread the recordings that hold it."""

    def take(
        self, place: Place, ident: int, owner: Any, closed: Container[int], door_for: Callable[[Place, Any], Any]
    ) -> None:
        """Put the door in a place, if there is an original or somebody's door already."""
        key = id(place[0]), place[1]
        if key not in self.held:
            there = read(place)
            door = door_for(place, there)
            if door is None:
                return
            self.held[key] = place, there, door, {}
        _, _, door, holders = self.held[key]
        holders.setdefault(ident, set()).add(id(owner))
        if ident not in closed:
            put(place, door)

    def give_back(self, place: Place, ident: int, owner: Any) -> None:
        """A recording holds a place no more, if it ever did."""
        _, _, _, holders = self.held.get((id(place[0]), place[1]), (None, None, None, {}))
        holders.get(ident, set()).discard(id(owner))
        if not holders.get(ident):
            self._let_go(place, ident)

    def _let_go(self, place: Place, ident: int) -> None:
        key = id(place[0]), place[1]
        if key not in self.held:
            return
        _, there, _, holders = self.held[key]
        holders.pop(ident, None)
        if not holders:
            put(place, there)
            del self.held[key]

    def leave(self, ident: int) -> None:
        """A thread holds nothing any more."""
        for place, _, _, holders in list(self.held.values()):
            if ident in holders:
                self._let_go(place, ident)

    def without_door(self, place: Place) -> Any:
        """What a place has, or will have again: another recording of the same function may have put a door there."""
        key = id(place[0]), place[1]
        while True:
            held, there = self.held.get(key), read(place)
            if self.held.get(key) is held:
                return held[1] if held is not None and there is held[2] else there

    def shown(self) -> list[tuple[Any, Any]]:
        """The doors that stand where somebody's code names an original: that, and the door."""
        return [(there, door) for place, there, door, _ in list(self.held.values()) if read(place) is door]

    def show(self, closed: Container[int]) -> None:
        """Put the door in each place that somebody holds who is not `closed`, and the original in the others."""
        for place, there, door, holders in self.held.values():
            put(place, there if all(ident in closed for ident in holders) else door)


def has_builtins(names: dict[str, Any]) -> bool:
    """Whether what a module does not name itself is what Python calls so."""
    return names.get("__builtins__") in (builtins, vars(builtins))


def search(
    function: Any, known: Container[int], classes: Container[int] = (), seen_in: Callable[[Place], Any] = read
) -> Iterator[Place]:
    """The places that a function, or what it names, reads something known from, by identity.

    Of classes those names that are only called, in whatever code is found, and of those that read texts where some code
    may write them.  `seen_in` says what a place has where a door may stand in it (`Taken.without_door`).
    """
    called: dict[tuple[int, str], tuple[Place, bool]] = {}
    reading: dict[int, tuple[dict[str, Any], list[CodeType]]] = {}
    seen: set[int] = set()
    stack = [function]
    while stack and len(seen) < 10_000:
        thing = stack.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        kind = type(thing)
        if issubclass(kind, functools.partial):
            stack += [thing.func, *thing.args, *thing.keywords.values()]
        elif issubclass(kind, types.MethodType):
            stack += [thing.__func__, thing.__self__]
        elif issubclass(kind, type):
            if not is_library(thing.__module__, getattr(sys.modules.get(thing.__module__), "__file__", None) or ""):
                stack += map(_function_of, vars(thing).values())
        elif issubclass(kind, FunctionType):
            if not is_library(thing.__globals__.get("__name__"), thing.__code__.co_filename):
                stack.append(getattr(thing, "__wrapped__", None))
                reading.setdefault(id(thing.__globals__), (thing.__globals__, []))[1].append(thing.__code__)
                for place in _places_of(thing):
                    there = seen_in(place)
                    if id(there) in known or place[1] in BUILT_IN:
                        yield place
                    elif id(there) in classes and place[1] is not None:
                        key = id(place[0]), place[1]
                        is_called = _is_only_called(thing.__code__, place[1])
                        called[key] = place, is_called and called.get(key, (place, True))[1]
                    else:
                        stack.append(there)
            elif hasattr(thing, "__wrapped__"):
                stack.append(thing.__wrapped__)
                stack += [v for p in _cells_of(thing) if isinstance(v := read(p), _CALLED)]
        else:
            stack += _held_by(thing)
    yield from [place for place, is_called in called.values() if is_called]
    yield from _read_by(list(reading.values()))


def _read_by(found: list[tuple[dict[str, Any], list[CodeType]]]) -> Iterator[Place]:
    """The names by which code reads numbers from texts, if some code that was found may have written these."""
    every = [(names, [part for code in codes for part in _with_inner(code)]) for names, codes in found]
    naming = [
        (names, name)
        for names, codes in every
        for name in READING
        if any(name in code.co_names for code in codes) and has_builtins(names)
        and all(only_passes(code, name) for code in codes)
    ]  # fmt: skip
    if naming and any(writes_texts(code) for _, codes in every for code in codes):
        yield from naming


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """Some code, and that of the functions that are written in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _with_inner(part)


def _function_of(member: Any) -> Any:
    """What a member of a class calls, where it is a method or the like; code of its class's own is not asked."""
    for name in FUNCTIONS:
        with contextlib.suppress(Exception):
            found = object.__getattribute__(member, name)
            if found is not None:
                return found
    return member


FUNCTIONS = "__func__", "fget"
"""Under which names methods, properties and the like keep what they call."""


def _is_only_called(code: CodeType, name: str) -> bool:
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return only_calls(code, name) and all(_is_only_called(c, name) for c in inner)


_CALLED = (FunctionType, types.MethodType, type, functools.partial)
MOST = 1000
"""Things in a container that are looked at for functions."""


def _held_by(thing: Any) -> Iterator[Any]:
    """What an object, or a container, could call: its class, functions, objects and containers in it."""
    kind = type(thing)
    if kind in (list, tuple, dict, set, frozenset, collections.deque):
        parts = itertools.islice(thing.values() if kind is dict else thing, MOST)
        yield from [part for part in parts if id(type(part)) not in _IDLE]
    elif id(kind) not in _IDLE:
        yield kind
        with contextlib.suppress(AttributeError):  # what a class says of its attributes itself is not asked
            kept = object.__getattribute__(thing, "__dict__")
            if not is_library(kind.__module__, getattr(sys.modules.get(kind.__module__), "__file__", None) or ""):
                yield from [part for part in itertools.islice(kept.values(), MOST) if id(type(part)) not in _IDLE]


_CALL_NOTHING = int, float, complex, bool, str, bytes, type(None), np.ndarray, ModuleType, *np.sctypeDict.values()
_IDLE = frozenset(map(id, _CALL_NOTHING))
"""Types of what calls nothing, by identity: a class may be one that has no hash."""


def _places_of(function: FunctionType) -> Iterator[Place]:
    codes, names = [function.__code__], function.__globals__
    enclosed = [read(place) for place in _cells_of(function)]
    modules = [vars(thing) for thing in enclosed if isinstance(thing, ModuleType) and not _is_library(thing)]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, CodeType)]
        yield from _named_in(code, [names, *modules])
        yield from [(names, name) for name in BUILT_IN if name in code.co_names and name not in names]
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


def naming_type() -> list[dict[str, Any]]:
    """The globals of the user's modules in which code calls Python's `type`, whoever reaches that code, and how."""
    loaded = len(sys.modules), sys.modules.get(latest_module())
    if loaded[0] != _loaded[0] or loaded[1] is not _loaded[1]:
        modules = [module for name, module in sys.modules.copy().items() if _may_name_type(name, module)]
        _loaded[:] = [*loaded, list(map(vars, modules))]
    found: list[dict[str, Any]] = _loaded[2]
    return found


_loaded: list[Any] = [0, None, []]
"""How many modules there were when they were last looked through, the latest of them, and what was found."""


_libraries: dict[str, ModuleType] = {}
"""By name the modules with a file that were found to be no user's; there are many, and each is asked about once."""


def _may_name_type(name: str, module: Any) -> bool:
    """Whether a module is the user's own, and its code names Python's `type`."""
    if _libraries.get(name) is module:
        return False
    if _is_users(module):
        return _names_type(module)
    if type(module) is ModuleType and vars(module).get("__file__"):
        _libraries[name] = module
    return False


def _is_users(module: Any) -> bool:
    """Whether a module is the user's own: no library's, also not one that was installed."""
    if type(module) is not ModuleType:
        return False
    file = vars(module).get("__file__") or ""
    is_installed = not file or any(part in file for part in INSTALLED)
    return (module.__name__ == "__main__" or not is_installed) and not _is_library(module)


INSTALLED = "site-packages", "dist-packages", "<frozen"
"""What the files of installed modules have in their names."""


def _names_type(module: ModuleType) -> bool:
    """Whether a module's code names Python's `type`; the first module may get such code at any time."""
    names = vars(module)
    if "type" in names or not has_builtins(names):
        return False
    return module.__name__ == "__main__" or any(map(_calls_type, _codes_in(names)))


def _codes_in(names: dict[str, Any]) -> list[CodeType]:
    """The code of a module's functions and of the methods of its classes."""
    stack, codes = list(names.values()), []
    for thing in stack:
        if isinstance(thing, type) and thing.__module__ == names.get("__name__"):
            stack += map(_function_of, vars(thing).values())
        elif isinstance(thing, FunctionType) and thing.__globals__ is names:
            codes.append(thing.__code__)
            stack.append(getattr(thing, "__wrapped__", None))
    return codes


def _calls_type(code: CodeType) -> bool:
    return "type" in code.co_names or any(_calls_type(c) for c in code.co_consts if isinstance(c, CodeType))


def _is_library(module: ModuleType) -> bool:
    return is_library(module.__name__, vars(module).get("__file__") or "")


def _cells_of(function: FunctionType) -> list[Place]:
    return [(cell, None) for cell in function.__closure__ or ()]


_twins: dict[int, tuple[ModuleType, ModuleType]] = {}
"""By identity of a module that doors stand in, that module and its twin."""

_seen: list[Any] = [None]
"""The room that was imported last when rooms were last looked through."""


def hold(modules: tuple[ModuleType, ...]) -> None:
    """Let the rooms that are imported by now name twins of some modules, in which no door stands yet."""
    last = latest_module()
    if last == _seen[0]:
        return
    _seen[0] = last
    for module in () if _twins else modules:
        _twins[id(module)] = module, _twin(module)
    for _, made in _twins.values():
        _exchange(vars(made))
    for name, room in sys.modules.copy().items():  # copied at once, while other threads may import
        if name.partition(".")[0] in OURS and type(room) is ModuleType and in_library(vars(room).get("__file__") or ""):
            _exchange(vars(room))


def latest_module() -> str:
    """The name of the module that was imported last."""
    while True:
        try:
            return next(reversed(sys.modules))
        except RuntimeError:  # another thread imports one at this moment
            continue


def _twin(module: ModuleType) -> ModuleType:
    """A module of the same name, in which the same stands as now."""
    made = ModuleType(module.__name__)
    vars(made).update(vars(module))
    return made


def _exchange(names: dict[str, Any]) -> None:
    for name, value in names.copy().items():
        if isinstance(value, ModuleType) and id(value) in _twins:
            names[name] = _twins[id(value)][1]
