"""How an elementwise op is computed in SIMD lanes: declared with the op, emitted by the kernels.

Nothing here knows LLVM; these are descriptions.  An op without a lane has no SIMD kernel and is
evaluated through NumPy, which is slower and always right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Instruction:
    """One floating-point instruction, such as ``fadd``."""

    name: str


@dataclass(frozen=True)
class Intrinsic:
    """One LLVM intrinsic that is a machine instruction or close to it, such as ``sqrt``."""

    name: str


@dataclass(frozen=True)
class Math:
    """A function of the C math library, in its vector form where the platform has one."""

    name: str


@dataclass(frozen=True)
class Compare:
    """An ordered comparison that gives a mask; `name` is the predicate (``<``, ``==``, ``!=`` …)."""

    name: str


@dataclass(frozen=True)
class Mask:
    """A logical instruction on masks: ``and_``, ``or_``, ``not_``."""

    name: str


@dataclass(frozen=True)
class Select:
    """``where(mask, x, y)``."""


@dataclass(frozen=True)
class Same:
    """The operand's own number, wherever broadcasting repeats it; parameters do not matter."""


@dataclass(frozen=True)
class Via:
    """Computed through other ops: `formula` takes the operands and is written in ops."""

    formula: Callable[..., Any]


@dataclass(frozen=True)
class Scalar:
    """Scalar code, called for each element: `code` is the Python function that Numba compiles."""

    code: Callable[..., Any]


@dataclass(frozen=True)
class Opaque:
    """Not computed in lanes itself, while its rules may be."""
