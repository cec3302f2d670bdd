"""Convolutions and linear equations of matrices by SciPy, on recorded values: against SciPy and differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
from numpy.testing import assert_allclose

import tape

rng = np.random.default_rng(0)
BLUR, LINE, BLOCK = rng.normal(size=(2, 3)), rng.normal(size=3), rng.normal(size=(2, 2, 2))
A, B, Q = rng.normal(size=(3, 3)) + 3 * np.eye(3), rng.normal(size=(2, 2)) + 2 * np.eye(2), rng.normal(size=(3, 2))
S, TALL, RIGHT = rng.normal(size=(3, 3)), rng.normal(size=(4, 2)), rng.normal(size=4)


def check(f, x):
    """Values, both modes, compiled and in lanes."""
    expected = f(x)
    found = tape.func.vjp(f, x)[0]
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape)

    def total(x):
        return np.real(f(x) * weights).sum()

    steps = np.eye(x.size).reshape(-1, *x.shape) * 1e-6
    numeric = np.reshape([(total(x + h) - total(x - h)) / 2e-6 for h in steps], x.shape)
    gradient = tape.func.grad(total)
    assert_allclose(gradient(x), numeric, atol=1e-6)
    assert_allclose(tape.func.jacfwd(total)(x), numeric, atol=1e-6)
    compiled = tape.compile(gradient)
    for at in (x, 1.1 * x, x):
        assert_allclose(compiled(at), gradient(at), rtol=1e-9, atol=1e-12)
    assert_allclose(tape.func.vmap(f)(np.stack([x, 1.1 * x]))[1], f(1.1 * x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("kernel", [LINE, BLUR, BLOCK], ids=["line", "plane", "block"])
def test_convolutions_have_as_many_axes_as_one_likes(kernel, mode):
    x = rng.normal(size=[n + 2 for n in kernel.shape])
    check(lambda x: scipy.signal.convolve(kernel, x, mode=mode), x)
    if kernel is not BLOCK:
        check(lambda x: scipy.signal.fftconvolve(x, x[::-1] * 0.5, mode), x)
        check(lambda x: scipy.signal.correlate(x, kernel, mode), x)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
def test_planes_go_on_beyond_their_edges(boundary, mode):
    x = rng.normal(size=(3, 3))
    check(lambda x: scipy.signal.convolve2d(x, BLUR, mode, boundary), x)
    check(lambda x: scipy.signal.correlate2d(x, BLUR[:, :2], mode, boundary, fillvalue=1.5), x)
    for kernel in (BLUR, BLUR[:1], np.vstack([BLUR, BLUR])[:, :2] if mode != "valid" else BLUR.T):
        found = tape.func.vjp(lambda x, k=kernel: scipy.signal.convolve2d(x, k, mode, boundary), x)[0]
        assert_allclose(found, scipy.signal.convolve2d(x, kernel, mode, boundary), rtol=1e-10, atol=1e-12)
        found = tape.func.vjp(lambda x, k=kernel: scipy.signal.correlate2d(x, k, mode, boundary), x)[0]
        assert_allclose(found, scipy.signal.correlate2d(x, kernel, mode, boundary), rtol=1e-10, atol=1e-12)


def test_many_numbers_are_convolved_by_their_spectra():
    kernel = rng.normal(size=(17, 18))
    check(
        lambda x: scipy.signal.convolve(np.outer(x, np.cos(x + np.arange(20.0))), kernel, "same")[::4, ::5],
        LINE.mean() + np.linspace(0, 1, 20),
    )


EQUATIONS = {
    "sylvester, a": (lambda x: scipy.linalg.solve_sylvester(x, B, Q), A),
    "sylvester, b": (lambda x: scipy.linalg.solve_sylvester(A, x, Q), B),
    "sylvester, q": (lambda x: scipy.linalg.solve_sylvester(A, B, x), Q),
    "continuous, a": (lambda x: scipy.linalg.solve_continuous_lyapunov(x, S), A),
    "continuous, q": (lambda x: scipy.linalg.solve_continuous_lyapunov(A, x), S),
    "discrete, a": (lambda x: scipy.linalg.solve_discrete_lyapunov(x / 9, S), A),
    "discrete, q": (lambda x: scipy.linalg.solve_discrete_lyapunov(A / 9, x), S),
    "least squares": (lambda x: scipy.linalg.lstsq(x, RIGHT)[0], TALL),
    "misfit": (lambda x: scipy.linalg.lstsq(x, RIGHT)[1], TALL),
    "misfits": (lambda x: scipy.linalg.lstsq(TALL, x)[1], rng.normal(size=(4, 2))),
    "singular values": (lambda x: scipy.linalg.lstsq(x, RIGHT)[3], TALL),
    "eigenvalues": (lambda x: scipy.linalg.eigvals(x), A + np.diag([1.0, 5.0, 9.0])),
}


@pytest.mark.parametrize("name", [name for name in EQUATIONS if not name.startswith("misfit")])
def test_equations_of_matrices(name):
    check(*EQUATIONS[name])


@pytest.mark.parametrize("name", [name for name in EQUATIONS if name.startswith("misfit")])
def test_residuals_without_lanes(name):
    f, x = EQUATIONS[name]
    assert_allclose(tape.func.vjp(f, x)[0], f(x), rtol=1e-10)
    steps = np.eye(x.size).reshape(-1, *x.shape) * 1e-6
    numeric = np.reshape([(np.sum(f(x + h)) - np.sum(f(x - h))) / 2e-6 for h in steps], x.shape)
    assert_allclose(tape.compile(tape.func.grad(lambda x: f(x).sum()))(x), numeric, atol=1e-6)


def test_what_is_not_covered_is_refused_with_what_records():
    with pytest.raises(TypeError, match="convolve2d and correlate2d record"):
        tape.func.grad(lambda x: scipy.signal.fftconvolve(x, BLUR, axes=0).sum())(S)
    with pytest.raises(TypeError, match="solve_sylvester"):
        tape.func.grad(lambda x: scipy.linalg.signm(x).sum())(S)


def test_a_function_that_is_not_found_is_said_to_record_by_its_name():
    with pytest.raises(
        TypeError, match=r"^scipy\.linalg\.inv needs(.|\n)*So does scipy\.linalg\.inv, called with usual arguments"
    ):
        tape.func.grad(lambda x: vars(scipy.linalg)["inv"](x).sum())(A)


def test_a_function_called_by_another_name_is_told_of_by_its_own():
    def of(f):
        return lambda x: f(x).sum()

    root = scipy.linalg.signm
    with pytest.raises(TypeError, match=r"^scipy\.linalg\.signm needs"):
        tape.func.grad(of(root))(A)
    with pytest.raises(TypeError, match=r"^scipy\.linalg\.hessenberg needs"):
        tape.func.grad(lambda x, f=scipy.linalg.hessenberg: f(x).sum())(A)
