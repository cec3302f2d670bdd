"""What a function did while it was recorded: what it changed, and putting that back; what it returned and kept.

What it returned or kept must be what every call would return or keep, which is no object that it made anew.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import is_
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...base.tensor import Face, Tensor
from ...base.tree import BUILT, LEAF, Structure, require_nothing_beside
from ...numpy.arrays.face import Array
from ...numpy.arrays.python_number import PythonNumber
from ...recording.level import Layer
from ...recording.views import owner
from ..recorded.trace import Trace, Untraceable, value_in
from ..recorded.traced import Traced
from ..world.contents import alike, dict_of, fill, original, parts_of
from ..world.kinds import IMMUTABLE, MADE_OF, slots_of
from ..world.known import DISPATCHERS, is_known, is_written_in_python
from ..world.surroundings import Surroundings
from ..world.watched import Cell, Container, WatchedArray, WatchedSlot
from .signature import mutable_in


class Before:
    """What a function may change, as it was before it was recorded: its arguments, and what is around it.

    Attributes:
        around: what is around it.
        arguments: lists, dicts and the like among the arguments, with copies.
        arrays: arrays among them of what is no number.
    """

    def __init__(self, around: Surroundings, arguments: Any, arrays: Iterable[Any]):
        self.around = around
        self.arguments = [(c, c.copy()) for c in containers_in(arguments)]
        self.arrays = [Container(x) if x.dtype.hasobject else WatchedArray(x) for x in arrays]

    def changed_arguments(self) -> bool:
        """Whether lists or dicts among the arguments hold other things."""
        return any(differs(c, copy) for c, copy in self.arguments)

    def changed_arrays(self) -> bool:
        """Whether arrays hold other numbers."""
        return not all(array.holds() for array in (*self.around.arrays.values(), *self.arrays))

    def changes(self) -> Iterator[tuple[Any, Any]]:
        """What was changed around the function, and what is there now that was not."""
        around = self.around
        for container in around.containers:
            if not container.holds():
                before = set(map(id, container.parts))
                yield container.thing, [x for x in parts_of(container.thing) if id(x) not in before]
        for one in (*around.cells, *around.slots, *around.facts):
            if not one.holds():
                yield one, one.now()
        for space in around.spaces.values():
            if not space.holds():
                found = [now for _, now in space.changes()]
                yield from ((space.mapping, now) for now in found or (None,))

    def put_back(self) -> None:
        """Undo what was changed, so that it may be changed again."""
        for container, copy in self.arguments:
            if differs(container, copy):
                fill(container, parts_of(copy))
        for array in self.arrays:
            array.put_back()
        self.around.put_back()


def containers_in(tree: Any) -> Iterator[Any]:
    """What in a tree can be changed: lists, dicts, sets, bytearrays."""
    if isinstance(tree, (list, dict, set, bytearray)):
        yield tree
    if isinstance(tree, (tuple, list, dict)):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from containers_in(part)


def differs(container: Any, copy: Any) -> bool:
    """Whether a container holds other things than a copy of it."""
    if isinstance(container, set):
        return bool(container != copy)
    now, before = parts_of(container), parts_of(copy)
    return len(now) != len(before) or not (all(map(is_, now, before)) or all(map(alike, now, before)))


def refuse_changes(before: Before, trace: Trace) -> None:
    """Refuse a function that changed what every replay would have to change.

    What else it changed makes what is around it another one, so that the next call is recorded again.
    """
    if before.changed_arguments():
        raise Untraceable("it changed a list, dict or set among its arguments, which every call has to do")
    if before.changed_arrays():
        raise Untraceable("it changed an array from outside in place, which every replay would repeat")
    changes = list(before.changes())
    kept = [now for _, now in changes]
    if reaches(kept, before.around, lambda x: is_recorded(x, trace)):
        raise Untraceable("it kept a result in something around it, which every call has to do")
    leave_plain_in(changes, before.around)
    if changes and reaches([now for _, now in before.changes()], before.around, is_face):
        raise Untraceable("it kept an object with arrays inside in something around it, which every call has to do")
    before.around.stale = bool(changes)


def leave_plain_in(changes: list[tuple[Any, Any]], around: Surroundings) -> None:
    """Put plain arrays where a function has kept arrays of its own, which depend on nothing that is recorded."""
    kept = {id(x) for _, now in changes for x in (now, *(now if type(now) is list else ()))}
    done = set(around.seen)
    for thing, now in changes:
        if isinstance(thing, (Cell, WatchedSlot)):
            _replace(now, thing.put, done)
        elif type(thing) in (dict, list):
            _replace_items(thing, done, kept)


def leave_plain(thing: Any, done: set[int]) -> Any:
    """What a function has kept, with plain arrays in it.

    Args:
        done: what was there before, or was seen to.
    """
    if isinstance(thing, Face):
        return constant_array(thing._tensor, thing)
    if type(thing) is tuple:
        plain = tuple([leave_plain(part, done) for part in thing])
        return thing if all(map(is_, plain, thing)) else plain
    if id(thing) in done:
        return thing
    done.add(id(thing))
    if type(thing) in (dict, list):
        _replace_items(thing, done)
    elif is_written_in_python(type(thing)):
        _replace_items(dict_of(thing) or {}, done)
        for _, slot in slots_of(thing):
            _replace(slot.now(), slot.put, done)
    return thing


def _replace_items(container: Any, done: set[int], some: set[int] | None = None) -> None:
    """Put plain arrays into a dict or list, in the place of `some` things or of any."""
    for key, value in list(enumerate(container) if isinstance(container, list) else container.items()):
        if some is None or id(value) in some:
            _replace(value, partial(container.__setitem__, key), done)


def _replace(value: Any, put: Callable[[Any], object], done: set[int]) -> None:
    plain = leave_plain(value, done)
    if plain is not value:
        put(plain)


def constant_array(x: Any, returned: Face) -> Any:
    """What a function of arrays returned, a constant of the list as a plain array or number."""
    if isinstance(x, Tensor) and not isinstance(x, (Traced, Layer)) and x._node is None:
        value = x.numpy(force=True)
        return value if type(returned) is Array else value.item() if type(returned) is PythonNumber else value[()]
    return x


# What it returned or kept.

CODE = (type, np.ufunc, BuiltinFunctionType, *DISPATCHERS)
"""Functions and classes that are the same in every call if they are known."""
MOST = 10_000
"""Objects gone through in search of recorded values; with more, there might be one."""


def require_lasting(results: Any, structure: Structure, leaves: Iterable[Any], before: Before) -> None:
    """Raise unless a replay can give again what a function returned.

    An argument's object, or one inside of it, that is returned is another one's for another argument.

    Args:
        results, structure: what it returned, and how that is built.
        leaves: what is in that, but for what is recorded.
        before: what it was given, and what is around it.

    Raises:
        Untraceable: if it is a new object that the caller may change, or one that it shares with others.
    """
    around, given = before.around, [x for x, _ in before.arguments]
    for x in given:
        if isinstance(x, (list, dict)) and type(x) not in BUILT:
            require_nothing_beside(x)  # it may have got attributes, and is not the caller's own
    for x in (*leaves, *keys_in(structure)):
        if not (isinstance(x, Tensor) or lasts(x, around)):
            raise Untraceable(f"it returned a {type(x).__name__}, which cannot be given again")
    theirs = {*map(id, given), *around.seen}
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


def require_own_memory(constants: Iterable[Any], given: Iterable[Any], lent: Sequence[np.ndarray]) -> None:
    """Raise if one of the arrays that every call gets a copy of shares memory with another, or with a given one.

    Args:
        lent: arrays of what recorded ones hold; what looks at their memory may have another array as its owner.

    Raises:
        Untraceable: if so.
    """
    held = {id(owner(x)) for x in given}
    for x in map(value_in, constants):
        if type(x) is np.ndarray:
            if id(owner(x)) in held or any(np.may_share_memory(x, other) for other in lent):
                raise Untraceable("it returned an array that shares memory with another one, or with an argument")
            held.add(id(owner(x)))


def lasts(x: Any, around: Surroundings) -> bool:
    """Whether something may be given by every call: it cannot change, is copied, or was there before."""
    kind, thing = type(x), original(x)
    if x is NotImplemented:  # which C code says of what stands for a number where it would take the number
        return False
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
        if isinstance(x, np.ndarray) and not x.dtype.hasobject:
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
    """Whether something is a tensor, or an array, that stands for a record, or for what a derivative made of one."""
    x = x._tensor if isinstance(x, Face) else x
    return isinstance(x, (Traced, Layer)) or id(x) in trace.own
