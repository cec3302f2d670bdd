"""Whether what a function returned or kept is what every call would return or keep: no object that it made anew."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...base.tensor import Face, Tensor
from ...base.tree import LEAF, Structure, leaves_of, structure_of
from ...recording.views import owner
from ..recorded.trace import Trace, Untraceable
from ..recorded.traced import Traced
from ..world.contents import original
from ..world.kinds import IMMUTABLE, MADE_OF
from ..world.known import DISPATCHERS, is_known
from ..world.surroundings import Surroundings
from .signature import mutable_in

CODE = (type, np.ufunc, BuiltinFunctionType, *DISPATCHERS)
"""Functions and classes that are the same in every call if they are known."""
MOST = 10_000
"""Objects gone through in search of recorded values; with more, there might be one."""


def require_lasting(results: Any, leaves: Iterable[Any], arguments: Any, around: Surroundings) -> None:
    """Raise unless a replay can give again what a function returned.

    An argument's object, or one inside of it, that is returned is another one's for another argument.

    Args:
        results: what it returned.
        leaves: what is in that, but for what is recorded.
        arguments: as it was given them.

    Raises:
        Untraceable: if it is a new object that the caller may change, or one that it shares with others.
    """
    structure_of(arguments)  # which raises if it gave attributes to a list or dict that is not the caller's own
    for x in (*leaves, *keys_in(structure_of(results))):
        if not (isinstance(x, Tensor) or lasts(x, around)):
            raise Untraceable(f"it returned a {type(x).__name__}, which cannot be given again")
    theirs = {id(x) for x in mutable_in(arguments)} | around.seen.keys()
    for x in mutable_in(results):
        if id(x) in theirs:
            raise Untraceable(f"it returned a {type(x).__name__} that it shares with its caller or with what is around")
        theirs.add(id(x))
    if around.apart is not None and any(id(x) in around.seen and id(x) not in around.apart for x in leaves):
        around.apart = None


def keys_in(structure: Structure) -> Iterator[Any]:
    """The keys of the dicts in a structure."""
    yield from structure.keys
    for inside in structure.inside:
        if inside is not LEAF:
            yield from keys_in(inside)


def require_own_memory(constants: Iterable[Any], arguments: Any) -> None:
    """Raise if one of the arrays that every call gets a copy of shares memory with another, or with an argument.

    Raises:
        Untraceable: if so.
    """
    held = {id(owner(x)) for x in leaves_of(arguments) if type(x) is np.ndarray}
    for x in constants:
        if type(x) is np.ndarray:
            if id(owner(x)) in held:
                raise Untraceable("it returned an array that shares memory with another one, or with an argument")
            held.add(id(owner(x)))


def lasts(x: Any, around: Surroundings) -> bool:
    """Whether something may be given by every call: it cannot change, is copied, or was there before."""
    kind, thing = type(x), original(x)
    if kind in IMMUTABLE or id(thing) in around.seen or isinstance(x, (np.dtype, ModuleType)):
        return True
    if kind is np.ndarray:
        return not x.dtype.hasobject
    if kind in MADE_OF:
        return all(lasts(part, around) for part in MADE_OF[kind](x))
    if kind is tuple or kind is frozenset:
        return all(lasts(part, around) for part in x)
    if kind is MethodType:
        return lasts(x.__func__, around) and id(x.__self__) in around.seen
    return isinstance(thing, CODE) and is_known(thing)


def reaches(things: Iterable[Any], around: Surroundings, is_sought: Callable[[Any], bool]) -> bool:
    """Whether some things are, or have anywhere inside, one that is sought; what was there before is not gone into."""
    stack, seen = list(things), dict.fromkeys(around.seen)
    first = len(seen)
    while stack:
        x = stack.pop()
        if is_sought(x):
            return True
        if type(x) in IMMUTABLE or isinstance(x, (type, ModuleType, Face, Tensor)) or id(x) in seen:
            continue
        seen[id(x)] = x
        if len(seen) - first > MOST:
            return True
        if isinstance(x, FunctionType):
            stack += [x.__defaults__, x.__kwdefaults__, x.__closure__, x.__dict__]
        else:
            stack += gc.get_referents(x)
    return False


def is_face(x: Any) -> bool:
    return isinstance(x, Face)


def is_recorded(x: Any, trace: Trace) -> bool:
    """Whether something is a tensor, or an array, that stands for a record."""
    x = x._tensor if isinstance(x, Face) else x
    return isinstance(x, Traced) or id(x) in trace.own
