"""Which row is the last to contribute to a leaf, so that the leaf's hooks can be called right after it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...base.row import X, Y
from ...base.tensor import Tensor
from ..machine.address import get, load_word, put
from ..machine.jitting import entry
from ..machine.object_layout import TYPE
from .objects import field, operand_at, operand_count, owned
from ..machine.state import FLAG_TABLE, INT_TYPE, LEADS, NONE, POSITION, TARGETED, VISITED
from ..machine.workspace import Workspace, address_of


@entry
def find_readers(state, leaves, count, positions):  # type: ignore[no-untyped-def]
    """Fill `positions` with the first of the visited rows that each leaf is an operand of.

    `leaves` are the addresses of `count` leaves, in ascending order.  True if a row was visited that
    has a record of another list among its operands.
    """
    foreign = False
    mask = LEADS if get(state, TARGETED) else VISITED
    for position in range(get(state, POSITION), -1, -1):
        if get(get(state, FLAG_TABLE), position) & mask:
            x, y = field(state, position, X), field(state, position, Y)
            for i in range(operand_count(state, x)):
                ref = operand_at(state, x, y, i)
                if ref == get(state, NONE) or owned(state, ref):
                    continue
                if load_word(ref + TYPE) == get(state, INT_TYPE):
                    foreign = True
                    continue
                low, high = 0, count
                while low < high:
                    middle = (low + high) >> 1
                    if get(leaves, middle) < ref:
                        low = middle + 1
                    else:
                        high = middle
                if low < count and get(leaves, low) == ref:
                    put(positions, low, position)
    return foreign


def last_readers(work: Workspace, leaves: Mapping[int, Tensor]) -> dict[int, list[Tensor]]:
    """For each of these leaves, by identity, the last row to contribute to it: by position, the leaves.

    Nothing where another list is reached, from which more may come.
    """
    held = dict(sorted(leaves.items()))
    addresses = np.array(list(held), dtype=np.int64)
    positions = np.full(len(held), -1, dtype=np.int64)
    found: dict[int, list[Tensor]] = {}
    if not find_readers(work.address, address_of(addresses), len(held), address_of(positions)):
        for leaf, position in zip(held.values(), positions.tolist()):
            if position >= 0:
                found.setdefault(position, []).append(leaf)
    return found
