"""The short way through a program that is one kernel with small results: next to nothing but the kernel's call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from ..func.tree import Structure
from .frames import Caller, Frame, address_of, fit, fits
from .recording import Place, Results, copied

Way = Callable[[Sequence[Any]], Any]

BRIEF = 10_000
"""A kernel that evaluates fewer records, counted with their elements, is called without letting other threads run."""
AT_ONCE = ctypes.PYFUNCTYPE(None, ctypes.c_int64)


class _Kept(Frame):
    """A frame with memory for the small results, which is read before the next call."""

    __slots__ = ("small",)

    def __init__(self, caller: Caller):
        super().__init__(caller.kernel, caller.layout)
        self.small = np.empty(caller.layout.small_size, caller.layout.dtype)
        self.table[caller.first + len(caller.arrays)] = address_of(self.small)


def short_way(caller: Caller, order: Sequence[int], results: Results, inputs: int) -> Way | None:
    """What a program does from its inputs to its results, if that is short.

    Args:
        caller: the one kernel.
        order: for each output, which of the kernel's results it is.
        results: how the results of the function are built of the outputs.
        inputs: how many inputs the program has.
    """
    if caller.parts is not None or caller.pools:
        return None
    build = builder(results, order)
    return build and (_of_arrays(caller, build) if _has_arrays(caller) else _of_numbers(caller, build, inputs))


def _has_arrays(caller: Caller) -> bool:
    return bool(caller.arrays) or any(shape for _, _, _, shape in caller.layout.small)


def _kernel(caller: Caller) -> Callable[[int], None]:
    group = caller.layout.group
    return AT_ONCE(caller.kernel.address) if group.size * len(group.rows) < BRIEF else caller.call


def _of_numbers(caller: Caller, build: Callable[[Any], Any], inputs: int) -> Way:
    frames: list[_Kept] = []
    pack, kernel, pick = caller.pack, _kernel(caller), picker(caller.numbers, inputs)

    def way(inputs: Sequence[Any]) -> Any:
        try:
            frame = frames.pop()
        except IndexError:
            frame = _Kept(caller)
        pack(frame.numbers, 0, *(pick(inputs) if pick else inputs))
        kernel(frame.step)
        found = list(frame.small)
        frames.append(frame)
        return build(found)

    return way


def picker(names: Sequence[int], inputs: int) -> Callable[[Sequence[Any]], Any] | None:
    """What picks some of the inputs; None if these are all of them, in order."""
    if list(names) == list(range(inputs)):
        return None
    return itemgetter(*names) if len(names) > 1 else lambda xs: [xs[k] for k in names]


def _of_arrays(caller: Caller, build: Callable[[Any], Any]) -> Way:
    frames: list[_Kept] = []
    names, pack, kernel = caller.numbers, caller.pack, _kernel(caller)
    arrays, first = caller.arrays, caller.first
    parts = [(start, start + size, shape) for _, start, size, shape in caller.layout.small]

    def way(inputs: Sequence[Any]) -> Any:
        try:
            frame = frames.pop()
        except IndexError:
            frame = _Kept(caller)
        if names:
            pack(frame.numbers, 0, *[inputs[k] for k in names])
        word, alive = first, []
        for k, spec in arrays:
            array = inputs[k]
            if not fits(array, spec):
                array = fit(array, spec)
            alive.append(array)
            frame.table[word] = address_of(array)
            word += 1
        kernel(frame.step)
        small = frame.small.copy()
        frames.append(frame)
        return build([small[a:b].reshape(shape) if shape else small[a] for a, b, shape in parts])

    return way


def builder(results: Results, order: Sequence[int]) -> Callable[[Any], Any] | None:
    """A function that builds the results of a call, written for their structure; None if that is uncommon."""
    space: dict[str, Any] = {"copied": copied}
    source = _source(results.structure, iter(results.leaves), order, space)
    return None if source is None else eval(f"lambda o: {source}", space)


def _source(structure: Structure, leaves: Any, order: Sequence[int], space: dict[str, Any]) -> str | None:
    kind = structure.container
    if kind is None:
        leaf = next(leaves)
        if isinstance(leaf, Place):
            return f"o[{order[leaf.number]}]"
        return f"copied({_named(leaf, space)})"
    if kind not in (tuple, list, dict):
        return None
    parts = [_source(inside, leaves, order, space) for inside in structure.inside]
    if None in parts:
        return None
    if kind is dict:
        pairs = zip(structure.keys, parts)
        return "{" + "".join(f"{_named(key, space)}: {part}, " for key, part in pairs) + "}"
    items = "".join(f"{part}, " for part in parts)
    return f"({items})" if kind is tuple else f"[{items}]"


def _named(thing: Any, space: dict[str, Any]) -> str:
    name = f"c{len(space)}"
    space[name] = thing
    return name
