"""What a function changed while it was recorded: its arguments, and what is around it; and putting that back."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any

from ...base.tensor import Face, Tensor
from ...base.tree import leaves_of
from ..recorded.trace import Trace, Untraceable
from ..recorded.traced import Traced
from ..world.contents import alike, fill, parts_of
from ..world.surroundings import Surroundings


class Before:
    """What a function may change, as it was before it was recorded: its arguments, and what is around it."""

    def __init__(self, around: Surroundings, arguments: Any):
        self.around = around
        self.arguments = [(c, c.copy()) for c in containers_in(arguments)]

    def changed_arguments(self) -> bool:
        """Whether lists or dicts among the arguments hold other things."""
        return any(differs(c, copy) for c, copy in self.arguments)

    def changed_arrays(self) -> bool:
        """Whether arrays hold other numbers."""
        return not all(array.holds() for array in self.around.arrays.values())

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


def holds_traced(thing: Any, trace: Trace) -> bool:
    """Whether something is, or has inside, a tensor that stands for a record."""
    return any(
        is_recorded(x, trace) or any(is_recorded(v, trace) for v in getattr(x, "__dict__", {}).values())
        for x in leaves_of(thing)
    )


def is_recorded(x: Any, trace: Trace) -> bool:
    """Whether something is a tensor, or an array, that stands for a record."""
    x = x._tensor if isinstance(x, Face) else x
    return isinstance(x, Traced) or id(x) in trace.own


def refuse_changes(before: Before, trace: Trace) -> None:
    """Refuse a function that changed what every replay would have to change.

    What else it changed makes what is around it another one, so that the next call is recorded again.
    """
    if before.changed_arguments():
        raise Untraceable("it changed a list, dict or set among its arguments, which every call has to do")
    if before.changed_arrays():
        raise Untraceable("it changed an array from outside in place, which every replay would repeat")
    changes = list(before.changes())
    if any(holds_traced(now, trace) for _, now in changes):
        raise Untraceable("it kept a result in something around it, which every call has to do")
    for thing, _ in changes:
        leave_plain(thing)
    before.around.stale = bool(changes)


def leave_plain(thing: Any) -> None:
    """Put plain arrays where a function has kept arrays of its own, which depend on nothing that is recorded."""
    if type(thing) is dict or type(thing) is list:
        for key, value in list(thing.items() if type(thing) is dict else enumerate(thing)):
            if isinstance(value, Face):
                thing[key] = constant_array(value._tensor)


def constant_array(x: Any) -> Any:
    """What a function of arrays returned, a constant of the list as a plain array."""
    if isinstance(x, Tensor) and not isinstance(x, Traced) and x._node is None:
        value = x.numpy(force=True)
        return value if value.ndim else value[()]
    return x
