"""The primitives: forward functions, derivative rules, and nothing that records.

Every op is declared once; `REGISTRY` holds them all.
"""

from typing import Any

from .algebra import (
    contraction,
    decomposition,
    inverses,
    norms,
    numpy_products,
    products,
    sparse,
    spectral,
    spectrum,
    systems,
)
from .composites import (
    activation,
    numpy_arranging,
    numpy_functions,
    numpy_numerics,
    numpy_ordering,
    numpy_picking,
    numpy_reductions,
)
from .core import bounds, bundle, foreign
from .core.formula import Symbol
from .core.op import ADJOINT, HOLOMORPHIC, REGISTRY, Op, composite, plain
from .core.operators import Operators, install, methods
from .core.own import elementwise, general, linear, remove
from .pointwise import arithmetic, comparison, elementary, selection
from .reductions import closeness, cumulative, exact, extremes, reduction, scattering, variance
from .shapes import diagonals, index, joining, overwriting, parts, places, queries, shape, strides, sums
from .specials import gammas, integrals, usual


def __getattr__(name: str) -> Any:
    """Every op of the registry is an attribute, also one that was declared later."""
    try:
        return REGISTRY[name]
    except KeyError:
        raise AttributeError(f"there is no op named {name!r}; see ops.REGISTRY for all of them") from None


globals().update(REGISTRY)
install(Operators, methods())
__all__ = [
    "ADJOINT", "HOLOMORPHIC", "REGISTRY", "Op", "Operators", "Symbol",
    "composite", "elementwise", "general", "install", "linear", "methods", "plain", "remove", *REGISTRY,
]  # fmt: skip
