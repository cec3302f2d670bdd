"""What is recorded of the user's function: the function of a block that workers evaluate, by name.

Only the name and the user's own function travel, where one has to travel; the worker makes the rest from its library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.tree import build, leaves_of, structure_of
from ..func import grad, grad_and_value, jacfwd, jvp


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself."""
    return function


def value_and_grad(loss: Callable[..., Any]) -> Callable[..., Any]:
    """(w, *blocks) ↦ value and gradient."""
    both = grad_and_value(loss)

    def value_and_gradient(parameters: Any, *blocks: Any) -> Any:
        gradient, value = both(parameters, *blocks)
        return value, gradient

    return value_and_gradient


def hvp(loss: Callable[..., Any]) -> Callable[..., Any]:
    """(w, v, *blocks) ↦ H v, forward over reverse."""
    gradient = grad(loss)

    def product(parameters: Any, vector: Any, *blocks: Any) -> Any:
        return jvp(lambda w: gradient(w, *blocks), (parameters,), (vector,))[1]

    return product


def gauss_newton(residual: Callable[..., Any]) -> Callable[..., Any]:
    """(w, *blocks) ↦ JᵀJ and Jᵀr, of the parameters and the residuals laid out as vectors."""

    def normal_equations(parameters: Any, *blocks: Any) -> Any:
        structure, leaves = structure_of(parameters), leaves_of(parameters)

        def twice(*ws: Any) -> Any:
            found = residual(build(structure, ws), *blocks)
            if isinstance(found, (dict, list, tuple)):
                raise TypeError(
                    f"tape.dask.gauss_newton() requires residuals in one array; got a {type(found).__name__} of "
                    f"{len(found)}.\nPut them together: np.concatenate([r.ravel(), s.ravel()])."
                )
            r = np.reshape(found, -1)
            return r, r

        jacobians, r = jacfwd(twice, tuple(range(len(leaves))), has_aux=True)(*leaves)
        J = np.concatenate([np.reshape(j, (r.shape[0], -1)) for j in jacobians], axis=1)
        return J.T @ J, J.T @ r

    return normal_equations


DERIVED: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "map": plain,
    "value-and-grad": value_and_grad,
    "hvp": hvp,
    "gauss-newton": gauss_newton,
}
