"""Whose leaves the history of a tensor leads to: those of a derivative that goes on, or nobody's, as one was taken.

What was kept of a derivative that was taken before the outermost transformation began is known by that; of one that
was taken within it, `met_again` tells.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Sequence
from typing import Any

from ..base.location import Location, locate
from ..base.row import CODE, LASTI
from ..base.tensor import Tensor
from ..base.tree import leaves_of
from ..recording.kept_values import tell_of_kept
from ..recording.leaf import VARIABLES
from ..recording.level import Layer, history, is_kept, keys, live, requires_grad
from ..recording.wengert import key, operands_of, row_of
from .met_again import Past, cut_off, is_taken_here, met_again


class Owner:
    """A function that is differentiated, as far as others ask about it.

    Attributes:
        targets: the new tensors, as the sweep looks for them.
        past: what will be known of it when its function has returned.
        seen: records that derivatives within its function have made, and that depend on what is outside of these.
        plain: records that depend on nothing that was kept of an earlier derivative.
        within: by key, the leaves of derivatives that its function took.
        is_running: whether its function has not returned.
    """

    def __init__(self) -> None:
        self.targets: list[Tensor] = []
        self.past = Past()
        self.seen: set[int] = set()
        self.plain: set[int] = set()
        self.within: dict[int, weakref.ref[Tensor]] = {}
        self.is_running = True

    def was_within(self, key: int) -> bool:
        """Whether a key is that of a leaf of a derivative that the function took."""
        return key in self.within and self.within[key]() is not None

    def as_past(self) -> Past:
        """What is known of it, now that its function has returned."""
        self.past.targets = self.past.targets or frozenset(keys(self.targets))
        return self.past


OWNERS: weakref.WeakValueDictionary[int, Owner] = weakref.WeakValueDictionary()
"""By key, whose leaves these are; who has been taken is there no more."""


def is_of_the_past(key: int) -> bool:
    """Whether a key is that of a leaf of a derivative that has been taken."""
    return key in VARIABLES and key not in OWNERS


def is_nobodys(key: int) -> bool:
    """Whether a key is that of a leaf of a derivative whose function has returned: nothing later is differentiated.

    It may have an owner, as long as there is the pullback of `vjp`, or the like.
    """
    return key in VARIABLES and ((owner := OWNERS.get(key)) is None or not owner.is_running)


def look_for_kept(result: Any, since: int, with_history: bool = False, in_reverse: bool = False) -> None:
    """Tell of what a function returned that was kept of an earlier derivative, in the transformation that called it.

    What has a history is looked through too if asked for: a derivative in reverse mode does so anyway.

    Args:
        since: the last record before the function was called.
        in_reverse: whether there is a sweep, which ends where arguments were cut off from their history.
    """
    tensors = [result] if isinstance(result, Tensor) else [x for x in leaves_of(result) if isinstance(x, Tensor)]
    looked_through = [x for x in tensors if with_history and requires_grad(x)]
    is_old = bool(looked_through) and _leads_back(looked_through)
    if is_old or any(isinstance(x, Layer) and is_kept(x) for x in tensors):
        tell_of_kept(made_last(looked_through) if is_old else None)
    elif (met := met_again(tensors, since) or (cut_off(tensors, since) if in_reverse else None)) is not None:
        tell_of_kept(met.line)


def without_nobodys(x: Any) -> Any:
    """A result of forward mode as the caller gets it: without a history that leads to nobody's leaves alone."""
    if isinstance(x := live(x), Layer):
        return x.through(without_nobodys)
    if x is None or x._node is None:
        return x
    plain = AnyOf(_known_plain())
    for k in history([x], plain):
        if k in plain or (k < 0 and not is_nobodys(k)):
            return x
    return x.detach()


def _known_plain() -> list[set[int]]:
    """What is known to depend on nothing of the past: at all, and within each of the derivatives that go on."""
    return [_plain, *[inner.plain for r in owners_running() if (inner := r()) is not None]]


def _leads_back(tensors: Sequence[Tensor]) -> bool:
    """Whether tensors depend on what was kept of a derivative that was taken before the outermost transformation.

    What depends on nothing of the past is remembered: while all derivatives go on that it depends on.
    """
    plain = _known_plain()
    owners = [None, *[inner for r in owners_running() if (inner := r()) is not None]]
    behind = list(history(tensors, AnyOf(plain) if any(plain) else ()))
    leaves = [k for k in behind if k in VARIABLES]
    if any(is_of_the_past(k) and not is_taken_here(k) for k in leaves):
        return True
    if all((owner := OWNERS.get(k)) is not None and owner in owners for k in leaves):
        depth = max([owners.index(OWNERS.get(k)) for k in leaves], default=0)
        depth = max([depth, *[i for i, known in enumerate(plain) if not known.isdisjoint(behind)]])
        if len(_plain) > MOST_REMEMBERED:
            _plain.clear()
        plain[depth].update(k + 1 - 1 for k in behind if k > 0)  # other ints, which keep no record
    return False


class AnyOf:
    """What is in one of some sets."""

    def __init__(self, sets: Sequence[set[int]]):
        self.sets = sets

    def __contains__(self, k: object) -> bool:
        return any(k in known for known in self.sets)


MOST_REMEMBERED = 1 << 16

_plain: set[int] = set()
"""Records that depend on leaves of the user's alone."""


def made_last(tensors: Sequence[Tensor], leaves: Collection[int] = ()) -> Location | None:
    """The line of the last operation in the history of tensors that came before the first one on some leaves."""
    records = sorted(k for k in history(tensors) if k > 0)
    mine = [k for k in records if any(ref is not None and key(ref) in leaves for ref in operands_of(k))]
    before = [k for k in records if not mine or k < mine[0]]
    return locate(row_of(before[-1])[CODE], row_of(before[-1])[LASTI]) if before else None


class _Running(threading.local):
    def __init__(self) -> None:
        self.owners: list[weakref.ref[Owner]] = []


_running = _Running()


def owners_running() -> list[weakref.ref[Owner]]:
    """The derivatives whose functions run in this thread, from the outermost on."""
    return _running.owners
