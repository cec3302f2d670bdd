"""The cotangents of outputs, with which a reverse sweep begins: which fit, and the 1 where none is given.

Every kind of tensor is differentiated by these rules, while a function is recorded too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .size import Size
from .spec import Spec


def implicit(spec: Spec, which: str = "this one") -> Any:
    """The cotangent of an output for which none is given: 1, if it is one real number.

    Raises:
        RuntimeError: if it is not.
    """
    if spec.size != 1:
        raise RuntimeError(
            f"grad can be implicitly created only for scalar outputs, of one element; {which} has shape {spec.shape}.\n"
            "Reduce it first (for example .sum()), or pass gradient= (in autograd.grad grad_outputs=) of that shape."
        )
    if spec.dtype.kind == "c":
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {spec.dtype}.\n"
            "Differentiate its .real, .imag or .abs(), or pass gradient= explicitly."
        )
    return np.ones(spec.shape, spec.dtype)[()]


def check_fits(cotangent: Spec, output: Spec, i: int) -> None:
    """Raise unless a cotangent has the shape of output number `i`, and is complex where that is.

    Raises:
        RuntimeError: if not.
    """
    if cotangent.shape != output.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {Size(cotangent.shape)} and output[{i}] has a shape "
            f"of {Size(output.shape)}."
        )
    if cotangent.complex is not output.complex:
        kind, advice = ("complex", "its .to(output.dtype)") if output.complex else ("real", "its .real")
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype: output "
            f"{i} is {kind} ({output.dtype}), its gradient {cotangent.dtype}. Pass {advice}."
        )
