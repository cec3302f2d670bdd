"""Fourier transforms: NumPy's values, PyTorch's gradients, both spellings, mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape import autograd, fft

rng = np.random.default_rng(0)
REAL, COMPLEX = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4, 5)) + 1j * rng.normal(size=(3, 4, 5))
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn", "hfftn", "ihfftn"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"]
OPTIONS = {
    **{
        name: [{}, {"n": 3}, {"n": 8, "dim": 1}, {"dim": 0, "norm": "ortho"}, {"norm": "forward", "n": 7}]
        for name in ONE
    },
    **{name: [{}, {"s": (2, 6)}, {"dim": (0, 2), "norm": "ortho"}, {"s": (4, 3), "dim": (2, 0)}] for name in MANY},
    **{name: [{}, {"s": (2, 6), "norm": "forward"}, {"dim": (0, 1), "norm": "backward"}] for name in TWO},
}
EVERY = [(name, kwargs) for name, several in OPTIONS.items() for kwargs in several]
OF_REALS = {"rfft", "ihfft", "rfftn", "ihfftn", "rfft2", "ihfft2"}
every = pytest.mark.parametrize(("name", "kwargs"), EVERY, ids=lambda x: str(x))


def argument(name):
    return REAL if name in OF_REALS else COMPLEX


def loss(z, weights):
    """A real number that depends on all of z and is not linear."""
    z = z * weights
    return (z.real * z.imag + z.real).sum() if np.iscomplexobj(weights) else (z * z).sum()


@every
def test_value_and_gradient_are_those_of_torch(name, kwargs):
    torch = pytest.importorskip("torch")
    x = tape.tensor(argument(name), requires_grad=True)
    y = torch.tensor(argument(name), requires_grad=True)
    z, w = getattr(fft, name)(x, **kwargs), getattr(torch.fft, name)(y, **kwargs)
    assert_allclose(z.detach().numpy(), w.detach().resolve_conj().numpy(), rtol=1e-11, atol=1e-12)
    weights = np.cos(np.arange(z.numel())).reshape(z.shape)
    weights = weights * (1 + 0.5j) if z.is_complex() else weights
    loss(z, weights).backward()
    loss(w, torch.tensor(weights)).backward()
    assert x.grad.dtype == x.dtype
    assert_allclose(x.grad.numpy(), y.grad.resolve_conj().numpy(), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "rfft", "fftn", "irfftn", "ihfft", "hfft2"])
def test_gradcheck_to_second_order(name):
    """With the first options element by element; with others in random directions, which see as much."""
    x = tape.tensor(argument(name)[:2, :3, :3], requires_grad=True)
    for k, kwargs in enumerate(OPTIONS[name][:3]):
        assert autograd.gradcheck(lambda x: getattr(fft, name)(x, **kwargs), x)  # noqa: B023
        squared = lambda x: getattr(fft, name)(x, **kwargs).abs() ** 2  # noqa: B023, E731
        assert autograd.gradgradcheck(squared, x, fast_mode=k > 0)


@pytest.mark.parametrize("name", [n for n in dir(np.fft) if n.endswith(("fft", "fft2", "fftn")) and n[0] != "_"])
def test_numpy_names_answer_for_tensors(name):
    x = argument(name)
    t = tape.tensor(x, requires_grad=True)
    kwargs = {"axes": (0, 1)} if name.endswith(("2", "n")) else {"n": 6, "axis": 1}
    z = getattr(np.fft, name)(t, **kwargs)
    assert z.requires_grad
    expected = getattr(np.fft, name)(x, **kwargs)
    assert_allclose(z.detach().numpy(), expected, rtol=1e-11, atol=1e-12)
    assert_allclose(getattr(fft, name)(t, **kwargs).detach().numpy(), expected, rtol=1e-11, atol=1e-12)


def test_a_real_operand_has_a_real_gradient():
    x = tape.tensor(REAL[0, 0], requires_grad=True)
    fft.fft(x).abs().square().sum().backward()
    assert x.grad.dtype == tape.float64
    assert_allclose(x.grad.numpy(), 2 * len(REAL[0, 0]) * REAL[0, 0], rtol=1e-12)


def test_single_precision_stays():
    x = tape.tensor(REAL, dtype=tape.float32, requires_grad=True)
    z = fft.rfft(x)
    assert z.dtype == tape.complex64
    fft.irfft(z, n=5).sum().backward()
    assert x.grad.dtype == tape.float32
    assert_allclose(x.grad.numpy(), np.ones(x.shape), atol=1e-5)


def test_a_convolution_by_transforms_has_the_gradient_of_the_sum():
    a, b = (tape.tensor(v, requires_grad=True) for v in (rng.normal(size=5), rng.normal(size=3)))
    weights = tape.tensor(rng.normal(size=7))
    direct = sum(w * a[i] * b[k - i] for k, w in enumerate(weights) for i in range(5) if 0 <= k - i < 3)
    by_transforms = (fft.irfft(fft.rfft(a, n=7) * fft.rfft(b, n=7), n=7) * weights).sum()
    for found, expected in zip(autograd.grad(by_transforms, [a, b]), autograd.grad(direct, [a, b])):
        assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12, atol=1e-13)


def test_shifts_are_inverse_and_have_gradients():
    x = tape.tensor(REAL, requires_grad=True)
    for axes in (None, 1, (0, 2)):
        z = fft.fftshift(x, dim=axes)
        assert_allclose(z.detach().numpy(), np.fft.fftshift(REAL, axes))
        assert_allclose(fft.ifftshift(z, dim=axes).detach().numpy(), REAL)
    (fft.ifftshift(x) * REAL).sum().backward()
    assert_allclose(x.grad.numpy(), np.fft.fftshift(REAL))


def test_frequencies():
    assert_allclose(fft.fftfreq(5, 0.5).numpy(), np.fft.fftfreq(5, 0.5))
    f = fft.rfftfreq(6, dtype=tape.float32, requires_grad=True)
    assert f.dtype == tape.float32
    assert f.requires_grad
    assert_allclose(f.detach().numpy(), np.fft.rfftfreq(6))
    with pytest.raises(ValueError, match="at least one element"):
        fft.fftfreq(0)


def test_nothing_to_transform_leaves_the_numbers():
    x = tape.tensor(COMPLEX)
    assert_allclose(fft.fftn(x, dim=()).numpy(), COMPLEX)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fft.rfft(tape.tensor(COMPLEX)), "rfft transforms real numbers, got complex128"),
        (lambda: fft.fft(tape.tensor(REAL), norm="both"), "norm='backward', 'ortho' or 'forward'"),
        (lambda: fft.fft(tape.tensor(REAL), n=0), "at least one element along axis -1; got 0"),
        (lambda: fft.fft(tape.tensor(1.0)), "a number has none"),
        (lambda: fft.irfft(tape.tensor([1.0 + 0j])), "gives at least one number, got n=0"),
        (lambda: fft.fftn(tape.tensor(REAL), s=(2, 3), dim=(0,)), "a length for each axis"),
        (lambda: fft.rfftn(tape.tensor(REAL), dim=()), "at least one axis"),
        (lambda: fft.fft(tape.tensor(REAL), axs=1), "no argument 'axs'"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises((RuntimeError, TypeError), match=message):
        call()


def test_an_axis_out_of_range():
    with pytest.raises(IndexError, match="out of range"):
        fft.fft(tape.tensor(REAL), dim=3)
    with pytest.raises(ValueError, match="repeated axis"):
        fft.fftn(tape.tensor(REAL), dim=(0, 0))
