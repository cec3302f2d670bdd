"""Records at Python's own collections: after ``gc.collect()`` what no tensor can reach is gone.

A list lets go of dead records now and then, while others are appended.  Whoever collects garbage
expects it to happen then, and circles through a list, of a hook that holds its own tensor or of a ctx that reaches
its own output, are seen by the collector only when what hangs on the record has been lent out.
"""

from __future__ import annotations

import atexit
import gc
import sys
from _thread import get_ident
from types import FrameType
from typing import Any

from ..base.location import in_library
from ..recording.wengert import LISTS
from .circles import Lent, lend
from .lending import lend_hooks

FULL = 2
"""The oldest generation: collections of the younger ones come too often to look through a list."""
INCREMENTAL = sys.version_info >= (3, 14) and gc.get_threshold()[2] == 0
"""Whether the oldest generation is collected in pieces, as CPython 3.14 began to: each is told of as generation 1, and
2 are those that somebody asked for."""
PIECES = 100
"""So many pieces stand for a full collection: as many as there are collections between two full ones elsewhere."""
LENT: list[Lent] = []
"""What belongs to tensors in place of a list while a collection is under way."""
FEW = 64
"""Up to so many records with hooks on, asking the collector who holds them takes as long as the collection itself."""


def at_work(frame: FrameType | None) -> bool:
    """Whether a function of the library is under way, which may be looking at rows, or of Numba, which may compile.

    Numba cannot be entered a second time while it compiles, and the scan of a list may still have to be compiled.
    """
    while frame is not None:
        if in_library(frame.f_code.co_filename) or str(frame.f_globals.get("__name__")).startswith("numba."):
            return True
        frame = frame.f_back
    return False


class _Pieces:
    """How many pieces of the oldest generation were collected since that was taken for a full collection."""

    seen = 0


def is_due(phase: str, generation: int) -> bool:
    """Whether the collection of a piece, which begins or ends, stands for a full one."""
    if not INCREMENTAL or generation == 0:
        return False
    _Pieces.seen += phase == "start"
    if _Pieces.seen >= PIECES and phase == "stop":
        _Pieces.seen = 0
        return True
    return _Pieces.seen >= PIECES


def collect(phase: str, info: dict[str, Any]) -> None:
    """Drop the dead records of this thread when a full collection begins, and those that it has set free when it ends.

    Not in the middle of the library's own work, or of Numba's: a collection may begin wherever memory is allocated.
    """
    if info["generation"] < FULL and not is_due(phase, info["generation"]):
        return
    while LENT:
        LENT.pop().give_back()
    wengert = LISTS.get(get_ident())
    if wengert is None or not wengert.rows or at_work(sys._getframe(1)):
        return
    wengert.scan(collecting=True)
    if phase == "start" and 0 < len(wengert.hooks) <= FEW and not wengert.busy:
        lend_hooks(wengert)
    if phase == "start" and wengert.entangled and not wengert.busy and (lent := lend(wengert)) is not None:
        LENT.append(lent)


gc.callbacks.append(collect)
atexit.register(gc.callbacks.remove, collect)
