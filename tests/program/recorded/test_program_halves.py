"""Compiled functions of 16-bit tensors: what eager execution gives, computed in 32 bits and rounded once per op."""

from __future__ import annotations

import numpy as np
import pytest

import tape

EPS = {tape.float16: 2.0**-10, tape.bfloat16: 2.0**-7}
HALVES = pytest.mark.parametrize("dtype", list(EPS), ids=["float16", "bfloat16"])


def numbers(dtype, *shape, seed=0):
    return tape.tensor(np.random.default_rng(seed).uniform(0.1, 2, shape)).to(dtype)


def changed(x, y):
    z = x.clone()
    z.mul_(y)
    z[0] = 1.5
    return z


FUNCTIONS = {
    "arithmetic": lambda x, y: x * y + x / y - 2.5 * x,
    "sum": lambda x, y: x.sum(),
    "mean": lambda x, y: x.mean(1),
    "cumsum": lambda x, y: x.cumsum(1),
    "matmul": lambda x, y: x @ y.T,
    "softmax": lambda x, y: (x * 5).softmax(1),
    "logsumexp": lambda x, y: tape.logsumexp(x, 1),
    "norm": lambda x, y: x.norm(),
    "sort": lambda x, y: tape.sort(x * y, 1),
    "where": lambda x, y: tape.where(x > 1, x, y.exp()),
    "views": lambda x, y: x.T.reshape(-1)[3:] * 3,
    "with 32 bits": lambda x, y: x + y.float(),
    "without axes": lambda x, y: x * tape.tensor(1.1, dtype=tape.float64) + x[0, 0],
    "wider": lambda x, y: x.sum(dtype=tape.float64) + y.sum(1, dtype=tape.float64),
    "in place": changed,
    "integers": lambda x, y: (x * 7).to(tape.int64) + x.argmax(),
}


def agree(found, expected, dtype, ulps=1.0):
    assert type(found) is type(expected)
    if isinstance(found, tuple):
        for a, b in zip(found, expected, strict=True):
            agree(a, b, dtype, ulps)
        return
    assert found.dtype == expected.dtype
    a, b = (x.detach().double().numpy() for x in (found, expected))
    np.testing.assert_allclose(a, b, rtol=ulps * EPS[dtype], atol=0)


@HALVES
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_compiled_function_gives_what_eager_execution_gives(name, dtype):
    x, y = numbers(dtype, 4, 600), numbers(dtype, 4, 600, seed=1)
    compiled = tape.compile(FUNCTIONS[name])
    expected = FUNCTIONS[name](x, y)
    for _ in range(3):
        agree(compiled(x, y), expected, dtype)
    assert sum(p.replays for p in compiled.programs) >= 1


@HALVES
def test_a_tensor_from_outside_is_computed_with_in_32_bits(dtype):
    w = numbers(dtype, 600)
    compiled = tape.compile(lambda x: (w * x).cumsum(0))
    x = tape.tensor(np.linspace(0.1, 2, 600)).float()
    agree(compiled(x.to(dtype)), (w * x.to(dtype)).cumsum(0), dtype)
    found = compiled(x)
    assert found.dtype == tape.float32
    np.testing.assert_allclose(found.numpy(), (w * x).cumsum(0).numpy(), rtol=1e-5)


@HALVES
def test_gradients_are_those_of_eager_execution_but_for_rounding(dtype):
    """Rules read results before they are rounded to 16 bits."""

    def loss(x, y):
        return (tape.exp(x * y * 0.3) @ y.T).sum(dtype=tape.float32)

    x, y = numbers(dtype, 4, 300), numbers(dtype, 4, 300, seed=1)
    slopes = tape.func.grad(loss, (0, 1))
    compiled = tape.compile(slopes)
    for _ in range(2):
        agree(compiled(x, y), slopes(x, y), dtype, ulps=4)
    leaves = [v.clone().requires_grad_() for v in (x, y)]
    tape.compile(loss)(*leaves).backward()
    agree(tuple(v.grad for v in leaves), slopes(x, y), dtype, ulps=4)


def test_arrays_of_16_bits_are_computed_with_as_numpy_does():
    x = np.random.default_rng(0).uniform(0.1, 2, 600).astype(np.float16)

    def function(x):
        return np.cumsum(x) * np.exp(x)

    compiled = tape.compile(function)
    for _ in range(2):
        found = compiled(x)
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, function(x), rtol=2.0**-10)


def test_what_an_op_is_made_of_is_not_rounded_for_each_part():
    x = np.random.default_rng(0).uniform(-3, 3, 600).astype(np.float16)
    for f in (np.sinc, np.std, np.var, lambda x: np.sinc(x) * 2 + 1):
        np.testing.assert_array_equal(tape.compile(f)(x), tape.func.vjp(f, x)[0])


def test_interpolation_is_in_double_precision():
    x = np.random.default_rng(0).uniform(-3, 9, 60).astype(np.float16)
    knots, y = np.arange(7, dtype=np.float16), x[:7]
    for f in (lambda x: np.interp(x, knots, y), lambda y: np.interp(x, knots, y[:7])):
        np.testing.assert_array_equal(tape.compile(f)(x), f(x))
        np.testing.assert_array_equal(tape.func.vjp(f, x)[0], f(x))
