"""Hooks that refer to their own tensor: how such a tensor is found to be garbage.

A list holds its hooks, and a hook may hold the tensor that it hangs on, which keeps the record
alive that the hook belongs to: nothing would ever let go.  So where only tensors and nodes keep a
record alive, and no other record, what hangs on it is lent to them.  Python's collector then sees
the circle, and the rest dies with it.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

from ..base.row import HANDLE, WIDTH, X, Y
from ..base.tensor import Tensor
from ..base.untraced import COUNTS, UNCOUNTED, untraced
from ..recording.wengert import WengertList, list_of, operands
from .chain import Chain, Hung

MANY = 512
"""From this many records with hooks on, it is worth asking Python's collector who holds them, which takes some time."""


class Loan:
    """Held by the tensors and nodes that keep a record alive, in place of the list.

    When they go, and something else turns out to need the record, the list holds again what hangs on it.
    """

    __slots__ = ("__weakref__", "chain", "handle", "hung")

    def __init__(self, chain: Chain, hung: Hung, handle: int):
        self.chain, self.hung, self.handle = chain, hung, handle
        chain.lend(self)

    def __del__(self) -> None:
        # A collector that has found a circle calls this while the borrowers, who are in it, still hold the loan.
        borrowers = sys.getrefcount(self) - _ALONE
        if _references(self.handle) > borrowers:
            self.chain.take_back(self.hung)


def _references(handle: int) -> int:
    """How many objects hold a record's handle beside its own row."""
    wengert = list_of(handle)
    with wengert.still():
        try:
            position = wengert.locate(handle)
        except RuntimeError:  # the record is gone
            return 0
        return sys.getrefcount(wengert.rows[position * WIDTH + HANDLE]) - UNCOUNTED - 1


class _Probe:
    """Counts as a loan does when its last borrower lets it go."""

    seen = 0

    def __del__(self) -> None:
        _Probe.seen = sys.getrefcount(self)


def _probe() -> int:
    _Probe()
    return _Probe.seen


_ALONE = untraced(_probe)
"""What `sys.getrefcount` says in ``__del__`` of an object that nothing holds any more."""


def lend_hooks(wengert: WengertList) -> bool:
    """Lend what hangs on the records of a thread's own list that only tensors and nodes keep alive, if there is any."""
    rows = wengert.rows
    needed = {ref for p in range(len(wengert)) for ref in operands(*rows[p * WIDTH + X : p * WIDTH + Y + 1])
              if type(ref) is int}  # fmt: skip
    free = [handle for handle, chain in wengert.hooks.items() if handle not in needed and not chain.is_lent]
    if not free or not COUNTS:
        return False
    handles = {h: rows[wengert.locate(h) * WIDTH + HANDLE] for h in free}
    borrowers = _borrowers(handles)
    for h in free:
        references = sys.getrefcount(handles[h]) - UNCOUNTED - 2  # the row's, and that of `handles`
        if borrowers[h] and references == len(borrowers[h]):
            chain = wengert.hooks[h]
            loan = Loan(chain, chain.hung(), h + 1 - 1)
            for holder in borrowers[h]:
                object.__setattr__(holder, "_loan", loan)
    return True


def _borrowers(handles: dict[int, Any]) -> dict[int, list[Any]]:
    """The tensors and nodes that hold these very handles; none of its names outlives the call, and counts as one."""
    found: dict[int, list[Any]] = {h: [] for h in handles}
    for holder in gc.get_referrers(*handles.values()):
        handle = _handle_of(holder)
        if handle is handles.get(handle):
            found[handle].append(holder)
    return found


def _handle_of(holder: Any) -> int:
    """The handle that a tensor or node holds; −1 of anything else."""
    handle = holder._node if isinstance(holder, Tensor) else getattr(holder, "_handle", None)
    return handle if type(handle) is int and hasattr(type(holder), "_loan") else -1
