"""`scipy.linalg` on recorded arrays: banded systems, functions of matrices, decompositions."""

from __future__ import annotations

import numpy as np
import pytest
from differences import check_smooth
from numpy.testing import assert_allclose
from scipy import linalg

import ops
import tape
from tape import func

X = np.array([0.5, 0.3, 0.8])
BANDS = np.array([[0.3, 0.2, 0.4], [3.0, 4.0, 5.0], [0.7, 0.1, 0.2]])
"""The corners are read by nobody."""


def spread(x):
    return np.outer(x, x) + np.diag([2.0, 3.0, 5.0]) + np.array([[0, 0.3, 0], [0, 0, 0.1], [0.2, 0, 0]])


def even(x):
    return np.outer(x, x) + np.diag([2.0, 3.0, 5.0])


CALLS = {
    "solve_banded": lambda x: (linalg.solve_banded((1, 1), BANDS + np.outer(x, x), x) ** 2).sum(),
    "many right-hand sides": lambda x: linalg.solve_banded((0, 2), (BANDS + x)[[0, 2, 1]], np.outer(x, x))[0].sum(),
    "a constant matrix": lambda x: linalg.solve_banded((1, 1), BANDS, x) @ X,
    "solveh_banded": lambda x: linalg.solveh_banded(BANDS[:2] + x, x) @ X,
    "solveh_banded by its lower part": lambda x: linalg.solveh_banded(BANDS[1:] + x, x, lower=True) @ X,
    "cho_solve_banded": lambda x: linalg.cho_solve_banded((BANDS[:2] + x, False), x) @ X,
    "cho_solve_banded by its lower part": lambda x: linalg.cho_solve_banded((BANDS[1:] + x, True), x) @ X,
    "solve_toeplitz": lambda x: linalg.solve_toeplitz(x + np.array([3.0, 0, 0]), x) @ X,
    "solve_toeplitz of two": lambda x: linalg.solve_toeplitz((x + np.array([3.0, 0, 0]), 2 * x), x) @ X,
    "matmul_toeplitz": lambda x: linalg.matmul_toeplitz((x, x**2), x) @ X,
    "solve_circulant": lambda x: linalg.solve_circulant(x + np.array([3.0, 0, 0]), x) @ X,
    "sqrtm": lambda x: (linalg.sqrtm(spread(x)) @ x)[1],
    "sqrtm without a real root": lambda x: np.abs(linalg.sqrtm(np.outer(x, x) - np.diag([2.0, 3, 5]))).sum(),
    "logm": lambda x: (linalg.logm(spread(x)) @ x)[1],
    "cosm": lambda x: (linalg.cosm(spread(x)) @ x)[1] + (linalg.sinm(spread(x)) @ x)[2],
    "tanm": lambda x: (linalg.tanm(0.2 * spread(x)) @ x)[1],
    "tanhm": lambda x: (linalg.tanhm(0.2 * spread(x)) @ linalg.sinhm(spread(x)) @ x)[1],
    "eigh of a pencil": lambda x: (linalg.eigh(np.triu(even(x)), spread(2 * X), lower=False, eigvals_only=True) @ X),
    "eigh": lambda x: (linalg.eigh(even(x), driver="evd")[1] ** 2 @ x)[0],
    "eig": lambda x: (np.abs(linalg.eig(spread(x))[1]) ** 2 @ x)[0],
    "svd": lambda x: (linalg.svd(spread(x))[0] ** 2 @ linalg.svd(spread(x), compute_uv=False))[0],
    "polar": lambda x: (linalg.polar(spread(x))[0] @ linalg.polar(spread(x), "left")[1])[0, 1],
    "solve_sylvester": lambda x: linalg.solve_sylvester(spread(x), spread(x)[:2, :2], np.outer(x, x[:2]))[0].sum(),
    "solve_continuous_lyapunov": lambda x: linalg.solve_continuous_lyapunov(spread(x), np.outer(x, x))[0].sum(),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs.*drew random numbers")  # as SciPy's logm does
@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    assert_allclose(func.grad_and_value(CALLS[name])(X)[1], CALLS[name](X), rtol=1e-12)
    check_smooth(CALLS[name], X)


def test_complex_systems():
    z = X + 1j * X[::-1]

    def f(z, b):
        bands = BANDS + np.outer(z, z)
        return np.abs(linalg.solve_banded((1, 1), bands, b)).sum() + np.abs(linalg.solveh_banded(
            np.stack([z, np.abs(z) + 9]), b
        )).sum()  # fmt: skip

    def g(z, b):
        a = linalg.toeplitz(np.abs(z)) + np.diag(z) + 3 * np.eye(3)
        return np.abs(linalg.sqrtm(a) @ linalg.solve_sylvester(a, 2 * a, np.outer(b, z))).sum()

    for h in (f, g):
        found = func.grad(h, (0, 1))(z, z**2)
        for d in (1e-6, 1e-6j):
            e = d * np.eye(3)[0]
            along = (h(z + e, z**2) - h(z - e, z**2)) / 2e-6, (h(z, z**2 + e) - h(z, z**2 - e)) / 2e-6
            assert_allclose([(bar[0] * np.conj(d)).real * 1e6 for bar in found], along, rtol=1e-6)


def test_tensors():
    a, b = tape.tensor(BANDS, requires_grad=True), tape.tensor(X, requires_grad=True)
    z = ops.solve_banded(a, b, lower=1, upper=1)
    z.sum().backward()
    whole = np.diag(BANDS[1]) + np.diag(BANDS[0, 1:], 1) + np.diag(BANDS[2, :2], -1)
    assert_allclose(z.detach().numpy(), np.linalg.solve(whole, X), rtol=1e-13)
    assert_allclose(b.grad.numpy(), np.linalg.solve(whole.T, np.ones(3)), rtol=1e-13)
    assert a.grad.numpy()[0, 0] == a.grad.numpy()[2, 2] == 0


def test_single_precision_and_what_scipy_raises():
    bands, x = BANDS.astype(np.float32), X.astype(np.float32)
    found, value = func.grad_and_value(lambda x: linalg.solve_banded((1, 1), bands, x).sum())(x)
    assert found.dtype == value.dtype == np.float32
    assert func.grad(lambda a: linalg.sqrtm(a).sum())(spread(x).astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match=r"invalid values for the number of lower and upper diagonals"):
        func.grad(lambda x: linalg.solve_banded((1, 2), BANDS, x).sum())(X)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        func.grad(lambda x: linalg.solve_banded((1, 1), 0 * BANDS, x).sum())(X)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        func.grad(lambda x: linalg.solveh_banded(-BANDS[:2], x).sum())(X)
    with pytest.raises(ValueError, match="infs or NaNs"):
        func.grad(lambda x: linalg.solve_banded((1, 1), BANDS * np.nan, x).sum())(X)
    with pytest.raises(TypeError, match="driver='evd'"):
        func.grad(lambda x: linalg.eigh(even(x))[1].sum())(X)
