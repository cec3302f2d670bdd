"""gradcheck passes what is right, whatever its scale, and catches what is wrong, whatever its size."""

import inspect
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tape
from ops import REGISTRY
from ops.core import Rule
from tape.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tape.gradcheck import Unfit, check
from tape.gradcheck.analytic import reverse
from tape.gradcheck.rounding import spread
from tape.gradcheck.subject import Subject
from tape.jit.kernels import KERNELS

DTYPES = (np.float64, np.float32)


@pytest.fixture
def mutate(monkeypatch):
    """Replace one rule of an op: ``mutate(name, operand, rule)``."""
    mutated = []

    def replace(name, i, rule):
        op = REGISTRY[name]
        rules = list(op.rules)
        rules[i] = Rule(rule, op.kind == "elementwise")
        monkeypatch.setattr(op, "rules", tuple(rules))
        mutated.append(op)
        KERNELS.forget(op)

    yield replace
    monkeypatch.undo()
    for op in mutated:
        KERNELS.forget(op)


def leaf(x, dtype=np.float64):
    return tape.tensor(np.asarray(x, dtype=dtype), requires_grad=True)


def numbers(*shape):
    return np.random.default_rng(7).standard_normal(shape)


def model(w, x, b):
    """Uses products, quotients, a matrix product, elementary functions and reductions."""
    h = tape.tanh(x @ w + b)
    return (tape.exp(h) / (1.0 + h * h)).mean() - tape.sin(b).sum()


def model_inputs(dtype=np.float64):
    return leaf(numbers(3, 2), dtype), leaf(numbers(4, 3), dtype), leaf([0.3, -0.7], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_right_gradient_passes(dtype):
    assert gradcheck(model, model_inputs(dtype)) is True
    assert gradgradcheck(model, model_inputs(dtype)) is True


WRONG_RULES = {
    "wrong sign": ("tanh", 0, lambda z: z * z - 1.0),
    "factor 1 + 1e-4": ("tanh", 0, lambda z: (1.0 - z * z) * 1.0001),
    "missing term": ("tanh", 0, lambda z: 1.0 + 0.0 * z),
    "exp: factor": ("exp", 0, lambda z: z * 0.9999),
    "sin: sign": ("sin", 0, lambda x: -tape.cos(x)),
    "mul: one operand": ("mul", 0, lambda y: y * 1.001),
    "div: numerator": ("div", 0, lambda y: 1.0001 / y),
    "div: sign of the denominator's": ("div", 1, lambda y, z: z / y),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", WRONG_RULES)
def test_a_wrong_rule_is_caught_and_named(mutate, name, dtype):
    op, i, rule = WRONG_RULES[name]
    mutate(op, i, rule)
    with pytest.raises(GradcheckError) as caught:
        gradcheck(model, model_inputs(dtype))
    message = str(caught.value)
    assert f"the rule of {op} with respect to {REGISTRY[op].operands[i]}" in message
    assert __file__ in message
    suspects = check(model, model_inputs(dtype)).suspects
    assert {s.op for s in suspects} == {op}
    source, first = inspect.getsourcelines(model)
    assert all(0 < s.where.line - first < len(source) for s in suspects)


def test_a_transposed_jacobian_is_caught():
    A = numbers(3, 3)
    report = check(lambda x: A @ x, (np.array([1.0, 2.0, 3.0]),), gradient=lambda x: A.T)
    assert not report.ok
    assert check(lambda x: A @ x, (np.array([1.0, 2.0, 3.0]),), gradient=lambda x: A).ok


def test_a_transposed_rule_is_caught(mutate):
    mutate("permute", 0, lambda g, axes: REGISTRY["permute"](g, axes=axes))
    x = leaf(numbers(2, 2, 2))
    weights = numbers(2, 2, 2)
    with pytest.raises(GradcheckError, match="permute"):
        gradcheck(lambda x: (REGISTRY["permute"](x, axes=(1, 2, 0)) * weights).sum(), x)


def test_a_gradient_that_is_not_deterministic_is_caught():
    rng = np.random.default_rng(0)

    def noisy(x):
        y = x * x
        y.register_hook(lambda g: g * (1 + 1e-12 * rng.standard_normal()))
        return y.sum()

    x = leaf([1.0, 2.0])
    with pytest.raises(GradcheckError, match=r"not deterministic.*nondet_tol=0"):
        gradcheck(noisy, x)
    assert gradcheck(noisy, x, nondet_tol=1e-9)


def test_a_single_wrong_element_among_many_is_found():
    def func(x):
        y = x * 1.0
        y.register_hook(lambda g: tape.tensor(g.detach().numpy() * np.where(np.arange(50) == 33, 1.0001, 1.0)))
        return (y * y).sum()

    report = check(func, (np.linspace(1.0, 2.0, 50),))
    (comparison,) = report.comparisons
    assert (comparison.input_index, comparison.wrong, comparison.checked) == ((33,), 1, 50)
    assert comparison.ratio > 10


def test_the_report_names_everything():
    report = check(lambda a, x: (a * x, np.sum(x)), (2.0, np.array([1.0, 3.0])), names=("a", "x"))
    assert report.ok
    assert [(c.input, c.output) for c in report.comparisons] == [
        ("a", "output 0"), ("a", "output 1"), ("x", "output 0"), ("x", "output 1"),
    ]  # fmt: skip
    first = report.comparisons[0]
    assert (first.input_shape, first.output_shape, first.checked) == ((), (2,), 2)
    assert first.analytic == pytest.approx(first.numeric, rel=1e-6)
    assert 0 < first.step < 1
    assert first.pair == f"d output 0[{first.output_index[0]}] / d a"
    assert report.as_dict()["comparisons"][0]["method"] == "central"


def test_the_error_names_input_output_index_both_values_and_the_ratio():
    def func(x, y):
        z = x * y
        z.register_hook(lambda g: 2 * g)
        return z, x + y

    with pytest.raises(GradcheckError) as caught:
        gradcheck(func, (leaf([1.0, 2.0]), leaf([3.0, 4.0])))
    message = str(caught.value)
    for i, values in ((0, {6: 3, 8: 4}), (1, {2: 1, 4: 2})):
        found = re.search(rf"d output 0\[(\d)\] / d input {i}\[\1\]: gradient (\d), difference (\d) ", message)
        assert found
        assert values[int(found[2])] == int(found[3])
    assert "error/tolerance" in message
    assert "output 1" not in message


# No false alarms.


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
    st.integers(-8, 8), st.integers(-8, 8), st.sampled_from(DTYPES), st.booleans(),
)  # fmt: skip
def test_no_false_alarm_on_random_functions_at_any_scale(ops, numbers, power, out_power, dtype, summed):
    scale, out = 10.0**power, 10.0**out_power
    x = (np.array(numbers) * scale).astype(dtype)

    def func(x):
        y = chain(ops, x, scale) * out
        return y.sum() if summed else y

    report = check(func, (x,))
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


# Orders, options, and inputs that cannot be checked.


def test_a_second_derivative_that_is_lost_is_caught_at_second_order_alone():
    def func(x):
        y = x * x
        y.register_hook(lambda g: g.detach())
        return tape.sin(y).sum()

    x = leaf([0.3, 0.8])
    assert gradcheck(func, x)
    with pytest.raises(GradcheckError, match=r"d grad input 0\[\d\] / d input 0\[\d\]"):
        gradgradcheck(func, x)


def test_gradgradcheck_takes_grad_outputs():
    x = leaf([0.3, 0.8])
    v = leaf([1.0, -2.0])
    assert gradgradcheck(lambda x: x**3, x, v)
    assert gradgradcheck(lambda x: (x**3, tape.exp(x)), x, gen_non_contig_grad_outputs=True)
    with pytest.raises(RuntimeError, match="got 1 for 2"):
        gradgradcheck(lambda x: (x**3, tape.exp(x)), x, (v,))


def test_pytorch_arguments_are_taken():
    x = leaf([0.3, 0.8])
    assert gradcheck(tape.exp, (x,), eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0)
    with pytest.warns(UserWarning, match="Input #0 .*double precision floating point"):
        assert gradcheck(tape.exp, (leaf([0.3, 1e6 * 1e-6], np.float32),), eps=1e-6, atol=1e-5, rtol=1e-3)
    assert gradcheck(lambda x, n: x * n, (x, 3), check_grad_dtypes=True)


def test_loose_tolerances_let_a_small_error_pass():
    def func(x):
        y = x * 1.0
        y.register_hook(lambda g: g * 1.0001)
        return y

    x = leaf([1.0, 2.0])
    assert not gradcheck(func, x, raise_exception=False)
    assert gradcheck(func, x, rtol=1e-3)
    assert gradcheck(func, x, atol=1e-3)


def test_structure_below_the_rounding_of_the_output_is_settled_by_a_complex_step():
    """At steps where x * y + y² can be told from rounding, the sine has gone round many times."""
    x, y = np.array([1e-8]), np.array([1e8])
    report = check(lambda x, y: np.sum(x * y + np.sin(x * 1e8) + y * y), (x, y))
    assert report.ok
    assert report.comparisons[0].method == "complex step"


def test_misuse():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(tape.exp, (tape.tensor([1.0]),))
    with pytest.raises(AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad"):
        gradcheck(tape.exp, leaf([1.0]), check_backward_ad=False)
    with pytest.raises(ValueError, match=r"Write 1\.0 instead of 1"):
        check(np.exp, (1,))
    with pytest.raises(Unfit, match="floating-point or complex"):
        check(lambda x: x > 0, (1.0,))
    with pytest.raises(Unfit, match="nan at these inputs"):
        check(tape.log, (-1.0,))
    rng = np.random.default_rng(0)
    with pytest.raises(Unfit, match="not deterministic"):
        check(lambda x: x * rng.random(), (1.0,))


def test_a_lost_history_is_explained():
    x = leaf([1.0, 2.0])
    with pytest.raises(GradcheckError, match="arrived without a history"):
        gradcheck(lambda x: tape.tensor(2 * x.detach().numpy()), x)


def test_an_output_that_does_not_depend_on_an_input_passes():
    assert check(lambda x, y: (x * 2, y * 3), (np.ones(2), np.ones(3))).ok
    assert check(lambda x: tape.ones(2), (np.ones(2),)).ok


def test_empty_and_zero_dimensional_inputs():
    assert check(lambda x: x * 2, (np.zeros((0, 3)),)).ok
    assert check(lambda x, y: x * y, (np.float64(2.0), np.array(3.0))).ok


def test_gradients_of_the_wrong_dtype_are_reported():
    x = np.float32(1.5)
    report = check(lambda x: np.float32(2) * x, (x,), gradient=lambda x: np.float64(2), dtypes=True)
    assert report.faults == [
        "Gradient has dtype mismatch: the gradient for input 0 has dtype float64; the input has float32"
    ]


def test_a_gradient_by_hand_must_fit():
    x = np.array([1.0, 2.0])
    with pytest.raises(GradcheckError, match=r"shape \(\) for input 0; it must be floating point of shape \(2,\)"):
        check(lambda x: np.sum(x), (x,), gradient=lambda x: 1.0)
    with pytest.raises(GradcheckError, match="gave 1 gradient"):
        check(lambda x, y: np.sum(x * y), (x, x), gradient=lambda x, y: y)
    assert check(lambda x, y: np.sum(x * y), (x, x), gradient=lambda x, y: {"input 1": x, "input 0": y}).ok


def test_a_gradient_by_hand_of_a_function_written_in_tape():
    x = np.array([1.0, 2.0])
    assert check(lambda x: x.pow(3).sum(dim=0), (x,), gradient=lambda x: 3 * x**2).ok
    assert check(lambda x: x.pow(3).sum(dim=0), (x,), gradient=lambda x: 3 * x.pow(2)).ok
    assert not check(lambda x: x.pow(3).sum(dim=0), (x,), gradient=lambda x: 2 * x.pow(2)).ok


def test_inputs_are_left_alone():
    x = np.array([1.0, 2.0, 3.0])
    before = x.copy()
    x.flags.writeable = False
    assert check(lambda x: (x * x).sum(), (x,)).ok
    assert np.array_equal(x, before)


def test_the_names_of_pytorch():
    assert tape.autograd.gradcheck is gradcheck
    assert tape.autograd.gradgradcheck is gradgradcheck
    assert tape.autograd.gradcheck.GradcheckError is GradcheckError
    assert issubclass(GradcheckError, RuntimeError)
