"""Watching a thing, according to its kind; a thing of a kind that is not here is unknown."""

from __future__ import annotations

import abc
import array
import collections
import datetime
import functools
import gc
import random
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...base.location import in_library
from ...base.tensor import STATE as KEPT, Face, Tensor
from .contents import dict_of, length_of, mapping_of, parts_of
from .known import (
    BY_NAME,
    DISPATCHERS,
    INSTANT,
    READS_ALL,
    SYSTEM,
    can_change,
    file_of,
    in_modules,
    is_genuine,
    is_known,
    is_pythons,
    is_transparent,
    is_trusted_class,
    is_written_in_python,
    may_read_modules,
    sets_errors,
)  # fmt: skip
from .reading import EQUATING
from .surroundings import Unknown
from .told import SPECIAL, heed, heed_special
from .watched import Container, Fact, WatchedArray, WatchedSlot, bases_fact, dict_fact, spec_fact, type_fact

MOST = 1 << 15
"""Things looked at beyond which it costs too much to watch them."""
LONGEST = 1 << 16
"""Things in a container that has to be gone through to verify it."""
IMMUTABLE = {
    int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), CodeType, range,
    datetime.timedelta, datetime.date, datetime.timezone, re.Pattern, np.bool_,
    *(k for k in np.sctypeDict.values() if not issubclass(k, (np.void, np.object_))),
}  # fmt: skip
"""Exact types whose objects stay what they are."""
MADE_OF: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    datetime.datetime: lambda t: _zone(t.tzinfo),
    datetime.time: lambda t: _zone(t.tzinfo),
    slice: lambda s: (s.start, s.stop, s.step),
    types.GenericAlias: lambda a: (a.__origin__, *a.__args__),
    types.UnionType: lambda u: u.__args__,
}
"""Exact types whose objects go on holding the same objects, which may be asked, with these."""
GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
STATE = (
    "__getstate__", "__reduce__", "__reduce_ex__", "bit_generator", "capsule", "cffi", "ctypes", "get_state",
    "getstate", "jumped", "seed_seq", "spawn", "state",
)  # fmt: skip
OWN = frozenset(KEPT)
"""The names under which this library keeps something in tensors."""
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque, bytearray)
Looked = Unknown | None


def watch(look: Any, thing: Any) -> Looked:
    """Watch something and what is in it; what there is unknown."""
    kind = type(thing)
    way = WAYS.get(kind) or next((WAYS[family] for family in FAMILIES if issubclass(kind, family)), None)
    if way is not None:
        return way(look, thing)
    if not is_written_in_python(kind) and (kind in DISPATCHERS or callable(thing)):
        if str(getattr(thing, "__module__", None) or "").startswith(SPECIAL):
            heed_special(look)
        inner = getattr(thing, "_implementation", None) if kind in DISPATCHERS else None
        if type(inner) is FunctionType and look.known_code(inner):  # an op answers, which runs none of it
            return Unknown(thing)
        return None if is_known(thing) else Unknown(thing)
    return _own(look, thing) if in_library(file_of(kind)) else _instance(look, thing, kind)


def _tensor(look: Any, thing: Tensor) -> Looked:
    look.around.tensors.append(thing)
    look.around.facts += [type_fact(thing), spec_fact(thing)]
    own = dict_of(thing)
    if own and not own.keys() <= OWN:  # somebody gave it attributes
        look.open_own(look.around.space(own))
    return None


def _face(look: Any, thing: Face) -> Looked:
    """An array that was recorded, or made by `tape.numpy`, before."""
    look.around.facts.append(Fact(lambda: thing._tensor))
    return _tensor(look, thing._tensor)


def _generator(look: Any, thing: Any) -> Looked:
    """What draws random numbers, which is noticed by its state."""
    if type(thing).__module__.partition(".")[0] not in ("numpy", "random") or isinstance(thing, random.SystemRandom):
        return Unknown(thing)
    look.around.generators.append(thing)
    look.doubt_named(thing, STATE)  # a draw is noticed, a look at what will be drawn is not
    return None


def _own(look: Any, thing: Any) -> Looked:
    """An object of this library's: a function that it stands for is looked at."""
    listing = getattr(thing, "listing", None)
    if listing is not None:  # a program, which reads what it captured
        return look.all_inside(listing.constants)
    own = dict_of(thing)
    if own is not None:
        look.open_own(look.around.space(own))
    inner = getattr(thing, "__wrapped__", None)
    return look.inside(inner) if inner is not None else None


# Functions written in C.


def _ufunc(look: Any, thing: np.ufunc) -> Looked:
    if vars(np).get(thing.__name__) is not thing:
        heed_special(look)
    return None if is_known(thing) else Unknown(thing)


def _codeless(look: Any, thing: Any) -> Looked:
    """A function, or an attribute of a class, that is written in C."""
    if any(thing is other for other in BY_NAME):
        look.sites.read_by_name(None)
    if thing in (repr, ascii, format):
        heed(look, "texts")
    look.equates = look.equates or thing.__name__ in EQUATING
    owner, holder = getattr(thing, "__objclass__", None), getattr(thing, "__self__", None)
    if is_known(thing):
        return None
    if isinstance(holder, type):
        return None if is_known(holder) and not _asks_system(holder, thing.__name__) else Unknown(thing)
    if holder is not None and not isinstance(holder, ModuleType):
        return look.inside(holder)
    if isinstance(owner, type):
        return None if is_written_in_python(owner) or is_known(owner) else Unknown(thing)
    return Unknown(thing)


def _asks_system(holder: type, name: str) -> bool:
    return issubclass(holder, SYSTEM) and name in INSTANT


def _partial(look: Any, thing: Any) -> Looked:
    look.around.facts += [Fact(lambda: thing.func), Fact(lambda: thing.args), Fact(lambda: thing.keywords)]
    look.around.facts.append(dict_fact(thing))
    look.around.space(thing.keywords).whole = True
    look.open(look.around.space(vars(thing)))
    return look.all_inside((thing.func, *thing.args, *thing.keywords.values()))


# Classes and objects.


def _class(look: Any, kind: type) -> Looked:
    if any(kind is other for other in BY_NAME):
        look.sites.read_by_name(None)
    if kind is str:
        heed(look, "texts")
    if kind is int:
        heed(look, "digits")
    if kind in (str, bytes, bytearray):
        heed(look, "codes")
    if isinstance(kind, abc.ABCMeta) and "isinstance" not in look.around.asked:
        look.around.asked.add("isinstance")
        look.around.facts.append(Fact(abc.get_cache_token))
    if kind.__dict__.get("_is_protocol"):
        look.around.names.update(_protocol_members(kind))
    if kind in SYSTEM and kind is not random.SystemRandom:
        look.doubt_named(kind, INSTANT)
        return None
    if kind is random.Random:
        look.around.seeded.append(kind)
    if in_library(file_of(kind)) or kind is object or kind in IMMUTABLE:
        return None
    if is_known(kind):
        return _known_class(look, kind)
    if not is_written_in_python(kind) or kind is random.SystemRandom or sets_errors(kind):
        return Unknown(kind)
    look.around.classes().add(kind)
    space = look.around.space(mapping_of(kind), kind)
    look.around.facts.append(bases_fact(kind))
    if can_change(type(kind)):  # the class of a class is set among such alone
        look.around.facts.append(type_fact(kind))
    if in_modules(kind.__module__, READS_ALL):
        look.sites.read_by_name(None, may_read_modules(kind))
    if is_trusted_class(kind):  # whose code is known
        look.known_class(kind)
    elif is_pythons(file_of(kind)) and is_genuine(kind):
        return Unknown(kind)
    else:
        look.open(space)
        space.whole = space.whole or any(in_library(file_of(k)) or _has_known_code(k) for k in kind.__mro__[1:])
    bases = [k for k in kind.__mro__[1:] if k not in IMMUTABLE and (can_change(k) or not is_known(k))]
    return look.all_inside((*bases, type(kind)))


def _known_class(look: Any, kind: type) -> Looked:
    """A class whose code is not looked into: it is what it was while nobody replaces a method of it."""
    for k in kind.__mro__:
        if can_change(k) and not in_library(file_of(k)):
            look.known_class(k)
    return None


def _protocol_members(kind: type) -> set[str]:
    """The attributes by which a `typing.Protocol` knows its instances, and others that its classes mention."""
    spaces = [vars(k) for k in kind.__mro__ if vars(k).get("_is_protocol")]
    return {name for space in spaces for name in (*space, *space.get("__annotations__", ()))}


def _instance(look: Any, thing: Any, kind: type) -> Looked:
    """An object of a class that is written in Python."""
    if not is_transparent(kind) or look.inside(kind) is not None:
        return Unknown(thing)
    look.around.facts.append(type_fact(thing))
    if hasattr(kind, "random_state") and in_modules(kind.__module__, ("scipy.stats",)) and is_genuine(kind):
        return _distribution(look, thing)
    closed = any(map(_has_known_code, kind.__mro__))
    parts = _slots(look, thing, closed) + _attributes(look, thing, closed)
    if issubclass(kind, BaseException):
        for name in ("args", "__cause__", "__context__", "__traceback__"):
            look.around.facts.append(Fact(partial(getattr, thing, name), partial(setattr, thing, name)))
            parts.append(look.around.facts[-1].value)
    unknown = look.all_inside(parts)
    if issubclass(kind, np.ndarray):
        return unknown or _array(look, thing)
    return unknown or (_container(look, thing) if issubclass(kind, CONTAINERS) else None)


def _distribution(look: Any, thing: Any) -> Looked:
    """A distribution of SciPy's: its attributes are what its formulas know, and a generator that only draws use."""
    heed_special(look)
    space = look.around.space(vars(thing))
    space.whole = True
    look.around.facts.append(dict_fact(thing))
    look.around.generators += [x for x in space.copy.values() if isinstance(x, GENERATORS)]
    kept = (*GENERATORS, np.vectorize, types.MethodType)
    return look.all_inside(x for x in space.copy.values() if not isinstance(x, kept))


ABSTRACT = {k for k in vars(collections.abc).values() if isinstance(k, type)}
"""Classes without attributes of their own, which other classes inherit from."""


def _has_known_code(kind: type) -> bool:
    """Whether methods of a class are of those that are not looked into, and so may read any attribute."""
    if kind in ABSTRACT or not is_trusted_class(kind):
        return False
    return any(isinstance(x, FunctionType) for x in vars(kind).values())


def _slots(look: Any, thing: Any, closed: bool) -> list[Any]:
    """What an object keeps in slots; what is to be looked at together with it."""
    found = []
    for name, slot in slots_of(thing):
        look.around.slots.append(slot)
        if closed:
            found.append(slot.value)
        else:
            look.look(slot.value, name)
    return found


def slots_of(thing: Any) -> Iterator[tuple[str, WatchedSlot]]:
    """What an object keeps in the slots of its classes, by name."""
    for owner in type(thing).__mro__:
        for name, member in list(vars(owner).items()) if is_written_in_python(owner) else ():
            if type(member) is types.MemberDescriptorType:
                yield name, WatchedSlot(thing, member)


def _attributes(look: Any, thing: Any, closed: bool) -> list[Any]:
    """What an object keeps under names; what is to be looked at together with it."""
    own = dict_of(thing)
    if own is None:
        return []
    look.around.facts.append(dict_fact(thing))
    space = look.around.space(own)
    if closed:  # code that is known reads whatever it likes
        space.whole = True
        return list(space.copy.values())
    look.open(space)
    return []


def _namespace(look: Any, thing: Any) -> Looked:
    look.open_all(look.around.space(vars(thing)))
    return None


def _zone(zone: Any) -> tuple[Any, ...]:
    """What a time asks for its distance to UTC; of Python's own zones it is always the same."""
    kind = type(zone)
    return () if kind.__module__ == "zoneinfo" and is_genuine(kind) else (zone,)


def _dtype(look: Any, dtype: np.dtype) -> Looked:
    """A dtype, whose fields can be named anew."""
    if dtype.names is None:
        return None
    look.around.facts.append(Fact(lambda: dtype.names))
    return look.all_inside(dtype[name] for name in dtype.names)


# Containers and arrays.


def _container(look: Any, thing: Any) -> Looked:
    if thing is sys.modules:
        return Unknown(thing, "sys.modules")
    if isinstance(thing, dict) and not isinstance(thing, collections.OrderedDict):
        look.around.space(thing).whole = True
        if isinstance(thing, collections.defaultdict):
            look.around.facts.append(Fact(lambda: thing.default_factory))
            return look.inside(thing.default_factory) or look.all_inside(parts_of(thing))
    elif length_of(thing) > LONGEST and not isinstance(thing, bytearray):
        return Unknown(thing, f"a {type(thing).__name__} of more than {LONGEST} things")
    elif not isinstance(thing, (tuple, frozenset)):
        look.around.containers.append(Container(thing))
    return look.all_inside(parts_of(thing))


def _proxy(look: Any, proxy: Any) -> Looked:
    """A look at a mapping: at a dict that is no class's, for which nothing but being empty speaks."""
    behind = gc.get_referents(proxy)
    if len(behind) == 1 and type(behind[0]) is dict and not behind[0]:
        return _container(look, behind[0])
    return _container(look, proxy)


def is_container(thing: Any) -> bool:
    return issubclass(type(thing), CONTAINERS)


def _buffer(look: Any, thing: Any) -> Looked:
    if isinstance(thing, memoryview) and not isinstance(thing.obj, (bytes, bytearray, np.ndarray)):
        return Unknown(thing)
    look.around.containers.append(Container(thing))
    return None


def _array(look: Any, array: np.ndarray) -> Looked:
    if isinstance(array, np.memmap) or (array.dtype.hasobject and array.dtype != object):
        return Unknown(array)
    if array.dtype.hasobject:
        return _container(look, array)
    look.around.arrays[id(array)] = WatchedArray(array)
    return None


WAYS: dict[type, Callable[[Any, Any], Looked]] = {
    Tensor: _tensor,
    Face: _face,
    **dict.fromkeys(GENERATORS, _generator),
    FunctionType: lambda look, f: look.function(f),
    MethodType: lambda look, m: look.all_inside((m.__func__, m.__self__)),
    ModuleType: lambda look, m: look.module(m),
    functools.partial: _partial,
    **dict.fromkeys(
        (
            types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
            types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
        ),
        _codeless,
    ),
    np.ufunc: _ufunc,
    property: lambda look, p: look.all_inside((p.fget, p.fset, p.fdel)),
    staticmethod: lambda look, m: look.inside(m.__func__),
    classmethod: lambda look, m: look.inside(m.__func__),
    functools.cached_property: lambda look, p: look.inside(p.func),
    functools.singledispatchmethod: lambda look, m: look.all_inside((m.dispatcher, m.func)),
    super: lambda look, s: look.all_inside((s.__thisclass__, s.__self__)),
    **dict.fromkeys(MADE_OF, lambda look, x: look.all_inside(MADE_OF[type(x)](x))),
    type: _class,
    np.dtype: _dtype,
    np.void: lambda look, v: Unknown(v),
    type(vars(collections.abc.Sized)["_abc_impl"]): lambda look, d: None,
    type(vars(collections.namedtuple("_Probe", "x"))["x"]): lambda look, getter: None,
    types.SimpleNamespace: _namespace,
    **dict.fromkeys((*CONTAINERS, collections.OrderedDict, collections.defaultdict), _container),
    types.MappingProxyType: _proxy,
    **dict.fromkeys((memoryview, array.array), _buffer),
    np.ndarray: _array,
}  # fmt: skip
"""By type, how its objects are watched."""
FAMILIES = (Tensor, Face, *GENERATORS, ModuleType, type, np.dtype)
"""Types whose subclasses are watched in the same way."""


def all_within(objects: Iterable[Any]) -> Iterator[Any]:
    """Some objects, and all that they hold in their attributes and as containers."""
    stack = list(objects)
    seen: set[int] = set()
    while stack:
        thing = stack.pop()
        if type(thing) in IMMUTABLE or id(thing) in seen or len(seen) > MOST:
            continue
        seen.add(id(thing))
        yield thing
        if is_container(thing):
            stack += parts_of(thing)
        if is_written_in_python(type(thing)):
            stack += (dict_of(thing) or {}).values()
            stack += [slot.value for _, slot in slots_of(thing)]
