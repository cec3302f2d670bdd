"""Names and calls that users of PyTorch know, beyond the ops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.autograd import grad, gradcheck
from tape.spelling.spelled_inplace import inplace_methods


def test_numpy_needs_no_detach_where_nothing_is_recorded():
    x = tape.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()
    with tape.no_grad():
        x.numpy()[0] = 5.0
        assert np.asarray(x).tolist() == [5.0, 1.0]


@pytest.mark.parametrize("name", ["data", "requires_grad", "grad_fn", "_grad_fn", "_backward_hooks"])
def test_what_a_tensor_is_cannot_be_deleted(name):
    x = tape.ones(2, requires_grad=True)
    for tensor in (x, x * 2):
        with pytest.raises(RuntimeError, match="cannot be deleted"):
            delattr(tensor, name)


def test_the_hooks_of_a_tensor_can_be_looked_at():
    x = tape.ones(2, requires_grad=True)
    for tensor in (x, x * 2):
        assert tensor._backward_hooks is None
        handle = tensor.register_hook(print)
        assert tensor._backward_hooks == {handle.id: print}
        handle.remove()
        assert tensor._backward_hooks == {}
        tensor._backward_hooks = {"mine": lambda g: g * 10.0}
        tensor._backward_hooks["second"] = lambda g: g + 1.0
        assert grad(tensor.sum(), tensor)[0].tolist() == [11.0, 11.0]
        tensor._backward_hooks = None
        assert grad(tensor.sum(), tensor)[0].tolist() == [1.0, 1.0]
    assert x._grad_fn is None


def test_a_node_can_be_called_with_gradients():
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    node, triple, g = (x**2).grad_fn, (x * 3.0).grad_fn, tape.tensor([1.0, 3.0])
    with tape.no_grad():
        assert node(g).tolist() == [2.0, 12.0]
        assert [b if b is None else b.tolist() for b in triple(g)] == [[3.0, 9.0], None]
        assert node(None) is None
    assert grad(node(g).sum(), x)[0].tolist() == [2.0, 6.0]
    for wrong in ((), (g, g)):
        with pytest.raises(TypeError, match=f"expected 1 arguments, got {len(wrong)} instead"):
            node(*wrong)
    with pytest.raises(TypeError, match="takes tensors or None; got a float"):
        node(1.0)


def test_nodes_of_several_results_of_functions_and_of_leaves_can_be_called():
    m = tape.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    sign, log = tape.linalg.slogdet(m)
    with tape.no_grad():
        bar = log.grad_fn(None, tape.tensor(2.0))
    assert np.allclose(bar.numpy(), 2.0 * np.linalg.inv(m.detach().numpy()).T)
    with pytest.raises(TypeError, match="expected 2 arguments, got 1 instead"):
        log.grad_fn(sign)

    class Twice(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    y = Twice.apply(m, 3.0)
    assert y.grad_fn(tape.ones(2, 2)).tolist() == [[2.0, 2.0]] * 2
    leaf = tape.autograd.graph.get_gradient_edge(m).node
    leaf(tape.ones(2, 2))
    leaf(tape.ones(2, 2))
    assert m.grad.tolist() == [[2.0, 2.0]] * 2


@pytest.mark.parametrize("name", inplace_methods())
def test_an_in_place_method_is_a_function_too(name):
    function = getattr(tape, name)
    assert (function.__name__, function.__doc__) == (name, getattr(tape.Tensor, name).__doc__)


def test_functions_in_place_change_their_first_argument():
    x = tape.tensor([-1.0, 4.0])
    assert tape.relu_(x) is x
    assert tape.clamp_(x, max=2.0).tolist() == [0.0, 2.0]
    assert tape.fill_(x, 7.0).tolist() == tape.detach_(x).tolist() == [7.0, 7.0]


def test_a_real_result_does_not_take_the_place_of_complex_numbers():
    z = tape.tensor([3.0 + 4.0j])
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        z.abs_()
    assert z.mul_(2.0).tolist() == [6.0 + 8.0j]


def test_complex_powers_of_a_negative_number():
    y = tape.tensor([0.5 + 1.0j, -1.0 + 0.2j], requires_grad=True)
    assert gradcheck(lambda y: tape.pow(-1, y), (y,))
    assert gradcheck(lambda y: (-2.0) ** y, (y,))
    assert gradcheck(lambda y: tape.pow(tape.tensor([-1.0, -2.0]), y), (y,))


def test_numbers_that_are_written_are_not_rounded_to_the_default_dtype():
    x, before = tape.zeros(2, dtype=tape.float64), tape.get_default_dtype()
    tape.set_default_dtype(tape.float32)
    try:
        x[0] = 1e300
        assert x.tolist() == [1e300, 0.0]
        assert x.fill_(0.1).tolist() == [0.1, 0.1]
        x[:] = [0.3, 1e-300]
        assert x.tolist() == [0.3, 1e-300]
    finally:
        tape.set_default_dtype(before)


def test_a_recorded_program_follows_transformations_of_tensors_without_history():
    """Their tangents and lanes were lost where nothing required grad."""
    x = tape.tensor([0.5, 1.0, 2.0], dtype=tape.float64)

    def f(x):
        return (tape.sin(x) * x * x).sum()

    program = tape.record(f, x)
    ones = tape.ones(3, dtype=tape.float64)
    assert_allclose(tape.func.jvp(program, (x,), (ones,))[1].item(), tape.func.grad(f)(x).sum().item(), rtol=1e-12)
    with tape.no_grad():
        assert_allclose(tape.func.jacfwd(program)(x).numpy(), tape.func.jacfwd(f)(x).numpy(), rtol=1e-12)
    rows = tape.stack([x, 2.0 * x])
    assert_allclose(tape.func.vmap(program)(rows).numpy(), tape.func.vmap(f)(rows).numpy(), rtol=1e-12)
