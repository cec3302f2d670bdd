"""The primitives: forward functions, derivative rules, and nothing that records.

Every op is declared once; `REGISTRY` holds them all.
"""

from typing import TYPE_CHECKING, Any

from . import (
    activation,
    arithmetic,
    bundle,
    comparison,
    contraction,
    cumulative,
    decomposition,
    diagonals,
    elementary,
    extremes,
    foreign,
    index,
    joining,
    linalg,
    lookup,
    norms,
    numpy_functions,
    parts,
    polar,
    products,
    queries,
    reduction,
    selection,
    shape,
    special,
)
from .core import REGISTRY, Op, composite, elementwise, general, linear, plain
from .operators import Operators, install, methods
from .symbol import Symbol

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # every op of the registry is an attribute

globals().update(REGISTRY)
install(Operators, methods())
__all__ = [
    "REGISTRY", "Op", "Operators", "Symbol",
    "composite", "elementwise", "general", "install", "linear", "methods", "plain", *REGISTRY,
]  # fmt: skip
