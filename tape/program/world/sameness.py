"""Whether one object may stand for another: what may be read of them is the same."""

from __future__ import annotations

import types
from collections.abc import Iterator
from types import MethodType
from typing import Any

import numpy as np

from ...base.tensor import Tensor
from .contents import MISSING, dict_of, equal, parts_of, same_bytes
from .kinds import CONTAINERS, IMMUTABLE
from .known import is_transparent, is_written_in_python
from .surroundings import Surroundings
from .watched import WatchedSlot


def interchangeable(mine: Any, other: Any, around: Surroundings | None = None) -> bool:
    """Whether an object is the other one, or everything in it is the same.

    Args:
        around: what was found to be read of the first one; without it all there is is compared.
    """
    try:
        return _same(mine, other, around, set())
    except RecursionError:
        return False


def _same(mine: Any, other: Any, around: Surroundings | None, open: set[tuple[int, int]]) -> bool:
    kind = type(mine)
    if mine is other:
        return True
    if kind is not type(other):
        return False
    if (id(mine), id(other)) in open:
        return True
    open.add((id(mine), id(other)))
    if kind in IMMUTABLE or issubclass(kind, np.generic):
        return equal(mine, other) or (kind in COMPARED and bool(mine == other))
    if kind is MethodType:
        return mine.__func__ is other.__func__ and _same(mine.__self__, other.__self__, around, open)
    if issubclass(kind, np.dtype):
        return bool(mine == other)
    if issubclass(kind, (Tensor, type)) or not (kind is np.ndarray or kind in CONTAINERS or is_transparent(kind)):
        return False
    return _same_content(mine, other, kind) and all(
        _same(x, y, around, open) for x, y in zip(_inside(mine, mine, around), _inside(other, mine, around))
    )


COMPARED = IMMUTABLE - {int, float, complex}
"""Types of which equal objects are the same."""


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
    for owner in type(thing).__mro__:
        for member in vars(owner).values() if is_written_in_python(owner) else ():
            if type(member) is types.MemberDescriptorType:
                yield WatchedSlot(thing, member).value
    own, known = dict_of(thing), dict_of(first)
    if own is not None and known is not None:
        space = None if around is None else around.spaces.get(id(known))
        if space is None or space.whole:
            yield from (list(own), *own.values())
        else:
            yield from (own.get(name, MISSING) for name in sorted(filter(space.counts, {*space.shared, *space.copy})))
