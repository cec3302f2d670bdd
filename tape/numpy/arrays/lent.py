"""Plain arrays that show the memory of recorded ones: what is recorded later does not reach them.

C code and libraries get bare numbers of an array that carries no gradient yet.  If these are still in use, or views of
them are, when something that carries one is written into the array, they would go on without it: the write is refused.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...base.tensor import Tensor

_lent: dict[int, tuple[weakref.ref[Any], Tensor]] = {}
"""By identity of what was handed out: itself, weakly, and the tensor whose memory it shows as long as it lives.

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
    watch(handed, tensor)
    return handed


def watch(seen: Any, tensor: Tensor) -> None:
    """Remember that something shows a tensor's memory and would not see what is recorded there later."""
    key = id(seen)
    _lent[key] = weakref.ref(seen, lambda _: _lent.pop(key, None)), tensor


def is_lent(tensor: Tensor) -> bool:
    """Whether somebody still looks at a tensor's memory in a way that no record reaches."""
    if not _lent:
        return False
    memory = tensor._memory()
    return any(shown._memory() is memory for _, shown in list(_lent.values()))
