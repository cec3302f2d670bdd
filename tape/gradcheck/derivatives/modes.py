"""The ways in which a gradient is computed, and how each is seen through a grid: element by element, or along."""

from __future__ import annotations

from collections.abc import Sequence

from .along import Along
from .analytic import Jacobian, reverse, reverse_along
from .hand_written import Written
from .line import Grid
from .report import FORWARD, REVERSE
from .rounding import Derivative
from .subject import Array, Subject


def derivative(mode: str, grid: Grid) -> Derivative:
    """The function of a subject and a point that computes, in a mode, the Jacobian that a grid compares."""
    slow = elementwise(mode)
    if not isinstance(grid, Along):
        return slow
    along: Along = grid

    def fast(subject: Subject, arrays: Sequence[Array]) -> Jacobian:
        if mode == REVERSE:
            found = reverse_along(subject, arrays, along.weights)
            return Jacobian(along.times_v(found.blocks), found.dtypes)
        if mode == FORWARD:
            from .forward_check import forward_along

            return Jacobian(along.u_times(forward_along(subject, arrays, along.directions).blocks))
        return Jacobian(along.reduce(slow(subject, arrays).blocks))

    return fast


def elementwise(mode: str) -> Derivative:
    """The same for the whole Jacobian."""
    if mode == REVERSE:
        return reverse
    if mode == FORWARD:
        from .forward_check import forward  # forward mode is opened when it is asked for

        return forward
    return _written


def _written(subject: Subject, arrays: Sequence[Array]) -> Jacobian:
    assert isinstance(subject, Written)
    return subject.jacobian(arrays)
