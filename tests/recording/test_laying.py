"""Results of tensors' functions lie in memory as PyTorch's do, however the operands do: strides are PyTorch's.

So ``view`` and ``reshape`` give views here where they do there, and what is written through these shows.
"""

from __future__ import annotations

import numpy as np
import pytest

import tape

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore:index_reduce"), pytest.mark.filterwarnings("ignore:Using backward"),
]  # fmt: skip

MATRIX = np.random.default_rng(0).uniform(0.1, 0.9, (3, 4))
BLOCK = np.random.default_rng(1).uniform(0.1, 0.9, (2, 3, 4))
SQUARE = np.random.default_rng(2).uniform(0.1, 0.9, (4, 4))
SQUARE = SQUARE @ SQUARE.T + 4 * np.eye(4)

OPERANDS = {
    "rows": (MATRIX, lambda x: x), "turned": (MATRIX, lambda x: x.t()), "parts": (MATRIX, lambda x: x.t()[::2]),
    "columns": (MATRIX, lambda x: x[:, ::2]), "expanded": (MATRIX, lambda x: x[:1].expand(3, 4)),
    "block": (BLOCK, lambda x: x), "permuted": (BLOCK, lambda x: x.permute(2, 0, 1)),
    "swapped": (BLOCK, lambda x: x.transpose(1, 2)), "reversed": (BLOCK, lambda x: x.permute(2, 1, 0)),
}  # fmt: skip
MATRICES = {
    "rows": (SQUARE, lambda x: x), "turned": (SQUARE, lambda x: x.t()),
    "stack": (np.stack([SQUARE, SQUARE + 1]), lambda x: x),
    "stack turned": (np.stack([SQUARE, SQUARE + 1]), lambda x: x.mT),
}  # fmt: skip

COMPUTE = [
    lambda T, x: x.exp(), lambda T, x: x.lgamma(), lambda T, x: x * x, lambda T, x: x + T.ones_like(x).contiguous(),
    lambda T, x: T.ones_like(x).contiguous() - x, lambda T, x: x[:1] * x, lambda T, x: x > T.zeros_like(x).contiguous(),
    lambda T, x: T.where(x > 0.5, T.ones_like(x).contiguous(), x), lambda T, x: T.complex(x, x), lambda T, x: 2**x,
    lambda T, x: x.clone(), lambda T, x: x.clone(memory_format=T.contiguous_format), lambda T, x: x.float(),
    lambda T, x: T.zeros_like(x), lambda T, x: T.full_like(x, 2.0), lambda T, x: T.rand_like(x),
    lambda T, x: T.tensor(x.detach().numpy()),
    lambda T, x: x.sort(0).values, lambda T, x: x.sort(-1, descending=True).indices, lambda T, x: x.argsort(0),
    lambda T, x: x.msort(), lambda T, x: x.flip(0), lambda T, x: x.fliplr(), lambda T, x: x.isclose(x),
    lambda T, x: x[:, [0, 1]], lambda T, x: x[[0, 1]], lambda T, x: x[..., [[0, 1], [1, 0]]],
    lambda T, x: x[T.tensor([1, 0]), T.tensor([0, 1])], lambda T, x: x[T.tensor([0]), ..., None],
    lambda T, x: x.index_put((T.tensor([0]),), x[1]), lambda T, x: x.index_fill(0, T.tensor([0]), 1.0),
    lambda T, x: x.put(T.tensor([0]), T.ones(1, dtype=T.float64)), lambda T, x: x.renorm(2, 0, 1.0),
    lambda T, x: x.index_reduce(0, T.tensor([0]), x[:1], "amax"), lambda T, x: x.nonzero(),
    lambda T, x: x.ravel(), lambda T, x: T.kron(x, x), lambda T, x: T.fft.fft(x), lambda T, x: T.fft.rfft(x, dim=0),
    lambda T, x: T.fft.fftn(x), lambda T, x: T.fft.irfft(x), lambda T, x: T.fft.fftshift(x),
    lambda T, x: T.einsum("ij...->j...", x), lambda T, x: T.einsum("i...->...i", x),
    lambda T, x: T.einsum("ij...,ik...->kj...", x, x), lambda T, x: T.einsum("ij...,ij...->j...", x, x),
    lambda T, x: T.einsum("ij...,ij...->ji...", x, x.contiguous()),
]  # fmt: skip
OF_MATRICES = [
    lambda T, x: T.linalg.inv(x), lambda T, x: T.inverse(x), lambda T, x: T.linalg.solve(x, x),
    lambda T, x: T.linalg.solve(x, x, left=False), lambda T, x: T.linalg.cholesky(x),
    lambda T, x: T.linalg.cholesky(x).mT, lambda T, x: T.linalg.qr(x).Q, lambda T, x: T.linalg.qr(x).R,
    lambda T, x: T.linalg.svd(x).U, lambda T, x: T.linalg.svd(x).Vh, lambda T, x: T.svd(x).V,
    lambda T, x: T.linalg.eigh(x).eigenvectors, lambda T, x: T.linalg.eigh(x).eigenvalues,
    lambda T, x: T.linalg.eig(x).eigenvectors, lambda T, x: T.linalg.solve_triangular(x, x, upper=True),
    lambda T, x: T.cholesky_solve(x, x), lambda T, x: T.cholesky_inverse(x), lambda T, x: T.linalg.matrix_power(x, -1),
    lambda T, x: T.linalg.lstsq(x, x).solution, lambda T, x: T.linalg.det(x), lambda T, x: x @ x, lambda T, x: x @ x.mT,
]  # fmt: skip


def strides(z):
    """Those of axes that have several entries; of others they do not matter."""
    return [step for n, step in zip(z.shape, z.stride()) if n > 1]


def check(compute, data, look, tracked):
    results = []
    for T in (torch, tape):
        x = look(T.tensor(data, requires_grad=tracked))
        results.append(compute(T, x))
    expected, given = results
    assert tuple(given.shape) == tuple(expected.shape)
    assert strides(given) == strides(expected)
    assert given.is_contiguous() == expected.is_contiguous()


@pytest.mark.parametrize("operand", OPERANDS.values(), ids=OPERANDS)
@pytest.mark.parametrize("compute", COMPUTE)
def test_strides_are_those_of_pytorch(compute, operand):
    for tracked in (False, True):
        check(compute, *operand, tracked)


@pytest.mark.parametrize("operand", MATRICES.values(), ids=MATRICES)
@pytest.mark.parametrize("compute", OF_MATRICES)
def test_matrices_lie_by_columns_where_lapack_gives_them(compute, operand):
    for tracked in (False, True):
        check(compute, *operand, tracked)


WRITE = {
    "einsum": lambda T, x: T.einsum("ijk->kj", x), "picked": lambda T, x: x[..., [0, 1]],
    "like": lambda T, x: T.zeros_like(x.permute(2, 0, 1)), "sum": lambda T, x: x.mT + T.ones_like(x).reshape(2, 4, 3),
    "sorted": lambda T, x: x.mT.sort(0).values, "inverse": lambda T, x: T.linalg.inv(x[:, :, :3] + 4 * T.eye(3)),
    "flipped": lambda T, x: x.mT.flip(0), "raveled": lambda T, x: (x * 1)[..., ::2],
}  # fmt: skip
THROUGH = {
    "reshape": lambda z: z.reshape(-1), "ravel": lambda z: z.ravel(), "flatten": lambda z: z.flatten(),
    "contiguous": lambda z: z.contiguous().view(-1), "part": lambda z: z[:2].reshape(-1),
}  # fmt: skip


@pytest.mark.parametrize("through", THROUGH.values(), ids=THROUGH)
@pytest.mark.parametrize("make", WRITE.values(), ids=WRITE)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_what_is_written_through_another_shape_shows_where_it_does_in_pytorch(make, through, compiled):
    def f(T, x):
        z = make(T, x)
        through(z)[:2].add_(7)
        return z

    g = tape.compile(lambda x: f(tape, x)) if compiled else lambda x: f(tape, x)
    for _ in range(1 + compiled):
        x = tape.tensor(BLOCK)
        expected = torch.tensor(BLOCK)
        assert np.allclose(g(x).numpy(), f(torch, expected).numpy())
        assert np.allclose(x.numpy(), expected.numpy())


@pytest.mark.parametrize("make", [
    lambda T, x: T.zeros_like(x.t()), lambda T, x: x.t() + T.ones(x.shape[::-1], dtype=T.float64),
    lambda T, x: x[:, [0, 1]], lambda T, x: T.zeros_like(x.t().exp()),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:tape.compile runs")
def test_so_it_does_of_large_tensors_that_are_recorded(make):
    def f(T, x):
        z = make(T, x)
        z.reshape(-1)[:2].add_(7)
        return z * 1

    data = np.random.default_rng(0).uniform(0.1, 0.9, (300, 301))
    compiled = tape.compile(lambda x: f(tape, x))
    for look in (lambda x: x, lambda x: x.t().contiguous().t()):
        expected = f(torch, look(torch.tensor(data))).numpy()
        for _ in range(2):
            assert np.allclose(compiled(look(tape.tensor(data))).numpy(), expected)


def test_a_sum_of_products_of_one_tensor_of_which_nothing_is_summed_is_a_view():
    for subscripts, data in (("ij->ji", MATRIX), ("ii->i", SQUARE), ("...ij->j...i", BLOCK)):
        seen = []
        for T in (torch, tape):
            x = T.tensor(data)
            T.einsum(subscripts, x).mul_(0)
            seen.append(x.numpy())
        assert np.array_equal(*seen)


def test_a_gradient_lies_as_its_leaf():
    for look in (lambda x: x.t(), lambda x: x.t()[::2], lambda x: x):
        for graph in (False, True):
            found = []
            for T in (torch, tape):
                x = look(T.tensor(MATRIX)).detach().requires_grad_()
                (x @ T.ones(x.shape[1], 2, dtype=T.float64)).sum().backward(create_graph=graph)
                found.append(strides(x.grad))
            assert found[0] == found[1]


def test_arrays_lie_as_numpy_has_them():
    def f(x):
        parts = (
            x.T + np.ones((4, 3)),
            x[:, [0, 1]],
            np.sort(x.T, 0),
            np.zeros_like(x.T),
            np.linalg.inv(x[:, :3]),
            2**x.T,
        )
        return sum(part.reshape(-1)[:3].sum() for part in parts), [part.strides for part in parts]

    plain = f(MATRIX)[1]
    seen = []
    tape.func.jvp(lambda x: (seen.append(f(x)[1]), f(x)[0])[1], (MATRIX,), (MATRIX,))
    tape.func.grad(lambda x: (seen.append(f(x)[1]), f(x)[0])[1])(MATRIX)
    assert seen == [plain, plain]


DIFFERENTIATED = {
    "product": lambda x: (x * x).sum(),
    "chain": lambda x: ((x.sin() * x).cos() * x).sum(),
    "transposed": lambda x: (x.t() * 3).sum(),
    "product of matrices": lambda x: (x @ x.t()).sum(),
    "sum": lambda x: x.sum(),
    "part": lambda x: (x[1:] * 2).sum(),
    "largest": lambda x: x.max(),
}


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("shape", [(3, 4), (300, 400)])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("function", DIFFERENTIATED.values(), ids=DIFFERENTIATED)
def test_gradients_lie_as_what_they_are_taken_with_respect_to(function, order, shape, create):
    """However they are computed: in Python, by jitted sweeps, recorded, or by programs."""
    x = tape.from_numpy(np.random.default_rng(0).normal(size=shape).copy(order)).requires_grad_(True)
    (found,) = tape.autograd.grad(function(x), x, create_graph=create)
    assert found.stride() == x.stride()
    slope = tape.func.grad(function)
    for gradient in (slope, tape.compile(slope)):
        assert gradient(x.detach()).stride() == x.stride()


@pytest.mark.parametrize("kind", [np.asarray, tape.from_numpy])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (300, 400)])
@pytest.mark.parametrize("function", [lambda x: x.sum(), lambda x: x.mean(), lambda x: x.sum(0)[0]])
def test_gradients_of_sums_have_memory_of_their_own(function, shape, kind):
    slope = tape.func.grad((lambda x: function(x).sum()) if len(shape) > 1 else lambda x: x.sum())
    for gradient in (slope, tape.compile(slope)):
        g = gradient(kind(np.ones(shape)))
        before = np.array(g)
        g[0] += 5.0
        assert (np.array(g) - before).sum() == 5.0 * before[0].size
