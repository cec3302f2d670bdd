"""Differentiation as functions of functions, which nest: ``grad(grad(f))``, ``jacfwd(jacrev(f))``.

>>> import tape
>>> tape.func.grad(lambda x: x.sin())(tape.tensor(0.0))
tensor(1.)
"""

from typing import TYPE_CHECKING

from ..base.rooms import on_demand

if TYPE_CHECKING:
    from ..levels.vmapping import vmap
    from .forward import hessian, jacfwd, jvp, linearize
    from .reverse import grad, grad_and_value, jacrev, value_and_grad, vjp
else:
    _FORWARD = dict.fromkeys(("hessian", "jacfwd", "jvp", "linearize"), "tape.func.forward")
    _REVERSE = dict.fromkeys(("grad", "grad_and_value", "jacrev", "value_and_grad", "vjp"), "tape.func.reverse")
    __getattr__ = on_demand("tape.func", {"vmap": "tape.levels.vmapping"} | _FORWARD | _REVERSE)

__all__ = [
    "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "value_and_grad", "vjp", "vmap",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
