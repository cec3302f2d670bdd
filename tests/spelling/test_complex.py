"""Complex tensors as PyTorch's users know them: gradients, parts, mixtures with real ones, the sweep, mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape import autograd, func
from tape.autograd import forward_ad, functional

torch = pytest.importorskip("torch")

Z, W, R = np.array([1 + 2j, 3 - 1j, -0.5 + 0.3j]), np.array([0.2 - 1j, 2 + 0.5j, 1j]), np.array([1.5, -0.7, 2.0])


def both(f, *operands):
    """Values and gradients of a real loss, of tape and of torch."""
    found = []
    for m in (tape, torch):
        xs = [m.tensor(x, requires_grad=True) for x in operands]
        loss = f(m, *xs)
        loss.backward()
        found.append([loss.detach().numpy(), *(x.grad.resolve_conj().numpy() for x in xs)])
    return zip(*found)


LOSSES = {
    "length": (lambda m, z: z.abs().sum(), Z),
    "square": (lambda m, z: (z * z.conj()).real.sum(), Z),
    "a number": (lambda m, z: ((z * 2j + (1 - 1j)) / (3 - 1j)).abs().sum(), Z),
    "a number on the left": (lambda m, z: (2j * z - (1j - z) + 1j / z).imag.sum(), Z),
    "real times complex": (lambda m, z, r: (z * r).exp().real.sum(), Z, R),
    "real to a complex power": (lambda m, z, r: (r.abs() ** z).imag.sum(), Z, R),
    "complex to a real power": (lambda m, z, r: (z**r).real.sum(), Z, R),
    "a power that is a number": (lambda m, z: (z**2 + z**0.5 + z**3 + z ** (1 + 1j)).real.sum(), Z),
    "angle and length": (lambda m, z: (z.angle() * z.abs()).sum(), Z),
    "sgn": (lambda m, z: (z.sgn() * (1 - 2j)).real.sum(), Z),
    "parts": (lambda m, z: (z.real * z.imag**2).sum(), Z),
    "as pairs": (lambda m, z: (m.view_as_real(z) ** 3).sum(), Z),
    "from pairs": (lambda m, r: m.view_as_complex(r.reshape(3, 2)).exp().abs().sum(), np.arange(6.0) / 3),
    "complex()": (lambda m, r, s: (m.complex(r, s) ** 2).imag.sum(), R, R + 1),
    "polar()": (lambda m, r, s: (m.polar(r, s) * (1 + 1j)).real.sum(), R**2, R + 1),
    "where": (lambda m, z, w: m.where(m.tensor(Z.real > 0), z, w).abs().sum(), Z, W),
    "index": (lambda m, z: (z[[0, 0, 2]] * z[1]).real.sum(), Z),
    "cumprod": (lambda m, z: z.cumprod(0).real.sum(), Z),
    "cumsum": (lambda m, z: (z.cumsum(0) ** 2).imag.sum(), Z),
    "prod with a zero": (lambda m, z: z.prod().real, np.array([0j, 2 + 1j, 1j])),
    "mean and var": (lambda m, z: z.var() + z.std() + z.mean().abs(), Z),
    "joined": (lambda m, z, r: m.cat([z, r.to(z.dtype)]).prod().real, Z, R),
    "stacked": (lambda m, z, w: (m.stack([z, w]) @ m.stack([w, z]).mH).real.sum(), Z, W),
    "products": (lambda m, z, w: m.dot(z, w).real + m.vdot(z, w).imag + m.outer(z, w).abs().sum(), Z, W),
    "einsum": (lambda m, z, w: m.einsum("i,j,i->j", z, w, w).abs().sum(), Z, W),
    "norm": (lambda m, z: z.norm() + z.norm(1) + z.norm(3) + z.norm(float("inf")), Z),
    "logs and roots": (lambda m, z: (z.log() + z.log2() + z.log10() + z.log1p() + z.sqrt() + z.rsqrt()).real.sum(), Z),
    "hyperbolic": (lambda m, z: (z.sinh() + z.cosh() + z.tanh() + z.asinh() + z.acosh() + z.atanh()).imag.sum(), Z),
    "circular": (lambda m, z: (z.sin() + z.cos() + z.tan() + z.asin() + z.acos() + z.atan()).imag.sum(), Z),
    "others": (lambda m, z: (z.sigmoid() + z.expm1() + z.exp2() + z.square() + z.reciprocal()).imag.sum(), Z),
    "cast": (lambda m, r: (r.to(m.complex128) * 1j).exp().real.sum(), R),
    "broadcast": (lambda m, z, r: (z.unsqueeze(0) * r.unsqueeze(1)).abs().sum(), Z, R),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_torch(name):
    f, *operands = LOSSES[name]
    for ours, theirs in both(f, *operands):
        assert ours.dtype == theirs.dtype
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", LOSSES)
def test_the_sweep_in_python_agrees(name):
    f, *operands = LOSSES[name]
    xs = [tape.tensor(x, requires_grad=True) for x in operands]
    for g, h in zip(autograd.grad(f(tape, *xs), xs), autograd.grad(f(tape, *xs), xs, create_graph=True)):
        assert_allclose(g.numpy(), h.detach().numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", sorted(set(LOSSES) - {"norm", "prod with a zero"}))
def test_gradcheck_in_both_modes(name):
    f, *operands = LOSSES[name]
    xs = tuple(tape.tensor(x, requires_grad=True) for x in operands)
    assert autograd.gradcheck(lambda *xs: f(tape, *xs), xs, check_forward_ad=True)


@pytest.mark.parametrize("dtype", [tape.complex64, tape.complex128])
@pytest.mark.parametrize("n", [1, 7, 5000])
def test_kernels_never_take_complex_numbers_for_real_ones(dtype, n):
    """Real and complex records of the same ops in one sweep, small and large: lanes are for the real ones alone."""
    rng = np.random.default_rng(n)
    z0 = (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(dtype)
    r0 = rng.normal(size=n).astype(z0.real.dtype)

    def loss(m, z, r):
        mixed = (z * r + z / (r * r + 1)).exp() - z
        return (mixed.abs() * r.tanh() + (r.sin() * r).exp() * z.real).sum() + (z * z).imag.mean() * (r * r).mean()

    leaves = [tape.tensor(x, requires_grad=True) for x in (z0, r0)]
    loss(tape, *leaves).backward()
    theirs = [torch.tensor(x, requires_grad=True) for x in (z0, r0)]
    loss(torch, *theirs).backward()
    rtol = 2e-3 if dtype == tape.complex64 else 1e-9
    for x, y in zip(leaves, theirs):
        assert x.grad.dtype == x.dtype
        assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=rtol, atol=rtol)


def test_every_complex_record_goes_to_python_and_every_real_one_that_can_to_a_kernel():
    """A complex value beside a real adjoint is as wide as two: a kernel that read it would read neighbours."""
    z = tape.tensor(np.arange(1.0, 9.0) * (1 + 1e3j), requires_grad=True)
    r = z.real
    (r * r * r.exp().log()).sum().backward()
    assert_allclose(z.grad.numpy(), 3 * np.arange(1.0, 9.0) ** 2, rtol=1e-12)
    view = tape.tensor(np.arange(1.0, 9.0) * (1 + 1e3j)).imag.requires_grad_()
    (view * view).sum().backward()  # the value lies with gaps between its elements
    assert_allclose(view.grad.numpy(), 2e3 * np.arange(1.0, 9.0), rtol=1e-12)


def test_a_real_leaf_has_a_real_gradient_and_accumulates():
    r = tape.tensor(R, requires_grad=True)
    (r * 1j).exp().imag.sum().backward()
    (r * (2 + 1j)).real.sum().backward()
    assert r.grad.dtype == tape.float64
    assert_allclose(r.grad.numpy(), np.cos(R) + 2)


WRITES = {
    "real part of one": lambda m, y: y.real[0:1].fill_(5.0),
    "imaginary parts": lambda m, y: y.imag.mul_(2.0),
    "pairs": lambda m, y: m.view_as_real(y)[1:, 1].add_(3.0),
    "pairs of pairs": lambda m, y: m.view_as_complex(m.view_as_real(y)).mul_(1j),
    "a slice of the parts": lambda m, y: y[1:].imag.copy_(y.real[:2]),
    "itself": lambda m, y: y.mul_(1 + 1j).add_(2j),
    "in place of a conjugate": lambda m, y: y.conj_physical_().exp_(),
}


@pytest.mark.parametrize("name", WRITES)
def test_writing_through_parts_changes_the_whole(name):
    found = []
    for m in (tape, torch):
        z = m.tensor(Z, requires_grad=True)
        y = z * (2 - 1j)
        WRITES[name](m, y)
        (y * y).imag.sum().backward()
        found.append([y.detach().resolve_conj().numpy(), z.grad.resolve_conj().numpy()])
    for ours, theirs in zip(*found):
        assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_parts_may_be_assigned():
    z = tape.zeros(3, dtype=tape.complex128)
    z.real, z.imag = tape.tensor(R), 2.0
    assert z.tolist() == [complex(a, 2.0) for a in R]


def test_descent_goes_down():
    z = tape.tensor(Z, requires_grad=True)
    target = tape.tensor(W)
    losses = []
    for _ in range(60):
        loss = ((z * z - target).abs() ** 2).sum()
        losses.append(loss.item())
        z.grad = None
        loss.backward()
        with tape.no_grad():
            z -= 0.02 * z.grad
    assert losses[-1] < 1e-3 * losses[0]


def test_tangents_of_real_results_are_real():
    with forward_ad.dual_level():
        z = forward_ad.make_dual(tape.tensor(Z), tape.tensor(W))
        for f, dtype in ((tape.abs, tape.float64), (tape.angle, tape.float64), (tape.exp, tape.complex128)):
            tangent = forward_ad.unpack_dual(f(z)).tangent
            assert tangent.dtype == dtype
            h = 1e-6
            difference = (f(tape.tensor(Z + h * W)) - f(tape.tensor(Z - h * W))) / (2 * h)
            assert_allclose(tangent.numpy(), difference.numpy(), rtol=1e-7)


JACOBIANS = {
    "jacobian": functional.jacobian,
    "vectorized": lambda f, x: functional.jacobian(f, x, vectorize=True),
    "forward": lambda f, x: functional.jacobian(f, x, strategy="forward-mode"),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacrev by two": lambda f, x: func.jacrev(f, chunk_size=2)(x),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "jacfwd one by one": lambda f, x: func.jacfwd(f, chunk_size=1)(x),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians(name):
    """∂z/∂x of complex results; the gradient of real ones; and a function that moves with x̄ alone has ∂z/∂x = 0."""
    jacobian, z, r = JACOBIANS[name], tape.tensor(Z), tape.tensor(R)
    assert_allclose(jacobian(lambda x: 1j * x**2, z).numpy(), np.diag(2j * Z))
    assert_allclose(jacobian(lambda x: x * x.sum(), z).numpy(), np.sum(Z) * np.eye(3) + Z[:, None])
    assert_allclose(jacobian(lambda x: x.abs() ** 2, z).numpy(), np.diag(2 * Z))
    assert_allclose(jacobian(lambda x: x.conj(), z).numpy(), np.zeros((3, 3)), atol=1e-15)
    assert_allclose(jacobian(lambda x: x.conj() * x * x, z).numpy(), np.diag(2 * abs(Z) ** 2))
    assert_allclose(jacobian(lambda x: (1j * x).exp(), r).numpy(), np.diag(1j * np.exp(1j * R)))
    assert jacobian(lambda x: x.real, z).dtype == tape.complex128


def test_hessian_of_a_real_function_of_complex_numbers():
    z = tape.tensor(Z)

    def f(x):
        return (x.abs() ** 2).sum() + (x[0] * x[1].conj() * (1 + 2j)).real

    found = functional.hessian(f, z)
    expected = 2 * np.eye(3, dtype=complex)
    expected[0, 1], expected[1, 0] = 1 - 2j, 1 + 2j
    assert_allclose(found.numpy(), expected, atol=1e-14)
    assert_allclose(func.hessian(f)(z).numpy(), expected, atol=1e-14)
    _, product = functional.hvp(f, z, tape.tensor(W))
    assert_allclose(product.numpy(), expected @ W, atol=1e-13)


def test_products_with_jacobians_are_those_of_torch():
    def f(x):
        return x**3 * x.conj()

    for name in ("vjp", "jvp"):
        ours = getattr(functional, name)(f, tape.tensor(Z), tape.tensor(W))
        theirs = getattr(torch.autograd.functional, name)(f, torch.tensor(Z), torch.tensor(W))
        for a, b in zip(ours, theirs):
            assert_allclose(a.numpy(), b.resolve_conj().numpy(), rtol=1e-10)
    for name in ("hvp", "vhp"):
        ours = getattr(functional, name)(lambda x: f(x).real.sum(), tape.tensor(Z), tape.tensor(W))
        theirs = getattr(torch.autograd.functional, name)(lambda x: f(x).real.sum(), torch.tensor(Z), torch.tensor(W))
        for a, b in zip(ours, theirs):
            assert_allclose(a.numpy(), b.resolve_conj().numpy(), rtol=1e-10)


MISTAKES = {
    "implicit gradient": (lambda z: z.sum().backward(), ["only for real scalar outputs", "complex128", ".real"]),
    "real gradient": (lambda z: (z * z).backward(tape.ones(3)), ["required to have the same dtype", "is complex"]),
    "complex gradient": (lambda z: z.abs().backward(tape.tensor(Z)), ["required to have the same dtype", "is real"]),
    "order": (lambda z: z < 1, ["lt has no meaning for complex numbers", ".abs()"]),
    "order of numbers": (lambda z: tape.tensor(1.0) > 1j, ["no meaning for complex"]),
    "largest": (lambda z: z.max(), ["no meaning for complex"]),
    "largest along": (lambda z: z.max(0), ["no meaning for complex"]),
    "sort": (lambda z: z.sort(), ["no meaning for complex"]),
    "argmin": (lambda z: z.argmin(), ["no meaning for complex"]),
    "clamp": (lambda z: z.clamp(0, 1), ["no meaning for complex"]),
    "maximum": (lambda z: tape.maximum(z, z), ["no meaning for complex"]),
    "sign": (lambda z: z.sign(), ["no meaning for complex"]),
    "floor": (lambda z: z.floor(), ["no meaning for complex"]),
    "relu": (lambda z: z.relu(), ["no meaning for complex"]),
    "remainder": (lambda z: z % 2, ["no meaning for complex"]),
    "imag of a real tensor": (lambda z: z.abs().imag, ["not implemented for tensors with non-complex dtypes"]),
    "pairs of a real tensor": (lambda z: tape.view_as_real(z.abs()), ["takes complex numbers"]),
    "no pairs": (lambda z: tape.view_as_complex(z.abs()), ["pairs", "(3,)"]),
    "complex of complex": (lambda z: tape.complex(z, z), ["takes real numbers"]),
    "polar of complex": (lambda z: tape.polar(z, z), ["takes real numbers"]),
    "adjoint of a vector": (lambda z: z.mH, ["at least 2 dimensions"]),
    "H of a vector": (lambda z: z.H, [".mH"]),
    "integers that require grad": (lambda z: tape.tensor([1], requires_grad=True), ["floating point and complex"]),
    "complex into real": (lambda z: tape.ones(3).fill_(1j), ["complex number does not fit"]),
    "complex into an element": (lambda z: tape.ones(3).__setitem__(0, 1j), ["do not fit into a tensor of float64"]),
    "complex added to real": (lambda z: tape.ones(3).add_(z), ["complex128", "float64"]),
    "complex among real": (lambda z: tape.ones(3).index_add(0, tape.arange(3), z), ["float64; got complex128"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    call, words = MISTAKES[name]
    with pytest.raises((RuntimeError, TypeError)) as caught:
        call(tape.tensor(Z, requires_grad=True))
    for word in words:
        assert word in str(caught.value)
