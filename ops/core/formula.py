"""Formulas: functions read as expressions, so that an op's partials can be derived from its forward.

A function is traced once on symbols.  From the expression that it leaves come the adjoints of its
operands by the chain rule, through the rules of the ops in it; each is an expression again, in
the operands, ``z`` and ``g``, which runs on arrays, on tensors and in kernels like any other rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .op import REGISTRY
from .scalar_code import named
from .symbol import Symbol

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
