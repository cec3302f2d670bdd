"""Changes in place: a new value is computed as if nothing were changed, and then put in the place of the old one.

Every change of every kind of tensor comes through here, but for two that are the same by a shorter way: of a plain
tensor where nothing is recorded, and at an index into memory that can be written where it lies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..base.row import HANDLE, WIDTH
from ..base.tensor import Tensor
from .recorder import user_frame
from .wengert import WengertList, current


def functionalise(
    target: Tensor, operation: str, compute: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]
) -> Tensor:
    """Give a tensor, of whatever kind, the value and the history of ``compute(target, *args, **named)``.

    Raises:
        RuntimeError: if the tensor must not be changed, or the value does not fit.
    """
    target._check_free(operation)
    wengert = current()
    where, extend, last = wengert.where, wengert.extend, last_of(wengert)
    try:
        target._assign(compute(target._before_change(), *args, **named), operation, last)
    finally:
        wengert.where, wengert.extend = where, extend
    return target


def stay_on_the_line(wengert: WengertList) -> None:
    """Let what is recorded until the change is done belong to the user's line of now; kinds call it before a change."""
    if wengert.where is None and wengert.recording:
        wengert.where = user_frame(sys._getframe(3))  # past `_before_change`, `functionalise` and `_alter`


def last_of(wengert: WengertList) -> int:
    """The handle of the last record, or one before the first."""
    return wengert.rows[-WIDTH + HANDLE] if wengert.rows else -1
