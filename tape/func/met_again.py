"""What a function kept of a derivative that has been taken, and that a later one meets.

What was taken before the outermost transformation began is known by its leaves (`tape.func.owners`).

What was taken within the same outer derivative is looked for among the records.  Its history leads to the argument of
the earlier derivative, and past that one to what is outside of both; so the outer derivative is right, but to the later
one it is a constant, as if it came of an earlier call.  What the earlier derivative gave back is no such thing, nor is
what sweeps make, which have to do with records of earlier derivatives.

Records of a derivative's function have handles between two bounds, and it has ended when a later one begins.  In a
function that is being recorded it is the numbers of the records of that.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from ..base.location import Location, locate
from ..base.row import CODE, LASTI
from ..recording.functionalising import last_of
from ..recording.level import (
    ProgramRecords,
    begun,
    components,
    keys,
    program_records,
)
from ..recording.wengert import current, key, operands_of, row_of


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
                queue += _operands(k)
        return False


class DerivativesTaken:
    """What was done so far within the outermost transformation that this thread is in, or the function it records.

    Attributes:
        outermost: its depth.
        past: the derivatives that were taken, in the order in which they ended.
        outer: of these, each that is within no other yet.
        cuts: of these, in the same order, those of functions that got arguments without their history, and the keys of
            these arguments.
        sweeps: the bounds of the sweeps that were recorded, which have nothing in common.
        targets: the keys of the arguments of all of these derivatives.
    """

    def __init__(self) -> None:
        self.begin(-1)

    def begin(self, outermost: int) -> None:
        self.outermost = outermost
        self.past: list[Past] = []
        self.outer: list[Past] = []
        self.cuts: list[tuple[Past, set[int]]] = []
        self.sweeps: list[tuple[int, int]] = []
        self.targets: set[int] = set()

    def add(self, past: Past) -> None:
        while self.outer and self.outer[-1].begin >= past.begin:
            self.outer.pop().around = past
        self.outer.append(past)
        self.past.append(past)
        self.targets |= past.targets

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

    def is_within(self, handle: int) -> bool:
        """Whether a record is of the function of a derivative that has ended."""
        at = bisect_left(self.past, handle, key=_end)
        past = self.past[at] if at < len(self.past) else None
        while past is not None and past.begin >= handle:
            past = past.around
        return past is not None

    def has_kept(self, records: Iterable[int]) -> bool:
        """Whether records of the function that is being recorded depend on what was kept of a derivative.

        Eager execution gives such a thing a history that leads to the argument of that, which is nobody's then.
        """
        queue, seen, since = list(records), set[int](), latest()
        while queue:
            k = queue.pop()
            if k in seen or self.is_of_sweep(k):
                continue
            seen.add(k)
            if self.holder(k, since) is not None:
                return True
            if not self.is_within(k):
                queue += _operands(k)
        return False


class Met(NamedTuple):
    """Something that was kept, and the line that computed it."""

    line: Location | None


_end, _end_of_sweep = attrgetter("end"), itemgetter(1)


class _OfThread(threading.local):
    """By thread, what it has taken within the outermost transformation that it is in."""

    def __init__(self) -> None:
        self.taken = DerivativesTaken()


_of_thread = _OfThread()


def _taken() -> DerivativesTaken:
    program = program_records()
    return _of_thread.taken if program is None else _taken_of(program)


def _taken_of(program: ProgramRecords) -> DerivativesTaken:
    if program.taken is None:
        program.taken = DerivativesTaken()
    found: DerivativesTaken = program.taken
    return found


def _taken_here() -> DerivativesTaken | None:
    """What was done so far where this thread is, as that goes on; None outside of all transformations."""
    program = program_records()
    if program is not None:
        return _taken_of(program)
    depths = begun()
    if not depths:
        return None
    taken = _of_thread.taken
    if depths[0] != taken.outermost:
        taken.begin(depths[0])
    return taken


def latest() -> int:
    """The handle of the last record of this thread; as another int, which keeps no record alive."""
    program = program_records()
    return last_of(current()) + 1 - 1 if program is None else program.latest()


def _operands(handle: int) -> list[int]:
    """The keys of the operands of a record, of those that have a history."""
    program = program_records()
    if program is not None:
        return [*program.operands(handle)]
    return [key(ref) for ref in operands_of(handle) if ref is not None]


def _keys(tensors: Iterable[object]) -> set[int]:
    """The keys of tensors' own records and leaves."""
    program = program_records()
    return keys(tensors) if program is None else program.own(part for x in tensors for part in components(x))


def _line(handle: int) -> Location | None:
    program = program_records()
    if program is not None:
        return locate(*program.line(handle))
    row = row_of(handle)
    return locate(row[CODE], row[LASTI])


def is_over(past: Past, targets: Sequence[object], cuts: Sequence[object]) -> None:
    """The function of a derivative has returned.

    Args:
        past: what is known of it.
        targets: its arguments.
        cuts: those that it got without their history.
    """
    past.end = latest()
    if (taken := _taken_here()) is None:
        return
    past.targets = frozenset(k + 1 - 1 for k in _keys(targets))  # other ints, which keep no record
    taken.add(past)
    if cuts:
        taken.cuts.append((past, _keys(cuts)))


def gives(past: Past, result: object) -> None:
    """A derivative gives something back."""
    past.given.update(k + 1 - 1 for k in _keys([result]))  # other ints, which keep no record


class sweeping:
    """While gradients are taken: what is recorded then is no doing of the user's."""

    __slots__ = ("begin", "is_recorded")

    def __init__(self, is_recorded: bool):
        self.is_recorded = is_recorded or program_records() is not None

    def __enter__(self) -> None:
        if self.is_recorded:
            self.begin = latest()

    def __exit__(self, *raised: object) -> None:
        if self.is_recorded and (taken := _taken_here()) is not None:
            taken.add_sweep(self.begin, latest())


def is_taken_here(target: int) -> bool:
    """Whether a key is that of an argument of a derivative that was taken within the same outermost transformation.

    Of what that kept, `met_again` tells.
    """
    taken = _taken_here()
    return taken is not None and target in taken.targets


def kept_of(tensors: Iterable[object], since: int, pasts: Collection[Past]) -> Met | None:
    """What was kept of the functions of some derivatives, if what was computed since a record depends on such a thing.

    What these derivatives gave, and what sweeps make, may depend on their arguments.
    """
    taken = _taken()
    queue, seen = list(_keys(tensors)), set[int]()
    while queue:
        k = queue.pop()
        if k in seen or taken.is_of_sweep(k):
            continue
        seen.add(k)
        if k > since:
            queue += _operands(k)
        elif any(k in past.targets or past.has(k) for past in pasts):
            return Met(_line(k) if k > 0 else None)
    return None


def cut_off(tensors: Iterable[object], since: int) -> Met | None:
    """What was kept of a derivative that was taken since a record, of arguments cut off from their history.

    No gradient flows past these, so that it is a constant to what began with that record.  None if nothing was.
    """
    first, leaves = -1, set[int]()
    for past, cuts in reversed(_taken().cuts):
        if past.end < since:  # as all that had ended before
            break
        if past.begin >= since:
            first = min(past.begin, first) if leaves else past.begin
            leaves.update(cuts)
    if not leaves:
        return None
    queue, seen = list(_keys(tensors)), set[int]()
    while queue:
        k = queue.pop()
        if k > first and k not in seen:
            seen.add(k)
            refs = _operands(k)
            if not leaves.isdisjoint(refs):
                return Met(_line(k))
            queue += refs
    return None


def met_again(tensors: Collection[object], since: int) -> Met | None:
    """What was kept, if what was computed since a record depends on such a thing; else None."""
    taken = _taken()
    if not taken.past or taken.past[0].end > since:
        return None
    if program_records() is None and taken.outermost not in begun()[:1]:
        return None
    queue, seen = list(_keys(tensors)), set()
    while queue:
        k = queue.pop()
        if k in seen or k < 0 or taken.is_of_sweep(k):
            continue
        seen.add(k)
        if k > since:
            queue += _operands(k)
        elif taken.holder(k, since) is not None:
            return Met(_line(k))
    return None
