"""Records at Python's own collections: after ``gc.collect()`` what no tensor can reach is gone.

A list lets go of dead records now and then, while others are appended.  Whoever collects garbage
expects it to happen then, and circles through a list, of a hook that holds its own tensor or of a ctx that reaches
its own output, are seen by the collector only when what hangs on the record has been lent out.

A list holds the ctx of each record of a custom function, and a ctx may hold a tensor that keeps records alive, its own
among them: nothing would ever let go.  So while the collector is at work each such ctx belongs not to the list but
to the tensors and nodes whose records lead to it, and the collector sees the circle.  What is alive after that is put
back.
"""

from __future__ import annotations

import atexit
import gc
import sys
import weakref
from _thread import get_ident
from collections import Counter, defaultdict
from types import FrameType
from typing import Any

from ..base.location import in_library
from ..base.row import HANDLE, OP, PARAMS, WIDTH, X, Y
from ..base.tensor import Tensor
from ..base.untraced import UNCOUNTED
from ..recording.recorder import CUSTOM
from ..recording.wengert import LISTS, WengertList, operands
from .hooks import copy_of, lend_hooks
from .keeping import Keeper
from .node import Node

HANDLE_OF_TENSOR, HANDLE_OF_NODE = Tensor.__dict__["_node"].__get__, Node.__dict__["_handle"].__get__


class Carrier:
    """What a record keeps alive, itself and through those before it: given to the tensors that keep it alive.

    Attributes:
        params: those of the record, in which its ctx is; None where it has none of interest.
        before: the carriers of the records that it depends on.
        loan: what the tensor or node held in this place.
    """

    __slots__ = ("__weakref__", "before", "loan", "params")

    def __init__(self, before: list[Carrier], params: Any = None, loan: Any = None):
        self.before, self.params, self.loan = before, params, loan


class Away:
    """Stands for a ctx while it is lent, for finalizers and for other threads, which may run meanwhile."""

    __slots__ = ("carrier",)

    def __init__(self, carrier: Carrier):
        self.carrier = weakref.ref(carrier)

    def __getattr__(self, name: str) -> Any:
        carrier = self.carrier()
        if carrier is None:
            raise RuntimeError(
                "a custom function's record was used after the garbage collector had found that nothing holds it: in a "
                "finalizer of what its ctx kept.\nUse its outputs before they are let go of."
            )
        return getattr(carrier.params[0], name)


class Lent:
    """What was taken from a list for the time of one collection.

    Attributes:
        rows: for each record whose ctx was taken, its handle and what stands for it there.
        holders: the tensors and nodes that hold a carrier now.
        roots: carriers of records that something unknown keeps alive, and so all that they keep.
    """

    def __init__(self, wengert: WengertList):
        self.wengert = wengert
        self.rows: list[tuple[int, Away]] = []
        self.holders: list[weakref.ref[Any]] = []
        self.roots: list[Carrier] = []

    def give_back(self) -> None:
        """Put back what the collector has left."""
        rows, locate = self.wengert.rows, self.wengert.locate
        for handle, away in self.rows:
            carrier = away.carrier()
            if carrier is not None and self.wengert._holds(handle):
                rows[locate(handle) * WIDTH + PARAMS] = carrier.params
        for holder in [found for found in [ref() for ref in self.holders] if found is not None]:
            object.__setattr__(holder, "_loan", holder._loan.loan)


def lend(wengert: WengertList) -> Lent | None:
    """Give every ctx that may hold a tensor to those who keep its record alive, if there is one."""
    carriers = _carriers(wengert)
    if not carriers:
        return None
    lent = Lent(wengert)
    _give_away(wengert, carriers, lent)
    rows = wengert.rows
    for position, carrier in carriers.items():
        if carrier.params is not None and carrier.params is rows[position * WIDTH + PARAMS]:
            away = Away(carrier)
            lent.rows.append((copy_of(rows[position * WIDTH + HANDLE]), away))
            rows[position * WIDTH + PARAMS] = (away,)
    return lent


def _carriers(wengert: WengertList) -> dict[int, Carrier]:
    """The carriers of the records, by position, that have a ctx of interest or depend on one that does."""
    rows, found = wengert.rows, dict[int, Carrier]()
    for position, code in enumerate(rows[OP::WIDTH]):
        start = position * WIDTH
        ctx = rows[start + PARAMS][0] if code == CUSTOM.code else None
        kept = isinstance(ctx, Keeper) and ctx._entangled()
        if not kept and not found:
            continue
        refs = [r for r in operands(*rows[start + X : start + Y + 1]) if wengert.owns(r)]
        before = {id(c): c for c in [found.get(wengert.locate(r)) for r in refs] if c is not None}
        if kept:
            found[position] = Carrier(list(before.values()), rows[start + PARAMS])
        elif before:
            found[position] = next(iter(before.values())) if len(before) == 1 else Carrier(list(before.values()))
    return found


def _give_away(wengert: WengertList, carriers: dict[int, Carrier], lent: Lent) -> None:
    """Let the tensors and nodes that keep records alive hold their carriers."""
    rows = wengert.rows
    places = {id(rows[p * WIDTH + HANDLE]): p for p in carriers}
    consumers = Counter(
        id(r) for p in range(len(wengert)) for r in operands(*rows[p * WIDTH + X : p * WIDTH + Y + 1]) if type(r) is int
    )
    holders = _holders(places)
    for position, carrier in carriers.items():
        number = id(rows[position * WIDTH + HANDLE])
        others = sys.getrefcount(rows[position * WIDTH + HANDLE]) - UNCOUNTED - 1 - consumers[number]
        if others != len(holders[position]):
            lent.roots.append(carrier)
            continue
        for holder in holders[position]:
            before = getattr(holder, "_loan", None)
            object.__setattr__(holder, "_loan", Carrier([carrier], None, before))
            lent.holders.append(weakref.ref(holder))


def _holders(places: dict[int, int]) -> defaultdict[int, list[Any]]:
    """The tensors and nodes that hold a handle, by the position of its record."""
    found: defaultdict[int, list[Any]] = defaultdict(list)
    for thing in gc.get_objects():
        kind = type(thing)
        getter: Any = HANDLE_OF_TENSOR if issubclass(kind, Tensor) else HANDLE_OF_NODE
        if getter is HANDLE_OF_TENSOR or issubclass(kind, Node):
            try:
                position = places.get(id(getter(thing)))
            except AttributeError:  # a layer of a transformation has no place of its own
                continue
            if position is not None:
                found[position].append(thing)
    return found


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
