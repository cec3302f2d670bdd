"""What gradcheck raises."""

from __future__ import annotations


class GradcheckError(RuntimeError):
    """A gradient is wrong, or is not what a gradient must be; the message says where."""


class Unfit(GradcheckError):
    """What no gradient check can be run on.

    Either the function is at fault, with an output that is not real numbers or is nan, or a
    gradient written by hand is not one for each checked input, of the right shape.
    """
