"""Differentiation as functions of functions, which nest: ``grad(grad(f))``, ``jacfwd(jacrev(f))``.

>>> import tape
>>> tape.func.grad(lambda x: x.sin())(tape.tensor(0.0))
tensor(1.)
"""

from ..levels.vmapping import vmap
from .forward import hessian, jacfwd, jvp, linearize
from .reverse import grad, grad_and_value, jacrev, value_and_grad, vjp

__all__ = [
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
