"""Finding what a function may read: from its code to what names stand for, and on to the code and the things there.

Whatever can run is looked at, whether it will or not: what is not known becomes a doubt only where it is read.
"""

from __future__ import annotations

import abc
import builtins
import functools
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...base.location import in_library
from ...base.tensor import Tensor
from .contents import MISSING, mapping_of, original
from .kinds import IMMUTABLE, MOST, all_within, is_container, watch
from .known import (
    ANSWERED,
    NAMES,
    READS_ALL,
    home_of,
    in_modules,
    is_known,
    is_library,
    is_looked_into,
    is_of_one_package,
    is_trusted,
    is_users,
    is_written_in_python,
    may_draw,
    may_read_modules,
    named,
    reads_by_name,
)  # fmt: skip
from .reading import ENTERING, Import, Load, Place, Sites, codes_in, names_in, reads_of
from .surroundings import Doubt, Surroundings, Unknown
from .told import SETTERS, SPECIAL, heed, heed_special
from .watched import Cell, Fact, Space, code_facts, is_special, keep_what_counts, name_facts, type_fact

CODING = frozenset({"decode", "encode"})
"""Attributes by which texts become bytes, and bytes texts."""
BEYOND = ("base", "obj")
"""Attributes by which one gets from a view to what it is a view of."""
TITLES = {"__annotations__", "__doc__", "__module__", "__name__", "__qualname__"}
"""What functions and classes say of themselves."""
Route = tuple[Place, ...] | str | None
"""How something is got at: at places in the code, as an attribute of a name, or always."""


def is_settled(thing: Any) -> bool:
    """Whether something cannot change, nor what is in it: so much is seen without a further look."""
    kind = type(thing)
    return kind in IMMUTABLE or (kind is tuple and all(type(part) in IMMUTABLE for part in thing))


class TooMuch(Exception):
    """More than can be watched was found."""


class Look:
    """A look around.

    Attributes:
        around: what was found to be watched.
        sites: where the code that was found reads attributes of anything.
        equates: whether it is asked if things are equal.
        beyond: whether arrays are made of the memory around others.
        reducers: functions that copy objects of a class, to be looked at where the class is met.
    """

    def __init__(self, around: Surroundings, constant: Iterable[Any] = ()):
        self.around = around
        around.names.update(NAMES)
        self.sites = Sites()
        self.equates = self.beyond = False
        self._constant = {id(x): x for x in constant}
        around.may_draw = bool(self._constant)
        self._found: list[tuple[Unknown, Route]] = []
        self._libraries: list[ModuleType] = []
        self._modules: dict[int, type | None] = {}
        self._own: list[Space] = []
        self._seen: dict[Any, Any] = {}
        self._known: dict[int, FunctionType] = {}
        self._codes: dict[int, CodeType] = {}
        self._open: dict[int, Space] = {}
        self._told: list[Space] = []
        self.reducers: dict[type, FunctionType] = {}

    def look_at(self, roots: Iterable[Any]) -> None:
        """Watch some things, and all that can be got at from them."""
        around = self.around
        around.roots = list(roots)
        function, *objects = around.roots
        try:
            self.look(function, None)
            for thing in all_within(objects):
                if is_written_in_python(type(thing)):
                    self.inside(type(thing))
            self._look_into_open()
            around.apart = {key for key in self._seen if type(key) is int}
            if objects:
                known = len(around.names), self.sites.by_name
                for thing in objects:
                    self.look(thing, None)
                self._look_into_open()
                if known != (len(around.names), self.sites.by_name):  # by which more of the others may be got at
                    around.apart = None
            self._look_at_titles()
            self._look_at_tensors()
        except (RecursionError, TooMuch):
            around.forget()
            self._found = [(Unknown(None, "more things than can be watched"), None)]
        around.seen = {key: held[0] for key, held in self._seen.items() if type(key) is int} | self._constant
        around.doubts = [Doubt(unknown, self._places(route)) for unknown, route in self._found]
        if self.sites.of_modules is None or self.sites.of_modules:
            around.doubts += [Doubt(Unknown(module), self.sites.of_modules) for module in self._libraries]

    def _look_into_open(self) -> None:
        """Look at the attributes that are read of anything, until there are no others."""
        state: Any = None
        while state != (now := (len(self.around.names), len(self._seen), len(self._libraries), self.sites.by_name)):
            state = now
            for space in self._told if self.equates or "texts" in self.around.asked else ():
                space.whole = True
            for space in list(self._open.values()):
                space.whole = space.whole or self.sites.by_name
                for name in list(space.relevant()):
                    self._attribute(space, name)
            for space in (*(self.around.space(vars(module)) for module in self._libraries), *self._own):
                space.names.update(self.sites.named)
                for name in self.sites.named.keys() & space.copy.keys():
                    self._attribute(space, name)
            for kind in [k for k, r in self.reducers.items() if id(k) in self._seen or not is_of_one_package(k, r)]:
                self.look(self.reducers.pop(kind), None)
            if self.sites.by_name or self.beyond or not self.sites.named.keys().isdisjoint(BEYOND):
                self._look_beyond()

    def _look_at_tensors(self) -> None:
        """Whether gradients flow to the tensors that were found, if that is asked for."""
        if "requires_grad" in self.sites.named:
            tensors = self.around.tensors
            self.around.facts += [Fact(partial(getattr, x, "requires_grad")) for x in tensors]

    def _look_beyond(self) -> None:
        """Look at what arrays and buffers are views of."""
        for array in list(self.around.arrays.values()):
            self.look(array.array.base, "base")
        for container in self.around.containers[:]:
            if type(container.thing) is memoryview:
                self.look(container.thing.obj, "obj")

    def _look_at_titles(self) -> None:
        """What functions and classes are called, if that is asked for."""
        names = TITLES if self.sites.by_name else TITLES & self.sites.named.keys()
        names |= {"__name__", "__qualname__"} if "texts" in self.around.asked else set()
        if not names:
            return
        owned = [space for space in self.around.spaces.values() if space.owner is not None]
        found = [fact for thing in self.around.functions for fact in name_facts(thing, names)]
        found += [fact for space in owned for fact in name_facts(space.owner, names)]
        self.around.facts += found
        values = [fact.value for fact in found]
        for space in owned:
            space.names |= names | ({"__annotate_func__"} if "__annotations__" in names else set())  # CPython 3.14's
            values += [space.copy[name] for name in names & space.copy.keys()]
            if "__annotations__" in self.sites.named:  # a class that has none keeps an empty dict from then on
                values.append(getattr(space.owner, "__annotations__", None))
        for value in values:
            self.look(value, None if type(value) is dict else "__name__")

    def _attribute(self, space: Space, name: Any) -> None:
        if (id(space), name) not in self._seen:
            self._seen[id(space), name] = space
            self.look(space.copy[name], name if isinstance(name, str) else None)

    def _places(self, route: Route) -> Any:
        """The places in the code that read what is got at on a route."""
        if not isinstance(route, str):
            return route
        places = self.sites.places_of(route)
        if places is None or not is_special(route):
            return places
        return [*places, *[(code, ENTERING) for code in self._codes.values()]]

    def look(self, thing: Any, route: Route, text: str = "") -> None:
        """Watch something that is got at on a route, where it is called something."""
        unknown = self.inside(thing)
        if unknown is None:
            return
        if text:
            inner = "" if unknown.thing is thing or not is_container(thing) else f", in which there is {unknown.name}"
            unknown = Unknown(unknown.thing, f"{text}{inner}")
        self._found.append((unknown, route))

    def inside(self, thing: Any) -> Unknown | None:
        """Watch something, and what is in it: what there is unknown, to whoever reads it."""
        try:
            return self._inside(thing)
        except (RecursionError, TooMuch):
            raise
        except Exception as error:  # of its class's code, or of ours for what nobody has foreseen
            unknown = Unknown(thing, f"an object that cannot be looked at, which raised {type(error).__name__}")
            self._seen[id(thing)] = thing, unknown
            return unknown

    def _inside(self, thing: Any) -> Unknown | None:
        thing = original(thing)
        if type(thing) in IMMUTABLE or thing is MISSING or id(thing) in self._constant:
            return None
        if id(thing) in self._seen:
            found: Unknown | None = self._seen[id(thing)][1]
            return found
        if len(self._seen) > MOST:
            raise TooMuch
        self._seen[id(thing)] = thing, None
        self.around.may_draw = self.around.may_draw or may_draw(thing)
        unknown = watch(self, thing)
        self._seen[id(thing)] = thing, unknown
        return unknown

    def all_inside(self, things: Iterable[Any]) -> Unknown | None:
        """Watch several things, all of them: what is unknown of them."""
        mutable = [thing for thing in things if not is_settled(thing)]  # mostly few, and many things
        unknown = [x for x in map(self.inside, mutable) if x is not None]
        return unknown[0] if unknown else None

    def open(self, space: Space) -> None:
        """What is read of anything is read of what has its attributes there."""
        space.attributes = True
        self._open[id(space)] = space

    def open_own(self, space: Space) -> None:
        """The attributes of an object of this library's, of which the user's code reads some by name."""
        self._own.append(space)

    def open_all(self, space: Space) -> None:
        """The same of what compares, and makes a text of, all that it has: without code of Python's."""
        self.open(space)
        self._told.append(space)

    def doubt_named(self, thing: Any, names: Iterable[str]) -> None:
        """Some attributes of something are unknown."""
        self._found += [(Unknown(thing, f"{named(thing)}.{name}"), name) for name in names]

    def doubt(self, text: str) -> None:
        """Something that is always read is unknown."""
        self._found.append((Unknown(None, text), None))

    # Functions and their code.

    def function(self, function: FunctionType) -> Unknown | None:
        """Watch a function, and what it reads."""
        if is_known(function):
            return None
        if function.__code__ is DISPATCHING:  # by the class of its argument, as abstract classes say
            self.around.facts += [*code_facts(function), Fact(abc.get_cache_token)]
            return self.inside(vars(function).get("registry"))
        if id(function) in SETTERS:
            return Unknown(function)
        code, home = function.__code__, home_of(function)
        is_own = in_library(code.co_filename)
        if not is_own or vars(function):  # also of a user's function that has no attributes yet
            self.open(self.around.space(vars(function)))
        cells = [Cell(cell) for cell in function.__closure__ or ()]
        if not is_own:  # what the library made, such as `grad(f)`, is never given other code, nor its variables others
            self.around.facts += code_facts(function)
            self.around.cells += cells
        given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if function.__kwdefaults__:
            self.around.space(function.__kwdefaults__).whole = True
        if not is_looked_into(function):
            if home.startswith(SPECIAL):
                heed_special(self)
            self.beyond = self.beyond or function.__name__ == "as_strided"
            if home == "copy":
                heed(self, "copies")
            if in_modules(home, READS_ALL):
                self.sites.read_by_name(None, may_read_modules(function))
            unknown = self.all_inside((*given, *(cell.value for cell in cells)))
            if not is_own and is_trusted(home) and self.known_code(function) and in_modules(home, ANSWERED):
                return Unknown(function)
            return unknown if is_own or is_trusted(home) else Unknown(function)
        self.around.functions.append(function)
        for value in given:
            self.look(value, ((code, ENTERING),))
        enclosed = dict(zip(code.co_freevars, (cell.value for cell in cells)))
        for inner in codes_in(code):
            self._code(inner, function, enclosed)
        return None

    def known_code(self, function: FunctionType) -> bool:
        """Watch by which names code that is not looked into gets at other such code, which somebody may replace.

        Whether somebody has put code of his own there.
        """
        stack, is_replaced = [function], False
        while stack:
            function = stack.pop()
            is_own = is_users(function)
            is_replaced = is_replaced or is_own
            if id(function) in self._known:
                continue
            self._known[id(function)] = function
            if is_own:
                self.look(function, None)
                continue
            space = self.around.space(function.__globals__)
            names = names_in(function.__code__) & space.copy.keys()
            space.names |= names
            stack += [x for x in (space.copy[name] for name in names) if type(x) is FunctionType]
        return is_replaced

    def known_class(self, kind: type) -> None:
        """Watch a class whose code is not looked into: it is what it was while nobody replaces a method of it."""
        space = self.around.space(mapping_of(kind), kind)
        space.whole = True
        for value in space.copy.values():
            if type(value) is FunctionType and is_users(value):
                self.look(value, None)

    def _code(self, code: CodeType, function: FunctionType, enclosed: dict[str, Any]) -> None:
        reads = reads_of(code)
        if id(code) not in self._codes:
            self._codes[id(code)] = code
            self.sites.add({name: [(code, offset) for offset in offsets] for name, offsets in reads.attributes.items()})
            self.around.names.update(reads.attributes)
            self.around.compares = self.around.compares or reads.compares
            self.equates = self.equates or reads.equates
            if reads.texts:
                heed(self, "texts")
            if not CODING.isdisjoint(reads.attributes):
                heed(self, "codes")
            if reads.any:
                self.sites.read_by_name((code, offset) for offset in reads.any)
            self._found += [(Unknown(name, f"the attribute {name}"), ((code, at),)) for at, name in reads.inner]
        for how, name, path in reads.recognised:
            if how == "enclosed" and name not in enclosed:  # a variable of its own
                self.around.compares = True
                continue
            thing = enclosed[name] if how == "enclosed" else self._global(name, function)
            self.around.recognises = self.around.recognises or may_be_given(thing, path)
        for load in reads.loads:
            places = tuple((code, offset) for offset in load.offsets)
            if load.how == "global":
                self._loaded(self._global(load.name, function), load, places)
            elif load.how == "import":
                self._import(load, function, places)
            elif load.name in enclosed:
                self._loaded(enclosed[load.name], load, places)

    def _global(self, name: str, function: FunctionType) -> Any:
        """What a global name stands for."""
        scope = function.__globals__
        inner = scope.get("__builtins__", builtins)
        for mapping in (scope, vars(inner) if isinstance(inner, ModuleType) else inner):
            space = self.around.space(mapping)
            space.names.add(name)
            if name in space.copy:
                return space.copy[name]
        return MISSING

    def _import(self, load: Load, function: FunctionType, places: tuple[Place, ...]) -> None:
        try:
            name = importlib.util.resolve_name(load.name, function.__globals__.get("__package__"))
        except (ImportError, ValueError):
            name = load.name
        modules = self.around.space(sys.modules)
        for whole in itertools.accumulate(name.split("."), "{}.{}".format):
            modules.names.add(whole)
            if whole not in modules.copy:
                self._found.append((Unknown(Import(whole), f"the module {whole}, not imported before"), places))
                return
            self.look(modules.copy[whole], places)

    def _loaded(self, value: Any, load: Load, places: tuple[Place, ...]) -> None:
        """What a name stands for; of a module, what is read of it at once."""
        path = [load.name]
        for name in load.attributes:
            if not isinstance(value, ModuleType) or id(value) in self._constant:
                break
            if self.class_of(value) is not None:
                break
            if "__getattr__" in vars(value) and name not in vars(value) and is_trusted(value.__name__):
                getattr(value, name, MISSING)  # which puts it there
            elif "__getattr__" in vars(value) and name not in vars(value):
                break
            space = self.around.space(vars(value))
            space.names.add(name)
            value = vars(value).get(name, MISSING)
            path.append(name)
        if reads_by_name(value):
            if load.texts is None:
                self.sites.read_by_name(places)
            self.around.names.update(load.texts or ())
            self.sites.add(dict.fromkeys(load.texts or (), places))
            if is_known(value):
                return
        self.look(value, places, ".".join(path))

    def class_of(self, module: ModuleType) -> type | None:
        """The class of a module, which is watched, if it is one of the user's; its properties are read like names."""
        if id(module) not in self._modules:
            self._modules[id(module)] = None
            if not (is_library(module) or in_library(vars(module).get("__file__") or "")):
                self.around.facts.append(type_fact(module))
                if type(module) is not ModuleType:
                    self._modules[id(module)] = type(module)
                    self.look(type(module), None)
        return self._modules[id(module)]

    def module(self, module: ModuleType) -> Unknown | None:
        """Watch a module that is handed on, rather than read there and then."""
        self.class_of(module)
        if in_library(vars(module).get("__file__") or ""):
            return None
        if is_library(module):  # of which only what is named is looked at
            self._libraries.append(module)
        else:
            self.open(self.around.space(vars(module)))
        return None


def surroundings(
    function: Callable[..., Any], objects: Iterable[Any] = (), constant: Iterable[Any] = ()
) -> Surroundings:
    """What is around a function, and in some objects that it is given; what is `constant` is not looked into."""
    found = Surroundings()
    Look(found, constant).look_at((function, *objects))
    keep_what_counts(found.spaces.values())
    return found


_dispatching: Any = functools.singledispatch(named)
DISPATCHING: CodeType = _dispatching.__code__
"""The code of every function that `functools.singledispatch` makes."""


def may_be_given(thing: Any, path: Iterable[str]) -> bool:
    """Whether something, or what is read of it, is of a kind that is stood in for where it is an argument."""
    for name in path:
        if not isinstance(thing, ModuleType):
            return True
        thing = vars(thing).get(name, MISSING)
    return isinstance(thing, (Tensor, np.ndarray, np.generic, float, complex, list, dict, tuple))
