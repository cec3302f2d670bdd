"""When a program gets an entry: when it was called so often that making one has paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..world.surroundings import Surroundings
from .conditions import Entry
from .entry import entry_of

PAYS = 250
"""Calls that take the general way before an entry is made: they cost what making it costs."""


class Shortcut:
    """The entry to a program for one kind of call: made when it pays, and again when the program was compiled again.

    Attributes:
        entry: takes a call's arguments, and gives its result or NotImplemented; None if there is none so far.
    """

    __slots__ = ("_until", "entry")

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self._until = 0, 0

    def look(self, program: Any, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings] = ()) -> None:
        """Make the entry if it is time, after a call that went the general way.

        Args:
            key, call: the call's arguments, and what a program for them is for.
            around: what must be unchanged.
        """
        if program.replays < PAYS:
            return
        busy = sum([some.busy for some in around])
        if (program.replay.until, busy) != self._until:
            self._until = program.replay.until, busy
            self.entry = entry_of(program, key, call, around)
