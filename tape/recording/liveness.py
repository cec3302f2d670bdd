"""Which records can still be reached from a living tensor.

A handle is alive if something other than rows refers to it.  The rows' own references are its
HANDLE field and the operand fields of its consumers, so reference counts tell; a record that a
living one depends on is kept too.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any, Protocol

import numpy as np

from ..base.jit_door import SCANS, jitted
from ..base.row import HANDLE, SPEC, WIDTH
from ..base.untraced import COUNTS, UNCOUNTED


class ScannedList(Protocol):
    """What a scan asks of a list."""

    rows: list[Any]
    shift: int
    number: int

    def __len__(self) -> int: ...
    def locate(self, handle: int) -> int: ...
    def operands_at(self, position: int) -> tuple[Any, ...]: ...
    def owns(self, ref: Any) -> bool: ...


PER_RECORD = 3e-6
"""Seconds that a scan in Python takes for each record."""


def scan(wengert: ScannedList, collecting: bool = False) -> tuple[np.ndarray, int]:
    """Mask of the records to keep, and the bytes that the kept ones may hold.

    While Python collects garbage nothing is imported or compiled: it may be parsing at that moment, and its parser
    does not bear another one inside (CPython 3.11: "AST constructor recursion depth mismatch").
    """
    if not COUNTS:
        return np.ones(len(wengert), np.bool_), sum(map(_bytes_of, wengert.rows[SPEC::WIDTH]))
    if SCANS.defers(len(wengert) * PER_RECORD) or (collecting and not SCANS.settled):
        return scan_in_python(wengert)
    room = jitted("driving.dead_rows")
    if room is None:
        return scan_in_python(wengert)
    found: tuple[np.ndarray, int] = room.scan_rows(wengert)
    if not SCANS.settled:
        SCANS.settle()
    return found


def scan_in_python(wengert: ScannedList) -> tuple[np.ndarray, int]:
    """The same without reading memory: slower, and what the jitted scan is tested against."""
    rows = wengert.rows
    n = len(wengert)
    keep = np.zeros(n, dtype=np.bool_)
    held = 0
    consumers = Counter(id(ref) for p in range(n) for ref in wengert.operands_at(p) if type(ref) is int)
    for p in range(n - 1, -1, -1):
        start = p * WIDTH
        references = sys.getrefcount(rows[start + HANDLE]) - UNCOUNTED
        if keep[p] or references > 1 + consumers[id(rows[start + HANDLE])]:
            keep[p] = True
            held += _bytes_of(rows[start + SPEC])
            for ref in wengert.operands_at(p):
                if wengert.owns(ref):
                    keep[wengert.locate(ref)] = True
    return keep, held


def _bytes_of(spec: Any) -> int:
    """About how many bytes a value of a spec holds: a word for each number."""
    return 8 * getattr(spec, "size", 0)


def drop_dead(wengert: ScannedList, last: int, collecting: bool) -> tuple[int, int]:
    """Drop the records that nothing refers to now: how many are kept, and the bytes they may hold.

    Args:
        last: the handle of the last record.
        collecting: whether Python is collecting garbage.
    """
    rows = wengert.rows
    keep, held = scan(wengert, collecting)
    kept = int(np.count_nonzero(keep))
    if kept < len(wengert):
        edges = np.flatnonzero(np.diff(keep, prepend=False, append=False)) * WIDTH
        survivors: list[Any] = []
        for start, stop in edges.reshape(-1, 2).tolist():
            survivors += rows[start:stop]
        rows[:] = survivors
    wengert.shift = last + 1 - kept
    return kept, held
