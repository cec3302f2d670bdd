"""Formulas: functions read as expressions, so that an op's partials can be derived from its forward.

A function is called once on *symbols*, stand-ins for values, and leaves the ops it applied as a directed acyclic graph.
So rules are read, from which kernels are emitted; no rule is ever parsed.  From the expression of a forward come the
adjoints of its operands by the chain rule, through the rules of the ops in it; each is an expression again, in the
operands, ``z`` and ``g``, which runs on arrays, on tensors and in kernels like any other rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .op import REGISTRY, Op
from .operators import Operators
from .scalar_code import named


class ElementByElement:
    """A user's function on arrays, whose results have the shape that the operands broadcast to.

    Scalars come out as NumPy's, and never the memory of an operand: an op's result is a value of its own.
    """

    def __init__(self, name: str, function: Callable[..., Any]):
        self.name, self.function = name, function
        self.__signature__ = inspect.signature(function)

    def __call__(self, *operands: Any, **params: Any) -> Any:
        z = self.function(*operands, **params)
        if type(z) is not np.ndarray or not z.ndim:
            z = np.asarray(z)[()]
        elif z.base is not None or any(z is x for x in operands):
            z = z.copy()
        if z.shape != self.shape(operands):
            raise RuntimeError(
                f"{self.name} is declared elementwise, so its result must have the shape {self.shape(operands)} that "
                f"its operands broadcast to; its forward gave {z.shape}.\nDeclare it with ops.general if it mixes "
                "elements."
            )
        return z

    @staticmethod
    def shape(operands: tuple[Any, ...]) -> tuple[int, ...]:
        """The shape that operands broadcast to."""
        shapes = [getattr(x, "shape", ()) for x in operands]
        return shapes[0] if len(set(shapes)) == 1 else np.broadcast_shapes(*shapes)


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


SCALARS = (int, float, complex, np.generic)


def trace(function: Callable[..., Any], operands: Sequence[str], params: Sequence[str] = ()) -> Symbol | None:
    """What a function computes, as an expression; None where it is no formula in elementwise ops and numbers."""
    try:
        z = function(*map(Symbol, operands), **{name: Symbol(name) for name in params})
        symbols = list(z.walk()) if isinstance(z, Symbol) else []
    except Exception:  # whatever it did with a symbol, it is not an expression
        return None
    if not symbols or not all(map(_is_elementwise, symbols)):
        return None
    return z


def _is_elementwise(symbol: Symbol) -> bool:
    if symbol.op is None:
        return True
    numbers = all(isinstance(x, (Symbol, *SCALARS)) for x in symbol.operands)
    return numbers and (symbol.op.kind == "elementwise" or symbol.op.lane is not None)


def adjoints(z: Symbol, operands: Sequence[str]) -> list[Formula | None]:
    """For each operand, its adjoint as a formula; None where the expression is constant in it."""
    symbols = list(z.walk())
    bars: dict[int, Any] = {id(z): Symbol("g")}
    found: dict[str, Any] = {}
    result = Symbol("z")
    for symbol in reversed(symbols):
        g = bars.pop(id(symbol), None)
        if g is None:
            continue
        if symbol.op is None:
            found[symbol.name] = g
            continue
        env = symbol.op.environment(symbol.operands, result if symbol is z else symbol, {}) | {"g": g}
        for i, x in enumerate(symbol.operands):
            rule = symbol.op.rule(i)
            if isinstance(x, Symbol) and rule is not None:
                bar = REGISTRY["chain_mul"](g, rule(env)) if rule.is_partial else rule(env)
                bars[id(x)] = bars[id(x)] + bar if id(x) in bars else bar
    return [Formula(found[name]) if name in found else None for name in operands]


class Formula:
    """An expression as a function of the values that it names."""

    def __init__(self, expression: Symbol):
        self.expression = expression
        self._symbols = list(expression.walk())
        self.names = [symbol.name for symbol in self._symbols if symbol.op is None]
        self.__signature__ = named(self.names)

    def __call__(self, *values: Any) -> Any:
        named = dict(zip(self.names, values))
        done: dict[int, Any] = {}
        for symbol in self._symbols:
            if symbol.op is None:
                done[id(symbol)] = named[symbol.name]
            else:
                operands = [done[id(x)] if isinstance(x, Symbol) else x for x in symbol.operands]
                done[id(symbol)] = symbol.op(*operands)
        return done[id(self.expression)]

    def __repr__(self) -> str:
        return f"<formula {self.expression}>"
