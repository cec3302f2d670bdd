"""gradcheck raises no false alarm: at any scale, at kinks, and where rounding leaves few digits."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tape
from ops import REGISTRY
from tape.gradcheck import check
from tape.gradcheck.derivatives.rounding import spread
from tape.gradcheck.derivatives.subject import Subject, reverse

DTYPES = (np.float64, np.float32)


def numbers(*shape):
    return np.random.default_rng(7).standard_normal(shape)


def chain(ops_and_constants, x, scale):
    """f₁(f₂(…)), each op fed through a bounded map into its smooth domain."""
    y = x * (1.0 / scale)
    for op, middle, width in ops_and_constants:
        y = op(tape.tanh(y) * width + middle)
    return y


@st.composite
def smooth_ops(draw):
    """A unary op of the registry with the middle and half the width of an interval where it is smooth."""
    candidates = [
        op for op in REGISTRY.values()
        if op.kind == "elementwise" and op.arity == 1 and not op.params and op.domain and op.differentiable
    ]  # fmt: skip
    op = draw(st.sampled_from(candidates))
    interval = op.domain[0]
    edges = sorted({interval.low, *(p for p in interval.avoid if interval.low < p < interval.high), interval.high})
    k = draw(st.integers(0, len(edges) - 2))
    low, high = edges[k] + interval.margin, edges[k + 1] - interval.margin
    return op, (low + high) / 2, (high - low) / 2


@given(
    st.lists(smooth_ops(), min_size=1, max_size=4),
    st.lists(st.just(0.0) | st.floats(1e-6, 2) | st.floats(-2, -1e-6), min_size=1, max_size=3),
    st.integers(-8, 8), st.integers(-8, 8), st.sampled_from(DTYPES), st.booleans(), st.booleans(),
)  # fmt: skip
def test_no_false_alarm_on_random_functions_at_any_scale(ops, numbers, power, out_power, dtype, summed, fast):
    scale, out = 10.0**power, 10.0**out_power
    x = (np.array(numbers) * scale).astype(dtype)

    def func(x):
        y = chain(ops, x, scale) * out
        return y.sum() if summed else y

    report = check(func, (x,), fast=fast, forward=True)
    assert report.ok, str(report)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-8, 1e-4, 1.0, 1e4, 1e8])
def test_mixed_scales_in_one_check(dtype, size):
    x = np.array([1.0, 2.0, -0.5], dtype=dtype) * dtype(size)
    y = np.array([0.5, 3.0, 1e-3], dtype=dtype) / dtype(size)
    assert check(lambda x, y: tape.sum(x * y + tape.sin(x * (1 / size)) + y * y), (x, y)).ok


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_a_wrong_factor_is_caught_at_any_scale(size):
    def func(x):
        y = x * (1 / size)
        y.register_hook(lambda g: g * 1.0001)
        return tape.exp(y).sum()

    for dtype in DTYPES:
        assert not check(func, (np.array([0.5, 1.0], dtype=dtype) * dtype(size),)).ok


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_that_cancel_to_zero_pass(dtype):
    def total(x):
        e = tape.exp(x)
        return (e / e.sum()).sum()

    assert check(total, (numbers(5).astype(dtype),)).ok


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_at_ties_pass(dtype):
    zero = np.zeros(2, dtype=dtype)
    assert check(lambda x: tape.abs(x) + tape.relu(x) + tape.maximum(x, 0.0), (zero,)).ok
    assert check(lambda x: tape.clamp(x, 0.0, 1.0), (zero,)).ok


def test_what_rounding_does_to_a_gradient_is_not_called_wrong():
    """1 − z² of a tanh near 1 has two digits in float32, and tanh at 12 none."""
    x = np.array([5.0, 12.0], dtype=np.float32)
    assert check(lambda x: tape.tanh(x) * 100.0, (x,)).ok
    x = x.astype(np.float64)
    assert check(lambda x: tape.tanh(x) * 100.0, (x,)).ok
    assert not check(lambda x: np.tanh(x) * 100.0, (x,), gradient=lambda x: np.diag(100.1 / np.cosh(x) ** 2)).ok


def test_a_gradient_whose_digits_cancel_is_given_the_room_that_rounding_needs():
    """tanh of digamma(0.22) ≈ −4.9 leaves 1 − z² four digits in float32; a 5 % error is still found."""
    x = np.array([-2.0], dtype=np.float32)

    def func(x, factor=1.0):
        y = tape.digamma(tape.tanh(x) * 1.9 + 2.05)
        y.register_hook(lambda g: g * factor)
        return tape.tanh(y) * 1.4 + 1.5

    precision = float(np.finfo(np.float32).eps)
    (moved,) = spread(Subject(func, (x,), [0], ["x"]), [x], precision, reverse)
    assert precision < moved[0, 0] / 1e-3 < 1e-2
    assert check(func, (x,)).ok
    assert not check(lambda x: func(x, 1.05), (x,)).ok


class Cubed(tape.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 3.0 * g * ctx.saved_tensors[0] ** 2


def test_rounding_is_followed_through_a_custom_function():
    x = np.array([1.5])
    (moved,) = spread(Subject(lambda x: Cubed.apply(tape.exp(x)), (x,), [0], ["x"]), [x], 1e-7, reverse)
    assert 1e-8 < moved[0, 0] / (3.0 * np.exp(4.5)) < 1e-5


def test_a_function_that_insists_on_float32_is_checked_in_float32():
    def func(x):
        return (x.float() * x.float()).sum()

    assert check(func, (np.array([0.3, 2.0, 5.0]),)).ok
    assert check(func, (np.array([0.3, 2.0, 5.0], dtype=np.float32),)).ok
