"""How an elementwise op is computed in SIMD lanes: declared with the op, emitted by the kernels.

Nothing here knows LLVM; these are descriptions.  An op without a lane has no SIMD kernel and is
evaluated through NumPy, which is slower and always right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Lane:
    """A way of computing in lanes; equal to another of its kind that says the same.

    Not a dataclass: the code that those write is compiled at every import.
    """

    __slots__: tuple[str, ...] = ()

    def _said(self) -> tuple[Any, ...]:
        return type(self), *(getattr(self, field) for field in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lane) and self._said() == other._said()

    def __hash__(self) -> int:
        return hash(self._said())

    def __repr__(self) -> str:
        kind, *said = self._said()
        return f"{kind.__name__}({', '.join(map(repr, said))})"


class Named(Lane):
    """A lane that a name says all about."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name


class Instruction(Named):
    """One floating-point instruction, such as ``fadd``."""


class Intrinsic(Named):
    """One LLVM intrinsic that is a machine instruction or close to it, such as ``sqrt``."""


class Math(Named):
    """A function of the C math library, in its vector form where the platform has one."""


class Compare(Named):
    """An ordered comparison that gives a mask; `name` is the predicate (``<``, ``==``, ``!=`` …)."""


class Mask(Named):
    """A logical instruction on masks: ``and_``, ``or_``, ``not_``."""


class Select(Lane):
    """``where(mask, x, y)``."""


class Same(Lane):
    """The operand's own number, wherever broadcasting repeats it; parameters do not matter."""


class Via(Lane):
    """Computed through other ops: `formula` takes the operands and is written in ops.

    Where NumPy's own function `heeds_nan`, a result that is none is an error of the processor's.
    """

    __slots__ = ("formula", "heeds_nan")

    def __init__(self, formula: Callable[..., Any], heeds_nan: bool = False):
        self.formula, self.heeds_nan = formula, heeds_nan


class Scalar(Lane):
    """Scalar code, called for each element: `code` is the Python function that Numba compiles."""

    __slots__ = ("code",)

    def __init__(self, code: Callable[..., Any]):
        self.code = code


class Opaque(Lane):
    """Not computed in lanes itself, while its rules may be."""
