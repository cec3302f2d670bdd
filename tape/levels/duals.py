"""Forward mode: `direction` has the tensors that move, `dual_writing` what happens when they are changed in place."""

from . import dual_writing  # noqa: F401  (what duals do when they are changed)
from .direction import Direction, Dual, make, parts, zeros

__all__ = ["Direction", "Dual", "make", "parts", "zeros"]
