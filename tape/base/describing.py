"""What `help` says of an op: shapes, where it is smooth, its derivative as a formula, an example.

All of it is read off the op's declaration when somebody asks, so nothing of it is written down twice and importing
costs nothing: `Description` is a text that is worked out when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, cleandoc, signature
from typing import Any

from ops import Op
from ops.core.domain import NONZERO, POSITIVE, REAL, TRUTH, UNIT, Interval, Truth
from ops.core.op import ADJOINT, HOLOMORPHIC

from .rooms import Room

reading = Room("tape.surface.formulas")
examples = Room("tape.surface.formulas")

MEANING = {
    id(REAL): "any number", id(POSITIVE): "a number above 0", id(NONZERO): "any number but 0",
    id(UNIT): "a number between −1 and 1", id(TRUTH): "a truth value",
}  # fmt: skip
COMPLEX = {
    HOLOMORPHIC: "Complex numbers: complex differentiable.",
    ADJOINT: "Complex numbers: differentiable in the real and the imaginary part.",
}


class Description(str):
    """A docstring that grows when it is read: its first part, and what is worked out of an op.

    The text itself is the first part, for whoever reads a string's memory; its methods, which is what `inspect.getdoc`,
    `help`, doctest and notebooks call, see the whole.
    """

    _op: Op
    _name: str
    _function: Callable[..., Any]
    _whole: str | None

    def __new__(cls, first: str, op: Op, name: str, function: Callable[..., Any]) -> Description:
        made = super().__new__(cls, first)
        made._op, made._name, made._function, made._whole = op, name, function, None
        return made

    def whole(self) -> str:
        """All of it."""
        if self._whole is None:
            first = cleandoc(str.__str__(self))
            self._whole = "\n\n".join([first, *facts(self._op, self._name, self._function, first)]).lstrip("\n")
        return self._whole

    def __str__(self) -> str:
        return self.whole()

    def __reduce__(self) -> Any:
        return str, (self.whole(),)


def _of_the_whole(name: str) -> Callable[..., Any]:
    ask = getattr(str, name)

    def method(self: Description, *args: Any, **kwargs: Any) -> Any:
        return ask(self.whole(), *args, **kwargs)

    method.__name__ = name
    return method


WHOLE = (
    "__add__", "__contains__", "__eq__", "__format__", "__getitem__", "__hash__", "__iter__", "__len__", "__ne__",
    "__repr__", *(name for name in dir(str) if name[0] != "_" and name != "maketrans"),
)  # fmt: skip
"""The methods of a text that see all of it."""

for _name in WHOLE:
    setattr(Description, _name, _of_the_whole(_name))


def describe(function: Any, op: Op, name: str) -> None:
    """Let a function's docstring tell what the op's declaration says; without a public `name`, no example."""
    first = function.__doc__
    if type(first) is not Description:
        function.__doc__ = Description(first or "", op, name, function)


def facts(op: Op, name: str, function: Callable[..., Any], first: str) -> Iterator[str]:
    """The paragraphs that follow from a declaration."""
    if name:
        yield shapes(op)
    if op.domain:
        yield domain(op)
    if op.differentiable:
        yield COMPLEX.get(str(op.complex)) or f"Complex numbers: {'' if op.complex else 'not '}taken."
    words = [p.name for p in signature(function).parameters.values() if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
    derivative = reading.derivative(op, words)
    if derivative:
        yield derivative
    if name and ">>>" not in first:
        example = examples.example(op, name, function)
        if example:
            yield example


def shapes(op: Op) -> str:
    """How the shape of the result follows from those of the operands."""
    if op.broadcasts:
        return "Shape: that of the input." if op.arity == 1 else "Shape: that which the operands broadcast to."
    if op.hints.accumulates:
        return "Shape: that of the input."
    if "keepdims" in op.params:
        return "Shape: the input's without the axes in ``dim`` (all without ``dim``); ``keepdim`` keeps them."
    seen = examples.shapes(op)
    return f"Shapes: {'; '.join(seen)}." if seen else "Shapes: as NumPy's function of that name."


def domain(op: Op) -> str:
    """Where the op is smooth, which is where the tests differentiate it."""
    told = [f"{x} {_meaning(interval)}" for x, interval in zip(op.operands, op.domain)]
    return f"Smooth for: {', '.join(told)}."


def _meaning(interval: Interval | Truth) -> str:
    if id(interval) in MEANING:
        return MEANING[id(interval)]
    if isinstance(interval, Truth):
        return MEANING[id(TRUTH)]
    away = f", away from {', '.join(map(str, interval.avoid))}" if interval.avoid else ""
    return f"tested from {interval.low:g} to {interval.high:g}{away}"
