"""Operators of a function that is being recorded, whose records are appended in a short way: most programs are full of
them.

The general way (`Traced.__bind__`) gives the same, after it has found out what its operands are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ops
from ops import REGISTRY, Op
from ops.core.axis_order import laid_like, order_of, spread

from ...memory.inplace import NOT_AUGMENTED
from ...recording.functions import IRREGULAR, is_short
from ...recording.laying import laid
from ...recording.recorder import getframe
from ...recording.short_ways import is_operand
from .large.foreseen import of_pair
from .large.later import Later, is_ordered, lying, put_in_order
from .raising import handling
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
    op: Op, reflected: bool, depth: int, own: Any, otherwise: Callable[..., Any], whole: Any = None, given: Any = None,
    as_operands: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """An operator between two recorded values of a class, or one and a plain number; of all others, `otherwise`.

    Those that hold integers may be of a class of their own, `whole`, and arguments too, `given`.  Results lie in memory
    `as_operands` do in PyTorch, or as NumPy has them.
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
            if numbers or (type(u) is not Later and type(v) is not Later):
                z = forward(u, v)
            else:
                z = of_pair(op, u, v)
        except (ValueError, TypeError):  # it is raised again, explained
            return otherwise(self, other)
        if type(z) is float64:
            shape, made = NUMBER, own()
        elif z is None:
            return otherwise(self, other)
        else:
            shape = z.spec if type(z) is Later else spec_for(z)
            if as_operands and shape.ndim > 1:
                z = _laid(trace, z, u, v)
            made = own() if shape.inexact or shape.dtype.kind == "b" else whole()
        if handling(None) is not trace.calm:
            trace.note_ignored(1)
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


def _laid(trace: Any, z: Any, u: Any, v: Any) -> Any:
    """What eager execution has of two operands, as tensors lie: how large arrays do may not be known."""
    if is_ordered(u) and is_ordered(v):
        return z
    known = list(map(lying, (u, v)))
    if any(x is None for x in known):
        trace.unsure = True
        return z
    looks = list(map(np.asarray, known))
    if type(z) is not Later:
        return laid_like(z, *looks)
    order = order_of(z.shape, [spread(x.shape, x.strides, len(z.shape), z.shape) for x in looks])
    return put_in_order(z, order)


def tensors_way(
    op: Op, reflected: bool, depth: int, own: Any, given: Any, as_operands: bool = True
) -> Callable[..., Any]:
    """An operator between two tensors being recorded, or one and a plain number."""

    def otherwise(self: Any, other: Any) -> Any:
        if not is_operand(other):
            return NotImplemented
        pair = (other, self) if reflected else (self, other)
        return laid(op(*pair), op.lies, pair) if as_operands else op(*pair)

    return short_way(op, reflected, depth, own, otherwise, given=given, as_operands=as_operands)


def operators(own: Any, given: Any) -> dict[str, Callable[..., Any]]:
    """By name, the operators of the class of tensors being recorded; arguments, `given`, are of a class of their own.

    Those called ``_…_of_array`` are for the face of a tensor, which stands a frame further up.
    """
    found: dict[str, Callable[..., Any]] = {}
    for op in REGISTRY.values():
        name = op.symbol
        if not name or op.kind not in ("elementwise", "plain") or op.params:
            continue
        if op.arity == 1:
            if f"__{name}__" not in IRREGULAR:
                found[f"__{name}__"] = _unary(op)
            continue
        found[f"__{name}__"] = tensors_way(op, False, 1, own, given)
        found[f"_{name}_of_array"] = tensors_way(op, False, 2, own, given, as_operands=False)
        if name not in NOT_AUGMENTED:
            found[f"__r{name}__"] = tensors_way(op, True, 1, own, given)
            found[f"_r{name}_of_array"] = tensors_way(op, True, 2, own, given, as_operands=False)
    return found | {"__pow__": _power(tensors_way(REGISTRY["pow"], False, 2, own, given))}


def _unary(op: Op) -> Callable[..., Any]:
    return lambda self: laid(op(self), op.lies, (self,))


def _power(otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """Powers of tensors, of which the second is an op of its own."""

    def power(self: Any, exponent: Any) -> Any:
        if type(exponent) in (int, float) and exponent == 2 and self._spec.inexact:
            return ops.square(self)
        return otherwise(self, exponent)

    return power
