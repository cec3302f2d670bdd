"""Differentiation as functions of functions, which nest: ``grad(grad(f))``, ``jacfwd(jacrev(f))``.

Arrays in, arrays inside, arrays out; tensors in, tensors inside, tensors out.

>>> import numpy as np, tape
>>> tape.func.grad(lambda x: x.sin())(tape.tensor(0.0))
tensor(1.)
>>> tape.func.grad(lambda x: np.sin(x[0]) * x[1])(np.array([0.0, 3.0]))
array([3., 0.])
"""

from ..numpy.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap

__all__ = [
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "value_and_grad", "vjp", "vmap",
]  # fmt: skip
