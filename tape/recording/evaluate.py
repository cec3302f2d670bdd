"""How an op is evaluated: by its forward function, or in lanes where those are faster."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ops import Op

from ..base.jit_door import jitted

MANY = 1 << 12
"""From this many elements on, a lane kernel's few microseconds of overhead do not matter."""


@cache
def forward_of(op: Op) -> Callable[..., Any]:
    """The function that evaluates an op on NumPy values."""
    return _lanes_first(op) if op.hints.lanes_first else op.forward


def _lanes_first(op: Op) -> Callable[..., Any]:
    forward = op.forward

    def evaluate(*values: Any) -> Any:
        if type(values[0]) is np.ndarray and values[0].size >= MANY:
            room = jitted("emission.lane_forward")
            z = room and room.evaluate(op, *values)
            if z is not None:
                return z
        return forward(*values)

    return evaluate
