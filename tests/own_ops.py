"""Ops of one's own that several tests declare, and take away again."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import ops
from ops import REGISTRY
from ops.core.own import OWN


@pytest.fixture
def library():
    """The registry, which is the library's own again afterwards."""
    before = list(REGISTRY)
    yield
    for op in list(OWN):
        ops.remove(op.name)
    assert list(REGISTRY) == before


def softcap(x, cap):
    return cap * ops.tanh(x / cap)


@numba.njit
def bump(x):
    """exp(−1 / (1 − x²)) between −1 and 1, and 0 outside."""
    return np.exp(-1.0 / (1.0 - x * x)) if -1.0 < x < 1.0 else 0.0


@numba.njit
def bump_dx(x, z):
    return -2.0 * x / (1.0 - x * x) ** 2 * z if -1.0 < x < 1.0 else 0.0
