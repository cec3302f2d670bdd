"""What a function may read from around it: all of it is watched, or it is known that something cannot be.

A recorded list holds what the function found around itself, so it may be replayed only while all of that is what it
was.  What the function may read is found from what it is (see `looking`).  Whatever is of a kind whose changes cannot
be noticed, and that can change, is a `Doubt`, with the places in the code that would read it: if one of them is
reached while the function is recorded, the function runs as it is.  Nothing is taken to be harmless because it is not
known.

Tensors that it finds are read anew by every replay; other arrays are verified to hold the bytes that they held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from ...base import dtypes
from ...base.tensor import Tensor
from .known import named
from .registered import Registrations
from .watched import (
    BUSY,
    Cell,
    Container,
    One,
    Space,
    WatchedArray,
    WatchedSlot,
)

SETTLED = (int, float, complex, str, bytes, type(None), CodeType, np.generic, np.dtype)


class Unknown(NamedTuple):
    """Something whose changes could not be noticed, and what to call it if its name does not tell."""

    thing: Any
    text: str = ""

    @property
    def name(self) -> str:
        return self.text or named(self.thing)


class Doubt(NamedTuple):
    """Something that must not be read by a function that is recorded.

    Attributes:
        unknown: what it is.
        places: offsets in code objects that read it; None if the function cannot but read it.
    """

    unknown: Unknown
    places: Sequence[tuple[CodeType, int]] | None


class Surroundings:
    """What a function, and those that it may call, may read.

    Attributes:
        spaces: by identity of the dict, where global names, attributes and items are kept.
        cells, slots, facts, containers: what else may change.
        registered: what the user's classes are registered as, if there are any.
        arrays: by identity, those found there.
        tensors, generators, functions: those found there.
        seeded: classes found there whose objects draw random numbers from a seed, if they are given one.
        may_draw: whether code that is not looked into may draw from the generators that all share.
        roots: what was looked at first: the function, and objects that it is given.
        seen: by identity, all that was looked at.
        apart: the identities of what can be got at otherwise than by those objects; None if that is not known.
        names: the attributes that are read of anything.
        asked: which facts about all of Python are among `facts`.
        compares: whether it is asked of two values if they are the same object.
        recognises: whether that is asked of a value and something of a global name that may be an argument.
        doubts: what is not known to stay what it is.
        stale: whether something here was changed, watched or not.
        busy: how many dicts go on changing where it does not count.
    """

    def __init__(self) -> None:
        self.spaces: dict[int, Space] = {}
        self.cells: list[Cell] = []
        self.slots: list[WatchedSlot] = []
        self.facts: list[One] = []
        self.containers: list[Container] = []
        self.registered: Registrations | None = None
        self.arrays: dict[int, WatchedArray] = {}
        self.tensors: list[Tensor] = []
        self.generators: list[Any] = []
        self.functions: list[FunctionType] = []
        self.seeded: list[type] = []
        self.may_draw = self.compares = self.recognises = False
        self.roots: list[Any] = []
        self.seen: dict[int, Any] = {}
        self.apart: set[int] | None = set()
        self.asked: set[str] = set()
        self.names: set[str] = set()
        self.doubts: list[Doubt] = []
        self.stale, self.busy = False, 0
        self._words: WatchedWords | None = None
        self.space(vars(dtypes)).names.add("_default")

    def space(self, mapping: Any, owner: type | None = None) -> Space:
        """The watch over a dict."""
        found = self.spaces.get(id(mapping))
        if found is None:
            found = self.spaces[id(mapping)] = Space(mapping, owner, self.names)
        return found

    def classes(self) -> Registrations:
        """The watch over what classes are registered as."""
        self.registered = self.registered or Registrations()
        return self.registered

    def forget(self) -> None:
        """Watch nothing: there is too much of it, and no recording that it could make stale."""
        self.spaces, self.arrays, self.registered = {}, {}, None
        self.cells, self.slots, self.facts, self.containers = [], [], [], []

    def watched(self) -> Iterator[Any]:
        """All that is watched."""
        yield from self.spaces.values()
        yield from self.cells
        yield from self.slots
        yield from self.facts
        yield from () if self.registered is None else (self.registered,)
        yield from self.containers
        yield from self.arrays.values()

    def unchanged(self) -> bool:
        """Whether all that may be read is what it was."""
        if self.stale:
            return False
        words = self._words = self._words or WatchedWords(self)
        return words.hold() and (not words.others or all(watch.holds() for watch in words.others))

    def put_back(self) -> None:
        """Let all be what it was."""
        for watch in self.watched():
            watch.put_back()

    def settle(self) -> None:
        """After a recording: what is watched is known."""
        self._words = None

    def reads(self, *names: str) -> str | None:
        """The first of some names of which the function, or one that it may call, reads something."""
        spaces = [self.names, *[space.names for space in self.spaces.values()]]
        return next((name for name in names if any(name in space for space in spaces)), None)


class WatchedWords:
    """What is watched, as words in memory: those that hold what they held need no more looking at.

    Attributes:
        others: the watches that no word stands for.
    """

    def __init__(self, around: Surroundings):
        self._around = around
        found = [(watch, watch.word() if isinstance(watch, (Space, One)) else None) for watch in around.watched()]
        self.others = [watch for watch, word in found if word is None]
        self._watches = [watch for watch, word in found if word is not None]
        self._words = [word[0] for _, word in found if word is not None]
        self._before = [word[1] for _, word in found if word is not None]
        around.busy = sum(map(is_busy, self._watches))

    def hold(self) -> bool:
        """Whether what the words stand for is what it was."""
        now = [word.value for word in self._words]
        return now == self._before or all(self._holds(k) for k, value in enumerate(now) if value != self._before[k])

    def _holds(self, k: int) -> bool:
        """Whether a watch holds though its word is another: a dict has changed where it does not count."""
        watch = self._watches[k]
        was_busy = is_busy(watch)
        if not watch.holds():
            return False
        self._around.busy += is_busy(watch) - was_busy
        word = watch.word()
        if word is not None:
            self._before[k] = word[1]
        return True


def is_busy(watch: Space | One) -> bool:
    """Whether a watch is over a dict that goes on changing where it does not count."""
    return isinstance(watch, Space) and watch.busy >= BUSY
