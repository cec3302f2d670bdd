"""What gradcheck raises."""

from __future__ import annotations


class GradcheckError(RuntimeError):
    """A gradient is wrong, or is not what a gradient must be; the message says where."""


class Unfit(GradcheckError):
    """A function that no gradient check can be run on: its output is not real numbers, or is nan."""
