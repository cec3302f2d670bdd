"""No function drops a history in silence: it goes on, or an error says that it cannot."""

from __future__ import annotations

import numpy as np
import pytest

import tape


def leaf(*numbers):
    return tape.tensor(numbers or (1.0, 2.0), requires_grad=True)


MADE = {
    "as_tensor": (lambda x: tape.as_tensor([x[0], x[1] * 3]), [1.0, 3.0]),
    "nested": (lambda x: tape.asarray([[x[0], 1.0], [2.0, x[1]]]), [1.0, 1.0]),
    "rows": (lambda x: tape.as_tensor([x, x]), [2.0, 2.0]),
    "full": (lambda x: tape.full((2, 2), x[1]), [0.0, 4.0]),
    "full of a number": (lambda x: tape.full((), x[1]), [0.0, 1.0]),
    "full_like": (lambda x: tape.full_like(x, x[0]), [2.0, 0.0]),
    "new_full": (lambda x: x.new_full((3,), x[0]), [3.0, 0.0]),
    "arange": (lambda x: tape.arange(x[0], 3.5), [3.0, 0.0]),
    "arange with a step": (lambda x: tape.arange(0.0, 5.0, x[1]), [0.0, 3.0]),
    "linspace": (lambda x: tape.linspace(x[0], x[1], 3), [1.5, 1.5]),
    "logspace": (lambda x: tape.logspace(x[0], 2.0, 2, base=np.e), [np.e, 0.0]),
    "copy_": (lambda x: tape.zeros(2).copy_([x[0], x[1]]), [1.0, 1.0]),
    "assigned": (lambda x: assigned(tape.zeros(3), slice(1, None), [x[1], 2.0]), [0.0, 1.0]),
    "unique": (lambda x: tape.unique(tape.stack([x[1], x[0], x[1]])), [1.0, 1.0]),
    "singular values": (lambda x: tape.linalg.lstsq(tape.diag(x), tape.ones(2, 1)).singular_values, [1.0, 1.0]),
}


def assigned(z, index, value):
    z[index] = value
    return z


@pytest.mark.parametrize("name", MADE)
def test_the_history_goes_on(name):
    make, expected = MADE[name]
    x = leaf()
    z = make(x)
    assert z.requires_grad
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected)
    with tape.no_grad():
        np.testing.assert_allclose(make(x).numpy(), z.detach().numpy())


@pytest.mark.parametrize("name", MADE)
def test_tangents_go_on(name):
    make, expected = MADE[name]
    x = tape.tensor([1.0, 2.0])
    _, tangent = tape.func.jvp(lambda v: make(v).sum(), (x,), (tape.ones(2),))
    assert tangent.item() == pytest.approx(sum(expected))


def test_complex_ends():
    assert tape.linspace(0, 1 + 2j, 3).tolist() == [0j, 0.5 + 1j, 1 + 2j]


PARAMETERS = {
    "correction": lambda a: tape.std(tape.arange(3.0), correction=a),
    "order": lambda a: tape.linalg.vector_norm(tape.arange(3.0), a),
    "what stands for nan": lambda a: tape.nan_to_num(tape.tensor([np.nan]), a),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_that_requires_grad_is_refused(name):
    a = leaf()[0]
    with pytest.raises(RuntimeError, match="has no derivative"):
        PARAMETERS[name](a)
    PARAMETERS[name](a.detach())
    with tape.no_grad():
        PARAMETERS[name](a)


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_the_gradient_of_unique_goes_to_the_first_of_equals(dim):
    a = np.array([[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]])
    x = tape.tensor(a, requires_grad=True)
    z = tape.unique(x, dim=dim)
    expected, first = np.unique(a, return_index=True, axis=dim)
    np.testing.assert_array_equal(z.detach().numpy(), expected)
    z.sum().backward()
    mask = np.zeros(a.shape)
    if dim is None:
        mask.ravel()[first] = 1.0
    else:
        mask[(slice(None),) * dim + (first,)] = 1.0
    np.testing.assert_array_equal(x.grad.numpy(), mask)


@pytest.mark.parametrize("dim", [None, 0])
def test_the_gradient_of_unique_consecutive(dim):
    x = leaf(3.0, 3.0, 1.0, 3.0)
    z, inverse, counts = tape.unique_consecutive(x, True, True, dim)
    assert (z.tolist(), inverse.tolist(), counts.tolist()) == ([3.0, 1.0, 3.0], [0, 0, 1, 2], [2, 1, 1])
    (z * tape.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0, 10.0, 100.0]


def test_unique_in_a_compiled_function_follows_the_values():
    f = tape.compile(lambda x: (tape.unique(x) * 2).sum())
    for numbers in ([1.0, 2.0, 1.0], [3.0, 2.0, 1.0], [1.0, 1.0, 1.0], [1.0, 5.0, 1.0]):
        assert f(tape.tensor(numbers)).item() == 2 * sum(set(numbers))


def test_elu_at_its_corner():
    for alpha in (1.0, 2.0):
        x = leaf(-1.0, -0.0, 0.0, 1.0)
        (g,) = tape.autograd.grad(tape.elu(x, alpha).sum(), [x], create_graph=True)
        (h,) = tape.autograd.grad(g.sum(), [x])
        np.testing.assert_allclose(g.detach().numpy(), [alpha / np.e, alpha, alpha, 1.0])
        np.testing.assert_allclose(h.numpy(), [alpha / np.e, 0.0, 0.0, 0.0])


def test_a_copy_of_numbers_says_what_it_drops():
    x = leaf()
    with pytest.warns(UserWarning, match="as_tensor"):
        assert not tape.tensor([x[0], 1.0]).requires_grad
    tape.tensor([x[0].detach(), 1.0])
