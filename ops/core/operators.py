"""Python's operators, derived from the ``symbol=`` of the op declarations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .op import REGISTRY, Op


class Operators:
    """Base of everything that takes part in arithmetic; `install` fills in the operators."""

    __slots__ = ()
    __array_priority__ = 1000

    if TYPE_CHECKING:  # a type checker cannot see what `install` does; a test compares the two

        def _unary(self) -> Any: ...
        def _binary(self, other: Any) -> Any: ...

        __abs__ = __invert__ = __neg__ = __pos__ = _unary
        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _binary
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = _binary
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _binary
        __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _binary


def _forward(op: Op) -> Callable[..., Any]:
    if op.arity == 1:
        return lambda self: op(self)
    return lambda self, other: op(self, other)


def _reflected(op: Op) -> Callable[..., Any]:
    return lambda self, other: op(other, self)


COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})


def methods(
    forward: Callable[[Op], Callable[..., Any]] = _forward,
    reflected: Callable[[Op], Callable[..., Any]] = _reflected,
) -> dict[str, Callable[..., Any]]:
    """``__mul__``, ``__rmul__``, … for every op that names an operator."""
    table: dict[str, Callable[..., Any]] = {}
    for op in REGISTRY.values():
        if op.symbol is None:
            continue
        table[f"__{op.symbol}__"] = forward(op)
        if op.arity == 2 and op.symbol not in COMPARISONS:
            table[f"__r{op.symbol}__"] = reflected(op)
    return table


def install(cls: type, table: dict[str, Callable[..., Any]]) -> None:
    """Put the operators of `table` on a class."""
    for name, method in table.items():
        method.__name__ = name
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
