"""Where CPython's objects keep what is watched: looked for in probes, once, and 0 or False where it is not found."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from types import CellType, MemberDescriptorType
from typing import Any

from .contents import MISSING


def places_of(thing: Any, values: list[Any]) -> list[int]:
    """Where an object points to each of these, 0 if that is not found."""
    held = [pointer(id(thing) + 8 * k).value for k in range(2, type(thing).__basicsize__ // 8)]
    return [8 * (2 + held.index(id(x))) if held.count(id(x)) == 1 else 0 for x in values]


def _function_places() -> dict[str, int]:
    def probe(a: Any = [], *, b: Any = []) -> None:  # noqa: B006
        """Has defaults of both kinds."""

    names = (
        "__code__", "__defaults__", "__kwdefaults__", "__dict__", "__name__", "__qualname__", "__doc__", "__module__",
        "__annotations__",
    )  # fmt: skip
    return dict(
        zip(names, places_of(probe, [getattr(probe, name) for name in names]) if POINTERS else [0] * len(names))
    )


def _title_places() -> dict[str, int]:
    probe = type("Probe", (), {"__qualname__": "Some.Probe"})
    names = ("__name__", "__qualname__")
    return dict(zip(names, places_of(probe, [getattr(probe, name) for name in names]) if POINTERS else [0, 0]))


def _set_place() -> int:
    """Where in a set stands how many things there are, 0 if that is not found: another word counts removed ones too."""
    probe = set(range(7))
    probe -= {1, 2}
    words = [pointer(id(probe) + 8 * k).value for k in range(2, set.__basicsize__ // 8)]
    return 8 * (2 + words.index(len(probe))) if words.count(len(probe)) == 1 else 0


class _Slotted:
    """A class whose slots are looked for."""

    __slots__ = ("a", "b", "c")


def slot_place(member: Any) -> int:
    """How far into an object a member of its class keeps a reference, as CPython's descriptors say; 0 if it keeps none.

    A descriptor has, behind what all descriptors have, the address of a definition, in which the kind of member stands,
    and its place.
    """
    definition = pointer(id(member) + DEFINITION).value
    kind = ctypes.c_int.from_address(definition + 8).value
    return pointer(definition + 16).value if kind == REFERENCE else 0


def _slots_hold() -> bool:
    """Whether objects keep what is in their slots where that says: asked only of descriptors that look as expected."""
    probe, members = _Slotted(), [vars(_Slotted)[name] for name in "abc"]
    if not POINTERS or MemberDescriptorType.__basicsize__ != DEFINITION + 8:
        return False
    if any(pointer(id(member) + 16).value != id(_Slotted) for member in members):  # nor are they of this class
        return False
    probe.a, probe.c = object(), MISSING  # type: ignore[attr-defined]
    places = map(slot_place, members)
    held = [pointer(id(probe) + place).value for place in places if 0 < place < _Slotted.__basicsize__]
    return held == [id(probe.a), 0, id(MISSING)]  # type: ignore[attr-defined]


class _Ordered:
    """A class whose order of bases is looked for."""


pointer = ctypes.c_size_t.from_address
TYPE, MANAGED = 8, -24
"""Where objects point to their types, and before themselves to their attributes."""
POINTERS = sys.implementation.name == "cpython" and pointer(id(MISSING) + TYPE).value == id(type(MISSING))
"""Whether objects are where their identities say, and point to their types."""
FUNCTION = _function_places()
TITLES = _title_places()
USED = _set_place() if POINTERS else 0
"""Where a set says how many things are in it."""
DEFINITION, REFERENCE = 40, 16
"""Where a descriptor points to its definition; CPython's number of members that are references, or nothing."""
SLOTS = _slots_hold()
ORDER = places_of(_Ordered, [_Ordered.__mro__])[0] if POINTERS else 0
CONTENT = places_of(CellType(MISSING), [MISSING])[0] if POINTERS else 0


TAG, VALUES = 24, 40
"""Where a dict has its count of changes, and points to its values."""
count_at = ctypes.c_uint64.from_address


def _put(thing: Any) -> None:
    thing.a = object()


def _counts(change: Callable[[Any], object], thing: Any, space: dict[str, Any]) -> bool:
    """Whether a dict counts each of many changes: Python goes other ways when it has made some."""
    seen = {count_at(id(space) + TAG).value}
    for _ in range(TIMES):
        change(thing)
        seen.add(count_at(id(space) + TAG).value)
    return len(seen) == TIMES + 1


TIMES = 40


def _tags_hold() -> bool:
    """Whether dicts count their changes where they are looked for (PEP 509): up to CPython 3.13 they do."""
    probe: dict[str, int] = {"a": 1}
    seen = {count_at(id(probe) + TAG).value}
    for change in (lambda: probe.update(a=2), lambda: probe.pop("a"), lambda: probe.update(b=1), probe.clear):
        change()
        seen.add(count_at(id(probe) + TAG).value)
    return len(seen) == 5 and _counts(lambda space: space.update(a=object()), probe, probe)


def _attributes_count() -> bool:
    """Whether that holds of attributes: CPython 3.13 writes those that lie in their object past the object's dict."""
    thing = _thing()
    space = vars(thing)
    return _counts(_put, thing, space) and _counts(lambda x: setattr(x, "a", object()), thing, space)


def _told_apart() -> bool:
    """Whether a dict has the address of its values where it is looked for, if they lie in an object, and 0 if not."""
    return count_at(id({"a": 1}) + VALUES).value == 0 != count_at(id(vars(_thing())) + VALUES).value


def _thing() -> Any:
    thing = type("Thing", (), {})()
    _put(thing)
    return thing


IN_OBJECTS = dict.__basicsize__ == 48 and _attributes_count()
TAGS = dict.__basicsize__ == 48 and _tags_hold() and (IN_OBJECTS or _told_apart())
"""Whether dicts count their changes, those of attributes that lie in an object included, and the others."""
