"""Watching a sweep for nan and for errors: the mode itself, and the rules run under it.

The mode is the process's, as PyTorch's is.  The jitted sweep looks at what each step has written
(`tape.jit.sweeps.checked`), so that only the record at fault is gone through again, in Python.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ops.core.bundle import Bundle

from ..base.jit_door import jitted
from ..base.location import Location, locate
from ..base.row import CODE, HANDLE, LASTI, WIDTH
from ..base.watch import WATCHERS, Rules, Steps, Watcher
from ..recording.wengert import WengertList, current
from .blame import nan_error, node_name, tell

MOST_INDUCED = 1 << 16


class Mode(Watcher):
    """Whether sweeps are watched, and whether nan is an error in them."""

    def __init__(self) -> None:
        self.enabled, self.check_nan = False, True

    def set(self, enabled: bool, check_nan: bool) -> None:
        """Set both, for the whole process."""
        self.enabled, self.check_nan = bool(enabled), bool(check_nan)
        if self.enabled and self not in WATCHERS:
            WATCHERS.insert(0, self)
        elif not self.enabled and self in WATCHERS:
            WATCHERS.remove(self)
            INDUCED.clear()

    def rules(self, inner: Rules) -> Rules:
        return partial(watched, inner)

    def steps(self, inner: Steps, run: Any) -> Steps:
        return partial(jitted("sweeps.checked").run, run) if self.check_nan else inner


class Induced(NamedTuple):
    """The records, from `first` to `last`, that the rule of another record made in a recorded backward.

    Attributes:
        parent: the number of that other record, which does not keep it alive.
        name: the name of its node.
        location: the user's line that recorded it.
    """

    first: int
    last: int
    parent: int
    name: str
    location: Location


INDUCED: deque[Induced] = deque(maxlen=MOST_INDUCED)
"""The latest of them, while the mode is on."""

MODE = Mode()


def watched(
    inner: Rules, row: list[Any], g: Any, wanted: Callable[[Any], bool], record: bool
) -> Iterator[tuple[int, Any, Any]]:
    """What a record contributes, where an error tells which record it came from, and nan is one."""
    wengert = current()
    before = last_handle(wengert)
    try:
        for i, ref, bar in inner(row, g, wanted, record):
            if MODE.check_nan and has_nan(bar):
                raise nan_error(row, g, i, bar)
            yield i, ref, bar
    except Exception as error:
        blame(row, error)
        raise
    last = last_handle(wengert)
    if record and last > before:
        parent = row[HANDLE] + 1 - 1
        INDUCED.append(Induced(before + 1, last, parent, node_name(row), locate(row[CODE], row[LASTI])))


def last_handle(wengert: WengertList) -> int:
    """The number of the last record of a list."""
    return wengert.rows[-WIDTH + HANDLE] + 1 - 1 if wengert.rows else -1


def has_nan(bar: Any) -> bool:
    """Whether an adjoint, or one of several, has an element that is not a number."""
    if isinstance(bar, Bundle):
        return any(map(has_nan, bar.parts.values()))
    return bool(np.isnan(getattr(bar, "_data", bar)).any())


def blame(row: list[Any], error: Exception) -> None:
    """Say beside an error which record it came from, and which backward made that record if one did.

    As in PyTorch, this is a warning too, so that it is seen where the error is caught.
    """
    tell(error, f"Error detected in {node_name(row)}, recorded at ", locate(row[CODE], row[LASTI]))
    for made in _ancestors(row[HANDLE]):
        tell(error, f"It is part of the gradient of {made.name}, which was recorded at ", made.location)


def told(row: list[Any], error: RuntimeError) -> RuntimeError:
    """An error found before the rule of a record was run; if the mode is on, `blame` is laid."""
    if MODE.enabled:
        blame(row, error)
    return error


def _ancestors(handle: int) -> Iterator[Induced]:
    """What made a record, what made that, and so on."""
    for made in reversed(INDUCED):
        if made.first <= handle <= made.last:
            yield made
            handle = made.parent
