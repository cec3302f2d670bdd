"""`np.pad` by values that are recorded: constants, ramps and statistics, which no op takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays.face_base import numpy
from .arrays.leaving import plain, refusal
from .constructors import as_array


def pad(array: Any, pad_width: Any, mode: Any = "constant", **how: Any) -> Any:
    """`np.pad`, where it is not by one constant or by the array's own elements.

    Raises:
        TypeError: for a function in the place of the mode, which would be given plain arrays.
        ValueError: for arguments that NumPy refuses.
    """
    if callable(mode):
        raise refusal("it gives plain arrays to a function of the user's", "np.pad with a function as its mode")
    if mode not in MODES or (mode == "constant" and not np.ndim(how.get("constant_values", 0))):
        return NotImplemented
    found: Any = as_array(array)
    np.pad(np.empty(found.shape, found.dtype), plain(pad_width), "constant")  # what NumPy raises of the widths
    settings = how.get(SETTINGS[mode], DEFAULTS[mode])
    values = np.broadcast_to(_pairs(settings), (found.ndim, 2)) if settings is not None else None
    for axis, (before, after) in enumerate(np.broadcast_to(np.asarray(plain(pad_width)), (found.ndim, 2)).tolist()):
        both = (None, None) if values is None else (values[axis, 0], values[axis, 1])
        first = MODES[mode](found, axis, before, both[0], False)
        last = MODES[mode](found, axis, after, both[1], True)
        found = numpy.concatenate([first.astype(found.dtype), found, last.astype(found.dtype)], axis=axis)
    return found


def _pairs(settings: Any) -> Any:
    """What is said for all axes and sides, for each side, or for each axis and side."""
    settings = as_array(settings)
    return settings if settings.ndim != 2 or settings.shape[-1] == 2 else np.broadcast_to(settings, (len(settings), 2))


def _shape(x: Any, axis: int, n: int) -> tuple[int, ...]:
    return (*x.shape[:axis], n, *x.shape[axis + 1 :])


def _edge(x: Any, axis: int, is_last: bool, n: int = 1) -> Any:
    span = slice(x.shape[axis] - n, None) if is_last else slice(0, n)
    return x[(slice(None),) * axis + (span,)]


def _constant(x: Any, axis: int, n: int, value: Any, is_last: bool) -> Any:
    return np.broadcast_to(value, _shape(x, axis, n))


def _ramp(x: Any, axis: int, n: int, value: Any, is_last: bool) -> Any:
    """From the end value, which lies outermost, to the edge."""
    numbers = np.arange(n, 0, -1) if not is_last else np.arange(1, n + 1)
    steps = numbers.reshape((-1,) + (1,) * (x.ndim - axis - 1)) / max(n, 1)
    edge = _edge(x, axis, is_last)
    ramp = edge + (value - edge) * steps
    return np.trunc(ramp) if x.dtype.kind in "iu" else ramp


def _statistic(reduce: Callable[..., Any]) -> Callable[..., Any]:
    def fill(x: Any, axis: int, n: int, length: Any, is_last: bool) -> Any:
        some = x.shape[axis] if length is None else min(int(length), x.shape[axis])
        found = reduce(_edge(x, axis, is_last, some), axis=axis, keepdims=True)
        found = np.round(found) if x.dtype.kind in "iu" else found
        return np.broadcast_to(found, _shape(x, axis, n))

    return fill


MODES: dict[str, Callable[..., Any]] = {
    "constant": _constant, "linear_ramp": _ramp, "maximum": _statistic(np.max), "mean": _statistic(np.mean),
    "median": _statistic(np.median), "minimum": _statistic(np.min),
}  # fmt: skip
"""What lies before or behind an axis, by mode."""
SETTINGS = {"constant": "constant_values", "linear_ramp": "end_values"} | dict.fromkeys(
    ("maximum", "mean", "median", "minimum"), "stat_length"
)
DEFAULTS: dict[str, Any] = dict.fromkeys(MODES) | {"constant": 0, "linear_ramp": 0}
