"""The Wengert list: one flat list of fields per thread, a row of `WIDTH` fields per record.

A record is appended by a single ``extend``, so it is there whole or not at all.  Its number, the
*handle*, is one int object shared by the row and by the tensor that the record made:

* handles ascend, so the list is topologically sorted by construction;
* a handle that only rows still hold belongs to no living tensor, and the record can be reclaimed
  once no living record needs it.  Reference counts say so; nothing else keeps track.

An operand is written as the handle of the record that made it, as the leaf tensor itself, or as
None where no gradient flows.  So a list never holds an intermediate tensor, and leaves belong to
no list and may be shared between threads.
"""

from __future__ import annotations

import bisect
import itertools
import threading
import weakref
from _thread import get_ident
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from ops import Op
from ops.core.registry import OPS

from ..base.location import Location, locate
from ..base.locks import in_child, new_lock
from ..base.row import CODE, HANDLE, LASTI, OP, SPEC, WIDTH, XV, YV, ZV, X, Y
from ..base.spec import Spec
from ..base.tensor import Tensor
from . import liveness

THREAD_SHIFT = 40
ROWS_BETWEEN_SCANS = 1 << 14
BYTES_BETWEEN_SCANS = 1 << 28
HOOKS_BETWEEN_SCANS = 64


class WengertList:
    """The records of one thread, and the thread's recording state.

    Attributes:
        rows: the flat list of fields.
        extend: ``rows.extend``, bound once; while hooks put saved values away, what does that first.
        next: gives the next handle.
        released: the last handle up to which values of records may have been dropped; none of a later record was.
        sweeps: those under way, by identity; rows are not moved or dropped meanwhile.
        recording: whether gradients are on in this thread; `switched` and `stopped` are how often they were switched on
            and off.
        where: code and offset that stand for the user's line while library code records, or None.
        limit: the handle at which the next scan for dead records is due.
        shift: handle minus position, for the records appended since the last scan.
        entangled: whether objects in PARAMS may hold tensors, so that dropping a record may let others go.
        hooks: by handle, what hangs on a record (`tape.history.chain.Chain`).
        task: the backward that this thread is at work on, if any.
        unpacked: why no hooks may put saved values away, or None where they may.
        inferred: how many derivatives are being taken within inference mode, each in another one.
    """

    __slots__ = (
        "__weakref__", "_bytes", "_bytes_limit", "_hooks_limit", "_late", "_lock", "entangled", "extend", "hooks",
        "inferred", "limit", "next", "number", "recording", "released", "rows", "shift", "stopped", "sweeps",
        "switched", "task", "unpacked", "where",
    )  # fmt: skip

    def __init__(self, number: int):
        self.number = number
        self.rows: list[Any] = []
        self.extend: Any = self.rows.extend
        self.next = itertools.count(number << THREAD_SHIFT).__next__
        self.released = -1
        self.recording, self.switched, self.stopped = True, 0, 0
        self.where: tuple[CodeType, int] | None = None
        self.limit = (number << THREAD_SHIFT) + ROWS_BETWEEN_SCANS
        self.sweeps: set[int] = set()
        self.task: Any = None
        self.unpacked: str | None = None
        self.inferred = 0
        self._lock = new_lock()
        self._late: list[Any] = []
        self.entangled = False
        self.hooks: dict[int, Any] = {}
        self.shift = number << THREAD_SHIFT
        self._bytes = 0
        self._bytes_limit = BYTES_BETWEEN_SCANS
        self._hooks_limit = HOOKS_BETWEEN_SCANS

    def __len__(self) -> int:
        return len(self.rows) // WIDTH

    def locate(self, handle: int) -> int:
        """Position of a record: by arithmetic where no row was dropped since, else by bisection."""
        rows = self.rows
        position = handle - self.shift
        if not (0 <= position < len(self) and rows[position * WIDTH] == handle):
            position = bisect.bisect_left(range(len(self)), handle, key=lambda p: rows[p * WIDTH])
            if position == len(self) or rows[position * WIDTH] != handle:
                raise RuntimeError(f"record {handle} is not on its list: this is a bug in tape, please report it")
        return position

    def owns(self, ref: Any) -> bool:
        """Whether an operand is a record of this list, rather than a leaf or another list's record."""
        return type(ref) is int and ref >> THREAD_SHIFT == self.number

    def row(self, position: int) -> list[Any]:
        """The fields of one record."""
        return self.rows[position * WIDTH : (position + 1) * WIDTH]

    def operands_at(self, position: int) -> tuple[Any, ...]:
        """The operands of one record."""
        return operands(*self.rows[position * WIDTH + X : position * WIDTH + Y + 1])

    def record(self, handle: int) -> list[Any]:
        """The fields of the record with a handle."""
        start = self.locate(handle) * WIDTH
        return self.rows[start : start + WIDTH]

    def runs(self, handles: Iterable[int]) -> list[tuple[int, int]]:
        """The positions of records, latest first, as half-open runs of neighbours."""
        found: list[tuple[int, int]] = []
        start = stop = -1
        for p in map(self.locate, handles):
            if p != start - 1:
                if start >= 0:
                    found.append((start, stop))
                stop = p + 1
            start = p
        return [*found, (start, stop)] if start >= 0 else found

    def location(self, position: int) -> Location:
        """The user's line that made a record."""
        row = self.row(position)
        return locate(row[CODE], row[LASTI])

    def account(self, nbytes: int) -> None:
        """Count memory that records may hold, so that large arrays bring the next scan forward."""
        self._bytes += nbytes
        if self._bytes > self._bytes_limit:
            self.scan()

    @property
    def busy(self) -> int:
        """Number of sweeps under way."""
        return len(self.sweeps)

    def enter(self, sweep: object) -> None:
        """A sweep begins: no row moves and no value goes away before it leaves."""
        with self._lock:
            self.sweeps.add(id(sweep))

    def leave(self, sweep: object) -> None:
        """A sweep has ended, if it had begun; the last one lets go of the values that were released meanwhile."""
        with self._lock:
            self.sweeps.discard(id(sweep))
            late, self._late = (self._late, []) if not self.sweeps else ([], self._late)
        del late

    @contextmanager
    def still(self) -> Iterator[None]:
        """While this lasts, no row moves: positions stay valid, whichever thread asks."""
        token = object()
        try:
            self.enter(token)
            yield
        finally:
            try:
                self.leave(token)
            except BaseException:  # an interrupt
                self.leave(token)
                raise

    def release(self, runs: Iterable[tuple[int, int]]) -> None:
        """Drop the saved values of runs [start, stop) of records, after the sweep that consumed them.

        Another sweep of this list may still read them, by address, so they live until none is under way.
        """
        rows = self.rows
        for start, stop in runs:
            self.released = max(self.released, -(-rows[(stop - 1) * WIDTH + HANDLE]))  # an int of its own
            for field in (XV, YV, ZV):
                column = slice(start * WIDTH + field, stop * WIDTH, WIDTH)
                if len(self.sweeps) > 1:
                    self._late.append(rows[column])
                rows[column] = [None] * (stop - start)

    def save_instead(self, place: int, value: Any) -> None:
        """Let a row hold another value than it has saved, while the list is still: a sweep may read that by address."""
        self._late.append(self.rows[place])
        self.rows[place] = value

    def has_many_hooks(self) -> bool:
        """Whether it is time to look for hooks of dead records, because every sweep looks through all hooks."""
        return len(self.hooks) >= self._hooks_limit and LISTS.get(get_ident()) is self and not self.sweeps

    def prune_hooks(self) -> None:
        """Drop the hooks of dead records."""
        self.scan()
        self._hooks_limit = max(HOOKS_BETWEEN_SCANS, 2 * len(self.hooks))

    def scan_if_due(self) -> None:
        """Scan after a sweep; the list of another thread is scanned by that thread alone."""
        rows = self.rows
        if rows and rows[-WIDTH + HANDLE] > self.limit and LISTS.get(get_ident()) is self:
            self.scan()

    def scan(self, collecting: bool = False) -> None:
        """Reclaim the records that no living tensor can reach.

        Only the list's own thread may do this, or one that knows that the thread has ended.

        Args:
            collecting: whether Python is collecting garbage, which may be in the middle of anything.
        """
        with self._lock:
            self._scan(collecting)

    def _scan(self, collecting: bool) -> None:
        rows, n = self.rows, len(self)
        last = self.shift + n - 1  # had no handle been given in vain; of what was dropped, no row tells
        if n:
            last = max(last, -(-rows[-WIDTH + HANDLE]))
        self.limit = last + ROWS_BETWEEN_SCANS
        self._bytes = 0
        if self.sweeps or not n:
            return
        kept, held = liveness.drop_dead(self, last, collecting)
        before = n
        while self.entangled and 0 < kept < before:
            before = kept
            kept, held = liveness.drop_dead(self, last, collecting)
        self.limit = last + max(ROWS_BETWEEN_SCANS, 2 * kept)
        self._bytes_limit = max(BYTES_BETWEEN_SCANS, 2 * held)
        if self.hooks and kept < n:
            self.hooks = {h: f for h, f in self.hooks.items() if self._holds(h)}

    def _holds(self, handle: int) -> bool:
        try:
            self.locate(handle)
        except RuntimeError:
            return False
        return True


LISTS: dict[int, WengertList] = {}
"""The list of each living thread, by thread identifier; a thread's own is made when it first asks `current` for it."""

INFERRING: dict[int, bool] = {}
"""The threads that are in inference mode, and whether gradients would be on without it."""

EVER_INFERRED: list[bool] = []
"""Not empty when a thread has ever been, so that there may be tensors which were made so."""

_by_number: dict[int, WengertList] = {}
_starting = new_lock()
_thread = threading.local()


class _Owner:
    """Held by its thread alone: when the thread ends, so does the owner."""


def current() -> WengertList:
    """The list of this thread."""
    try:
        return LISTS[get_ident()]
    except KeyError:
        return _start(get_ident())


def list_of(handle: int) -> WengertList:
    """The list that a record is on; its thread may have ended."""
    return _by_number[handle >> THREAD_SHIFT]


def operands(x: Any, y: Any) -> tuple[Any, ...]:
    """The operands in the fields X and Y of a row."""
    return x if type(x) is tuple else (x, y)


def op_of(row: list[Any]) -> Op:
    """The op of a record."""
    return OPS[row[OP]]


def key(ref: Any) -> int:
    """Key of an operand among adjoints: a handle, or the (negative) identity of a leaf; of None it is None."""
    return -id(ref) if isinstance(ref, Tensor) else ref


def row_of(handle: int) -> list[Any]:
    """The fields of a record, on whichever list it is."""
    wengert = list_of(handle)
    at = (handle - wengert.shift) * WIDTH
    row = wengert.rows[at : at + WIDTH]  # at once: a list may be scanned between any two looks at it
    if row and row[HANDLE] == handle:
        return row
    if LISTS.get(get_ident()) is wengert:  # only its own thread moves a living thread's rows
        return wengert.record(handle)
    with wengert.still():
        return wengert.record(handle)


def operands_of(handle: int) -> tuple[Any, ...]:
    """The operands of a record, on whichever list it is: handles, leaves, and None for what has no history."""
    row = row_of(handle)
    return operands(row[X], row[Y])


def _start(ident: int) -> WengertList:
    with _starting:
        made = _orphan()
        if made is None:
            made = WengertList(len(_by_number) + 1)
        _by_number[made.number] = LISTS[ident] = made
    _thread.owner = owner = _Owner()
    weakref.finalize(owner, _end, ident, made).atexit = False
    return made


@in_child
def _forget_other_threads() -> None:
    """In a forked process: the other threads are gone, and with them the sweeps that they were at work on."""
    ident = get_ident()
    mine = LISTS.get(ident)
    for other in set(LISTS) - {ident}:
        del LISTS[other]
        INFERRING.pop(other, None)
    for wengert in _by_number.values():
        if mine is None or mine.task is None:
            wengert.sweeps.clear()


def _end(ident: int, ended: WengertList) -> None:
    if LISTS.get(ident) is ended:
        del LISTS[ident]
        INFERRING.pop(ident, None)


def _orphan() -> WengertList | None:
    """The list of an ended thread from which no living tensor can reach a record, ready for another thread.

    It goes on with its handles where it was, so that none is ever given twice.
    """
    threads = set(map(id, list(LISTS.values())))  # what is collected as garbage meanwhile may end a thread
    for orphan in list(_by_number.values()):
        if id(orphan) not in threads:
            orphan.scan()
            if not orphan.rows and not orphan.busy:
                orphan.recording, orphan.where, orphan.task, orphan.hooks = True, None, None, {}
                orphan.extend, orphan.unpacked = orphan.rows.extend, None
                return orphan
    return None


def spec_of_operand(ref: Any) -> Spec | None:
    """Shape and dtype of an operand; None for an op with several results."""
    if isinstance(ref, Tensor):
        return ref._spec
    return row_of(ref)[SPEC]
