"""What a function kept of a derivative that has been taken within the same outer one, and that a later one meets.

Its history leads to the argument of the earlier derivative, and past that one to what is outside of both; so the outer
derivative is right, but to the later one it is a constant, as if it came of an earlier call.  What the earlier
derivative gave back is no such thing, nor is what sweeps make, which have to do with records of earlier derivatives.

Records of a derivative's function have handles between two bounds, and it has ended when a later one begins.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Collection, Sequence
from operator import attrgetter, itemgetter

from ..recording.functionalising import last_of
from ..recording.level import begun, keys
from ..recording.wengert import current, key, operands_of


class Past:
    """A derivative that has been taken.

    Attributes:
        begin, end: the last records before its function began, and when it had returned.
        targets: the keys of its function's arguments.
        given: the keys of what it gave back.
        around: the one that was taken around it, once that has ended too.
    """

    __slots__ = ("around", "begin", "end", "given", "targets")

    def __init__(self) -> None:
        self.begin, self.end = latest(), -1
        self.around: Past | None = None
        self.targets: frozenset[int] = frozenset()
        self.given: set[int] = set()

    def has(self, handle: int) -> bool:
        """Whether a record is of its function, depends on the arguments, and was not given back."""
        return self.begin < handle <= self.end and handle not in self.given and self._depends(handle)

    def _depends(self, handle: int) -> bool:
        queue, seen = [handle], set()
        while queue:
            k = queue.pop()
            if k in self.targets:
                return True
            if k > self.begin and k not in seen:
                seen.add(k)
                queue += [key(ref) for ref in operands_of(k) if ref is not None]
        return False


class _Within(threading.local):
    """What was done so far within the outermost transformation that this thread is in.

    Attributes:
        outermost: its depth.
        past: the derivatives that were taken, in the order in which they ended.
        outer: of these, each that is within no other yet.
        sweeps: the bounds of the sweeps that were recorded, which have nothing in common.
    """

    def __init__(self) -> None:
        self.begin(-1)

    def begin(self, outermost: int) -> None:
        self.outermost = outermost
        self.past: list[Past] = []
        self.outer: list[Past] = []
        self.sweeps: list[tuple[int, int]] = []

    def add(self, past: Past) -> None:
        while self.outer and self.outer[-1].begin >= past.begin:
            self.outer.pop().around = past
        self.outer.append(past)
        self.past.append(past)

    def add_sweep(self, begin: int, end: int) -> None:
        while self.sweeps and self.sweeps[-1][0] >= begin:
            self.sweeps.pop()
        self.sweeps.append((begin, end))

    def is_of_sweep(self, handle: int) -> bool:
        at = bisect_left(self.sweeps, handle, key=_end_of_sweep)
        return at < len(self.sweeps) and self.sweeps[at][0] < handle

    def holder(self, handle: int, since: int) -> Past | None:
        """The derivative that had ended then, and kept a record to itself; None if there is none."""
        at = bisect_left(self.past, handle, key=_end)
        past = self.past[at] if at < len(self.past) else None
        while past is not None and past.end <= since:
            if past.has(handle):
                return past
            past = past.around
        return None


_end, _end_of_sweep = attrgetter("end"), itemgetter(1)


_within = _Within()


def latest() -> int:
    """The handle of the last record of this thread; as another int, which keeps no record alive."""
    return last_of(current()) + 1 - 1


def is_over(past: Past, targets: Sequence[object]) -> None:
    """The function of a derivative has returned."""
    outermost = (*begun(), -1)[0]
    if outermost != _within.outermost:
        _within.begin(outermost)
    if outermost < 0:
        return
    past.end, past.targets = latest(), frozenset(keys(targets))
    _within.add(past)


class sweeping:
    """While gradients are taken: what is recorded then is no doing of the user's."""

    __slots__ = ("begin", "is_recorded")

    def __init__(self, is_recorded: bool):
        self.is_recorded = is_recorded

    def __enter__(self) -> None:
        if self.is_recorded:
            self.begin = latest()

    def __exit__(self, *raised: object) -> None:
        if self.is_recorded and _within.past:
            _within.add_sweep(self.begin, latest())


def taken_since(target: int, since: int) -> bool:
    """Whether a key is that of an argument of a derivative that has been taken since a record."""
    return any(past.begin >= since and target in past.targets for past in reversed(_within.past))


def met_again(tensors: Collection[object], since: int) -> int | None:
    """The record of something that was kept, if what was computed since a record depends on such a thing; else None."""
    if not _within.past or _within.past[0].end > since or _within.outermost not in begun()[:1]:
        return None
    queue, seen = list(keys(tensors)), set()
    while queue:
        k = queue.pop()
        if k in seen or k < 0 or _within.is_of_sweep(k):
            continue
        seen.add(k)
        if k > since:
            queue += [key(ref) for ref in operands_of(k) if ref is not None]
        elif _within.holder(k, since) is not None:
            return k
    return None
