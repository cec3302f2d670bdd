"""Anomaly mode: a backward that meets nan, or an error, says which operation it came from and where that was recorded.

The list knows the user's line of every record, so the mode need not be on in the forward pass.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..history.anomaly import MODE

__all__ = ["detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly"]


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on.

    >>> is_anomaly_enabled()
    False
    """
    return MODE.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, where it is on, takes nan in a gradient for an error."""
    return MODE.check_nan


class set_detect_anomaly:
    """Switch anomaly mode on or off, from now on or, as a context, until the block is left.

    Args:
        mode: whether it shall be on.
        check_nan: whether nan in a gradient is an error.
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = MODE.enabled, MODE.check_nan
        MODE.set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        MODE.set(*self._before)


class detect_anomaly:
    """Within the block, a backward that goes wrong tells where.

    * A rule that gives nan raises a RuntimeError that names the operation, the line that recorded
      it, the index of the first nan and the numbers which made it (unless ``check_nan=False``).
    * An error in a rule, or in the ``backward`` of a custom function, carries a note with the
      operation and the line that recorded it.

    A backward takes longer, by less than a third; the mode is meant for finding mistakes, which the
    warning on entering says too.

    >>> import numpy, tape, warnings
    >>> x = tape.tensor([1.0, 0.0], requires_grad=True)
    >>> with numpy.errstate(invalid="ignore"):
    ...     y = (x / x).sum()
    >>> with warnings.catch_warnings(action="ignore"), detect_anomaly():
    ...     try:
    ...         y.backward()
    ...     except RuntimeError as error:
    ...         print(error)  # doctest: +ELLIPSIS
    Function 'DivBackward0' returned nan values in its 1th output.
      recorded at ...
      the first nan at index [1] of the gradient of operand y comes from
        g[1] = 1.0, the gradient that came in
        x[1] = 0.0, a leaf
        y[1] = 0.0, a leaf
    """

    def __init__(self, check_nan: bool = True):
        self._check_nan = check_nan
        self._before = MODE.enabled, MODE.check_nan
        warnings.warn(
            "Anomaly Detection has been enabled: every backward is searched for nan, which takes time. "
            "Switch it on to find a mistake, and off again afterwards.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = MODE.enabled, MODE.check_nan
        MODE.set(True, self._check_nan)

    def __exit__(self, *_: Any) -> None:
        MODE.set(*self._before)
