"""The functions of BLAS that steps call: those of NumPy's own library, or SciPy's."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tape.jit.machine import blas
from tape.program import record


@pytest.fixture(params=["NumPy's", "SciPy's"])
def library(request, monkeypatch):
    """Which library the steps of a test call."""
    if request.param == "SciPy's":
        monkeypatch.setattr(blas, "_library", lambda: None)
    holds, address = blas.holds.__wrapped__, blas.blas.__wrapped__
    monkeypatch.setattr(blas, "holds", holds)
    monkeypatch.setattr(blas, "blas", address)
    return request.param


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_products_and_triangles(library, dtype):
    draw = np.random.default_rng(0)
    x, y = (draw.normal(size=(40, 40)).astype(dtype) for _ in range(2))
    if np.dtype(dtype).kind == "c":
        x, y = x + 1j * y, y - 1j * x

    def f(x, y):
        return x @ y, x.T @ y[:, 0], np.linalg.solve(np.tril(x) + 40 * np.eye(40, dtype=dtype), y)

    for found, wanted in zip(record(f, x, y)(x, y), f(x, y)):
        assert found.dtype == wanted.dtype
        assert_allclose(found, wanted, rtol=1e3 * np.finfo(dtype).eps)


def test_a_library_that_multiplies_otherwise_is_not_called(monkeypatch):
    nothing = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(lambda *_: None)
    monkeypatch.setattr(blas, "_in_numpy", lambda name: ctypes.cast(nothing, ctypes.c_void_p).value)
    assert not blas.holds.__wrapped__()


def test_a_function_that_nobody_has(library):
    with pytest.raises(LookupError, match="has a function dnothing"):
        blas.blas("dnothing")


ALONE = """
import sys
import numpy as np
from tape.jit.machine.blas import holds
from tape.program import record
x = np.ones((300, 300))
replayed = record(lambda x: x @ x, x)(x)
assert (replayed == x @ x).all()
print(int(holds() and "scipy.linalg" in sys.modules))
"""


def test_scipys_library_is_not_loaded_beside_numpys():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_large_products_are_those_of_numpy():
    x = np.random.default_rng(1).normal(size=(257, 120))
    y = np.random.default_rng(2).normal(size=(120, 65))
    compare = assert_array_equal if blas.holds() else assert_allclose
    compare(record(np.matmul, x, y)(x, y), x @ y)
