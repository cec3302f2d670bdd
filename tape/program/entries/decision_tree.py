"""The programs of one kind of call, one for each path that was taken through the function, as a decision tree.

A program ends at the first guard that does not hold; which one that was, and what it gave, leads on to the program that
was recorded then.  Each verifies all its own guards, so the tree may be pruned anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..capture.signature import Fixed, varying
from ..recorded.guards import GuardMissed, same
from ..world.surroundings import Surroundings
from .shortcut import Shortcut

WORTH = 8
"""So many replays pay for recording another path where there are as many as are kept."""


class Path:
    """A program, and where to go on when one of its guards misses."""

    def __init__(self, program: Any):
        self.program, self.shortcut = program, Shortcut()
        self.branches: list[tuple[int, Any, Path]] = []
        self.used_before = 1  # right after it was recorded

    def branch(self, missed: GuardMissed) -> Path | None:
        for index, value, path in self.branches:
            if index == missed.index and same(missed.value, value):
                return path
        return None

    def beyond(self, index: int) -> Path | None:
        """The only path that was recorded where a guard missed; None if there are none, or several."""
        found = [path for i, _, path in self.branches if i == index]
        return found[0] if len(found) == 1 else None

    @property
    def used(self) -> int:
        """How often it was replayed to the end."""
        return self.program.replays - self.program.missed


class Paths:
    """The decision tree of one signature, whose root is `first`.

    Some are for arguments alone that lie in memory in one way (``layout``, see `laid_results.layout_of`), and there are
    ``others`` beside them, none if numbers depend on it (``ordered``); or that require grad, and where it is recorded,
    in one way (``history``, see `signature.history_of`); a tree is ``historic`` if others of that kind stand in its
    place.
    """

    def __init__(self, key: Any, fixed_floats: bool = False, history: Any = None, layout: Any = None) -> None:
        self.tensors = any(type(part) is tuple for part in varying(key))
        self.first: Path | None = None
        self.count = 0
        self.missed = 0
        self.fixed_floats = fixed_floats
        self.eager = False
        self.layout, self.others, self.ordered = layout, 0, False
        self.key, self.history, self.historic = key, history, False
        self.place = key if history is None and layout is None else (key, history, layout)
        self.around: list[Surroundings] = []

    def __iter__(self) -> Iterator[Path]:
        """All paths, each before those that branch off from it."""
        queue = [] if self.first is None else [self.first]
        while queue:
            path = queue.pop(0)
            yield path
            queue += [p for _, _, p in path.branches]

    def forget(self) -> None:
        """Begin anew."""
        self.first, self.count = None, 0

    def watch(self, around: Surroundings) -> None:
        """Be for arguments of which the same is read as was found around the function and in objects among them."""
        self.around.append(around)
        for part in self.key:
            if isinstance(part, Fixed):
                part.around = around if part.around is None else part.around

    def require_identity(self) -> None:
        """Be for just these objects among the arguments."""
        for part in self.key:
            if isinstance(part, Fixed) and part.around is not None:
                part.around.apart = None

    def add(self, path: Path, last: Path | None, missed: GuardMissed | None) -> None:
        """One more path, recorded where a guard of the last one missed."""
        self.count += 1
        if last is None or missed is None or self.first is None:
            self.first = path
        else:
            last.branches.append((missed.index, missed.value, path))

    def run(self, args: Any, kwargs: Any) -> tuple[Any, Path | None]:
        """A call by entries alone, from the root on: its result and the path, or NotImplemented."""
        path = self.first
        while path is not None and path.shortcut.entry is not None:
            found = path.shortcut.entry(args, kwargs)
            if found is not NotImplemented:
                return found, path
            path = path.beyond(path.shortcut.missed())
        return NotImplemented, None

    def replays_since(self) -> int:
        """How often any path was replayed since room was made for one, or was refused."""
        return sum(path.used - path.used_before for path in self)

    def make_room(self, last: Path) -> None:
        """Take away the path that was used least since this was asked before, for one that will hang from the last.

        It is one from which no more than one other hangs, which takes its place.
        """
        above: dict[int, tuple[Path, int]] = {}
        for path in self:
            above |= {id(below): (path, k) for k, (_, _, below) in enumerate(path.branches)}
        others = [p for p in self if len(p.branches) < 2 and p is not last]
        gone = min(others, key=lambda p: p.used - p.used_before, default=last)
        below = [p for _, _, p in gone.branches]
        if gone is self.first:
            self.first = below[0] if below else None
        else:
            path, k = above[id(gone)]
            path.branches[k : k + 1] = [(*path.branches[k][:2], p) for p in below]
        self.count -= 1
        for path in self:
            path.used_before = path.used
