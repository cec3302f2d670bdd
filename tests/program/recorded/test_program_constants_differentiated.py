"""Derivatives, within a compiled function, with respect to what is no argument of it: constants and captured arrays."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

S = np.array([0.3, 0.4, 0.5])
STEPS = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])


def loss(x, s):
    return (x * (s * s) + np.sin(s)).sum()


def descent(x):
    s = np.zeros(3)
    for _ in range(3):
        s = s - 0.1 * tape.func.grad(lambda t: ((t * t - x) ** 2 + t).sum())(s)
    return s


OF_ARRAYS = {
    "array": lambda x: tape.func.grad(loss, argnums=1)(x, S),
    "array of its own": lambda x: tape.func.grad(loss, argnums=(0, 1))(x, S * 2.0),
    "float": lambda x: tape.func.grad(loss, argnums=(0, 1))(x, 0.5),
    "number": lambda x: tape.func.grad(loss, argnums=1)(x, np.float64(0.5)) * x,
    "in 32 bits": lambda x: tape.func.grad(loss, argnums=(0, 1))(x.astype(np.float32), 0.5),
    "second": lambda x: tape.func.hessian(lambda s: loss(x, s))(S),
    "nested": lambda x: tape.func.grad(lambda s: tape.func.grad(lambda t: (x * s * t * t).sum())(s))(0.3),
    "rows": lambda x: tape.func.jacrev(lambda s: x * (s * s))(S),
    "vector": lambda x: tape.func.vjp(lambda s: x * (s * s), S)[1](x),
    "lanes": lambda x: tape.func.vmap(lambda s: tape.func.grad(lambda t: loss(x, t))(s))(STEPS),
    "put together": lambda x: tape.func.grad(lambda s: (np.concatenate([s * s, x]) ** 2).sum())(S),
    "descent": descent,
}


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_a_derivative_with_respect_to_a_constant_array_is_recorded(name):
    f = OF_ARRAYS[name]
    compiled = tape.compile(f)
    for x in np.random.default_rng(0).normal(size=(3, 3)):
        found, expected = compiled(x), f(x)
        for a, b in zip(found, expected, strict=True) if type(expected) is tuple else [(found, expected)]:
            assert type(a) is type(b)
            assert_allclose(a, b, rtol=1e-6, atol=1e-12)


def test_a_float_that_keeps_its_value_beside_32_bits_has_a_gradient():
    slope = tape.func.grad(lambda x, s: (x.astype(np.float32) * s * s).sum(), argnums=(0, 1))
    x = np.array([0.7, -1.3, 2.2])
    for found, expected in zip(tape.compile(slope)(x, 0.45), slope(x, 0.45), strict=True):
        assert type(found) is type(expected)
        assert_allclose(found, expected, rtol=1e-6)


W = tape.tensor(S)


def of_a_leaf(x):
    s = tape.tensor([0.3, 0.4, 0.5], dtype=tape.float64, requires_grad=True)
    return tape.autograd.grad((x * s * (s * s)).sum(), s)[0]


OF_TENSORS = {
    "captured": lambda x: tape.func.grad(lambda s: (x * (s * s)).sum())(W),
    "made inside": lambda x: tape.func.grad(lambda s: (x * (s * s)).sum())(tape.ones(3, dtype=tape.float64)),
    "functional": lambda x: tape.autograd.functional.jacobian(lambda s: x * (s * s), W),
    "leaf": of_a_leaf,
}


@pytest.mark.parametrize("name", OF_TENSORS)
def test_a_derivative_with_respect_to_a_constant_tensor_is_recorded_or_computed(name):
    f = OF_TENSORS[name]
    compiled = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name == "leaf" else "error")
        for x in np.random.default_rng(1).normal(size=(3, 3)):
            found, expected = compiled(tape.tensor(x)), f(tape.tensor(x))
            assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


def test_a_history_that_is_not_recorded_makes_the_function_run_as_it_is():
    x = tape.tensor(S)
    with pytest.warns(RuntimeWarning, match="history is not recorded"):
        found = tape.compile(of_a_leaf)(x)
    assert_allclose(found.numpy(), of_a_leaf(x).numpy(), rtol=1e-12)


def test_what_is_differentiated_is_read_anew_in_each_call():
    kept = np.array([1.0, 2.0, 3.0])
    compiled = tape.compile(lambda x: tape.func.grad(lambda s: (x * s * s).sum())(kept))
    x = np.array([0.7, -1.3, 2.2])
    assert_allclose(compiled(x), 2 * x * kept)
    kept[:] = 5.0, 4.0, 2.0
    assert_allclose(compiled(x), 2 * x * kept)


@pytest.mark.parametrize("dtype", [tape.float32, tape.float64])
@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("tier", [None, "interpret", "quick"])
def test_a_gradient_that_is_a_constant_can_be_differentiated(dtype, shape, tier):
    def f(x, y):
        z = x * 1.0
        z.masked_scatter_(z > 0.0, y)  # so that nothing of x is left
        return (z * z).sum()

    fast = tape.compile(f, tier=tier)
    for _ in range(3):
        x, y = tape.ones(shape, dtype=dtype, requires_grad=True), tape.ones(2, dtype=dtype)
        (found,) = tape.autograd.grad(fast(x, y), x, create_graph=True)
        assert (found.dtype, found.shape, found.sum().item()) == (x.dtype, x.shape, 0.0)
