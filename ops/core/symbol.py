"""Symbols: stand-ins for values, so that a rule can be read as a small expression.

Calling a rule on symbols runs it once and leaves the ops it applied as a directed acyclic graph;
a kernel is emitted from that graph.  No rule is ever parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .op import REGISTRY, Op
from .operators import Operators


class Symbol(Operators):
    """A named input (``op is None``) or the application of an op to symbols and numbers."""

    __slots__ = ("name", "op", "operands")

    def __init__(self, name: str, op: Op | None = None, operands: tuple[Any, ...] = ()):
        self.name = name
        self.op = op
        self.operands = operands

    @staticmethod
    def __bind__(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Symbol:
        if params:
            raise TypeError(f"op {op.name} has parameters {sorted(params)}: no lane can hold them")
        return Symbol(op.name, op, operands)

    def __array_ufunc__(self, ufunc: Any, how: str, *inputs: Any, **options: Any) -> Any:
        """``np.tanh(symbol)`` is the op that answers for it."""
        return NotImplemented if how != "__call__" or options else _answer(ufunc, inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented if kwargs else _answer(function, args)

    def walk(self) -> Iterator[Symbol]:
        """Every symbol that this one depends on, operands first, each once."""
        seen: set[int] = set()
        stack: list[tuple[Symbol, bool]] = [(self, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded:
                yield node
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((x, False) for x in node.operands if isinstance(x, Symbol))

    def __repr__(self) -> str:
        if self.op is None:
            return self.name
        return f"{self.name}({', '.join(map(repr, self.operands))})"

    def __bool__(self) -> bool:
        raise TypeError("a rule may not branch on a value; use where()")


def _answer(function: Any, operands: tuple[Any, ...]) -> Any:
    """The op that answers for a NumPy function, and is no composite, applied; NotImplemented where there is none."""
    op = next((op for op in REGISTRY.values() if op.kind != "composite" and function in op.numpy), None)
    return NotImplemented if op is None else op(*operands)
