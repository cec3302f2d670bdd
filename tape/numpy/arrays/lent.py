"""Plain arrays that show the memory of recorded ones: what is recorded later does not reach them.

C code and libraries get bare numbers of an array that carries no gradient yet.  If these are still in use, or views of
them are, when something that carries one is written into the array, they would go on without it: the write is refused.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np

from ...base.tensor import Tensor
from ...recording.level import components, memories


class Shown(NamedTuple):
    """A tensor whose memory somebody looks at, and whether by a copy, which sees no write at all."""

    tensor: Tensor
    is_copy: bool


_lent: dict[int, tuple[weakref.ref[Any], Shown]] = {}
"""By identity of what was handed out: itself, weakly, and whose memory it shows as long as it lives.

What that memory is, is asked of the tensor each time: a tensor of a recording has another one after it is first shared.
"""


class _Holder:
    """Memory as an object that is no array, so that views of an array on it keep that array alive."""

    __slots__ = ("__array_interface__", "memory")

    def __init__(self, memory: np.ndarray):
        self.memory, self.__array_interface__ = memory, memory.__array_interface__


def lent(numbers: Any, tensor: Tensor) -> Any:
    """The numbers of a tensor, handed out on their own memory and watched as long as they, or views of them, live."""
    if not isinstance(numbers, np.ndarray) or numbers.dtype.kind not in "biufc":
        return numbers
    handed = np.asarray(_Holder(numbers))
    _watch(handed, Shown(tensor, False))
    return handed


def copied(copy: Tensor, tensor: Tensor) -> None:
    """Remember that something is a copy where NumPy has a view, as long as it, or views of it, live."""
    for part in components(copy):
        _watch(part._memory(), Shown(tensor, True))


def _watch(seen: Any, how: Shown) -> None:
    key = id(seen)
    forget = _lent.pop  # a process that ends clears its modules before it lets go of arrays
    _lent[key] = weakref.ref(seen, lambda _: forget(key, None)), how


def lent_of(tensor: Tensor) -> list[Shown]:
    """How others still look at a tensor's memory that no record reaches."""
    if not _lent:
        return []
    memory = set(memories(tensor))
    return [how for _, how in list(_lent.values()) if not memory.isdisjoint(memories(how.tensor))]
