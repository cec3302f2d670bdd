"""Which row is the last to contribute to a leaf that has hooks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...base.tensor import Tensor
from ..machine.workspace import Workspace, address_of
from ..emission.function_of_words import entry


def last_readers(work: Workspace, leaves: Mapping[int, Tensor]) -> dict[int, list[Tensor]]:
    """For each of these leaves, by identity, the last row to contribute to it: by position, the leaves.

    Nothing where another list is reached, from which more may come.
    """
    held = dict(sorted(leaves.items()))
    addresses = np.array(list(held), dtype=np.int64)
    positions = np.full(len(held), -1, dtype=np.int64)
    found: dict[int, list[Tensor]] = {}
    find_readers = entry("mark", "find_readers", 4)
    if not find_readers(work.address, address_of(addresses), len(held), address_of(positions)):
        for leaf, position in zip(held.values(), positions.tolist()):
            if position >= 0:
                found.setdefault(position, []).append(leaf)
    return found
