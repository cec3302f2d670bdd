"""Memory that is about to be changed, and that records may have saved: they keep its numbers, the tensors get it back.

Either a tensor moves, with all that look at it, to a copy; or records that have saved no more than small parts get
copies of these.  A loop that reads rows of a matrix and writes elements of it would otherwise copy, and keep, the
whole matrix in each round.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np

from ops.shapes.overwriting import look

from ..base.row import WIDTH, XV, YV, ZV
from ..base.tensor import Tensor
from ..base.untraced import untraced
from .version import sole_holder
from .views import base_of, family, is_related, look_of, owner
from .wengert import WengertList, current

LARGE = 1 << 14
"""Memory of so many bytes is not copied without looking whether records have saved parts of it alone."""
PART = 4
"""Parts that are together more than this fraction of the memory are left where they are."""
LEAST_ROWS = 64
BYTES_PER_ROW = 1 << 12
"""They are looked for in so many rows, and one more for each time that memory has so many bytes: what a copy costs."""


def renew(tensor: Tensor) -> None:
    """Leave memory that a record may have saved to the record: the tensor, and all that look at it, get a copy.

    A change in place is then one of numbers that nobody needs any more.
    """
    base = base_of(tensor)
    if not isinstance(base._data, np.ndarray):
        base._data = np.array(base._data)[()]  # the scalar that a record holds stays what it is
        return
    looks = [view for view in family(base) if isinstance(view._data, np.ndarray)] if is_related(base) else []
    more = _held_elsewhere(base, looks)
    if more <= 0 or (_copied_parts(base._data, more) and _held_elsewhere(base, looks) <= 0):
        return
    base._data = base._data.copy("K")  # in its order, in which the views are views
    for view in looks:
        above = look_of(view)
        assert above is not None
        view._data = look(above.parent._data, above.steps)


def _held_elsewhere(base: Tensor, looks: list[Tensor]) -> int:
    """How often others hold the memory of these tensors: a base, and what looks at it."""
    if not looks and base._data.base is None:  # most arrays that are written
        return _references(base) - _ALONE
    return _others(base, looks) - _NOBODY


def _references(base: Tensor) -> int:
    return sys.getrefcount(base._data)


def _others(base: Tensor, looks: list[Tensor]) -> int:
    """The most references to one of the arrays of these tensors that are not theirs; some are this function's."""
    arrays = {id(t._data): t._data for t in (base, *looks)}
    held = Counter([id(t._data) for t in (base, *looks)])
    memory = id(owner(base._data))
    held[memory] += len(arrays) - (memory in arrays)
    arrays[memory] = owner(base._data)
    return max([sys.getrefcount(arrays[k]) - held[k] for k in arrays])


def _copied_parts(array: np.ndarray, count: int) -> bool:
    """Give the latest records of this thread copies of small parts of memory; whether there were so many of these."""
    memory, wengert = owner(array), current()
    if memory.nbytes < LARGE or wengert.busy:  # a sweep may read what is saved by its address
        return False
    places = _places_of_parts(wengert, memory, count)
    if not places:
        return False
    with wengert.still():
        for place in places:
            saved = wengert.rows[place]
            several = type(saved) is tuple
            copies = [v.copy("K") if _is_part(v, memory) else v for v in (saved if several else (saved,))]
            wengert.save_instead(place, tuple(copies) if several else copies[0])
    return True


def _places_of_parts(wengert: WengertList, memory: np.ndarray, count: int) -> list[int]:
    """Where, among the latest rows of a list, so many parts of memory are saved; fewer if they are no small ones."""
    rows, places, found = wengert.rows, [], 0
    room, end = memory.nbytes // PART, len(rows)
    most = LEAST_ROWS + memory.nbytes // BYTES_PER_ROW
    for start in range(end - WIDTH, max(end - most * WIDTH, 0) - 1, -WIDTH):
        for place in (start + XV, start + YV, start + ZV):
            value = rows[place]
            if type(value) is np.ndarray or type(value) is tuple:
                parts = [v for v in (value if type(value) is tuple else (value,)) if _is_part(v, memory)]
                room -= sum([v.nbytes for v in parts])
                found += len(parts)
                if parts:
                    places.append(place)
        if room < 0 or found >= count:
            break
    return places if room >= 0 and found >= count else []


def _is_part(value: Any, memory: np.ndarray) -> bool:
    return type(value) is np.ndarray and value.base is not None and owner(value) is memory


_ALONE = untraced(lambda: _references(sole_holder()))
"""What `_references` says of memory that one tensor alone holds."""
_NOBODY = untraced(lambda: _others(sole_holder(), []))
"""What `_others` says of memory that one tensor alone holds."""
