"""What a function changed while it was recorded: its arguments, and what is around it; and putting that back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import is_
from typing import Any

import numpy as np

from ...base.tensor import Face, Tensor
from ...base.tree import leaves_of
from ..recorded.trace import Trace, Untraceable
from ..recorded.traced import Traced
from ..world.contents import alike, dict_of, fill, parts_of
from ..world.kinds import slots_of
from ..world.known import is_written_in_python
from ..world.surroundings import Surroundings
from ..world.watched import Cell, Container, WatchedArray, WatchedSlot
from .lasting import is_face, is_recorded, reaches


class Before:
    """What a function may change, as it was before it was recorded: its arguments, and what is around it.

    Attributes:
        around: what is around it.
        arguments: lists, dicts and the like among the arguments, with copies.
        arrays: arrays among them of what is no number.
    """

    def __init__(self, around: Surroundings, arguments: Any):
        self.around = around
        self.arguments = [(c, c.copy()) for c in containers_in(arguments)]
        arrays = [x for x in leaves_of(arguments) if isinstance(x, np.ndarray) and not isinstance(x, Face)]
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
    if reaches([now for _, now in before.changes()], before.around, is_face):
        raise Untraceable("it kept an object with arrays inside in something around it, which every call has to do")
    before.around.stale = bool(changes)


def leave_plain_in(changes: list[tuple[Any, Any]], around: Surroundings) -> None:
    """Put plain arrays where a function has kept arrays of its own, which depend on nothing that is recorded."""
    kept, done = {id(now) for _, now in changes}, set(around.seen)
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
        return constant_array(thing._tensor)
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


def constant_array(x: Any) -> Any:
    """What a function of arrays returned, a constant of the list as a plain array."""
    if isinstance(x, Tensor) and not isinstance(x, Traced) and x._node is None:
        value = x.numpy(force=True)
        return value if value.ndim else value[()]
    return x
