"""Which records can still be reached from a living tensor."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from .row import HANDLE, SPEC, WIDTH, X, Y, operands

if TYPE_CHECKING:
    from .wengert import WengertList


def scan(wengert: WengertList) -> tuple[np.ndarray, int]:
    """Mask of the records to keep, and the bytes that the kept ones may hold.

    A handle is alive if something other than rows refers to it.  The rows' own references are
    its HANDLE field and the operand fields of its consumers.
    """
    rows = wengert.rows
    n = len(wengert)
    keep = np.zeros(n, dtype=np.bool_)
    held = 0
    refs = [operands(rows[p * WIDTH + X], rows[p * WIDTH + Y]) for p in range(n)]
    consumers = Counter(id(ref) for row in refs for ref in row if type(ref) is int)
    spare = sys.getrefcount(handle := 1 << 70) - 1
    for p in range(n - 1, -1, -1):
        handle = rows[p * WIDTH + HANDLE]
        if keep[p] or sys.getrefcount(handle) - spare > 1 + consumers[id(handle)]:
            keep[p] = True
            held += getattr(rows[p * WIDTH + SPEC], "nbytes", 0)
            for ref in refs[p]:
                if wengert.owns(ref):
                    keep[wengert.locate(ref)] = True
    return keep, held
