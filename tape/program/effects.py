"""What a function changed while it was recorded: its arguments, and what is around it; and putting that back."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from operator import is_
from types import CodeType
from typing import Any

import numpy as np

from ..tensor import Face
from ..tree import leaves_of
from .fingerprint import fingerprint
from .fresh import ATTRIBUTE, BETWEEN
from .surroundings import MISSING, SETTLED, Surroundings, alike, enclosed, parts_of
from .trace import Trace
from .traced import Traced

LARGE = 1 << 23
"""Arrays around a function of more bytes are not looked at before it is recorded."""
HANDED = ("LOAD_CLOSURE", "LOAD_CONST")
"""What loads a name without using what it stands for: functions inside are looked at themselves."""


class Before:
    """What a function may change, as it was before it was recorded.

    Attributes:
        containers: lists, dicts and sets, each with a copy.
        spaces: what attributes and global names are kept in, each with the names and what they stood for.
    """

    def __init__(self, around: Surroundings, arguments: Any):
        self.around = around
        self.arguments = [(c, c.copy()) for c in containers_in(arguments)]
        self.containers = [(c, c.copy()) for c in (*(c for c, _ in around.parts), *around.long)]
        self.cells = [(cell, cell.cell_contents) for cell, _ in around.cells]
        self.spaces = [
            (space, owner, {name: space.get(name, MISSING) for name in (space if owned else around.attributes)})
            for space, owner in around.spaces
            for owned in [owner is None and "__builtins__" not in space]
        ]
        self.arrays = {k: a.copy() for k, a in around.arrays.items() if a.nbytes <= LARGE}

    def changed_arguments(self) -> bool:
        """Whether lists or dicts among the arguments hold other things."""
        return any(differs(c, copy) for c, copy in self.arguments)

    def changed_arrays(self) -> list[int]:
        """The arrays that hold other numbers, by identity."""
        arrays = self.around.arrays
        return [k for k, copy in self.arrays.items() if fingerprint(arrays[k]) != fingerprint(copy)]

    def changes(self) -> Iterator[tuple[Any, Any]]:
        """What was changed around the function, and what is there now that was not."""
        for container, copy in self.containers:
            if differs(container, copy):
                before = set(map(id, parts_of(copy)))
                yield container, [x for x in parts_of(container) if id(x) not in before]
        for cell, value in self.cells:
            if not alike(cell.cell_contents, value):
                yield cell, cell.cell_contents
        for space, _, names in self.spaces:
            for name, now in self._now(space, names):
                if not alike(now, names.get(name, MISSING)):
                    yield space, now

    def _now(self, space: Any, names: dict[str, Any]) -> list[tuple[str, Any]]:
        found = names.keys() | (space.keys() if isinstance(space, dict) and "__builtins__" not in space else ())
        return [(name, space.get(name, MISSING)) for name in found]

    def put_back(self) -> None:
        """Undo what was changed, so that it may be changed again."""
        for k in self.changed_arrays():
            if self.around.arrays[k].shape == self.arrays[k].shape:
                np.copyto(self.around.arrays[k], self.arrays[k])
        for container, copy in (*self.arguments, *self.containers):
            if differs(container, copy):
                fill(container, copy)
        for cell, value in self.cells:
            cell.cell_contents = value
        for space, owner, names in self.spaces:
            for name, now in self._now(space, names):
                value = names.get(name, MISSING)
                if now is not value:
                    _put(space, owner, name, value)


def _put(space: Any, owner: Any, name: str, value: Any) -> None:
    if isinstance(space, dict):
        space.pop(name, None) if value is MISSING else space.__setitem__(name, value)
    elif value is MISSING:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


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


def fill(container: Any, copy: Any) -> None:
    """Let a container hold what another one holds."""
    container.clear()
    container.extend(copy) if isinstance(container, (list, bytearray)) else container.update(copy)


def holds_traced(thing: Any, trace: Trace) -> bool:
    """Whether something is, or has inside, a tensor that stands for a record."""
    return any(
        is_recorded(x, trace) or any(is_recorded(v, trace) for v in getattr(x, "__dict__", {}).values())
        for x in leaves_of(thing)
    )


def is_recorded(x: Any, trace: Trace) -> bool:
    """Whether something is a tensor, or an array, that stands for a record."""
    return isinstance(x, (Traced, Face)) or id(x) in trace.own


def is_log(thing: Any, added: Any, around: Surroundings) -> bool:
    """Whether something is a list that the function, and those it names, do nothing with but append."""
    if type(thing) is not list or not all(isinstance(x, SETTLED) for x in added):
        return False
    names = {name for f in around.functions for name, _, value in enclosed(f) if value is thing}
    names |= {name for _, name, value in around.bindings if value is thing}
    inside = any(part is thing for _, parts in around.parts for part in parts)
    codes = [code for f in around.functions for code in codes_in(f.__code__)]
    return bool(names) and not inside and all(_appends_only(code, names) for code in codes)


def _appends_only(code: CodeType, names: set[str]) -> bool:
    steps = [step for step in dis.get_instructions(code) if step.opname not in BETWEEN]
    return all(
        steps[k + 1].opname in ATTRIBUTE and steps[k + 1].argval == "append"
        for k, step in enumerate(steps)
        if step.opname.startswith("LOAD_") and step.opname not in HANDED and _named(step.argval) & names
    )


def _named(argument: Any) -> set[str]:
    return {x for x in (argument if isinstance(argument, tuple) else (argument,)) if isinstance(x, str)}


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)
