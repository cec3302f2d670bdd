"""The places that doors stand in: names, cells, and what holds a function of NumPy's or SciPy's.

In the place of a tuple or a partial, which cannot be changed, stands another one (`named_places.replaced`).
"""

from __future__ import annotations

import copy
import functools
from collections import deque
from collections.abc import Callable, Container
from types import MemberDescriptorType, MethodType
from typing import Any

Place = tuple[Any, Any]
"""What holds something, and where: a dict or list and a key, a class or function and an attribute, an object and the
descriptor of a slot, a cell and None."""


class Door(functools.partial[Any]):
    """A door that may be kept: it equals the function that it stands for, is printed, pickled and looked up as that.

    The user's code gets one where it does not call the function there and then, one for each function while any stand.
    One that is still kept when they are taken back is sought, and the function itself put there
    (`tape.numpy.names.outlived`); where that cannot be, what is kept goes on calling the function.

    Attributes:
        inside: what the door leads to, whoever calls it.
    """

    inside: Any
    __wrapped__: Any

    def __init__(self, door: Callable[..., Any]):
        functools.update_wrapper(self, door)
        self.__wrapped__ = door.__wrapped__  # type: ignore[attr-defined]

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __eq__(self, other: Any) -> bool:
        return other is self or (other.__wrapped__ if type(other) is Door else other) is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __get__(self, thing: Any, kind: Any = None) -> Any:
        is_method = thing is not None and hasattr(type(self.__wrapped__), "__get__")
        return MethodType(self, thing) if is_method else self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, copied: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        return copy.copy, (self.__wrapped__,)


LENT: dict[int, Door] = {}
"""By identity of a door, the one that is given to who may keep it; while doors stand."""


def lent(door: Any) -> Door:
    """A door, as who may keep it gets it."""
    return LENT.get(id(door)) or LENT.setdefault(id(door), Door(door))


MISSING = object()


def read(place: Place) -> Any:
    """What is in a place, `MISSING` if nothing; None in a cell that is empty."""
    space, name = place
    if name is None:
        try:
            return space.cell_contents
        except ValueError:
            return None
    if isinstance(space, dict):
        return space.get(name, MISSING)
    if isinstance(space, (list, deque)):
        return space[name] if name < len(space) else MISSING
    if type(name) is MemberDescriptorType:
        try:
            return name.__get__(space)
        except AttributeError:
            return MISSING
    return vars(space).get(name, MISSING) if isinstance(space, type) else getattr(space, name)


def are_the_same(places: list[tuple[Place, int]]) -> bool:
    """Whether places still have the same things in them, by identity."""
    return all(id(read(place)) == thing for place, thing in places)


def put(place: Place, value: Any) -> None:
    """Put something there, or nothing if it is `MISSING`."""
    space, name = place
    if name is None:
        space.cell_contents = value
    elif type(name) is MemberDescriptorType:
        name.__set__(space, value)
    elif not isinstance(space, (dict, list, deque)):
        setattr(space, name, value)
    elif value is not MISSING:
        space[name] = value
    elif isinstance(space, dict):
        space.pop(name, None)


def exchange(place: Place, before: Any, after: Any) -> None:
    """Put something in the place of what is there, unless the user's code has put something else there meanwhile."""
    if read(place) is before:
        put(place, after)


def take_out(place: Place, door: Any, there: Any) -> None:
    """Put back what was there; of a dict or a list wherever the user's code has moved the door in it."""
    space = place[0]
    if read(place) is door:
        put(place, there)
    elif isinstance(space, (dict, list, deque)) and there is not MISSING:
        for key, value in list(space.items() if isinstance(space, dict) else enumerate(space)):
            if value is door:
                space[key] = there


class Taken:
    """The places that doors stand in, and who records with them.

    A place is the user's own, and everybody reads the same there.  It has its original back while all who record with
    it import or compile.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[int, Any], tuple[Place, Any, Any, dict[int, set[int]]]] = {}
        """By place: itself, what it is without the door, the door, and by thread the recordings that hold it."""

    def take(
        self, place: Place, ident: int, owner: Any, closed: Container[int], door_for: Callable[[Place, Any], Any]
    ) -> None:
        """Put the door in a place, if there is an original or somebody's door already."""
        key = id(place[0]), place[1]
        if key not in self.held:
            there = read(place)
            door = door_for(place, there)
            if door is None:
                return
            self.held[key] = place, there, door, {}
        _, _, door, holders = self.held[key]
        holders.setdefault(ident, set()).add(id(owner))
        if ident not in closed:
            exchange(place, self.held[key][1], door)

    def give_back(self, place: Place, ident: int, owner: Any) -> None:
        """A recording holds a place no more, if it ever did."""
        _, _, _, holders = self.held.get((id(place[0]), place[1]), (None, None, None, {}))
        holders.get(ident, set()).discard(id(owner))
        if not holders.get(ident):
            self._let_go(place, ident)

    def _let_go(self, place: Place, ident: int) -> None:
        key = id(place[0]), place[1]
        if key not in self.held:
            return
        _, there, door, holders = self.held[key]
        holders.pop(ident, None)
        if not holders:
            take_out(place, door, there)
            del self.held[key]

    def leave(self, ident: int) -> None:
        """A thread holds nothing any more."""
        for place, _, _, holders in list(self.held.values()):
            if ident in holders:
                self._let_go(place, ident)

    def without_door(self, place: Place) -> Any:
        """What a place has, or will have again: another recording of the same function may have put a door there."""
        key = id(place[0]), place[1]
        while True:
            held, there = self.held.get(key), read(place)
            if self.held.get(key) is held:
                return held[1] if held is not None and there is held[2] else there

    def without_doors(self, places: list[Place]) -> list[Any]:
        """The same of some places."""
        return [self.without_door(place) for place in places]

    def shown(self) -> list[tuple[Any, Any]]:
        """The doors that stand where somebody's code names an original: that, and the door."""
        return [(there, door) for place, there, door, _ in list(self.held.values()) if read(place) is door]

    def show(self, closed: Container[int]) -> None:
        """Put the door in each place that somebody holds who is not `closed`, and the original in the others."""
        for place, there, door, holders in self.held.values():
            exchange(place, *((door, there) if all(ident in closed for ident in holders) else (there, door)))


TAKEN = Taken()
