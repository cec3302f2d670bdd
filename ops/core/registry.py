"""Every op by name and by code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .op import Op

HOLOMORPHIC, ADJOINT = "holomorphic", "adjoint"
"""What the rules of an op mean for complex numbers.

The adjoint of x is x̄ = ∂L/∂a + i ∂L/∂b for x = a + ib, so that ⟨g, ż⟩ = ⟨x̄, ẋ⟩ with ⟨u, v⟩ = Re Σ conj(u) v.

* ``HOLOMORPHIC``: the op is complex differentiable, and its rules are written as for real numbers:
  x̄ = g conj(∂z/∂x), and conj(vjp(conj(g))) for a rule that takes ``g``; `ops.core.differentiate` does the conjugating.
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
