"""Which ufunc evaluates an elementwise op, from its forward function."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def ufunc_of(op: Any) -> np.ufunc | None:
    """The ufunc that the forward function of an op is, None if it is another function."""
    forward = op.forward
    if isinstance(forward, np.ufunc):
        return forward
    if getattr(forward, "__module__", None) == operator.add.__module__:
        return next((f for f in op.numpy if isinstance(f, np.ufunc)), None)
    named = getattr(forward, "scipy", ())
    if named:
        import scipy.special

        found = getattr(scipy.special, named[0])
        if not isinstance(found, np.ufunc):  # a function around one, such as `zeta` of two numbers
            found = getattr(getattr(scipy.special, "_ufuncs", None), f"_{named[0]}", None)
        return found if isinstance(found, np.ufunc) and found.nin == op.arity else None
    return None
