"""Where a function finds what it names: globals, closures, modules of the user's, and the functions that these name.

It may also have been given a function of NumPy's or SciPy's to keep: in a table of functions, an attribute, a default.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import functools
import itertools
import sys
import types
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, Protocol

import numpy as np

from ...base.location import in_library
from .callee import only_calls, only_passes, writes_texts
from .taken import Door, Place, read

BUILT_IN = "type", "eval"
"""The names of Python's own that something stands for."""

READING = "float", "complex"
"""Those that something stands for where texts are written, as they read numbers from texts."""

OURS = "tape", "ops"

COMPUTING = frozenset({"numpy", "scipy", "numba", "pandas"})
LIBRARIES = COMPUTING | {*OURS, "_pytest"} | sys.stdlib_module_names
"""The packages whose code is nobody's own program: a constructor called there gives a plain array.

Assertions in a test name what pytest tells of them with, which leads to all tests there are.
"""


def is_library(module: Any, file: str) -> bool:
    """Whether a module, in a file, is a library's; the user may have modules of his own that are named like ours."""
    return type(module) is str and _is_of_library(module, file)


@functools.cache
def _is_of_library(module: str, file: str) -> bool:
    package = module.partition(".")[0]
    return package in LIBRARIES and package != "__main__" and (package not in OURS or in_library(file))


def is_librarys(kind: type) -> bool:
    """Whether a class is a library's."""
    return is_library(kind.__module__, getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


def has_builtins(names: dict[str, Any]) -> bool:
    """Whether what a module does not name itself is what Python calls so."""
    return names.get("__builtins__") in (builtins, vars(builtins))


def search(
    function: Any, doors: Mapping[int, Any], classes: Container[int], seen_in: Callable[[list[Place]], list[Any]],
    followed: list[tuple[Place, int]],
) -> Iterator[Place]:  # fmt: skip
    """The places that a function, or what it names, reads from what there is a door for, or what is made of it.

    Of classes those names that are only called, in whatever code is found, and of those that read texts where some code
    may write them.  `seen_in` says what places have in which doors may stand (`Taken.without_doors`).  Names of what
    was looked through are added to those `followed`, with what they named, by identity: if it is another thing, what is
    found may be other places.
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
        if kept := _kept_in(thing):
            yield from [place for place, there in zip(kept, seen_in(kept)) if replaced(there, doors) is not None]
        if issubclass(kind, functools.partial):
            stack += [thing.func, *thing.args, *thing.keywords.values()]
        elif issubclass(kind, types.MethodType):
            stack += [thing.__func__, thing.__self__]
        elif issubclass(kind, type):
            if not is_librarys(thing):
                stack += map(_function_of, vars(thing).values())
        elif issubclass(kind, FunctionType):
            if not is_library(thing.__globals__.get("__name__"), thing.__code__.co_filename):
                stack += [getattr(thing, "__wrapped__", None), thing.__defaults__, thing.__kwdefaults__]
                reading.setdefault(id(thing.__globals__), (thing.__globals__, []))[1].append(thing.__code__)
                named = list(_places_of(thing))
                for place, there in zip(named, seen_in(named)):
                    if place[1] in BUILT_IN or replaced(there, doors) is not None:
                        yield place
                    elif id(there) in classes and place[1] is not None:
                        key = id(place[0]), place[1]
                        is_called = _is_only_called(thing.__code__, place[1])
                        called[key] = place, is_called and called.get(key, (place, True))[1]
                    elif id(type(there)) not in _IDLE:
                        if is_lasting(place):
                            followed.append((place, id(there)))
                        stack.append(there)
            elif hasattr(thing, "__wrapped__"):
                stack.append(thing.__wrapped__)
                stack += [x for x in _contents_of(thing) if isinstance(x, _CALLED)]
        else:
            stack += _held_by(thing)
    yield from [place for place, is_called in called.values() if is_called]
    yield from _read_by(list(reading.values()))


def is_lasting(place: Place) -> bool:
    """Whether a place may be remembered: in the names of a module, or a cell with a function and nothing else.

    Whatever else is remembered would live as long as the function for which it is, and that as long as it.
    """
    space, name = place
    if name is None:
        return id(type(space.cell_contents)) in _ALONE
    return isinstance(space, dict) and "__builtins__" in space


class ByIdentity(Protocol):
    """What stands for things, by their identity."""

    def get(self, known: int, /) -> Any: ...


def replaced(value: Any, doors: ByIdentity, parts: ByIdentity | None = None) -> Any:
    """What stands for a value meanwhile, with doors in it; None if there is none for it, nor for what it is made of.

    Doors are given by identity of what they stand for; a bound method, a partial, a static method and a tuple, named
    or not, are made of others.  What a partial keeps as arguments may have others, those for `parts`.
    """
    door = doors.get(id(value))
    if door is not None:
        return door
    kind = type(value)
    if kind is types.MethodType:
        door = doors.get(id(value.__func__))
        return None if door is None else types.MethodType(door, value.__self__)
    if kind is staticmethod:
        door = replaced(value.__func__, doors)
        return None if door is None else staticmethod(door)
    if _is_tuple(kind) and tuple.__len__(value) <= MOST:
        found = _among(tuple(tuple.__iter__(value)), doors)
        return found if found is None or kind is tuple else tuple.__new__(kind, found)
    if kind is functools.partial:
        door = replaced(value.func, doors, parts)
        given = (*value.args, *value.keywords.values())
        found = _among(given, doors if parts is None else parts)
        if door is not None or found is not None:
            function, given, count = value.func if door is None else door, found or given, len(value.args)
            return functools.partial(function, *given[:count], **dict(zip(value.keywords, given[count:])))
    return None


MOST = 1000
"""Things in a container that are looked at for functions."""


def _is_tuple(kind: type) -> bool:
    """Whether things of a class are tuples, named or not; another class may have rules of its own."""
    return kind is tuple or (issubclass(kind, tuple) and any("_fields" in vars(base) for base in kind.__mro__))


def _among(values: tuple[Any, ...], doors: ByIdentity) -> tuple[Any, ...] | None:
    """The same values, with what stands for some; None if nothing does."""
    found = [replaced(value, doors) for value in values]
    if all(value is None for value in found):
        return None
    return tuple([x if value is None else value for x, value in zip(values, found)])


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


def _held_by(thing: Any) -> Iterator[Any]:
    """What an object, or a container, could call: its class, functions, objects and containers in it."""
    kind = type(thing)
    if id(kind) in _CONTAINERS or _is_tuple(kind):
        parts = _first(thing.values() if id(kind) in _DICTS else tuple.__iter__(thing) if _is_tuple(kind) else thing)
        if kind is collections.defaultdict:
            yield thing.default_factory
        yield from [part for part in parts if id(type(part)) not in _IDLE]
    elif id(kind) not in _IDLE:
        yield kind
        parts = [*_attributes(thing).values(), *map(read, _slots_of(thing))]
        yield from [part for part in _first(parts) if id(type(part)) not in _IDLE]


_DICTS = frozenset(map(id, (dict, collections.OrderedDict, collections.defaultdict)))
"""The kinds of dicts that are looked through, by identity."""

_CONTAINERS = _DICTS | frozenset(map(id, (list, set, frozenset, collections.deque)))


def _first(things: Iterable[Any]) -> list[Any]:
    """As many of some things as are looked at, taken at once: another thread may change what holds them."""
    return list(itertools.islice(things, MOST))


def _attributes(thing: Any) -> dict[str, Any]:
    """The attributes of an object of the user's own; what its class says of them is not asked."""
    kind = type(thing)
    if not is_librarys(kind):
        with contextlib.suppress(AttributeError):
            kept: dict[str, Any] = object.__getattribute__(thing, "__dict__")
            return kept
    return {}


def _kept_in(thing: Any) -> list[Place]:
    """The places in something of the user's that was given a function to keep, if it was."""
    kind = type(thing)
    if kind is list or kind is collections.deque:
        return [(thing, k) for k, x in enumerate(_first(thing)) if _may_lead(x)]
    if kind is FunctionType and not is_library(thing.__globals__.get("__name__"), thing.__code__.co_filename):
        own = [(vars(thing), k) for k, x in _first(vars(thing).items()) if k != "__wrapped__" and _may_lead(x)]
        return [(thing, "__defaults__"), *own] if thing.__defaults__ else own
    if kind is ModuleType or id(kind) in _IDLE:
        return []
    if issubclass(kind, type):
        is_users = not is_librarys(thing)
        space, names = thing, vars(thing) if is_users else {}
    else:
        space = names = thing if id(kind) in _DICTS else _attributes(thing)
    if "__spec__" in names:  # those of a module
        return []
    found: list[Place] = [(space, k) for k, x in _first(names.items()) if _may_lead(x) and id(type(k)) in _KEYS]
    slots = [(thing, FACTORY)] if kind is collections.defaultdict else _slots_of(thing)
    return [*found, *[place for place in slots if _may_lead(read(place))]] if slots else found


FACTORY = vars(collections.defaultdict)["default_factory"]


def _slots_of(thing: Any) -> list[Place]:
    """The slots of an object of the user's own."""
    kind = type(thing)
    if issubclass(kind, type) or is_librarys(kind):
        return []
    return [
        (thing, member)
        for base in kind.__mro__
        if "__slots__" in vars(base)
        for member in vars(base).values()
        if type(member) is MemberDescriptorType
    ]


def _may_lead(thing: Any) -> bool:
    """Whether something may be a function of NumPy's or SciPy's, or made of one."""
    kind = type(thing)
    return id(kind) in _KEPT or _is_tuple(kind)


_FUNCTIONS = types.BuiltinFunctionType, type(np.where)
_ALONE = frozenset(map(id, (*_FUNCTIONS, type)))
_KEPT = frozenset(map(id, (*_FUNCTIONS, FunctionType, types.MethodType, staticmethod, functools.partial, tuple, Door)))
"""The kinds of what may be a function of NumPy's or SciPy's, or made of one, by identity."""

_KEYS = frozenset(map(id, (str, int, float, bool, bytes, type)))
"""The kinds of keys that are looked for."""


_CALL_NOTHING = int, float, complex, bool, str, bytes, type(None), np.ndarray, ModuleType, *np.sctypeDict.values()
_IDLE = frozenset(map(id, _CALL_NOTHING))
"""Types of what calls nothing, by identity: a class may be one that has no hash."""


def _places_of(function: FunctionType) -> Iterator[Place]:
    codes, names = [function.__code__], function.__globals__
    modules = [vars(x) for x in _contents_of(function) if isinstance(x, ModuleType) and not _is_library(x)]
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


def _contents_of(function: FunctionType) -> Iterator[Any]:
    """What is in the cells of a function that are not empty."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            yield cell.cell_contents


def latest_module() -> str:
    """The name of the module that was imported last."""
    while True:
        try:
            return next(reversed(sys.modules))
        except RuntimeError:  # another thread imports one at this moment
            continue
