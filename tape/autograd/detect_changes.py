"""``detect_changes``: noticing also changes of memory that the library cannot see being made.

In-place operations are noticed always.  Writing through ``.data``, through ``numpy()`` or from another library
is not; within this mode every value that a record saves is kept with a checksum, which backward compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.row import HANDLE
from ..history.changes import SUMS, checksums, forget_dropped
from ..recording.wengert import WengertList, current

__all__ = ["detect_changes"]

MANY = 1 << 12


class detect_changes:
    """Within this context, records remember what the values that they save look like.

    A backward that would use one that was changed since raises an error that names the operation and the
    user's line.  Costs a pass over the memory of every saved value, where it is recorded and in backward; nothing
    when off.  Nothing is remembered while hooks put saved values away.

    >>> import tape
    >>> x = tape.ones(2, requires_grad=True)
    >>> with tape.autograd.detect_changes():
    ...     y = x * 3
    ...     z = (y * y).sum()
    >>> y.data[0] = 5.0
    >>> z.backward()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: a value that the gradient of mul needs was changed after it was recorded...
    """

    def __init__(self, mode: bool = True):
        self.mode = mode
        self._before: list[Any] = []

    def __enter__(self) -> detect_changes:
        wengert = current()
        self._before.append((wengert, wengert.extend))
        plain = wengert.extend == wengert.rows.extend
        if self.mode and plain:
            wengert.extend = _Summing(wengert)
        elif not self.mode and isinstance(wengert.extend, _Summing):
            wengert.extend = wengert.rows.extend
        return self

    def __exit__(self, *_: Any) -> None:
        wengert, before = self._before.pop()
        wengert.extend = before


class _Summing:
    """What a list's ``extend`` is within the context."""

    __slots__ = ("wengert",)

    def __init__(self, wengert: WengertList):
        self.wengert = wengert

    def __call__(self, row: Sequence[Any]) -> None:
        sums = checksums(row)
        if sums:
            SUMS[row[HANDLE] + 1 - 1] = sums  # a number of its own: the handle itself keeps the record alive
            if len(SUMS) % MANY == 0:
                forget_dropped()
        self.wengert.rows.extend(row)
