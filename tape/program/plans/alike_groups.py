"""Groups that differ in their records alone, and so have one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..recorded.listing import Listing
from .groups import Group
from .operand_layout import Likeness, likeness_of
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
        like = self._likeness(tier, listing, group, shifts)
        return like is not None and (tier, like.key) in self._known

    def step(
        self, tier: str | None, listing: Listing, group: Group, shifts: Shifts, make: Callable[[], Any]
    ) -> Any:  # fmt: skip
        """The step of a group: that of an equal one, which reads at other places, or a new one."""
        like = self._likeness(tier, listing, group, shifts)
        known = None if like is None else self._known.get((tier, like.key))
        if like is not None and known is not None:
            return known.moved(group, like.places)
        made = make()
        self.steps.append(made)
        if like is None:
            self._first[_look(tier, group)] = listing, group, shifts, made
        else:
            self._known[tier, like.key] = made
        return made

    def _likeness(self, tier: str | None, listing: Listing, group: Group, shifts: Shifts) -> Likeness | None:
        """All that the step of a group depends on; None if no group looks like it."""
        look = _look(tier, group)
        if look not in self._first:
            return None
        if self._first[look] is not None:
            *first, made = self._first[look]
            self._known[tier, likeness_of(*first).key] = made
            self._first[look] = None
        return likeness_of(listing, group, shifts)


def _look(tier: str | None, group: Group) -> Any:
    """What is seen of a group at once."""
    return tier, group.bits, group.shape, len(group.rows), len(group.sources), len(group.targets)
