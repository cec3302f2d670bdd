"""When an entry is made: once a program was called so often that it pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...jit.machine.regions import REFUSED
from ..plans.replay import making
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

    __slots__ = ("_regions", "_until", "entry")

    def __init__(self) -> None:
        self.entry: Entry | None = None
        self._regions: Any = None
        self._until = 0, 0, False

    def look(
        self, program: Any, key: Any, call: tuple[Any, Any], around: Sequence[Surroundings] = (),
        as_they_lie: bool = False,
    ) -> None:  # fmt: skip
        """Make the entry if it is time, after a call that went the general way.

        Args:
            key, call: the call's arguments, and what a program for them is for.
            around: what must be unchanged.
            as_they_lie: whether arguments must lie in memory as these do.
        """
        if program.replays < PAYS:
            return
        busy = sum([some.busy for some in around])
        until = program.replay.until, busy, program.said is not None
        if until != self._until:
            self._until = until
            with making("its entry"):
                self.entry, self._regions = entry_of(program, key, call, around, as_they_lie)

    def missed(self) -> int:
        """The number of the guard for which the entry refused a call just now, −1 if that was for something else."""
        found, self._regions[REFUSED] = self._regions[REFUSED] - 1, 0
        return int(found)
