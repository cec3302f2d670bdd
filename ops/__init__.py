"""The primitives: forward functions, derivative rules, and nothing that records.

Every op is declared once; `REGISTRY` holds them all.
"""

from typing import Any

from . import (
    activation,
    angles,
    arithmetic,
    bessel,
    bundle,
    comparison,
    contraction,
    cumulative,
    decomposition,
    diagonals,
    elementary,
    extremes,
    foreign,
    gammas,
    index,
    integrals,
    joining,
    linalg,
    losses,
    norms,
    numpy_functions,
    numpy_numerics,
    numpy_picking,
    numpy_reductions,
    overwriting,
    parts,
    places,
    products,
    queries,
    rarer,
    reduction,
    scattering,
    selection,
    shape,
    sparse,
    special,
    spectral,
    spectrum,
    strides,
    systems,
    variance,
)
from .core import ADJOINT, HOLOMORPHIC, REGISTRY, Op, composite, plain
from .operators import Operators, install, methods
from .own import elementwise, general, linear, remove
from .symbol import Symbol


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
