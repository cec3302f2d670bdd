"""Circles through what custom functions keep: how a ctx that reaches an output of its own function is garbage.

A list holds the ctx of each record, and a ctx may hold a tensor that keeps records alive, its own among them:
nothing would ever let go.  So while Python's collector is at work each such ctx belongs not to the list but to the
tensors and nodes whose records lead to it, and the collector sees the circle.  What is alive after that is put back.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections import Counter, defaultdict
from typing import Any

from ..base.row import HANDLE, OP, PARAMS, WIDTH, X, Y, operands
from ..base.tensor import Tensor
from ..base.untraced import UNCOUNTED
from ..recording.recorder import CUSTOM
from ..recording.wengert import WengertList
from .hooks import copy_of
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
