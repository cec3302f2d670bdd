"""Values that a function kept of an earlier derivative, and that a later one meets again: constants, which is told."""

from __future__ import annotations

import sys
import warnings
from types import CodeType

from ..base.location import Location, in_library

_told: set[tuple[str, CodeType, int, Location | None]] = set()
"""The places that were warned of; code objects are equal if they are alike, in whichever files they are."""


def tell_of_kept(made: Location | None = None) -> None:
    """Warn once per place that no gradient flows to what was kept of an earlier call.

    Args:
        made: the line that computed it, where that is known.
    """
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and in_library(frame.f_code.co_filename):
        frame, depth = frame.f_back, depth + 1
    place = frame.f_code.co_filename, frame.f_code, frame.f_lasti, made
    if place in _told:
        return
    _told.add(place)
    computed = "" if made is None else f", computed at {made}"
    warnings.warn(
        f"a value that was kept of an earlier call of grad(), vmap() or the like takes part in this one{computed}; it "
        "is a constant here, and no gradient flows through it.\n"
        "So it is with what a dict of results or functools.lru_cache holds from earlier calls: compute it anew.  If a "
        "constant is meant, keep tape.stop_gradient(x).",
        UserWarning,
        stacklevel=depth,
    )
