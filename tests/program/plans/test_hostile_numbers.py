"""Elementwise ops at zeros of both signs, infinities, nan, the largest and the smallest numbers: kernels and NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import tape
from ops import REGISTRY
from ops.core.domain import Truth

WHOLE_OR_HALF = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -2.5, 22.5, 100.0, -101.0, 1e5, 1e10)
OTHERS = (np.inf, -np.inf, np.nan, 1e-9, -1e-9, np.pi, 0.1, -0.3, 1.0 / 3.0)


def hostile(dtype):
    """Numbers at which functions end, turn, overflow or are nothing."""
    f = np.finfo(dtype)
    ends = (f.smallest_subnormal, -3 * f.smallest_subnormal, f.tiny, 2 * f.tiny, f.max, -f.max, f.max / 10, -f.max / 7)
    return np.array([*WHOLE_OR_HALF, *OTHERS, *ends, f.max**0.5, f.tiny**0.5], dtype)


def public(op):
    """The function of NumPy's, SciPy's or ours that an op answers for, if it has one."""
    named = [getattr(scipy.special, name) for name in op.scipy if hasattr(scipy.special, name)]
    return next(iter([*op.numpy, *named]), None)


TOLD = {
    op.name: op
    for op in REGISTRY.values()
    if op.kind == "elementwise" and op.arity in (1, 2) and public(op) is not None
    if not op.name.startswith(("special_", "empty"))
    if not any(isinstance(interval, Truth) for interval in op.domain or ())
}


def agree(found, wanted, near):
    """The same nan and infinities, of the same signs; else within a few roundings of a large argument, or so near."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    limits = np.finfo(found.dtype)
    np.testing.assert_allclose(found, wanted, rtol=256 * limits.eps, atol=near * limits.eps + 8 * limits.tiny)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=lambda d: d.__name__)
@pytest.mark.parametrize("name", TOLD)
def test_values_and_slopes(name, dtype):
    op, f, numbers = TOLD[name], public(TOLD[name]), hostile(dtype)
    operands = [x.ravel() for x in np.meshgrid(*[numbers] * op.arity)]
    wanted = f(*operands)
    if np.asarray(wanted).dtype.kind != "f":
        return

    def slopes(*xs):
        return tape.func.vjp(f, *xs)[1](np.ones_like(wanted))

    for function, near in ((f, 0), (slopes, 4)):  # 1 − z² has the error of what it is taken from
        fast = tape.compile(lambda *xs, function=function: function(*xs), tier="optimised")
        fast(*[np.full_like(x, 0.6) for x in operands])
        given = [x if isinstance(x, tuple) else (x,) for x in (fast(*operands), function(*operands))]
        for z, w in zip(*given, strict=True):
            agree(z, w, near)
