"""Computing what a function looks at while it is recorded, in as little memory as it can be done."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ops.core.registry import OPS

from ...recording.recorder import forward_of
from .later import Later, is_later, later, value_of

MOST = 1 << 28
"""Bytes of computed arrays that are kept, because the next look may need them; others are computed again."""


class Computing:
    """The large arrays of a recording that were computed.

    Attributes:
        most: so many bytes are kept at least; more while one look needs them.
        now, peak: the bytes of those that are kept, and the most that ever were.
    """

    def __init__(self, most: int = MOST):
        self.most = most
        self.now = self.peak = 0
        self._kept: deque[tuple[int, Any]] = deque()

    def value(self, trace: Any, row: int) -> Any:
        """What a record gave, and before that whatever it needs."""
        last = _needed(trace, row)
        for k in sorted(last):
            if not is_later(trace.values[k]):
                continue
            numbers, params = trace.arguments(k)
            known = [value_of(trace.values[j]) for j in numbers]
            self._note(trace, k, forward_of(OPS[trace.code(k)])(*known, **params))
            self._let_go(last, k)
        return value_of(trace.values[row])

    def _note(self, trace: Any, k: int, found: Any) -> None:
        """Put a computed value in the place of the one that was waited for, whose spec is known to others."""
        waiting = trace.values[k]
        if type(waiting) is not tuple:
            waiting, found = (waiting,), (found,)
        else:
            found = tuple(found)
        values = []
        for x, z in zip(waiting, found):
            x.value = z
            small = type(later(z)) is not Later
            values.append(z if small else x)
            if not small:
                self.now += _owned(z)
                self._kept.append((k, x))
        trace.values[k] = values[0] if type(trace.values[k]) is not tuple else tuple(values)
        self.peak = max(self.peak, self.now)

    def _let_go(self, last: dict[int, int], now: int) -> None:
        """Forget the oldest values, unless what is computed now needs them, until few enough are kept."""
        if self.now <= self.most:
            return
        for _ in range(len(self._kept)):
            k, x = self._kept.popleft()
            if last.get(k, -1) > now or k == now:
                self._kept.append((k, x))
                continue
            self.now -= _owned(x.value)
            x.value = None
            if self.now <= self.most:
                return


def _needed(trace: Any, row: int) -> dict[int, int]:
    """A record, and those that it needs as far as they are large: for each the last of them that takes it."""
    last, waiting = {row: row}, [row]
    while waiting:
        k = waiting.pop()
        for j in trace.arguments(k)[0]:
            if j not in last and is_later(trace.values[j]):
                waiting.append(j)
            last[j] = max(last.get(j, -1), k)
    return last


def _owned(value: Any) -> int:
    """Bytes of an array, none if it looks at another one's."""
    return value.nbytes if isinstance(value, np.ndarray) and value.base is None else 0
