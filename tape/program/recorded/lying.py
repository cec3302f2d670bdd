"""How tensors of a recording would lie in memory, which their first values tell without a guard."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ops.shapes.overwriting import look

from ...memory.storage import Lies, place_in
from .aliases import memory_of
from .traced import Traced


def _lies(self: Traced, lanes: int = 0) -> Iterator[Lies]:
    """How a tensor lies in itself and in its base, where these are in order (see `tape.memory.storage`)."""
    memory, steps = memory_of(self)
    self._trace.ordered = True
    if steps is None:
        first = value = np.asarray(self.value)
    else:
        first = np.asarray(self._trace.value(memory.row) if memory.first is None else memory.first)
        value = np.asarray(look(first, steps))
    place = place_in(value, value, lanes)
    if place is not None:
        yield Lies(self, *place)
    place = place_in(first, value, lanes) if steps and np.may_share_memory(first, value) else None
    if place is not None:
        base = self._at(memory.whole(self))
        memory.show(base, ())
        yield Lies(base, *place)


Traced.__lies__ = _lies
