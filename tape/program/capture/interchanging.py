"""Whether an object among the arguments may stand for another one, of which something was recorded."""

from __future__ import annotations

from collections.abc import Iterator
from types import MethodType
from typing import Any

import numpy as np

from ...base.tensor import Tensor
from ..world.contents import dict_of, equal, parts_of, same_bytes
from ..world.kinds import CONTAINERS, IMMUTABLE, MADE_OF, slots_of
from ..world.known import is_transparent
from ..world.surroundings import Surroundings


def interchangeable(mine: Any, other: Any, around: Surroundings | None = None) -> bool:
    """Whether an object is the other one, or everything in it is the same, and which parts of it are the same object.

    Args:
        around: what was found to be read of the first one; without it all there is is compared.
    """
    try:
        return Pairs(around).same(mine, other)
    except RecursionError:
        return False


class Pairs:
    """Compares two objects, and all that is in them: each may stand for no more than one of the other's.

    So whatever a function asks of the one, which of its parts are the same object and where they are found in dicts
    and sets included, it would be told of the other.  What it can get at otherwise stands for itself.
    """

    def __init__(self, around: Surroundings | None):
        self.around = around
        self._others: dict[int, int] = {}
        self._mine: dict[int, int] = {}

    def same(self, mine: Any, other: Any) -> bool:
        kind = type(mine)
        if kind is not type(other):
            return False
        if kind in IMMUTABLE:
            return equal(mine, other) or (kind in COMPARED and bool(mine == other) and repr(mine) == repr(other))
        if kind in MADE_OF:
            parts = zip(MADE_OF[kind](mine), MADE_OF[kind](other), strict=False)
            return mine is other or (repr(mine) == repr(other) and all(self.same(x, y) for x, y in parts))
        if kind is MethodType:
            return mine.__func__ is other.__func__ and self.same(mine.__self__, other.__self__)
        if issubclass(kind, np.dtype):
            return mine is other or (bool(mine == other) and mine.metadata == other.metadata)
        if kind not in (tuple, frozenset):
            if id(mine) in self._others or id(other) in self._mine:
                return self._others.get(id(mine)) == id(other) and self._mine.get(id(other)) == id(mine)
            if mine is not other and not self._may_be_another(mine, other):
                return False
            self._others[id(mine)], self._mine[id(other)] = id(other), id(mine)
        if issubclass(kind, (Tensor, type)) or not (kind is np.ndarray or kind in CONTAINERS or is_transparent(kind)):
            return mine is other
        if mine is other and is_plain(mine):
            return True
        return (mine is other or _same_content(mine, other, kind)) and all(
            self.same(x, y) for x, y in zip(_inside(mine, mine, self.around), _inside(other, mine, self.around))
        )

    def _may_be_another(self, mine: Any, other: Any) -> bool:
        """Whether a function gets at neither of two objects but by its arguments."""
        if self.around is None:
            return True
        apart = self.around.apart
        return apart is not None and id(mine) not in apart and id(other) not in apart


def is_plain(thing: Any) -> bool:
    """Whether something is a container of numbers, texts and the like, or an array of them."""
    if isinstance(thing, np.ndarray):
        return type(thing) is np.ndarray and not thing.dtype.hasobject
    return type(thing) in CONTAINERS and IMMUTABLE.issuperset(map(type, parts_of(thing)))


COMPARED = IMMUTABLE - {int, float, complex}
"""Types of which equal objects are the same if they are written alike: 0 to 3 by twos is not 0 to 4, though equal."""


def _same_content(mine: Any, other: Any, kind: type) -> bool:
    """Whether arrays hold the same bytes, containers as many things, and numbers are equal."""
    if issubclass(kind, np.ndarray) and not mine.dtype.hasobject:
        same = mine.dtype == other.dtype and mine.shape == other.shape and mine.strides == other.strides
        return same and same_bytes(mine, np.ascontiguousarray(other))
    if issubclass(kind, (*CONTAINERS, np.ndarray)):
        return len(parts_of(mine)) == len(parts_of(other))
    for base in (int, float, complex, str, bytes):
        if issubclass(kind, base):
            return equal(base(mine), base(other))
    return True


def _inside(thing: Any, first: Any, around: Surroundings | None) -> Iterator[Any]:
    """What is in an object: of its attributes, those that are read of the `first` one."""
    if isinstance(thing, CONTAINERS) or (isinstance(thing, np.ndarray) and thing.dtype.hasobject):
        yield from parts_of(thing)
    if isinstance(thing, BaseException):
        yield thing.args
    yield from (slot.value for _, slot in slots_of(thing))
    own, known = dict_of(thing), dict_of(first)
    if own is not None and known is not None:
        space = None if around is None else around.spaces.get(id(known))
        if space is None or space.whole:
            yield from (list(own), *own.values())
        else:
            names = sorted(filter(space.counts, own))
            yield tuple(names)
            yield from map(own.__getitem__, names)
