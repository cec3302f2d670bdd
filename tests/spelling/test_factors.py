"""Matrices under PyTorch's older names, matrices without elements, and norms that entries are scaled by."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

torch = pytest.importorskip("torch")

rng = np.random.default_rng(3)
MATRICES = [rng.standard_normal(shape) for shape in ((3, 3), (4, 2), (2, 4), (2, 3, 2))]
MATRICES += [x + 1j * rng.standard_normal(x.shape) for x in MATRICES]


@pytest.mark.parametrize("some", [True, False])
@pytest.mark.parametrize("a", MATRICES)
def test_svd_gives_v(a, some):
    found, expected = tape.svd(tape.tensor(a), some=some), torch.svd(torch.tensor(a), some=some)
    assert found._fields == ("U", "S", "V")
    assert [tuple(x.shape) for x in found] == [tuple(x.shape) for x in expected]
    u, s, v = found
    k = s.shape[-1]
    back = (u[..., :k] * s.unsqueeze(-2)) @ v[..., :k].mH
    assert_allclose(back.numpy(), a, atol=1e-12)
    assert_allclose(tape.linalg.svd(tape.tensor(a), full_matrices=not some).Vh.numpy(), v.mH.numpy())


@pytest.mark.parametrize("a", MATRICES[:4])
def test_the_gradient_through_v_is_that_of_torch(a):
    grads = []
    for lib in (tape, torch):
        x = lib.tensor(a, requires_grad=True)
        u, s, v = lib.svd(x)
        ((u * s.unsqueeze(-2)).abs().sum() + v.abs().sum()).backward()
        grads.append(x.grad.numpy())
    assert_allclose(*grads, atol=1e-10)


def test_svd_without_vectors_is_torchs():
    a = MATRICES[1]
    for z, w in zip(tape.svd(tape.tensor(a), compute_uv=False), torch.svd(torch.tensor(a), compute_uv=False)):
        assert_allclose(z.numpy(), w.numpy())


def test_results_have_names():
    x = tape.tensor(MATRICES[0])
    assert tape.slogdet(x)._fields == ("sign", "logabsdet")
    assert x.qr()._fields == ("Q", "R")
    assert_allclose((x.qr().Q @ x.qr().R).numpy(), MATRICES[0])
    with pytest.raises(ValueError, match="reduced"):
        tape.qr(tape.tensor(MATRICES[1]), some=False)


def test_logdet_of_complex_matrices():
    a = MATRICES[4]
    results = []
    for lib in (tape, torch):
        x = lib.tensor(a, requires_grad=True)
        z = lib.logdet(x)
        lib.view_as_real(z).sum().backward()
        results.append((z.detach().numpy(), x.grad.numpy()))
    for found, expected in zip(*results):
        assert_allclose(found, expected, atol=1e-12)


EMPTY = [(0, 0), (2, 0, 0), (0, 2, 2), (0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 3), (3, 0)]
OF_MATRICES = {
    name: (lambda lib, x, name=name: getattr(lib.linalg, name)(x))
    for name in (
        "eigh", "eig", "eigvalsh", "eigvals", "svd", "svdvals", "qr", "inv", "det", "slogdet", "cholesky", "pinv",
        "matrix_exp", "lu", "matrix_norm", "vector_norm",
    )
} | {
    "solve": lambda lib, x: lib.linalg.solve(x, lib.zeros(*x.shape[:-1], 2, dtype=x.dtype)),
    "reduced svd": lambda lib, x: lib.linalg.svd(x, full_matrices=False),
    "matrix_power": lambda lib, x: lib.linalg.matrix_power(x, 3),
    "nuclear norm": lambda lib, x: lib.linalg.matrix_norm(x, "nuc"),
    "norm 2": lambda lib, x: lib.linalg.matrix_norm(x, 2),
    "triangular": lambda lib, x: lib.linalg.solve_triangular(
        x, lib.zeros(*x.shape[:-1], 2, dtype=x.dtype), upper=True
    ),
    "old svd": lambda lib, x: lib.svd(x),
    "logdet": lambda lib, x: lib.logdet(x),
}  # fmt: skip


def of_nothing(lib, name, shape, dtype):
    """Shapes of the results, and of the gradient of what does not vanish with it, twice."""
    x = lib.zeros(*shape, dtype=getattr(lib, dtype), requires_grad=True)
    z = OF_MATRICES[name](lib, x)
    z = tuple(z) if isinstance(z, tuple) else (z,)
    shapes = [tuple(y.shape) for y in z]
    if not any(y.requires_grad for y in z):
        return shapes, 0.0
    total = sum((abs(y).sum() if y.is_complex() else y.sum()) for y in z if y.requires_grad)
    (g,) = lib.autograd.grad(total, [x], create_graph=True, allow_unused=True)
    assert g is None or tuple(g.shape) == shape
    return shapes, total.item()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", EMPTY)
@pytest.mark.parametrize("name", OF_MATRICES)
def test_matrices_without_elements(name, shape, dtype):
    try:
        expected = of_nothing(torch, name, shape, dtype)
    except (RuntimeError, AttributeError, IndexError):
        return
    assert of_nothing(tape, name, shape, dtype) == expected


@pytest.mark.parametrize("name", ["eigh", "svd", "qr", "det", "inv"])
def test_tangents_and_mapped_gradients_of_nothing(name):
    def f(x):
        z = getattr(tape.linalg, name)(x)
        return sum(abs(y).sum() for y in (z if isinstance(z, tuple) else (z,)))

    x = tape.zeros(2, 0, 0)
    assert tape.func.jvp(f, (x,), (x,))[1].item() == 0.0
    assert tape.func.grad(f)(x).shape == (2, 0, 0)
    assert tape.func.vmap(tape.func.grad(f))(x).shape == (2, 0, 0)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3.0, np.inf])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_renorm_is_torchs(p, dim):
    a = rng.standard_normal((2, 3, 2))
    a[:, 1] *= 0.01
    results = []
    for lib in (tape, torch):
        x = lib.tensor(a, requires_grad=True)
        z = lib.renorm(x, p, dim, 0.5)
        (z * z).sum().backward()
        results.append((z.detach().numpy(), x.grad.numpy()))
    for found, expected in zip(*results):
        assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("args", [(0, 0, 1.0), (-1, 0, 1.0), (-np.inf, 0, 1.0), (2, 0, -1.0)])
def test_renorm_refuses(args):
    with pytest.raises(RuntimeError, match="p > 0"):
        tape.renorm(tape.ones(2, 2), *args)
    with pytest.raises(RuntimeError, match="2 dimensions"):
        tape.renorm(tape.ones(2), 2, 0, 1.0)
