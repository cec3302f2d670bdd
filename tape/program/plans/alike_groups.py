"""Groups that differ in their records alone, and so have one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..recorded.listing import Listing
from .groups import Group
from .operand_layout import key_of
from .shifted import Shifts


class AlikeGroups:
    """Steps of groups, found again for groups that have the same kernel.

    What a kernel depends on is put together when a second group looks like the first: mostly none does.

    Attributes:
        steps: those that were made.
    """

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self._first: dict[Any, Any] = {}
        self._known: dict[Any, Any] = {}

    def has(self, tier: str | None, listing: Listing, group: Group, shifts: Shifts) -> bool:
        """Whether there is a step of such a group."""
        key = self._key(tier, listing, group, shifts)
        return key is not None and key in self._known

    def step(
        self, tier: str | None, listing: Listing, group: Group, shifts: Shifts, make: Callable[[], Any]
    ) -> Any:  # fmt: skip
        """The step of a group: that of an equal one, or a new one."""
        key = self._key(tier, listing, group, shifts)
        if key is not None and key in self._known:
            return self._known[key].moved(group)
        made = make()
        self.steps.append(made)
        if key is None:
            self._first[_look(tier, group)] = listing, group, shifts, made
        else:
            self._known[key] = made
        return made

    def _key(self, tier: str | None, listing: Listing, group: Group, shifts: Shifts) -> Any:
        """All that the step of a group depends on; None if no group looks like it."""
        look = _look(tier, group)
        if look not in self._first:
            return None
        if self._first[look] is not None:
            *first, made = self._first[look]
            self._known[tier, key_of(*first)] = made
            self._first[look] = None
        return tier, key_of(listing, group, shifts)


def _look(tier: str | None, group: Group) -> Any:
    """What is seen of a group at once."""
    return tier, group.bits, group.shape, len(group.rows), len(group.sources), len(group.targets)
