"""Python's operators on arrays and on Python's recorded numbers, derived from the declarations of the ops.

The short way of an elementwise op is that of a plain tensor, or of one that is being recorded, one frame further up.

Beside numbers of Python's, its recorded ones (`tape.numpy.arrays.python_number`) give such numbers, and raise what
Python raises; beside NumPy's arrays and scalars they do what those do.  A comparison is told to Python, which has a
truth there; lanes, which have one each, stay recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Rational
from typing import Any

import numpy as np

from ops import REGISTRY, Op, methods
from ops.core.operators import COMPARISONS, install

from ..base.spec import OF_FACES
from ..base.tensor import Face, Tensor
from ..recording.functions import OF_ARRAYS
from ..recording.halves import as_of_arrays
from ..recording.recorder import require_without_rules
from ..recording.short_ways import binary, reflected, unary
from .array_reading import rounded
from .array_writing import augmented
from .arrays.array_text import lanes
from .arrays.beside_tensors import require_same_rules
from .arrays.face import Array, Number, face
from .arrays.face_base import FACES
from .arrays.python_number import PythonNumber, PythonTruth, as_numpy, as_python
from .arrays.unwrapping import bare
from .constructors import recordable
from .mathematics import checked

new = object.__new__
FLOATS = frozenset({float, int})
ORDERED = frozenset({"lt", "le", "gt", "ge"})
"""Comparisons that a tensor of complex numbers refuses, and NumPy does by the real parts first."""
square, square_root, general_power = REGISTRY["square"], REGISTRY["sqrt"], REGISTRY["general_power"]
_square = unary(square, depth=3, as_operands=False)


def _unary(op: Op) -> Callable[..., Any]:
    short: Any = unary(op, depth=2, as_operands=False) if op.kind == "elementwise" else op
    is_size = op.symbol == "abs"

    def apply(self: Face) -> Any:
        x = self._tensor
        if is_size and x._spec.complex and not x._spec.shape:
            return _size(self)
        if type(x) is not Tensor:
            return face(as_of_arrays(op, x) if x._spec.narrow else op(x))
        z = short(x)
        made = new(OF_FACES[z._spec.face])
        made._tensor = z
        return made

    return apply


def _size(z: Any) -> Any:
    """The absolute value of a complex number, to the last digit that of Python and of NumPy's scalars."""
    return np.hypot(z.real, z.imag)


def _binary(op: Op, *, is_reflected: bool = False) -> Callable[..., Any]:
    short: Any = (
        (reflected if is_reflected else binary)(op, depth=2, as_operands=False) if op.kind == "elementwise" else None
    )
    name = op.symbol if op.symbol in COMPARISONS or not is_reflected else f"r{op.symbol}"
    ufunc, usual, in_face = ufunc_of(op), f"__{name}__", f"_{name}_of_array"
    is_power = op.symbol == "pow" and not is_reflected
    is_special = is_power or op.symbol in ORDERED
    ways: dict[type, Any] = {}

    def apply(self: Face, other: Any) -> Any:
        kind = type(other)
        if kind is Array or kind is Number:
            y = other._tensor
        elif kind is float or kind is int:
            y = other
        elif kind in FACES:
            y = other._tensor
        else:
            return general(self, other)
        if is_special:
            made = detour(self, other)
            if made is not None:
                return made
        x = self._tensor
        inside = type(x)
        if inside is Tensor and short is not None and (type(y) is Tensor or y is other):
            z = short(x, y)
        else:
            way = ways.get(inside)
            if way is None:
                way = ways[inside] = getattr(inside, in_face, None) or OF_ARRAYS[usual]
            is_narrow = x._spec.narrow or (isinstance(y, Tensor) and y._spec.narrow)
            z = as_of_arrays(way, x, y) if is_narrow else way(x, y)
            if not z._spec.shape:
                return face(z)
        made = new(OF_FACES[z._spec.face])
        made._tensor = z
        return made

    def detour(self: Face, other: Any) -> Any:
        """What is not done as tensors do it; nothing, if it is."""
        x = self._tensor
        if is_power:
            spec = x._spec
            if type(other) not in FLOATS or not spec.inexact or (spec.complex and not spec.shape):
                return None
            if other == 0.5 and not spec.complex:
                if spec.shape:
                    return face(as_of_arrays(square_root, x))
                return None if type(x) is Tensor else face(as_of_arrays(general_power, x, other))
            if other != 2:
                return None
            return face(_square(x) if type(x) is Tensor else as_of_arrays(square, x))
        is_complex = x._spec.complex or (isinstance(other, Face) and other._tensor._spec.complex)
        return general(self, other) if is_complex else None

    def general(self: Face, other: Any) -> Any:
        if isinstance(other, Tensor):
            require_same_rules(self, other)
            return op(other, self._tensor) if is_reflected else op(self._tensor, other)
        if type(other) is not np.ndarray:
            require_without_rules((type(other),))
        if isinstance(other, (str, bytes)):
            return of_text(self, other)
        if isinstance(self, Number) and op.symbol == "mul" and isinstance(other, (list, tuple)):
            if self.dtype.kind not in "iu":
                raise TypeError(f"can't multiply sequence by non-int of type 'numpy.{self.dtype.type.__name__}'")
            return other * int(self)
        if getattr(type(other), "__array_ufunc__", True) is None:
            return NotImplemented
        if isinstance(other, Rational) and not isinstance(other, (int, np.generic)):
            return apply(self, float(other))
        if not isinstance(other, (np.ndarray, np.generic)) and (is_stranger(other) or is_unknown(self, other)):
            return NotImplemented
        return ufunc(other, self) if is_reflected else ufunc(self, other)

    def of_text(self: Face, other: Any) -> Any:
        numbers = np.ones(self._tensor._spec.shape, self._tensor._spec.dtype)
        result = getattr(numbers if type(self) is Array else numbers[()], f"__{name}__")(other)
        return result if result is NotImplemented else recordable(result)

    return apply


def _divmod(self: Any, other: Any) -> Any:
    return self // other, self % other


def _rdivmod(self: Any, other: Any) -> Any:
    return other // self, other % self


def is_stranger(other: Any) -> bool:
    """Whether something has operators of its own for arrays, and a higher priority, as a sparse matrix has."""
    return not isinstance(other, (bool, int, float, complex, list, tuple)) and (
        getattr(other, "__array_priority__", -1.0) > 0.0 and not hasattr(other, "__array_ufunc__")
    )


def is_unknown(x: Any, other: Any) -> bool:
    """Whether something beside a number is of a class of the user's, which is asked for its own operator."""
    return isinstance(x, Number) and not isinstance(other, KNOWN) and not any(hasattr(other, name) for name in ARRAYS)


KNOWN = (bool, int, float, complex, list, tuple, range, memoryview, bytearray, type(None))
ARRAYS = "__array__", "__array_ufunc__", "__array_interface__", "__array_struct__", "__buffer__", "__len__"


def ufunc_of(op: Op) -> Any:
    """The ufunc behind an operator."""
    return op.forward if isinstance(op.forward, np.ufunc) else next(f for f in op.numpy if isinstance(f, np.ufunc))


def installed(kind: type, operators: dict[str, Callable[..., Any]], like: type) -> None:
    """Put those operators on a class of faces that the class has which it stands for."""
    install(kind, {name: operator for name, operator in operators.items() if hasattr(like, name)})


OPERATORS = methods(lambda op: _unary(op) if op.arity == 1 else _binary(op), lambda op: _binary(op, is_reflected=True))
OPERATORS |= {"__divmod__": _divmod, "__rdivmod__": _rdivmod}
installed(Number, OPERATORS, np.generic)
installed(Array, OPERATORS, np.ndarray)
install(Array, {
    f"__i{op.symbol}__": augmented(ufunc_of(op))
    for op in REGISTRY.values() if op.symbol and op.arity == 2 and op.symbol not in COMPARISONS
})  # fmt: skip


ARITHMETIC = frozenset({"add", "sub", "mul", "truediv", "floordiv", "mod", "pow"})
RAISING = frozenset({"truediv", "floordiv", "mod", "pow"})
"""Operators that raise in Python where NumPy's warn, or, for a power, give a complex number."""
UNARY = frozenset({"neg", "pos", "abs"})
PYTHON = frozenset({PythonNumber, float, int, bool, complex})


def _computed(op: Op) -> Callable[..., Any]:
    if op.symbol == "pow":
        return lambda x, y: face(square(bare(x)) if type(y) in (int, float) and y == 2 else op(bare(x), bare(y)))
    return lambda x, y: face(op(bare(x), bare(y)))


def _python_unary(op: Op) -> Callable[..., Any]:
    def apply(self: PythonNumber) -> Any:
        if op.symbol == "abs" and self._tensor._spec.complex:
            return as_python(_size(as_numpy(self)))
        return as_python(face(op(self._tensor)))

    return apply


def _python_binary(op: Op, is_reflected: bool = False) -> Callable[..., Any]:
    usual = OPERATORS[f"__r{op.symbol}__" if is_reflected else f"__{op.symbol}__"]
    compute = _computed(op)
    if op.symbol in RAISING:
        compute = checked(getattr(operator, op.symbol), compute)
    is_of_reals = op.symbol in ORDERED | {"floordiv", "mod"}
    give = truth if op.symbol in COMPARISONS else as_python

    def apply(self: PythonNumber, other: Any) -> Any:
        if type(other) in PYTHON:
            if is_of_reals and complex in (self.__class__, other.__class__):
                return NotImplemented
            return give(compute(other, self) if is_reflected else compute(self, other))
        if isinstance(other, (np.ndarray, np.generic, Tensor)):
            number = as_numpy(self, other)
            if not isinstance(number, Face):
                return op(other, number) if is_reflected else op(number, other)
            return usual(number, other)
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


def _rounded(self: PythonNumber, ndigits: int | None = None) -> Any:
    return as_python(rounded(as_numpy(self), ndigits))


_OF_PYTHONS = methods(
    lambda op: _python_unary(op) if op.arity == 1 else _python_binary(op),
    lambda op: _python_binary(op, is_reflected=True),
)
installed(PythonNumber, {**_OF_PYTHONS, "__divmod__": _divmod, "__rdivmod__": _rdivmod, "__round__": _rounded}, float)
install(PythonTruth, {
    name: _counting(OPERATORS[name]) for name in
    [f"__{side}{name}__" for name in ARITHMETIC for side in ("", "r")]
    + [f"__{name}__" for name in (*UNARY, "invert", "divmod", "rdivmod")]
})  # fmt: skip
