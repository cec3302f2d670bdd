"""Special functions and running extremes against PyTorch; `tape.special`."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape import autograd, special

torch = pytest.importorskip("torch")


ARGUMENTS = {
    "polygamma": ((2,), ()), "multigammaln": ((), (2,)), "xlogy": ((), (0.7,)), "xlog1py": ((), (0.7,)),
    "softmax": ((), (0,)), "log_softmax": ((), (0,)), "logsumexp": ((), (0,)),
    "zeta": ((2.5,), ()), "gammainc": ((np.array(1.5),), ()), "gammaincc": ((np.array(1.5),), ()),
}  # fmt: skip
"""What goes before and after the tensor; arrays are tensors."""


@pytest.mark.parametrize("name", special.__all__)
def test_special_has_the_names_and_values_of_torch(name):
    x = np.array([0.2, 0.45, 0.7]) if name in ("logit", "erfinv", "ndtri") else np.array([1.2, 0.6, 3.4])
    before, after = ARGUMENTS.get(name, ((), ()))
    t, u = tape.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    ours, theirs = (
        [[make(k) if isinstance(k, np.ndarray) else k for k in part] for part in (before, after)]
        for make in (tape.tensor, torch.tensor)
    )
    z = getattr(special, name)(*ours[0], t, *ours[1])
    w = getattr(torch.special, name)(*theirs[0], u, *theirs[1])
    assert_allclose(z.detach().numpy(), w.detach().numpy(), rtol=1e-9)
    z.sum().backward()
    if not w.requires_grad:  # PyTorch knows no slopes of Bessel's functions
        assert_allclose(t.grad.numpy(), differences(lambda x: getattr(special, name)(tape.tensor(x)), x), rtol=1e-6)
        return
    w.sum().backward()
    expected = np.zeros(3) if u.grad is None else u.grad.numpy(force=True)
    assert_allclose(t.grad.numpy(), expected, rtol=1e-9, atol=1e-12)


def differences(f, x, step=1e-6):
    """Central differences of a function of one number."""
    return (f(x + step).numpy() - f(x - step).numpy()) / (2 * step)


@pytest.mark.parametrize("name", ["i0", "i0e", "i1", "i1e", "sinc", "entr", "xlog1py"])
def test_values_and_slopes_at_zero(name):
    after = (0.0,) if name == "xlog1py" else ()
    t, u = tape.tensor(0.0, requires_grad=True), torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    z, w = getattr(special, name)(t, *after), getattr(torch.special, name)(u, *after)
    assert z.item() == w.item()
    z.backward()
    w.backward()
    assert t.grad.item() == u.grad.item()


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes(name):
    x = np.array([[1.0, 3.0, 3.0, 2.0, np.nan, 5.0], [0.5, 0.5, -1.0, 4.0, 4.0, -2.0]])
    for dim in (0, 1):
        t, u = tape.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
        z, w = getattr(tape, name)(t, dim=dim), getattr(torch, name)(u, dim=dim)
        assert_allclose(z.values.detach().numpy(), w.values.detach().numpy())
        assert z.indices.tolist() == w.indices.tolist()
        weights = np.arange(12.0).reshape(2, 6)
        (z.values * weights).sum().backward()
        (w.values * torch.tensor(weights)).sum().backward()
        assert_allclose(t.grad.numpy(), u.grad.numpy())


def test_results_have_names():
    x = tape.tensor([3.0, 1.0, 2.0])
    assert x.sort().values.tolist() == [1.0, 2.0, 3.0]
    assert x.topk(1).indices.tolist() == [0]
    assert tape.kthvalue(x, 2).values.item() == 2.0
    assert tape.median(x).item() == 2.0
    assert tape.median(x, dim=0).indices.item() == 2
    assert (x.aminmax().min.item(), x.aminmax().max.item()) == (1.0, 3.0)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_cdist(p):
    a, b = np.random.default_rng(0).normal(size=(2, 3, 4)), np.random.default_rng(1).normal(size=(2, 5, 4))
    t, u = tape.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    z, w = tape.cdist(t, tape.tensor(b), p=p), torch.cdist(u, torch.tensor(b), p=p)
    assert_allclose(z.detach().numpy(), w.detach().numpy(), rtol=1e-10)
    assert_allclose(autograd.grad(z.sum(), t)[0].numpy(), torch.autograd.grad(w.sum(), u)[0].numpy(), rtol=1e-9)
