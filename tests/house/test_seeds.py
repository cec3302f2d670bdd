"""The situations of the tutorials that this library must run, written as their authors wrote them."""

import pytest

import tape as torch
import tape.autograd as autograd
from tape.autograd import Variable


def test_ones_plus_two_squared_times_three():
    x = Variable(torch.ones(2, 2), requires_grad=True)
    y = x + 2
    z = y * y * 3
    out = z.mean()
    out.backward()
    assert str(x.grad) == "tensor([[4.5000, 4.5000],\n        [4.5000, 4.5000]])"


def test_gradient_argument_weighs_the_elements():
    x = Variable(torch.Tensor([1, 3, 1, 2]), requires_grad=True)
    y = x + 2
    z = y * y * 3
    assert z.tolist() == [27, 75, 27, 48]
    gradients = torch.Tensor([1, 1, 0.1, 1])
    z.backward(gradients)
    assert torch.allclose(x.grad, torch.tensor([18.0, 30.0, 1.8, 24.0]))


def test_printing_a_variable():
    x = Variable(torch.ones(2, 2), requires_grad=True)
    assert str(x) == "tensor([[1., 1.],\n        [1., 1.]], requires_grad=True)"
    y = x + 2
    assert str(y) == "tensor([[3., 3.],\n        [3., 3.]], grad_fn=<AddBackward0>)"


def test_grad_fn_of_leaf_and_result():
    x = Variable(torch.ones(2, 2), requires_grad=True)
    y = x + 2
    assert x.grad_fn is None
    assert repr(y.grad_fn).startswith("<AddBackward0 object at 0x")


def test_printing_results():
    x = Variable(torch.ones(2, 2), requires_grad=True)
    z = (x + 2) * (x + 2) * 3
    assert str(z) == "tensor([[27., 27.],\n        [27., 27.]], grad_fn=<MulBackward0>)"
    assert str(z.mean()) == "tensor(27., grad_fn=<MeanBackward0>)"


def test_backward_of_w_is_the_gradient_of_sum_of_y_w():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor([0.5, -1.0, 2.0])
    (x**3).backward(w)
    by_backward, x.grad = x.grad, None
    torch.sum(x**3 * w).backward()
    assert torch.allclose(by_backward, x.grad)


def test_requires_grad_later_and_mean():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    x.requires_grad_(True)
    out = torch.mean(x * x)
    assert str(out) == "tensor(7.5000, grad_fn=<MeanBackward0>)"
    assert type(out.grad_fn).__name__ == "MeanBackward0"
    out.backward()
    assert x.grad.tolist() == [[0.5, 1.0], [1.5, 2.0]]
    assert x.data.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_vector_jacobian_product():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * x
    v = torch.tensor([1.0, 1 / 2.0, 1 / 3.0])
    y.backward(v)
    assert str(x.grad) == "tensor([2., 2., 2.])"


def test_detach_and_no_grad():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.detach()
    assert (y.requires_grad, x.requires_grad) == (False, True)
    assert str(x.eq(y).all()) == "tensor(True)"
    with torch.no_grad():
        assert (x**2).requires_grad is False


def test_gradients_of_intermediates_are_none():
    a = torch.ones(2, 2, requires_grad=True)
    b = a + 2
    c = b * b * 3
    out = c.mean()
    out.backward()
    assert a.grad.tolist() == [[4.5, 4.5], [4.5, 4.5]]
    with pytest.warns(UserWarning, match="retain_grad"):
        assert b.grad is None


def test_backward_of_what_does_not_require_grad():
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(2, 2).mean().backward()


def test_hook_sees_the_gradient_of_an_intermediate(capsys):
    xx = Variable(torch.ones(1, 1), requires_grad=True)
    yy = 3 * xx
    zz = yy**2
    yy.register_hook(print)
    zz.backward()
    print(xx.grad)
    assert capsys.readouterr().out == "tensor([[6.]])\ntensor([[18.]])\n"


def test_three_backwards_without_retain_graph():
    x = Variable(torch.FloatTensor([[1, 2, 3, 4]]), requires_grad=True)
    z = 2 * x
    loss = z.sum(dim=1)
    assert (z.data.tolist(), loss.tolist()) == ([[2, 4, 6, 8]], [20])

    z.backward(torch.FloatTensor([[1, 0, 0, 0]]))
    assert x.grad.data.tolist() == [[2, 0, 0, 0]]
    x.grad.data.zero_()

    z.backward(torch.FloatTensor([[0, 1, 0, 0]]))
    assert x.grad.data.tolist() == [[0, 2, 0, 0]]
    x.grad.data.zero_()

    z.backward(torch.FloatTensor([[1, 1, 1, 1]]))
    assert x.grad.data.tolist() == [[2, 2, 2, 2]]
    x.grad.data.zero_()

    loss.backward()
    assert x.grad.data.tolist() == [[2, 2, 2, 2]]
    assert x.grad.dtype == torch.float32


def test_gradients_accumulate_until_zeroed():
    x = Variable(torch.ones(2, 2), requires_grad=True)
    for expected in (4.5, 9.0):
        out = ((x + 2) * (x + 2) * 3).mean()
        out.backward()
        assert x.grad.tolist() == [[expected] * 2] * 2


def test_second_backward_through_a_released_graph():
    x = Variable(torch.ones(2, 2), requires_grad=True)
    out = ((x + 2) ** 2).mean()
    out.backward()
    with pytest.raises(RuntimeError, match=r"second time.*\n.*test_seeds\.py.*\n.*retain_graph=True"):
        out.backward()


def test_sizes():
    a = torch.ones(3, 5)
    assert repr(a.size()) == "Size([3, 5])"
    assert (a.size(1), a.size()[1]) == (5, 5)


def test_doubling_until_the_norm_is_large():
    x = Variable(torch.tensor([0.5, -0.7, 0.9]), requires_grad=True)
    y = x * 2
    doublings = 1
    while y.data.norm() < 1000:
        y = y * 2
        doublings += 1
    gradients = torch.FloatTensor([0.1, 1.0, 0.0001])
    y.backward(gradients)
    assert torch.allclose(x.grad, gradients.double() * 2**doublings)


def test_legacy_names():
    x = Variable(torch.ones(2, 2), requires_grad=True)
    y = x * 2
    assert x.creator is None
    assert y.creator is y.grad_fn
    assert isinstance(y, Variable)
    z = y * y * 3
    out = z.mean()
    with pytest.warns(DeprecationWarning, match="retain_graph"):
        out.backward(retain_variables=True)
    out.backward(torch.Tensor([1.0]).view(()))
    assert x.grad.tolist() == [[12.0, 12.0], [12.0, 12.0]]


def test_legacy_backward_function():
    x = Variable(torch.ones(2), requires_grad=True)
    y = x * x
    with pytest.warns(DeprecationWarning, match="grad_tensors"):
        autograd.backward([y], grad_variables=[torch.ones(2)])
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(DeprecationWarning, match="no_grad"):
        Variable(torch.ones(2), volatile=True)
