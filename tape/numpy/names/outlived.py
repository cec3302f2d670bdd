"""Doors that a function has kept, found once none stands any more: the functions themselves are put in their places.

What keeps a door is asked of Python's collector of garbage, which looks through everything that is alive.  So it is
only asked if a door that was lent outlives its recording, and, where that happens all the time, not more than for a
tenth of it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import weakref
from collections import Counter, deque
from collections.abc import Callable, Sequence
from time import perf_counter
from types import CellType, FrameType, FunctionType, MemberDescriptorType, MethodType
from typing import Any

from ...base.untraced import COUNTS, UNCOUNTED, thaw

DEPTH = 5
"""How many things that cannot be changed, one in the other, are made anew: a door in a tuple in a partial …"""

ALLOWANCE, SHARE = 1.0, 0.1
"""The seconds that may be spent however little else is done, and the share of the time since then."""

_begun = perf_counter()
_spent = 0.0
_left: list[weakref.ref[Any]] = []
"""What was not sought, for want of time."""

Others = dict[int, Any]
"""By identity of a thing, what is to stand in its place."""


def restore(kept: list[weakref.ref[Any]]) -> bool:
    """Put the functions that doors stand for wherever these are still kept; whether there was any such place."""
    global _spent
    begun = perf_counter()
    sought = _outlived(kept)
    if sought and _spent > ALLOWANCE + SHARE * (begun - _begun):
        _left.extend(map(weakref.ref, sought))
        return False
    if sought:
        sought.clear()
        gc.collect(1)  # circles, such as a class that the function has made, which are gone in a moment
        sought = _outlived((*kept, *_left))
        _left.clear()
    others = {id(door): door.__wrapped__ for door in sought}
    any_kept = bool(sought)
    if any_kept:
        thaw()
    for _ in range(DEPTH):
        if not sought:
            break
        holders = [x for x in gc.get_referrers(*sought) if x is not sought and type(x) is not FrameType]
        made = {}
        for holder in holders:
            with contextlib.suppress(Exception):  # of its class's own code: there the door stays
                made[id(holder)] = _exchange(holder, others)
        others = {known: other for known, other in made.items() if other is not None}
        sought = [holder for holder in holders if id(holder) in others]
        del holders
    _spent += perf_counter() - begun
    return any_kept


def _outlived(kept: Sequence[weakref.ref[Any]]) -> list[Any]:
    """The doors that there still are and not only because an error on its way has frames with them."""
    doors = [found() for found in kept]
    doors = [door for door in doors if door is not None]
    raised = sys.exc_info()[1]
    if not doors or raised is None or not COUNTS:
        return doors
    in_frames = Counter[int]()
    traceback = raised.__traceback__
    while traceback is not None:
        in_frames.update(map(id, gc.get_referents(traceback.tb_frame)))
        traceback = traceback.tb_next
    own = range(len(doors))
    return [doors[k] for k in own if sys.getrefcount(doors[k]) - UNCOUNTED > 1 + in_frames[id(doors[k])]]


def _exchange(holder: Any, others: Others) -> Any:
    """Put other things into something that holds some; what stands for it itself, if it cannot be changed."""
    kind = type(holder)
    for known, exchange in _WAYS.items():
        if issubclass(kind, known):
            return exchange(holder, others)
    for names in _names_of(holder):
        _in_dict(names, others)
    for base in kind.__mro__:
        for member in vars(base).values():
            if type(member) is MemberDescriptorType:
                with contextlib.suppress(AttributeError, TypeError):
                    value = member.__get__(holder)
                    if id(value) in others:
                        member.__set__(holder, others[id(value)])
    return None


def _names_of(holder: Any) -> list[dict[str, Any]]:
    with contextlib.suppress(AttributeError):
        return [object.__getattribute__(holder, "__dict__")]
    return []


def _in_dict(names: dict[Any, Any], others: Others) -> None:
    if "__module__" in names and "__doc__" in names:
        for kind in gc.get_referrers(names):
            if isinstance(kind, type) and gc.get_referents(vars(kind))[0] is names:
                for name, value in list(names.items()):
                    if id(value) in others:
                        type.__setattr__(kind, name, others[id(value)])
                return
    items = list(dict.items(names))
    if any(id(key) in others for key, _ in items):
        names.clear()
        names.update([(others.get(id(key), key), value) for key, value in items])
    for key, value in items:
        if id(value) in others:
            names[others.get(id(key), key)] = others[id(value)]


def _in_list(holder: Any, others: Others) -> None:
    for k, value in enumerate(list(holder)):
        if id(value) in others:
            holder[k] = others[id(value)]


def _in_set(holder: set[Any], others: Others) -> None:
    for value in list(holder):
        if id(value) in others:
            holder.discard(value)
            holder.add(others[id(value)])


def _in_cell(holder: CellType, others: Others) -> None:
    with contextlib.suppress(ValueError):
        holder.cell_contents = others.get(id(holder.cell_contents), holder.cell_contents)


def _in_function(holder: FunctionType, others: Others) -> None:
    holder.__defaults__ = others.get(id(holder.__defaults__), holder.__defaults__)


def _in_partial(holder: Any, others: Others) -> None:
    parts = [others.get(id(x), x) for x in (holder.func, holder.args, holder.keywords)]
    with contextlib.suppress(TypeError):  # a class of its own, which is put together otherwise
        functools.partial.__setstate__(holder, (*parts, vars(holder)))  # type: ignore[attr-defined]


def _in_error(holder: BaseException, others: Others) -> None:
    holder.args = others.get(id(holder.args), holder.args)
    _in_dict(vars(holder), others)


def _of_tuple(holder: tuple[Any, ...], others: Others) -> Any:
    return tuple.__new__(type(holder), [others.get(id(x), x) for x in holder])


def _of_set(holder: frozenset[Any], others: Others) -> Any:
    return type(holder)([others.get(id(x), x) for x in holder])


def _of_method(holder: MethodType, others: Others) -> Any:
    return MethodType(*[others.get(id(x), x) for x in (holder.__func__, holder.__self__)])


def _of_static(holder: Any, others: Others) -> Any:
    return type(holder)(others.get(id(holder.__func__), holder.__func__))


_WAYS: dict[type, Callable[[Any, Others], Any]] = {
    dict: _in_dict, list: _in_list, deque: _in_list, set: _in_set, CellType: _in_cell, FunctionType: _in_function,
    functools.partial: _in_partial, BaseException: _in_error, tuple: _of_tuple, frozenset: _of_set,
    MethodType: _of_method, staticmethod: _of_static, classmethod: _of_static,
}  # fmt: skip
"""By kind of what holds something, how that is exchanged there."""
