"""Records of a function that is being recorded that are appended in a short way: what most programs are full of.

The general way (`Traced.__bind__`) gives the same, after it has found out what its operands are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ops import REGISTRY, Op

from ...recording.functions import is_short
from ...recording.recorder import getframe
from .later import Later, of_pair
from .raising import handling, raises
from .trace import NUMBER, spec_for

OF_ONE_NUMBER = frozenset([op for op in REGISTRY.values() if is_short(op) and op.arity == 1 and not op.view])
"""The library's own ops of one operand, element by element."""


def of_number(op: Op, x: Any) -> Any:
    """The record of such an op of a number of 64 bits that is known; None of anything else, for the general way."""
    trace, row = x._trace, x._row
    u = trace.values[row]
    z = op.forward(u) if type(u) is np.float64 and trace.open else None
    if type(z) is not np.float64:
        return None
    made = type(x)()
    made._trace, made._row, made._spec = trace, trace.append(op.code, row, -1, None, z), NUMBER
    return made


def short_way(
    op: Op, reflected: bool, depth: int, own: Any, otherwise: Callable[..., Any], whole: Any = None, given: Any = None
) -> Callable[..., Any]:
    """An operator between two recorded values of a class, or one and a plain number; of all others, `otherwise`.

    Those that hold integers may be of a class of their own, `whole`, and arguments too, `given`.
    """
    whole = own if whole is None else whole
    forward, code, float64 = op.forward, op.code, np.float64
    real = not op.complex

    def apply(self: Any, other: Any) -> Any:
        trace = self._trace
        values = trace.values
        x = self._row
        u = values[x]
        kind = type(other)
        numbers = type(u) is float64
        if not numbers and (self._spec.narrow or (real and self._spec.complex)):
            return otherwise(self, other)
        if (kind is own or kind is whole or kind is given) and other._trace is trace and trace.open:
            y = other._row
            v = values[y]
            numbers = numbers and type(v) is float64
            if not numbers and (other._spec.narrow or (real and other._spec.complex)):
                return otherwise(self, other)
        elif kind is float:
            v = other
            y = trace.numbers.get(v)
            if y is None:
                y = trace.number(v)
        elif kind is int:
            v = other
            y = trace.integers.get(v)
            if y is None:
                y = trace.number(v)
        else:
            return otherwise(self, other)
        if reflected:
            x, y, u, v = y, x, v, u
        try:
            if not numbers and (type(u) is Later or type(v) is Later):
                z = of_pair(op, u, v)
                shape = None if z is None else z.spec if type(z) is Later else spec_for(z)
            else:
                z = forward(u, v)
                shape = NUMBER if type(z) is float64 else spec_for(z)
        except (ValueError, TypeError):  # it is raised again, explained
            return otherwise(self, other)
        if shape is None or (handling(None) is not trace.calm and raises()):
            return otherwise(self, other)  # which refuses, or computes
        made = own() if shape is NUMBER or shape.inexact or shape.dtype.kind == "b" else whole()
        made._trace = trace
        made._row = row = len(values)
        made._spec = shape
        values.append(z)
        rows, wengert = trace.rows, trace.wengert
        if wengert.where is None:
            frame = getframe(depth)
            rows += code, x, y, None, shape, frame.f_code, frame.f_lasti
        else:
            rows += code, x, y, None, shape, *wengert.where
        if not wengert.recording:
            trace.stop(row)
        return made

    return apply
