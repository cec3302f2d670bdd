"""Automatic differentiation the slow, obvious way: a graph of Python objects, walked by recursion.

It runs the rules of the registry on nothing but the registry, and is what the list and its sweep
are compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ops import REGISTRY, Op, Operators
from ops.core.bundle import Bundle
from ops.core.op import in_dtype


class Traced(Operators):
    """A value and, unless it is an input, the op and the operands that made it."""

    def __init__(self, value: Any, op: Op | None = None, operands: tuple = (), params: dict | None = None):
        self.value, self.op, self.operands, self.params = value, op, operands, params or {}

    shape = property(lambda self: np.shape(self.value))
    ndim = property(lambda self: np.ndim(self.value))
    dtype = property(lambda self: self.value.dtype)
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(self.value)

    @staticmethod
    def __bind__(op: Op, operands: tuple, params: dict) -> Any:
        z = op.forward(*map(value_of, operands), **params)
        if op.outputs == 1:
            return Traced(z, op if op.differentiable else None, operands, params)
        if not op.differentiable:
            return tuple(map(Traced, z))
        parent = Traced(z, op, operands, params)
        return tuple(
            Traced(v, REGISTRY["output"], (parent,), {"i": i}) if np.asarray(v).dtype.kind in "fc" else Traced(v)
            for i, v in enumerate(z)
        )


def value_of(x: Any) -> Any:
    return x.value if isinstance(x, Traced) else x


def gradients(outputs: list, adjoints: list, inputs: list, create_graph: bool = False) -> list:
    """Σ ⟨adjoint, output⟩ differentiated with respect to the inputs (None where it does not depend on one)."""
    total: dict[int, Any] = {}
    wanted = set(map(id, inputs))
    for output, g in zip(outputs, adjoints):
        _add(total, output, g)
    for node in _latest_first(outputs):
        if node.op is None or id(node) not in total:
            continue
        g = total[id(node)] if id(node) in wanted else total.pop(id(node))
        keep = (lambda x: x) if create_graph else value_of
        z = node if node.op.outputs == 1 else _results(node) if create_graph else node.value
        env = node.op.environment(tuple(map(keep, node.operands)), keep(z), node.params)
        for i, x in enumerate(node.operands):
            if not isinstance(x, Traced) or node.op.rule(i) is None or (x.op is None and id(x) not in wanted):
                continue
            many = isinstance(x.value, tuple)
            bar = node.op.vjp(i, g, env, () if many else x.shape, None if many else x.dtype)
            if not isinstance(bar, Bundle):
                assert bar.shape == x.shape, f"{node.op.name}: adjoint {bar.shape} of an operand {x.shape}"
                bar = in_dtype(bar, x.dtype)
            _add(total, x, bar)
    return [total.get(id(x)) for x in inputs]


def _add(total: dict[int, Any], node: Traced, g: Any) -> None:
    total[id(node)] = total[id(node)] + g if id(node) in total else g


def _results(parent: Traced) -> tuple:
    """The results of an op with several, as nodes of their own."""
    return tuple(
        Traced(v, REGISTRY["output"], (parent,), {"i": i}) if np.asarray(v).dtype.kind in "fc" else v
        for i, v in enumerate(parent.value)
    )


def _latest_first(outputs: list) -> list:
    order: list = []
    seen: set[int] = set()

    def visit(node: Traced) -> None:
        if id(node) not in seen:
            seen.add(id(node))
            for x in node.operands:
                if isinstance(x, Traced):
                    visit(x)
            order.append(node)

    for output in outputs:
        visit(output)
    return order[::-1]
