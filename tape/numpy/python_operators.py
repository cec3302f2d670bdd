"""Python's operators on Python's recorded numbers (`tape.numpy.arrays.python_number`).

Beside numbers of Python's they give such numbers, and raise what Python raises; beside NumPy's arrays and scalars they
do what those do.  A comparison is told to Python, which has a truth there; lanes, which have one each, stay recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Rational
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.operators import COMPARISONS, install

from ..base.tensor import Tensor
from .array_reading import rounded
from .arrays.array_text import lanes
from .arrays.face import Recorded, face
from .arrays.python_number import PythonNumber, PythonTruth, as_numpy, as_python
from .arrays.unwrapping import bare
from .mathematics import checked

ARITHMETIC = frozenset({"add", "sub", "mul", "truediv", "floordiv", "mod", "pow"})
RAISING = frozenset({"truediv", "floordiv", "mod", "pow"})
"""Operators that raise in Python where NumPy's warn, or, for a power, give a complex number."""
UNARY = frozenset({"neg", "pos", "abs"})
PYTHON = frozenset({PythonNumber, float, int, bool, complex})
square = REGISTRY["square"]


def _computed(op: Op) -> Callable[..., Any]:
    if op.symbol == "pow":
        return lambda x, y: face(square(bare(x)) if type(y) in (int, float) and y == 2 else op(bare(x), bare(y)))
    return lambda x, y: face(op(bare(x), bare(y)))


def _unary(op: Op) -> Callable[..., Any]:
    def apply(self: PythonNumber) -> Any:
        if op.symbol not in UNARY:
            raise TypeError(f"bad operand type for unary {op.symbol}: '{self.__class__.__name__}'")
        return as_python(face(op(self._tensor)))

    return apply


def _binary(op: Op, is_reflected: bool = False) -> Callable[..., Any]:
    usual = getattr(Recorded, f"__r{op.symbol}__" if is_reflected else f"__{op.symbol}__")
    compute = _computed(op)
    if op.symbol in RAISING:
        compute = checked(getattr(operator, op.symbol), compute)
    is_known = op.symbol in ARITHMETIC or op.symbol in COMPARISONS
    give = truth if op.symbol in COMPARISONS else as_python

    def apply(self: PythonNumber, other: Any) -> Any:
        if type(other) in PYTHON:
            if not is_known:
                return NotImplemented
            return give(compute(other, self) if is_reflected else compute(self, other))
        if isinstance(other, (np.ndarray, np.generic, Tensor)):
            return usual(as_numpy(self, other), other)
        if isinstance(other, Rational) and not isinstance(other, int):
            return apply(self, float(other))
        return NotImplemented

    return apply


def truth(x: Any) -> Any:
    """What a comparison gave as Python's truth value; that of lanes stays recorded."""
    if not lanes(x._tensor):
        return bool(x)
    made = object.__new__(PythonTruth)
    made._tensor = x._tensor
    return made


def _counting(usual: Callable[..., Any]) -> Callable[..., Any]:
    """An operator on truth values of lanes, which counts them."""

    def apply(self: PythonTruth, *others: Any) -> Any:
        return usual(self._counted(), *[x._counted() if type(x) is PythonTruth else x for x in others])

    return apply


def _divmod(self: Any, other: Any) -> Any:
    return self // other, self % other


def _rdivmod(self: Any, other: Any) -> Any:
    return other // self, other % self


def _rounded(self: PythonNumber, ndigits: int | None = None) -> Any:
    return as_python(rounded(as_numpy(self), ndigits))


OPERATORS = [op for op in REGISTRY.values() if op.symbol]
install(PythonNumber, {
    **{f"__{op.symbol}__": _unary(op) if op.arity == 1 else _binary(op) for op in OPERATORS},
    **{f"__r{op.symbol}__": _binary(op, is_reflected=True) for op in OPERATORS
       if op.arity == 2 and op.symbol not in COMPARISONS},
    "__divmod__": _divmod, "__rdivmod__": _rdivmod, "__round__": _rounded,
})  # fmt: skip
install(PythonTruth, {
    name: _counting(getattr(Recorded, name)) for name in
    [f"__{side}{name}__" for name in ARITHMETIC for side in ("", "r")]
    + [f"__{name}__" for name in (*UNARY, "invert", "divmod", "rdivmod")]
})  # fmt: skip
