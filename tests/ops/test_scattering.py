"""What is sent to one place, reduced there, against a loop."""

import numpy as np
import pytest

import tape
from tape.autograd import gradcheck, gradgradcheck

JOIN = {"sum": sum, "prod": np.prod, "mean": np.mean, "amax": max, "amin": min}
RNG = np.random.default_rng(0)
X, SOURCE = RNG.permutation(32)[:12].reshape(3, 4) / 4.0, RNG.permutation(20).reshape(5, 4) / 4.0 + 0.1
INDEX = RNG.integers(0, 3, (5, 4))


def by_a_loop(x, index, source, reduce, include_self):
    z = x.copy()
    for place in np.ndindex(x.shape):
        sent = [source[k] for k in np.ndindex(index.shape) if (index[k], *k[1:]) == place]
        if sent:
            z[place] = JOIN[reduce]([x[place], *sent] if include_self else sent)
    return z


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", JOIN)
def test_scatter_reduce(reduce, include_self):
    def f(x, source):
        return x.scatter_reduce(0, tape.tensor(INDEX), source, reduce, include_self=include_self)

    x, source = tape.tensor(X, requires_grad=True), tape.tensor(SOURCE, requires_grad=True)
    assert np.allclose(f(x, source).detach().numpy(), by_a_loop(X, INDEX, SOURCE, reduce, include_self))
    assert gradcheck(f, (x, source), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(f, (x, source))
    y = x * 1.0
    y.scatter_reduce_(0, tape.tensor(INDEX), source, reduce, include_self=include_self)
    assert np.array_equal(y.detach().numpy(), f(x, source).detach().numpy())


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
def test_index_reduce(reduce, include_self):
    index, whole = np.array([2, 0, 2, 2, 0]), np.array([[2, 0, 2, 2, 0]] * 4).T
    x, source = tape.tensor(X, requires_grad=True), tape.tensor(SOURCE, requires_grad=True)

    def f(x, source):
        return tape.index_reduce(x, 0, tape.tensor(index), source, reduce, include_self=include_self)

    assert np.allclose(f(x, source).detach().numpy(), by_a_loop(X, whole, SOURCE, reduce, include_self))
    assert gradcheck(f, (x, source))
    turned = x.detach().T.index_reduce(1, tape.tensor(index), source.detach().T, reduce, include_self=include_self)
    assert np.allclose(turned.T.numpy(), f(x, source).detach().numpy())


@pytest.mark.parametrize("source", [[0.0, 0.0, 3.0], [0.0, 2.0, 3.0]])
def test_products_with_zeros_have_exact_gradients_of_every_order(source):
    x, source = tape.tensor([1.5], requires_grad=True), tape.tensor(source, requires_grad=True)
    index = tape.tensor([0, 0, 0])
    assert gradcheck(lambda x, s: tape.scatter_reduce(x, 0, index, s, "prod"), (x, source))
    assert gradgradcheck(lambda x, s: tape.scatter_reduce(x, 0, index, s, "prod"), (x, source))


def test_equal_extremes_share_the_gradient():
    x, source = tape.tensor([4.0, 1.0], requires_grad=True), tape.tensor([4.0, 4.0, 0.0], requires_grad=True)
    index = tape.tensor([0, 0, 1])
    x.scatter_reduce(0, index, source, "amax").sum().backward()
    assert (x.grad.tolist(), source.grad.tolist()) == ([1 / 3, 1.0], [1 / 3, 1 / 3, 0.0])
    x.grad = source.grad = None
    x.scatter_reduce(0, index, source, "amax", include_self=False).sum().backward()
    assert (x.grad.tolist(), source.grad.tolist()) == ([0.0, 0.0], [0.5, 0.5, 1.0])


def test_a_source_larger_than_the_index_is_cut():
    x = tape.zeros(2, 2)
    assert x.scatter_reduce(1, tape.tensor([[0, 0]]), tape.ones(3, 3), "sum").tolist() == [[2.0, 0.0], [0.0, 0.0]]


def test_integers_and_what_is_not_known():
    x, index = tape.zeros(2, dtype=tape.int64), tape.tensor([0, 0])
    assert x.scatter_reduce(0, index, tape.tensor([3, 4]), "mean").tolist() == [2, 0]
    with pytest.raises(RuntimeError, match="reduce must be one of sum, prod, mean, amax, amin; got 'max'"):
        x.scatter_reduce(0, index, index, "max")
    with pytest.raises(RuntimeError, match="reduce must be one of prod, mean, amax, amin; got 'sum'"):
        x.index_reduce(0, index, index, "sum")
