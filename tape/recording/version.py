"""Counting in-place changes, per piece of memory, so that views and detached tensors share a count."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from ..base.row import HANDLE, WIDTH
from ..base.spec import Spec
from ..base.tensor import Tensor
from ..base.untraced import untraced
from .recorder import user_frame
from .views import base_of, counted_with, is_related, owner
from .wengert import LISTS, current

_counts: dict[int, tuple[weakref.ref[np.ndarray], list[int]]] = {}
"""Changed memory by the identity of the array that owns it."""


def _counter(array: np.ndarray) -> list[int]:
    memory = owner(array)
    known = _counts.get(id(memory))
    if known is None:
        k = id(memory)
        known = _counts[k] = weakref.ref(memory, lambda _: _counts.pop(k, None)), [0]
    return known[1]


def count(tensor: Tensor) -> int:
    """How often a tensor's memory was changed in place."""
    versions = counted_with(tensor)._versions
    if versions is not None:
        return versions[0]
    return count_of(tensor._data if type(tensor._data) is np.ndarray else base_of(tensor)._data)


def count_of(value: Any) -> int:
    """How often the memory of an array was changed in place; a NumPy scalar never is."""
    if not _counts or not isinstance(value, np.ndarray):
        return 0
    known = _counts.get(id(owner(value)))
    return known[1][0] if known else 0


class Change(NamedTuple):
    """An in-place change of memory that records may have saved.

    Attributes:
        memory: give the array that owns the memory and the looks at it that records may hold, or the scalar, as long
            as they are there.
        holders: give the tensors that hold it themselves, as long as they are there.
        operation: what changed it.
        code, lasti: the user's line.
        before: per list, the last record that was there before the change.
    """

    memory: tuple[Callable[[], Any], ...]
    holders: tuple[weakref.ref[Tensor], ...]
    operation: str
    code: CodeType
    lasti: int
    before: dict[int, int]

    def matters(self) -> bool:
        """Whether anything beside its tensors holds the memory, such as a record."""
        if any(holder() is not None for holder in self.holders):
            return any(_references(place) > _ALONE for place in self.memory)
        return any(place() is not None if _is_weak(place) else _references(place) > _ALONE for place in self.memory)


def _is_weak(place: Callable[[], Any]) -> bool:
    return isinstance(place, weakref.ref)


MANY = 1 << 10
CHANGES: dict[int, Change] = {}
"""The last change of each piece of memory that something else than its tensor held at the time."""


class Refit(NamedTuple):
    """Memory of another shape or dtype, put under a leaf that records may hold.

    Attributes:
        old: what the leaf was.
        code, lasti: the user's line.
        before: per list, the last record that was there before the change.
    """

    old: Spec
    code: CodeType
    lasti: int
    before: dict[int, int]


REFITS: dict[int, Refit] = {}
"""The last change of each leaf's shape or dtype, by the leaf's identity."""


def note_refit(tensor: Tensor, old: Spec) -> None:
    """Note that a leaf has another shape or dtype from here on."""
    k = id(tensor)
    if k not in REFITS:
        weakref.finalize(tensor, REFITS.pop, k, None).atexit = False
    REFITS[k] = Refit(old, *user_frame(sys._getframe(1)), last_records())


def last_records() -> dict[int, int]:
    """The last record of each list, by the list's number."""
    # Numbers of their own, because references to the handles themselves would keep the records alive.
    return {w.number: w.rows[-WIDTH + HANDLE] + 1 - 1 for w in list(LISTS.values()) if w.rows}


def increment(tensor: Tensor, operation: str, last: int | None = None, base: Tensor | None = None) -> None:
    """Count one in-place change, and note it if a record may have saved the memory.

    References tell: in a training loop backward has released the parameters before they are
    updated, so that nothing is noted and the next backward has nothing to check.  Records of this
    thread's list after `last` are of the change itself.
    """
    base = base_of(tensor) if base is None else base
    counter = base if base is tensor else counted_with(tensor)
    if counter._versions is not None:
        counter._versions[0] += 1
        if counter._silent:
            return
    elif not isinstance(tensor._data, np.ndarray):
        counter._versions = [1]
    if isinstance(tensor._data, np.ndarray):
        _counter(tensor._data)[0] += 1
        note(tensor, operation, last, base)


def note(tensor: Tensor, operation: str, last: int | None = None, base: Tensor | None = None) -> None:
    """Note that what a tensor holds, memory or a scalar, is not any more what records may have saved."""
    base = base_of(tensor) if base is None else base
    past, holders = base._was, (tensor, base)
    if past is not None:
        _note(past, (lambda: past,), holders, operation, last)
    places = _places(tensor)
    if any(_references(place) > _ALONE for place in places):
        value = owner(tensor._data)
        looks = tuple([weakref.ref(place()) for place in places[1:]])
        gone = weakref.ref(value, partial(_gone, id(value))) if isinstance(value, np.ndarray) else lambda: value
        _note(value, (gone, *looks), holders, operation, last)


def _gone(k: int, memory: Any) -> None:
    """Drop the note of memory that is gone, unless other memory has taken its place."""
    change = CHANGES.get(k)
    if change is not None and change.memory[0] is memory:
        CHANGES.pop(k, None)


def _note(
    value: Any, there: tuple[Callable[[], Any], ...], holders: tuple[Tensor, ...], operation: str, last: int | None
) -> None:
    before, wengert, refs = last_records(), current(), tuple(map(weakref.ref, holders))
    if last is not None and wengert.number in before:
        before[wengert.number] = last + 1 - 1
    CHANGES[id(value)] = Change(there, refs, operation, *(wengert.where or user_frame(sys._getframe(2))), before)
    if len(CHANGES) % MANY == 0:
        forget_released()


def _places(tensor: Tensor) -> list[Callable[[], Any]]:
    """Where references to a tensor's memory are counted: the array that owns it, and looks at it.

    The result of an op may be a look at an array that the op has made and let go; then that look is what
    the tensor and records hold, and the owner seems to be alone.
    """
    places: list[Callable[[], Any]] = [lambda: owner(tensor._data)]
    if getattr(tensor._data, "base", None) is not None:
        places.append(lambda: tensor._data)
        base = base_of(tensor)
        if base is not tensor and getattr(base._data, "base", None) is not None:
            places.append(lambda: base._data)
    return places


def _references(place: Callable[[], Any]) -> int:
    memory = place()
    return sys.getrefcount(memory)


def holders(place: Callable[[], Any]) -> int:
    """How many references to an array there are."""
    return _references(place) - _ALONE + 1


def is_shared(tensor: Tensor) -> bool:
    """Whether something beside this tensor holds its memory: a view, an array, a record."""
    if is_related(tensor):
        return True
    return isinstance(tensor._data, np.ndarray) and any(_references(place) > _ALONE for place in _places(tensor))


def sole_holder() -> Tensor:
    """A tensor that alone holds its memory."""
    tensor: Tensor = object.__new__(Tensor)
    tensor._data = np.empty(1)
    return tensor


_ALONE = untraced(lambda: _references(_places(sole_holder())[0]))
"""What `_references` says of memory that one tensor alone holds."""


def forget_released() -> None:
    """Drop the notes of memory that no record holds any more."""
    for k in list(CHANGES):  # pairs would be new tuples: garbage may be collected when such are made, and notes go
        change = CHANGES.get(k)
        if change is not None and not change.matters():
            CHANGES.pop(k, None)


def share_count(tensor: Tensor, twin: Tensor) -> None:
    """Let a twin on the same memory share a tensor's own counter, if it has one."""
    base = counted_with(tensor)
    if base._versions is not None:
        twin._versions, twin._silent = base._versions, base._silent


def own_count(twin: Tensor) -> Tensor:
    """Give a twin a counter of its own; changes through it are not noted."""
    twin._versions, twin._silent = [0], True
    return twin
