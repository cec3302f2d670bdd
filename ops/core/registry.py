"""Every op by name and by code, and what rules ask of numbers and their dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .op import Op

HOLOMORPHIC, ADJOINT = "holomorphic", "adjoint"
"""What the rules of an op mean for complex numbers.

The adjoint of x is x̄ = ∂L/∂a + i ∂L/∂b for x = a + ib, so that ⟨g, ż⟩ = ⟨x̄, ẋ⟩ with ⟨u, v⟩ = Re Σ conj(u) v.

* ``HOLOMORPHIC``: the op is complex differentiable, and its rules are written as for real numbers:
  x̄ = g conj(∂z/∂x), and conj(vjp(conj(g))) for a rule that takes ``g``; `Derivatives` does the conjugating.
* ``ADJOINT``: the rules give x̄ itself.  A partial of an elementwise op whose result is real is the gradient
  p = ∂z/∂a + i ∂z/∂b, so x̄ = g p and ż = Re(conj(p) ẋ).

A rule of an elementwise op that takes ``g`` gives the finished x̄ in either case.  Where an operand is real,
`in_dtype` takes the real part.
"""

REGISTRY: dict[str, Op] = {}
"""Every op by name, in the order of declaration."""

OPS: list[Op] = []
"""Every op that was ever declared, by code: records may outlive the place of their op in the registry."""


def is_declared(op: Op) -> bool:
    """Whether an op has its place in the registry; one that was removed or replaced has lost it."""
    return REGISTRY.get(op.name) is op


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array, of whatever stands for one, or of a number."""
    try:
        return x.shape
    except AttributeError:
        return np.shape(x)


def ready(x: Any) -> Any:
    """The argument of a composite as something with a shape and a dtype: lists become arrays."""
    return x if hasattr(x, "dtype") else np.asarray(x)


def is_complex(x: Any) -> bool:
    """Whether an array, whatever stands for one, or a number is complex."""
    dtype = getattr(x, "dtype", None)
    return type(x) is complex if dtype is None else dtype.kind == "c"


def conjugate(x: Any) -> Any:
    """The conjugate of complex numbers; real ones as they are."""
    return REGISTRY["conj"](x) if is_complex(x) else x


def in_dtype(bar: Any, dtype: Any) -> Any:
    """An adjoint or tangent in the dtype of what it belongs to: the real part where that is real."""
    if bar.dtype == dtype:
        return bar
    if bar.dtype.kind == "c" and dtype.kind != "c":
        bar = REGISTRY["real"](bar)
    return bar if bar.dtype == dtype else REGISTRY["cast"](bar, dtype=dtype)


class Zero(float):
    """What a partial gives where it is 0 whatever its operands' values are: its product depends on no adjoint."""


ZERO = Zero(0.0)
