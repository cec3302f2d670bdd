"""Forward mode by hand: dual levels, duals, and what they share with their primals."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose

import tape
from tape.autograd import forward_ad as fw

X, V = tape.tensor([1.0, 2.0, 3.0]), tape.tensor([1.0, 0.0, -1.0])


def test_packing_and_unpacking():
    with fw.dual_level() as level:
        assert level == 0
        dual = fw.make_dual(X, V)
        primal, tangent = fw.unpack_dual(dual)
        assert tangent is V
        assert primal.tolist() == X.tolist()
        assert fw.unpack_dual(X).tangent is None
        assert isinstance(dual, tape.Tensor)
        assert repr(dual) == "tensor([1., 2., 3.], tangent=tensor([ 1.,  0., -1.]))"
    assert fw.unpack_dual(dual).tangent is None
    assert repr(dual) == "tensor([1., 2., 3.])"
    assert type(dual * 2) is tape.Tensor


def test_memory_and_versions_are_shared():
    x = tape.ones(3)
    with fw.dual_level():
        dual = fw.make_dual(x, V.clone())
        before = x._version
        dual.add_(1.0)
        assert x._version > before
        assert x.tolist() == [2.0] * 3
        assert dual.data_ptr() == x.data_ptr()
        x.mul_(2.0)
        assert dual.tolist() == [4.0] * 3
        assert dual._version == x._version


def test_no_grad_does_not_disable_it():
    x = X.clone().requires_grad_()
    with fw.dual_level(), tape.no_grad():
        primal, tangent = fw.unpack_dual(fw.make_dual(x, V) * 3)
        assert not primal.requires_grad
        assert tangent.tolist() == [3.0, 0.0, -3.0]


def test_detach_drops_the_tangent():
    x = X.clone().requires_grad_()
    with fw.dual_level():
        dual = fw.make_dual(x, V)
        assert fw.unpack_dual(dual.detach() * 2).tangent is None
        assert not dual.detach().requires_grad
        moved = dual * 1
        moved.detach_()
        out = fw.unpack_dual(moved * 2)
        assert out.tangent is None
        assert not out.primal.requires_grad


def test_backward_through_both_parts():
    x, v = X.clone().requires_grad_(), V.clone().requires_grad_()
    with fw.dual_level():
        primal, tangent = fw.unpack_dual(fw.make_dual(x, v) ** 3)
    tangent.sum().backward()
    assert_allclose(x.grad.numpy(), (6 * X * V).numpy())
    assert_allclose(v.grad.numpy(), (3 * X**2).numpy())
    (found,) = tape.autograd.grad(primal.sum(), x)
    assert_allclose(found.numpy(), (3 * X**2).numpy())


def test_gradients_of_duals_are_duals():
    """Forward over reverse by hand; also of a dual's own gradient argument."""
    x, g_dot = X.clone().requires_grad_(), tape.tensor([0.5, 1.0, 2.0])
    with fw.dual_level():
        dual = fw.make_dual(x, V)
        (found,) = tape.autograd.grad((dual**3).sum(), dual)
        primal, tangent = fw.unpack_dual(found)
        assert_allclose(primal.numpy(), (3 * X**2).numpy())
        assert_allclose(tangent.numpy(), (6 * X * V).numpy())
        (found,) = tape.autograd.grad(dual**3, x, fw.make_dual(tape.ones(3), g_dot))
        assert_allclose(fw.unpack_dual(found).tangent.numpy(), (6 * X * V + 3 * X**2 * g_dot).numpy())
        (found,) = tape.autograd.grad(x**3, x, fw.make_dual(tape.ones(3), g_dot))
        assert_allclose(fw.unpack_dual(found).tangent.numpy(), (3 * X**2 * g_dot).numpy())
        with pytest.raises(RuntimeError, match="not have been used"):
            tape.autograd.grad((dual**3).sum(), tape.ones(2, requires_grad=True))
        (dual**2).sum().backward()
    assert_allclose(x.grad.numpy(), (2 * X).numpy())


def test_batches_of_gradients_of_duals():
    x = X.clone().requires_grad_()
    with fw.dual_level():
        z = fw.make_dual(x, V) ** 2
        (rows,) = tape.autograd.grad(z, x, tape.eye(3), is_grads_batched=True)
        primal, tangent = fw.unpack_dual(rows)
        assert_allclose(primal.numpy(), tape.diag(2 * X).numpy())
        assert_allclose(tangent.numpy(), tape.diag(2 * V).numpy())


def test_numbers_and_branches_follow_the_primal():
    with fw.dual_level():
        dual = fw.make_dual(tape.tensor(2.0), tape.tensor(1.0))
        assert float(dual) == dual.item() == 2.0
        assert bool(dual > 1)
        assert type(dual > 1) is tape.Tensor
        assert dual.max() == 2.0
        assert dual.argmax().item() == 0
        assert fw.unpack_dual(fw.make_dual(X, V).max(dim=0).values).tangent.item() == -1.0
        assert fw.unpack_dual(dual.int()).tangent is None


def test_requires_grad_is_that_of_the_primal():
    x = X.clone()
    with fw.dual_level():
        dual = fw.make_dual(x, V)
        dual.requires_grad_()
        assert x.requires_grad
        assert dual.is_leaf
        assert (dual * 2).grad_fn.name() == "MulBackward0"


def test_records_of_tangents_name_the_users_line():
    x = X.clone().requires_grad_()
    with fw.dual_level():
        tangent = fw.unpack_dual(fw.make_dual(x, V).tanh()).tangent
    assert tangent.grad_fn.location.file == __file__


def test_a_decorator_and_calls():
    @fw.dual_level()
    def slope(x, v):
        return fw.unpack_dual(fw.make_dual(x, v) ** 2).tangent

    assert slope(X, V).tolist() == [2.0, 0.0, -6.0]
    assert fw.enter_dual_level() == 0
    fw.exit_dual_level(level=0)
    with pytest.raises(KeyError), fw.dual_level():
        raise KeyError
    assert fw.unpack_dual(X).tangent is None


def test_a_function_transformed_within_a_level():
    x = X.clone()
    with fw.dual_level():
        dual = fw.make_dual(x, V)
        found = tape.func.grad(lambda x: (x**3).sum())(dual)
        assert_allclose(fw.unpack_dual(found).tangent.numpy(), (6 * X * V).numpy())
        _, again = tape.func.jvp(lambda x: x**3, (dual,), (tape.ones(3),))
        assert_allclose(fw.unpack_dual(again).tangent.numpy(), (6 * X * V).numpy())
        with pytest.raises(RuntimeError, match="outer dual level"):
            tape.func.jvp(lambda x: fw.make_dual(x, V), (x,), (V,))


def nested():
    with fw.dual_level(), fw.dual_level():
        pass


def twice(which):
    with fw.dual_level():
        dual = fw.make_dual(X, V)
        return fw.make_dual(dual, V) if which else fw.make_dual(X, dual)


def packed(*parts):
    with fw.dual_level():
        return fw.make_dual(*parts)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (nested, RuntimeError, "Nested forward mode"),
        (lambda: fw.make_dual(X, V), RuntimeError, "no level exists"),
        (fw.exit_dual_level, RuntimeError, "not the last one"),
        (lambda: twice(False), RuntimeError, "itself has a forward gradient at the same level"),
        (lambda: twice(True), RuntimeError, "already"),
        (lambda: packed(X, 1.0), TypeError, "its tangent is float"),
        (lambda: packed(1.0, X), TypeError, "its primal is float"),
        (lambda: packed(tape.arange(3), V), ValueError, "got int64"),
        (lambda: packed(X, tape.arange(3)), ValueError, "got int64"),
        (lambda: packed(X, V[:2]), RuntimeError, r"shape \(3,\), the tangent \(2,\)"),
        (lambda: packed(X, V.float()), RuntimeError, "is float64, the tangent float32"),
    ],
)
def test_mistakes(call, error, text):
    with pytest.raises(error, match=text):
        call()
    assert fw.unpack_dual(X).tangent is None
