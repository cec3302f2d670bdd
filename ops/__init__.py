"""The primitives: forward functions, derivative rules, and nothing that records.

Every op is declared once; `REGISTRY` holds them all.
"""

from .core import REGISTRY, Op, composite, elementwise, general, linear, plain
from . import arithmetic, bundle, comparison, elementary, index, linalg, reduction, selection, shape
from .operators import Operators, install, methods
from .symbol import Symbol

globals().update(REGISTRY)
install(Operators, methods())
__all__ = ["REGISTRY", "Op", "Operators", "Symbol", "composite", "elementwise", "general", "install", "linear", "methods", "plain", *REGISTRY]
