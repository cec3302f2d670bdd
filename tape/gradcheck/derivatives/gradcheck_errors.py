"""What gradcheck raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class GradcheckError(RuntimeError):
    """A gradient is wrong, or is not what a gradient must be; the message says where."""


class Unfit(GradcheckError):
    """What no gradient check can be run on.

    Either the function is at fault, with an output that is not numbers or is nan, or a
    gradient written by hand is not one for each checked input, of the right shape.
    """


class Unsteady(AssertionError):
    """Outputs change their shape or dtype with the values of the inputs, so that no difference can be taken."""

    def __init__(self, expected: Sequence[Any], found: Sequence[Any]):
        super().__init__()
        self.expected, self.found = expected, found
        self.moved = "inputs are perturbed"

    def at(self, where: str, step: float) -> Unsteady:
        """The same error, knowing what was moved and how far."""
        self.moved = f"inputs are perturbed{where} by {step:.3g}"
        return self

    def __str__(self) -> str:
        facts = [[(axis.shape, axis.dtype) for axis in axes] for axes in (self.expected, self.found)]
        if [f[0] for f in facts[0]] == [f[0] for f in facts[1]]:
            what, before, after = "dtype", *([str(dtype) for _, dtype in f] for f in facts)
        else:
            what, before, after = "shape", *([str(shape) for shape, _ in f] for f in facts)
        return (
            f"the function must return outputs with the same {what} when {self.moved}; got {', '.join(before)} before "
            f"and {', '.join(after) or 'nothing'} after.\nNo derivative is defined across such a change: choose inputs "
            "away from it."
        )
