"""What is watched around a function, each kind with what it was: whether it still is, and putting it back."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import partial
from operator import is_
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from ...numpy.classes import StandIn
from .contents import MISSING, alike, content_of, dict_of, fill, holds, is_frozen, parts_of, same_bytes
from .object_places import (
    CONTENT,
    FUNCTION,
    IN_OBJECTS,
    MANAGED,
    ORDER,
    POINTERS,
    SLOTS,
    TAG,
    TAGS,
    TITLES,
    TYPE,
    VALUES,
    count_at,
    places_of,
    pointer,
    slot_place,
)  # fmt: skip

BUSY = 16
"""Changes of a dict that did not matter, from which on what counts in it is looked up one by one."""
Word = tuple[Any, int]
"""A word in memory, and what it holds."""


LET_GO = object()
"""What stands in a copy for what does not count."""


class Space:
    """A dict that names, attributes or items are kept in, and which of them count.

    Attributes:
        mapping: the dict; of a class, the one behind its ``__dict__``.
        owner: the class, if it is one's.
        names: the names that count, beside those that every object is asked for.
        whole: whether all names count.
        attributes: whether what is read of objects by name counts.
        copied: what its count of changes was when it was copied.
        copy: what was in it; once it is known what counts, `LET_GO` for the rest, which is not kept alive.
        counted: whether it counts its changes.
        tag: what its count of changes was when it held just this.
        address: where that count is.
        busy: how often it changed without a name that counts.
    """

    __slots__ = (
        "address",
        "attributes",
        "busy",
        "copied",
        "copy",
        "count",
        "counted",
        "mapping",
        "names",
        "owner",
        "shared",
        "tag",
        "whole",
    )

    def __init__(self, mapping: Any, owner: type | None, shared: set[str]):
        self.mapping, self.owner, self.shared = mapping, owner, shared
        self.names: set[str] = set()
        self.whole = self.attributes = False
        self.busy = 0
        self.address = id(mapping) + TAG
        self.counted = TAGS and (IN_OBJECTS or not count_at(id(mapping) + VALUES).value)
        self.count = count_at(self.address) if self.counted else ctypes.c_uint64(0)
        self.copied = self.count.value  # before it is copied: what another thread does meanwhile counts as later
        self.tag = ctypes.c_uint64(self.copied)
        self.copy = dict.copy(mapping)  # as a dict does it, whatever a class derived from it says

    def word(self) -> Word | None:
        return (self.count, self.tag.value) if self.counted else None

    def counts(self, name: Any) -> bool:
        """Whether what is under a name may have been read."""
        if self.whole or name in self.names:
            return True
        return self.attributes and (name in self.shared or is_special(name))

    def relevant(self) -> Iterator[str]:
        return filter(self.counts, self.copy)

    def changes(self) -> Iterator[tuple[Any, Any]]:
        """Names that count, and what is there now that was not."""
        now, before = self.mapping, self.copy
        if not self.whole and not self.attributes:
            for name in list(self.names):
                value = dict.get(now, name, MISSING)
                if not alike(value, before.get(name, MISSING)) and (name in before or not is_given(name, value)):
                    yield name, value
            return
        for name, value in list(dict.items(now)):
            if name not in before:
                if self.counts(name) and not is_given(name, value):
                    yield name, value
            elif (was := before[name]) is not LET_GO and not alike(value, was) and self.counts(name):
                yield name, value
        keys = dict.keys(now)
        if len(keys) < len(before) or not keys >= before.keys():
            yield from ((name, MISSING) for name in before.keys() - keys if self.counts(name))

    def holds(self) -> bool:
        if self.counted and self.count.value == self.tag.value:
            return True
        tag = self.count.value
        if any(True for _ in self.changes()):
            return False
        if self.whole and not all(map(is_, dict.keys(self.mapping), self.copy)):  # in another order
            return False
        self.tag.value = tag
        self.busy += 1
        return True

    def put_back(self) -> None:
        for name, _ in list(self.changes()):
            self._put(name, self.copy.get(name, MISSING))
        if self.whole and not all(map(is_, dict.keys(self.mapping), self.copy)):
            dict.clear(self.mapping)
            dict.update(self.mapping, self.copy)

    def _put(self, name: Any, value: Any) -> None:
        if self.owner is not None:
            type.__delattr__(self.owner, name) if value is MISSING else type.__setattr__(self.owner, name, value)
        elif value is MISSING:
            dict.pop(self.mapping, name, None)
        else:
            dict.__setitem__(self.mapping, name, value)


def keep_what_counts(spaces: Iterable[Space]) -> None:
    """Let go of the rest of what was in some dicts, of which all names that count are known."""
    for space in spaces:
        if space.whole:
            continue
        known, read = space.copy, list(filter(space.counts, space.copy)) if space.attributes else space.names
        space.copy = dict.fromkeys(known, LET_GO) if not space.counted else _names_at(space.copied, known).copy()
        space.copy.update([(name, known[name]) for name in read if name in known])


_NAMES: dict[int, dict[Any, Any]] = {}
"""By count of changes, which no two states of any dicts share, the names in a dict then."""
MOST_NAMES = 64


def _names_at(tag: int, known: dict[Any, Any]) -> dict[Any, Any]:
    """The names in a dict, copied when changes were counted to some number, with `LET_GO` under each."""
    found = _NAMES.get(tag)
    if found is None:
        if len(_NAMES) >= MOST_NAMES:
            _NAMES.clear()
        found = _NAMES[tag] = dict.fromkeys(known, LET_GO)
    return found


def is_given(name: str, value: Any) -> bool:
    """Whether what is new under a name comes from here, or from Python: who asks a class without annotations for
    them makes it keep an empty dict."""
    return issubclass(type(value), StandIn) or (name == "__annotations__" and type(value) is dict and not value)


class One:
    """Something that stands for one thing at a time.

    Attributes:
        at, pointer: where a pointer says it too, if that is known, and what it was.
    """

    value: Any
    at: Any = None
    pointer = 0

    def put_back(self) -> None:
        """Let it stand for what it stood for, where that can be done."""
        raise NotImplementedError

    def now(self) -> Any:
        """What it stands for now."""
        raise NotImplementedError

    def holds(self) -> bool:
        return alike(self.now(), self.value)

    def address(self) -> int | None:
        """Where it is kept in memory as a pointer, if that is known."""
        return None if self.at is None else ctypes.addressof(self.at)

    def word(self) -> Word | None:
        """A word in memory that says it too while it is what it was; None if there is none."""
        return None if self.at is None else (self.at, self.pointer)


class Cell(One):
    """A variable of a function around the one that is recorded."""

    def __init__(self, cell: Any):
        self.cell, self.value = cell, content_of(cell)

    def word(self) -> Word | None:
        held = 0 if self.value is MISSING else id(self.value)
        word = pointer(id(self.cell) + CONTENT) if CONTENT else None
        return None if word is None or word.value != held else (word, held)

    def now(self) -> Any:
        return content_of(self.cell)

    def put(self, value: Any) -> None:
        self.cell.cell_contents = value

    def put_back(self) -> None:
        if self.value is not MISSING:
            self.put(self.value)


class InContext(One):
    """What a context variable holds in the context of whoever asks, if it holds anything."""

    def __init__(self, variable: ContextVar[Any]):
        self.variable = variable
        self.value = self.now()

    def now(self) -> Any:
        return self.variable.get(MISSING)

    def put_back(self) -> None:
        if self.value is not MISSING and not self.holds():
            self.variable.set(self.value)


class WatchedSlot(One):
    """What an object keeps under a name of its ``__slots__``."""

    def __init__(self, thing: Any, member: Any):
        self.thing, self.member = thing, member
        self.value = self.now()
        place = slot_place(member) if SLOTS else 0
        if place:
            self.pointer = 0 if self.value is MISSING else id(self.value)
            at = pointer(id(thing) + place)
            self.at = at if at.value == self.pointer else None

    def now(self) -> Any:
        try:
            return self.member.__get__(self.thing)
        except AttributeError:
            return MISSING

    def put(self, value: Any) -> None:
        self.member.__set__(self.thing, value)

    def put_back(self) -> None:
        if self.value is MISSING:
            if self.now() is not MISSING:
                self.member.__delete__(self.thing)
        else:
            self.put(self.value)


class Fact(One):
    """Something that Python answers at once, such as the type of an object."""

    def __init__(self, ask: Callable[[], Any], put: Callable[[Any], None] | None = None, at: int = 0):
        self.ask, self.put, self.value = ask, put, ask()
        self.pointer = id(self.value)
        if self.value is None and at and POINTERS and not pointer(at).value:  # nothing is there
            self.pointer = 0
        self.at = pointer(at) if at and POINTERS and pointer(at).value == self.pointer else None

    def now(self) -> Any:
        return self.ask()

    def holds(self) -> bool:
        return (self.at is not None and self.at.value == self.pointer) or alike(self.ask(), self.value)

    def put_back(self) -> None:
        if self.put is not None and self.ask() is not self.value:
            self.put(self.value)


class Setting(One):
    """What everybody is told by a function whose calls are counted (see `told`).

    Attributes:
        count: how often anything was set.
        tag: how often it had been when this was what it was.
    """

    count = ctypes.c_uint64(0)

    def __init__(self, ask: Callable[[], Any], put: Callable[[Any], Any]):
        self.ask, self.put = ask, put
        self.tag = ctypes.c_uint64(self.count.value)
        self.value = ask()

    def word(self) -> Word | None:
        return self.count, self.tag.value

    def now(self) -> Any:
        return self.ask()

    def holds(self) -> bool:
        count = self.count.value
        if count != self.tag.value and not alike(self.now(), self.value):
            return False
        self.tag.value = count
        return True

    def put_back(self) -> None:
        if not alike(self.now(), self.value):
            self.put(self.value)


class Container:
    """A list, set or the like, and what was in it."""

    def __init__(self, thing: Any):
        self.thing, self.parts = thing, parts_of(thing)

    def holds(self) -> bool:
        try:
            return holds(self.thing, self.parts)
        except ValueError:  # a memoryview that was released
            return False

    def put_back(self) -> None:
        if not self.holds() and not isinstance(self.thing, (MappingProxyType, memoryview)):
            fill(self.thing, self.parts)


class WatchedArray:
    """An array of numbers, with a copy; none of one that nobody can write to."""

    def __init__(self, array: np.ndarray):
        self.array = array
        self.copy = None if is_frozen(array) else np.array(array, order="C", subok=False)
        self.layout, self.names = self._layout(), self._names()

    def _layout(self) -> tuple[Any, ...]:
        x = self.array
        return x.shape, x.strides, x.dtype, x.flags.writeable

    def _names(self) -> str | None:
        """What the fields of a record are called, which may change within the dtype."""
        return None if self.array.dtype.names is None else str(self.array.dtype)

    @property
    def compared(self) -> int:
        """How many bytes are compared to find out whether it holds."""
        return 0 if self.copy is None else self.copy.nbytes

    def holds(self) -> bool:
        x = self.array
        if self._layout() != self.layout or (self.names is not None and self._names() != self.names):
            return False
        return self.copy is None or same_bytes(x, self.copy)

    def put_back(self) -> None:
        if self.copy is not None and self.array.shape == self.copy.shape and self.array.flags.writeable:
            np.copyto(self.array, self.copy)


def is_special(name: Any) -> bool:
    """Whether Python itself asks objects for a name."""
    return type(name) is str and name[:2] == "__" == name[-2:] and name not in DESCRIPTIVE


DESCRIPTIVE = frozenset(
    ("__annotations__", "__builtins__", "__cached__", "__dataclass_fields__", "__dict__",
     "__dataclass_params__", "__doc__", "__file__", "__loader__", "__match_args__", "__module__", "__name__",
     "__orig_bases__", "__package__", "__parameters__", "__path__", "__qualname__", "__slots__", "__spec__",
     "__weakref__", "__static_attributes__", "__firstlineno__", "__warningregistry__", "__wrapped__",
     "__annotate__", "__annotate_func__", "__annotations_cache__", "__conditional_annotations__", "__type_params__")
)  # fmt: skip
"""Names of this form that nobody asks for who does not name them."""


def code_facts(function: FunctionType) -> Iterator[Fact]:
    """What can be set of a function."""
    for name, offset in list(FUNCTION.items())[:4]:
        yield Fact(partial(getattr, function, name), partial(setattr, function, name), id(function) + offset)


def name_facts(thing: Any, names: Iterable[str]) -> Iterator[Fact]:
    """What a function or class is called, and the like; what a class keeps in its dict is watched there."""
    places = TITLES if isinstance(thing, type) else FUNCTION
    for name in sorted(places.keys() & names):
        at = places[name]
        yield Fact(partial(getattr, thing, name, None), partial(setattr, thing, name), at and id(thing) + at)


def type_fact(thing: Any) -> Fact:
    """The class of an object."""
    return Fact(partial(type, thing), lambda kind: setattr(thing, "__class__", kind), id(thing) + TYPE)


def spec_fact(thing: Any) -> Fact:
    """The shape and dtype of a tensor."""
    kind = type(thing)
    if kind not in SPECS:
        SPECS[kind] = places_of(thing, [thing._spec])[0] if POINTERS else 0
    return Fact(lambda: thing._spec, None, SPECS[kind] and id(thing) + SPECS[kind])


SPECS: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()
"""Where tensors of a class point to their specs, 0 if that is not known."""


def dict_fact(thing: Any) -> Fact:
    """Which dict an object's attributes are in."""
    offset = type(thing).__dictoffset__
    managed = offset == -1 or offset <= MANAGED  # CPython 3.12 says -1 of it, 3.11 -48
    at = id(thing) + (MANAGED if managed else max(offset, 0))
    return Fact(partial(dict_of, thing), lambda d: setattr(thing, "__dict__", d), at)


def bases_fact(kind: type) -> Fact:
    """Which classes a class inherits from."""
    return Fact(lambda: kind.__mro__, None, id(kind) + ORDER)
