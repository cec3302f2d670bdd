"""Values put away by hooks between recording and backward: what stands for them in a row.

While a pair of hooks is active in a thread, ``extend`` of its list is `_Packing`, which puts the
values away before the row is appended.  Recording itself knows nothing of it.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.row import HANDLE, WIDTH, XV, YV, ZV, X, Y
from ..base.spec import Spec, spec_of
from ..base.tensor import Tensor
from .halves import as_of_tensors
from .recorder import wrap
from .version import count
from .views import owner
from .wengert import WengertList, current


class PackHooks(NamedTuple):
    """What puts a value away, and what gets it back; `note` sees each row first, also those of inner pairs."""

    pack: Callable[[Tensor], Any]
    unpack: Callable[[Any], Tensor]
    note: Callable[[Sequence[Any]], None] | None = None


class Packed:
    """Stands for a value that was put away.

    Attributes:
        held: what the hook has given for it.
        unpack: the hook that gets the value back.
        spec: shape and dtype of the value.
    """

    __slots__ = ("held", "spec", "unpack")

    def __init__(self, value: Any, pair: PackHooks, leaf: Tensor | None = None):
        self.spec: Spec = spec_of(value)
        self.unpack = pair.unpack
        self.held = _pack(wrap(value) if leaf is None else leaf, pair.pack)

    def open(self) -> Any:
        """The value, from the hook that gets it back.

        Raises:
            TypeError: if the hook gives something else than a tensor.
            RuntimeError: if it gives one of another shape.
        """
        wengert = current()
        where = wengert.where
        try:
            wengert.where = None
            result = self.unpack(self.held)
        finally:
            wengert.where = where
        name = getattr(self.unpack, "__qualname__", repr(self.unpack))
        if not isinstance(result, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(result).__name__}, from {name}.\nReturn what pack was given, as a tensor."
            )
        if result._spec.shape != self.spec.shape:
            raise RuntimeError(
                f"an unpack hook must give back a tensor of the shape that was packed, {self.spec.shape}; {name} gave "
                f"one of shape {result._spec.shape}"
            )
        return result._data


def _pack(given: Tensor, pack: Callable[[Tensor], Any]) -> Any:
    before = count(given)
    wengert = current()
    outer = wengert.recording, wengert.where, wengert.extend
    try:
        wengert.recording, wengert.where = False, None
        wengert.extend = wengert.rows.extend  # what a hook records itself is not its business
        held = as_of_tensors(pack, given)
    finally:
        wengert.recording, wengert.where, wengert.extend = outer
    if count(given) != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place, which other parts of the program see too.\n"
            "Compute a new tensor in the hook, such as x * 2 instead of x.mul_(2)."
        )
    return held


def packed(value: Any, ref: Any, pair: PackHooks, doomed: Any = None) -> Any:
    """A field of a row, the values of `ref`, with the values in it put away; plain numbers and None stay.

    A hook is given a leaf itself.  It never gets the history of anything else, which would live on in what it keeps.
    What lies in `doomed`, memory that is about to be overwritten, is copied first.
    """
    if type(value) is tuple:
        refs = ref if type(ref) is tuple and len(ref) == len(value) else (None,) * len(value)
        return tuple([packed(part, r, pair, doomed) for part, r in zip(value, refs)])
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    if doomed is not None and owner(value) is doomed:
        value = value.copy()
    return Packed(value, pair, ref if isinstance(ref, Tensor) and ref._data is value else None)


def opened(value: Any) -> Any:
    """A field of a row with the values that were put away in their places."""
    if type(value) is tuple:
        return tuple(map(opened, value))
    return value.open() if type(value) is Packed else value


class Packing:
    """Appends rows to a list with their values put away by the innermost of its pairs.

    It never changes: hooks begin and end by one assignment to ``wengert.extend``, which no interrupt cuts in two.

    Attributes:
        pairs: the pairs of hooks that are active, outermost first.
        doomed: the memory that the operation which is being recorded is going to overwrite, or None.
    """

    __slots__ = ("doomed", "pairs", "wengert")

    def __init__(self, wengert: WengertList, pairs: tuple[PackHooks, ...], doomed: Any = None):
        self.wengert, self.pairs, self.doomed = wengert, pairs, doomed

    def __call__(self, row: Sequence[Any]) -> None:
        pair, rows = self.pairs[-1], self.wengert.rows
        for outer in self.pairs:
            if outer.note:
                outer.note(row)
        y = packed(row[YV], row[Y], pair, self.doomed)  # PyTorch's order: the second operand, the first, the result
        x = packed(row[XV], row[X], pair, self.doomed)
        z = packed(row[ZV], None, pair, self.doomed)
        row = (*row[:XV], x, y, z, *row[ZV + 1 :])
        if rows and rows[-WIDTH + HANDLE] > row[HANDLE]:
            self._insert(row)  # a hook has recorded something itself, and handles ascend
        else:
            rows.extend(row)

    def _insert(self, row: Sequence[Any]) -> None:
        wengert = self.wengert
        rows = wengert.rows
        position = bisect.bisect_left(range(len(wengert)), row[HANDLE], key=lambda p: rows[p * WIDTH])
        rows[position * WIDTH : position * WIDTH] = row


def with_pair(wengert: WengertList, pair: PackHooks) -> Packing:
    """What a list's ``extend`` is to be while a pair puts away what records save, in place of the pair before.

    Raises:
        RuntimeError: where hooks are disabled.
    """
    check_enabled(wengert)
    return Packing(wengert, (*pairs_of(wengert), pair))


def drop_later(wengert: WengertList, extend: Any) -> None:
    """End the hooks that have begun since a list's ``extend`` was this, and that nothing else ends."""
    if len(pairs_of(wengert)) > len(extend.pairs if isinstance(extend, Packing) else ()):
        wengert.extend = extend


def before_overwriting(wengert: WengertList, memory: Any) -> None:
    """Let the hooks that are active, if any, get copies of what lies in memory that is about to be overwritten."""
    if type(wengert.extend) is Packing:
        wengert.extend = Packing(wengert, wengert.extend.pairs, owner(memory))


def check_enabled(wengert: WengertList) -> None:
    """Raise if hooks on saved tensors are disabled in this thread."""
    if wengert.unpacked is not None:
        raise RuntimeError(wengert.unpacked)


def pairs_of(wengert: WengertList) -> tuple[PackHooks, ...]:
    """The pairs that are active, outermost first."""
    return wengert.extend.pairs if isinstance(wengert.extend, Packing) else ()
