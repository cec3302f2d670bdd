"""What a function changed while it was recorded: its arguments, and what is around it; and putting that back.

And what it made meanwhile that nobody can reach any more, arrays and tensors.  Nobody can change them, so they are
constants for good: what depends on them alone is computed once.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterable, Iterator
from operator import is_
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ...base.tensor import Face, Narrow, Tensor
from ...base.tree import leaves_of
from ...base.untraced import untraced
from ...recording.views import ViewStep
from ..recorded.later import Later
from ..recorded.trace import Trace, value_in
from ..recorded.traced import Traced
from ..world.contents import alike, content_of, fill, parts_of
from ..world.reading import ATTRIBUTE, BETWEEN, codes_in
from ..world.surroundings import SETTLED, Surroundings

HANDED = ("LOAD_CLOSURE", "LOAD_CONST")
"""What loads a name without using what it stands for: functions inside are looked at themselves."""


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


def is_log(thing: Any, added: Any, around: Surroundings) -> bool:
    """Whether something is a list that the function, and those it names, do nothing with but append."""
    if type(thing) is not list or not all(isinstance(x, SETTLED) for x in added):
        return False
    names = {name for f in around.functions for name, cell in enclosed(f) if content_of(cell) is thing}
    inside = any(part is thing for container in around.containers for part in container.parts)
    for space in around.spaces.values():
        held = [name for name in space.relevant() if space.copy[name] is thing]
        inside = inside or (space.whole and bool(held))
        names.update(held)
    codes = [code for f in around.functions for code in codes_in(f.__code__)]
    return bool(names) and not inside and all(_appends_only(code, names) for code in codes)


def _appends_only(code: CodeType, names: set[str]) -> bool:
    steps = [step for step in dis.get_instructions(code) if step.opname not in BETWEEN]
    return all(
        steps[k + 1].opname in ATTRIBUTE and steps[k + 1].argval == "append"
        for k, step in enumerate(steps)
        if "LOAD_" in step.opname and step.opname not in HANDED and _named(step, code) & names
    )


def _named(step: dis.Instruction, code: CodeType) -> set[str]:
    """The names that an instruction loads, but for cells that it hands to a function inside.

    These are LOAD_CLOSURE's up to CPython 3.12; later ones load them as locals, one or two at once.
    """
    argument = step.argval
    found = {x for x in (argument if isinstance(argument, tuple) else (argument,)) if isinstance(x, str)}
    return found.difference(code.co_cellvars, code.co_freevars) if "LOAD_FAST" in step.opname else found


def enclosed(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names that a function finds in functions around it, and their cells."""
    return zip(function.__code__.co_freevars, function.__closure__ or ())


KINDS = (np.ndarray, Tensor, Narrow)
"""What is known to keep its numbers in its own parts alone."""


def settle_constants(trace: Trace) -> None:
    """Put read-only arrays in the place of a finished trace's constants that nobody else holds."""
    constants = trace.constants
    where = [i for i, c in enumerate(constants) if type(c) in KINDS and not (isinstance(c, Tensor) and c._node)]
    for i in _unreachable(trace, where) if where else ():
        constants[i] = value_in(constants[i])
        array = constants[i]
        while isinstance(array, np.ndarray):
            array.flags.writeable = False
            array = array.base


def _unreachable(trace: Trace, where: list[int]) -> list[int]:
    """Which of the constants nothing holds but the trace, and what is itself held by such alone."""
    nodes, edges = _graph(trace, where)
    held = [0] * len(nodes)
    for parts in edges:
        for k in parts:
            held[k] += 1
    for k in _values(trace, nodes):
        held[k] += 1
    kinds = [type(x) for x in nodes]
    reached = [
        kind not in (*KINDS, ViewStep) or _holders(nodes, k) > held[k] + (k < len(where))
        for k, kind in enumerate(kinds)
    ]
    pairs = [(k, part) for k, parts in enumerate(edges) for part in parts]
    while spread := [pair for pair in pairs if reached[pair[0]] != reached[pair[1]]]:
        for k, part in spread:
            reached[k] = reached[part] = True
    return [i for k, i in enumerate(where) if not reached[k]]


def _graph(trace: Trace, where: list[int]) -> tuple[list[Any], list[list[int]]]:
    """The constants, then what they consist of; and for each of these the numbers of its parts."""
    nodes = [trace.constants[i] for i in where]
    number = {id(x): k for k, x in enumerate(nodes)}
    edges: list[list[int]] = []
    for x in nodes:  # which grows
        for part in _parts(x):
            if id(part) not in number:
                number[id(part)] = len(nodes)
                nodes.append(part)
        edges.append([number[id(part)] for part in _parts(x)])
    return nodes, edges


def _parts(x: Any) -> Iterable[Any]:
    """What something keeps its numbers in."""
    if isinstance(x, Tensor):
        return [
            part for part in (value_in(x), getattr(x, "_of", None)) if isinstance(part, (np.ndarray, tuple, Tensor))
        ]
    if isinstance(x, ViewStep):
        return [x.parent]
    return [x.base] if isinstance(x, np.ndarray) and x.base is not None else []


def _values(trace: Trace, nodes: list[Any]) -> Iterable[int]:
    """The numbers of the nodes that the trace's values are, each as often as it is one."""
    number = {id(x): k for k, x in enumerate(nodes)}
    values = (v.value if type(v) is Later else v for v in trace.values)
    return [number[id(v)] for v in values if id(v) in number]


def _holders(things: list[Any], k: int) -> int:
    """How many hold one of some things, beside the list."""
    return sys.getrefcount(things[k]) - _ALONE


_ALONE = 0
_ALONE = untraced(lambda: _holders([np.empty(1)], 0))
