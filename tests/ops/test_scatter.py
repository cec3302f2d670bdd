"""Values put or added at indices along one axis, with PyTorch's arguments; and the order of `polygamma`."""

from __future__ import annotations

import numpy as np
import pytest
from peer import torch

import tape
from tape.autograd import gradcheck

X = np.arange(12.0).reshape(3, 4) / 7 - 0.5
S = np.arange(12.0).reshape(3, 4) / 5 + 0.25
ROWS, COLUMNS = [[2, 0, 1, 1], [0, 1, 2, 0]], [[0, 3], [2, 1], [1, 0]]

FORMS = {
    "scatter rows": lambda m, x, s: x.scatter(0, m.tensor(ROWS), s[:2]),
    "scatter columns": lambda m, x, s: m.scatter(x, 1, m.tensor(COLUMNS), s[:, :2]),
    "scatter from the end": lambda m, x, s: x.scatter(-1, m.tensor(COLUMNS), s[:, 1:3]),
    "scatter one number": lambda m, x, s: x.scatter(1, m.tensor(COLUMNS), 5.0) * s,
    "scatter one number by name": lambda m, x, s: x.scatter(1, m.tensor(COLUMNS), value=5.0) * s,
    "scatter in place": lambda m, x, s: (x * 1).scatter_(1, m.tensor(COLUMNS), s[:, :2]),
    "scatter_add": lambda m, x, s: x.scatter_add(0, m.tensor(ROWS), s[:2]),
    "scatter_add a smaller index": lambda m, x, s: m.scatter_add(x, 1, m.tensor([[1], [1]]), s[:2, :1]),
    "scatter_add in place": lambda m, x, s: (x * 1).scatter_add_(1, m.tensor(COLUMNS), s[:, :2]),
}


def gradients(m, form):
    x, s = (m.tensor(a.tolist(), dtype=m.float64, requires_grad=True) for a in (X, S))
    z = form(m, x, s)
    (z * z).sum().backward()
    return z.tolist(), *(None if t.grad is None else t.grad.tolist() for t in (x, s))


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_as_in_pytorch(form):
    """PyTorch wants a source for gradients that is as large as the index."""
    for ours, theirs in zip(gradients(tape, form), gradients(torch, form)):
        np.testing.assert_allclose(0 if ours is None else ours, 0 if theirs is None else theirs, rtol=1e-14)


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_their_rules(form):
    x, s = (tape.tensor(a, requires_grad=True) for a in (X, S))
    assert gradcheck(lambda x, s: form(tape, x, s), (x, s), check_forward_ad=True)


def test_a_larger_source():
    x, s = tape.tensor(X), tape.tensor(S, requires_grad=True)
    index = tape.tensor(COLUMNS)
    assert tape.equal(x.scatter(1, index, s), x.scatter(1, index, s[:, :2]))
    (g,) = tape.autograd.grad(x.scatter_add(1, index, s).sum(), s)
    assert g.tolist() == [[1.0, 1.0, 0.0, 0.0]] * 3


@pytest.mark.filterwarnings("ignore:The reduce argument")
@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_reduced(reduce):
    x, s = (tape.tensor(a, requires_grad=True) for a in (X, S))
    theirs = torch.tensor(X.tolist(), dtype=torch.float64)
    z = x.scatter(1, tape.tensor(COLUMNS), s, reduce=reduce)
    assert z.tolist() == theirs.scatter(1, torch.tensor(COLUMNS), torch.tensor(S), reduce=reduce).tolist()
    assert gradcheck(lambda x, s: x.scatter(1, tape.tensor(COLUMNS), s, reduce=reduce), (x, s))


def test_mistakes():
    x = tape.tensor(X)
    with pytest.raises(RuntimeError, match="reduce must be one of add, multiply; got 'mean'"):
        x.scatter(0, tape.tensor(ROWS), x, reduce="mean")
    with pytest.raises(IndexError):
        x.scatter(0, tape.tensor([[3, 0]]), 1.0)


def test_the_order_of_a_polygamma_comes_first():
    x = tape.tensor([0.5, 1.5], requires_grad=True)
    z = tape.polygamma(1, x)
    assert z.tolist() == x.polygamma(1).tolist() == tape.special.polygamma(1, x).tolist()
    (g,) = tape.autograd.grad(z.sum(), x)
    assert g.tolist() == tape.polygamma(2, x).tolist()
    assert tape.polygamma(0, x).tolist() == x.digamma().tolist()
    with pytest.raises(TypeError, match="order first"):
        tape.polygamma(x, 1)
    assert (x.detach() * 1).polygamma_(1).tolist() == z.tolist()
