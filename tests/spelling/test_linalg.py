"""Linear algebra of real and complex matrices: PyTorch's values, gradients and second derivatives; mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape import autograd, linalg

torch = pytest.importorskip("torch")

rng = np.random.default_rng(3)


def numbers(*shape):
    return rng.normal(size=shape), rng.normal(size=shape) + 1j * rng.normal(size=shape)


SQUARE = [x + 4.0 * np.eye(3) + np.diag([0.0, 2.0, 5.0]) for x in numbers(2, 3, 3)]
TALL, WIDE, RIGHT, VECTOR = numbers(4, 2), numbers(2, 4), numbers(3, 2), numbers(3)
POSITIVE = [x @ np.conj(np.swapaxes(x, -1, -2)) for x in SQUARE]


def hermitian(x):
    return x + x.mH


def onto_the_first(w, v):
    return v[..., :1] @ v[..., :1].mH


def cosine(w, v):
    return (v * w.cos().unsqueeze(-2)) @ v.mH


def nearest_rotation(u, s, vh):
    return u @ vh


def with_larger_values(u, s, vh):
    return (u * s.exp().unsqueeze(-2)) @ vh


FUNCTIONS = {
    "inv": (lambda m, x: m.linalg.inv(x), SQUARE),
    "det": (lambda m, x: m.linalg.det(x), SQUARE),
    "slogdet": (lambda m, x: m.linalg.slogdet(x).logabsdet, SQUARE),
    "sign of slogdet": (lambda m, x: m.linalg.slogdet(x).sign * m.linalg.slogdet(x).logabsdet, SQUARE),
    "solve": (lambda m, x, y: m.linalg.solve(x, y), SQUARE, RIGHT),
    "solve of vectors": (lambda m, x: m.linalg.solve(x, x[..., 0]), SQUARE),
    "solve from the right": (lambda m, x, y: m.linalg.solve(x, y, left=False), SQUARE, numbers(2, 4, 3)),
    "solve_triangular": (lambda m, x, y: m.linalg.solve_triangular(x, y, upper=True), SQUARE, RIGHT),
    "solve_triangular right": (
        lambda m, x, y: m.linalg.solve_triangular(x, y.mT, upper=False, left=False, unitriangular=True), SQUARE, RIGHT,
    ),
    "cholesky": (lambda m, x: m.linalg.cholesky(hermitian(x)), POSITIVE),
    "cholesky upper": (lambda m, x: m.linalg.cholesky(hermitian(x), upper=True), POSITIVE),
    "cholesky_solve": (
        lambda m, x, y: m.cholesky_solve(y, m.linalg.cholesky(hermitian(x))), [p[0] for p in POSITIVE], RIGHT,
    ),
    "cholesky_inverse": (lambda m, x: m.cholesky_inverse(m.linalg.cholesky(hermitian(x))), [p[0] for p in POSITIVE]),
    "qr": (lambda m, x: m.linalg.qr(x).Q, TALL),
    "r of qr": (lambda m, x: m.linalg.qr(x).R, WIDE),
    "eigvalsh": (lambda m, x: m.linalg.eigvalsh(hermitian(x)), SQUARE),
    "eigh, projections": (
        lambda m, x: onto_the_first(*m.linalg.eigh(hermitian(x))), SQUARE,
    ),
    "eigh, lengths": (lambda m, x: m.linalg.eigh(hermitian(x)).eigenvectors.abs(), SQUARE),
    "eigh, values and vectors": (
        lambda m, x: cosine(*m.linalg.eigh(hermitian(x))), SQUARE,
    ),
    "eigvals": (lambda m, x: m.linalg.eigvals(x), SQUARE),
    "eig, lengths": (lambda m, x: m.linalg.eig(x).eigenvectors.abs(), SQUARE),
    "svdvals": (lambda m, x: m.linalg.svdvals(x), TALL),
    "svd, product of vectors": (
        lambda m, x: nearest_rotation(*m.linalg.svd(x, full_matrices=False)), SQUARE,
    ),
    "svd, everything": (
        lambda m, x: with_larger_values(*m.linalg.svd(x, full_matrices=False)), TALL,
    ),
    "svd wide, lengths": (lambda m, x: m.linalg.svd(x, full_matrices=False).Vh.abs(), WIDE),
    "pinv": (lambda m, x: m.linalg.pinv(x), TALL),
    "lstsq": (lambda m, x, y: m.linalg.lstsq(x, y).solution, SQUARE, [np.stack([r, r]) for r in RIGHT]),
    "lu": (lambda m, x: m.linalg.lu(x).L @ m.linalg.lu(x).U.sin(), SQUARE),
    "lu tall": (lambda m, x: m.linalg.lu(x).L, TALL),
    "lu wide": (lambda m, x: m.linalg.lu(x).U, WIDE),
    "matrix_exp": (lambda m, x: m.linalg.matrix_exp(x / 5), SQUARE),
    "matrix_power": (lambda m, x: m.linalg.matrix_power(x, 3), SQUARE),
    "matrix_power of the inverse": (lambda m, x: m.linalg.matrix_power(x, -2), SQUARE),
    "multi_dot": (lambda m, x, y: m.linalg.multi_dot([x, y, y.mT]), [s[0] for s in SQUARE], RIGHT),
    "cond": (lambda m, x: m.linalg.cond(x), SQUARE),
    "norm": (lambda m, x: m.linalg.norm(x), TALL),
    "norm of a vector": (lambda m, x: m.linalg.norm(x, 3), VECTOR),
    "norm of columns": (lambda m, x: m.linalg.norm(x, 1, dim=0, keepdim=True), TALL),
    "vector_norm": (lambda m, x: m.linalg.vector_norm(x, 2.5, dim=1), TALL),
    "vector_norm inf": (lambda m, x: m.linalg.vector_norm(x, float("inf")), TALL),
    **{
        f"matrix_norm {ord}": (lambda m, x, ord=ord: m.linalg.matrix_norm(x, ord), TALL)
        for ord in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))
    },
    "vecdot": (lambda m, x, y: m.linalg.vecdot(x, y, dim=0), RIGHT, numbers(3, 2)),
    "vdot": (lambda m, x, y: m.vdot(x, y), VECTOR, numbers(3)),
    "cross": (lambda m, x, y: m.linalg.cross(x, y, dim=0), VECTOR, numbers(3)),
    "diagonal": (lambda m, x: m.linalg.diagonal(x, offset=1), SQUARE),
    "tensorinv": (lambda m, x: m.linalg.tensorinv(x.reshape(2, 2, 4)), numbers(4, 4)),
    "tensorsolve": (lambda m, x, y: m.linalg.tensorsolve(x.reshape(2, 2, 4), y), numbers(4, 4), numbers(2, 2)),
    "vander": (lambda m, x: m.linalg.vander(x, N=4), VECTOR),
    "einsum": (lambda m, x, y: m.einsum("ij,jk->ik", x, y), TALL, WIDE),
    "kron": (lambda m, x, y: m.kron(x, y), TALL, RIGHT),
    "outer": (lambda m, x, y: m.outer(x, y.conj()), VECTOR, numbers(4)),
}  # fmt: skip


def real_loss(z, m):
    z = z if z.is_complex() else z * 1.0
    weights = np.cos(np.arange(z.numel())).reshape(tuple(z.shape))
    w = tape.tensor(weights) if m is tape else torch.tensor(weights)
    return (z.real * w + z.imag * z.imag).sum() if z.is_complex() else (z * w).sum() + (z * z).sum()


def derivatives(m, f, operands, grad):
    """The value, the gradients, and the gradients of a function of these."""
    xs = [m.tensor(x, requires_grad=True) for x in operands]
    z = f(m, *xs)
    bars = grad(real_loss(z, m), xs, create_graph=True)
    second = grad(sum(real_loss(bar, m) for bar in bars), xs)
    return [t.detach().resolve_conj().resolve_neg().numpy() for t in (z, *bars, *second)]


@pytest.mark.parametrize("kind", [0, 1], ids=["real", "complex"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives_are_those_of_torch(name, kind):
    f, *operands = FUNCTIONS[name]
    operands = [np.ascontiguousarray(x[kind]) for x in operands]
    found = derivatives(tape, f, operands, autograd.grad)
    expected = derivatives(torch, f, operands, torch.autograd.grad)
    for z, w in zip(found, expected, strict=True):
        assert z.dtype == w.dtype
        assert_allclose(z, w, rtol=1e-7, atol=1e-8 * max(1.0, abs(w).max(initial=0.0)))


@pytest.mark.parametrize("f", [
    lambda x: linalg.eigh(hermitian(x)).eigenvectors.real,
    lambda x: linalg.svd(x).U.imag,
], ids=["eigh", "svd"])  # fmt: skip
def test_a_loss_that_depends_on_phases_is_refused(f):
    x = tape.tensor(SQUARE[1], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"determined up to factors exp\(iφ\)"):
        f(x).sum().backward()


def test_eigenvectors_have_the_phases_of_lapack():
    """The largest component of each is real, and the derivative keeps it so."""
    x, h = tape.tensor(SQUARE[1], requires_grad=True), 1e-6
    t = np.cos(np.arange(18.0)).reshape(2, 3, 3) * (1 + 0.5j)
    v = linalg.eig(x).eigenvectors
    (bar,) = autograd.grad((v * (0.3 - 0.7j)).real.sum(), x)
    moved = [np.linalg.eig(SQUARE[1] + s * h * t)[1] * (0.3 - 0.7j) for s in (1, -1)]
    difference = (moved[0].real.sum() - moved[1].real.sum()) / (2 * h)
    assert_allclose(np.sum((bar.numpy().conj() * t).real), difference, rtol=1e-6)


def test_svd_of_a_complex_matrix_without_full_rank():
    """A singular value of 0 leaves two phases free; a loss that needs neither has its gradient."""
    a = np.outer([1.0, 2j], [1.0, 1 - 1j])
    x = tape.tensor(a, requires_grad=True)
    linalg.svdvals(x)[0].backward()
    u, _, vh = np.linalg.svd(a)
    assert_allclose(x.grad.numpy(), np.outer(u[:, 0], vh[0]), atol=1e-12)
    y = linalg.svd(x)
    loss = (y.U @ y.Vh).real.sum()
    with pytest.raises(RuntimeError, match="singular vectors"):
        loss.backward()


def test_numpy_spellings():
    x = tape.tensor(SQUARE[1], requires_grad=True)
    for f in (np.linalg.inv, np.linalg.det, np.linalg.eigvals, np.linalg.pinv, np.linalg.svdvals):
        assert_allclose(f(x).detach().numpy(), f(SQUARE[1]), rtol=1e-10)
    w, v = np.linalg.eig(x)
    assert w.requires_grad
    assert v.requires_grad


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linalg.solve_triangular(tape.ones(2, 3), tape.ones(2, 1), upper=True), "square matrices"),
        (lambda: linalg.solve_triangular(tape.eye(3), tape.ones(2, 1), upper=True), "as many rows"),
        (lambda: linalg.solve_triangular(tape.eye(3), tape.ones(2, 2), upper=True, left=False), "as many columns"),
        (lambda: linalg.qr(tape.ones(3, 2), mode="complete"), "'reduced' and 'r'"),
        (lambda: linalg.qr(tape.ones(3, 2), mode="raw"), "'complete' or 'r'"),
        (lambda: linalg.lu(tape.eye(2), pivot=False), "exchanges rows"),
        (lambda: linalg.norm(tape.ones(3, 2), "both"), "matrix norm has the order"),
        (lambda: linalg.inv(tape.zeros(2, 2)), "Singular"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises((RuntimeError, ValueError), match=message):
        call()


def test_condition_numbers():
    for p in (None, 1, -1, 2, -2, float("inf"), "fro", "nuc"):
        assert_allclose(linalg.cond(tape.tensor(SQUARE[1]), p).numpy(), np.linalg.cond(SQUARE[1], p), rtol=1e-10)


def test_rank_and_residuals():
    a = np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]])
    assert linalg.matrix_rank(tape.tensor(a)).item() == 1
    assert linalg.matrix_rank(tape.eye(3), atol=2.0).item() == 0
    assert linalg.matrix_rank(tape.eye(3), hermitian=True).item() == 3
    found = linalg.lstsq(tape.tensor(TALL[0]), tape.tensor(WIDE[0].T))
    expected = np.linalg.lstsq(TALL[0], WIDE[0].T)
    for z, w in zip(found, expected):
        assert_allclose(z.numpy(), w)
    assert_allclose(linalg.pinv(tape.tensor(a), atol=10.0).numpy(), 0.0)
