"""Derivatives of complex functions on their branch cuts: those of the side that the sign of a zero says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

REAL = np.array([1.3, 0.7, 2.1, 0.4])
SIDES = {
    "right, above": REAL + 0j, "right, below": np.conj(REAL + 0j), "left, above": -np.conj(REAL + 0j),
    "left, below": -REAL - 0j, "up": np.array([complex(0.0, y) for y in REAL]),
    "up, left": np.array([complex(-0.0, y) for y in REAL]), "down": np.array([complex(0.0, -y) for y in REAL]),
    "down, left": np.array([complex(-0.0, -y) for y in REAL]),
}  # fmt: skip
NAMES = "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "log", "log2", "log10", "log1p", "sqrt"


def shifted(z, h):
    """The numbers moved along the axis that they lie on, on the same side of it."""
    return np.array([complex(v.real + h, v.imag) if v.imag == 0 else complex(v.real, v.imag + h) for v in z])


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", NAMES)
def test_slope(name, side):
    f, z = getattr(np, name), SIDES[side]
    along = 1.0 if z[0].imag == 0 else 1j
    with np.errstate(all="ignore"):
        wanted = (f(shifted(z, 1e-6)) - f(shifted(z, -1e-6))) / (2e-6 * along)
    assert_allclose(tape.func.jvp(f, (z,), (np.ones(4, complex),))[1], wanted, rtol=1e-5)
    assert_allclose(np.conj(tape.func.vjp(f, z)[1](np.ones(4, complex))[0]), wanted, rtol=1e-5)
