"""The primitives: forward functions, derivative rules, and nothing that records.

Every op is declared once; `REGISTRY` holds them all.
"""

from .core import REGISTRY, Op, composite, elementwise, general, linear, plain
from . import (
    activation, arithmetic, bundle, comparison, contraction, cumulative, decomposition, diagonals, elementary, extremes,
    index, joining, linalg, norms, numpy_functions, products, queries, reduction, selection, shape, special,
)  # fmt: skip
from .operators import Operators, install, methods
from .symbol import Symbol

globals().update(REGISTRY)
install(Operators, methods())
__all__ = ["REGISTRY", "Op", "Operators", "Symbol", "composite", "elementwise", "general", "install", "linear", "methods", "plain", *REGISTRY]
