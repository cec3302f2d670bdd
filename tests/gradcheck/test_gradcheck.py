"""gradcheck passes what is right, and catches what is wrong, whatever its size, in every mode."""

import inspect
import re

import numpy as np
import pytest
from common.covering import covering

import tape
from ops import REGISTRY
from ops.core.differentiate import Rule
from tape.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tape.gradcheck import check, checking
from tape.jit.emission.kernels import KERNELS

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
    return leaf(numbers(2, 2), dtype), leaf(numbers(3, 2), dtype), leaf([0.3, -0.7], dtype)


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
    "div: sign of the denominator's": ("div", 1, lambda x, y: x / y / y),
}


@pytest.fixture
def reports(monkeypatch):
    """What `gradcheck` judges by."""
    found = []
    monkeypatch.setattr(checking, "check", lambda *args, **more: found.append(check(*args, **more)) or found[-1])
    return found


@pytest.mark.parametrize(
    ("name", "dtype", "mode", "fast"), covering(WRONG_RULES, DTYPES, ("reverse", "forward"), (True, False))
)
def test_a_wrong_rule_is_caught_and_named(mutate, reports, name, dtype, mode, fast):
    op, i, rule = WRONG_RULES[name]
    mutate(op, i, rule)
    inputs = model_inputs(dtype)
    with pytest.raises(GradcheckError) as caught:
        gradcheck(
            model, inputs, check_backward_ad=mode == "reverse", check_forward_ad=mode == "forward", fast_mode=fast
        )
    message = str(caught.value)
    rule = "forward rule" if mode == "forward" else "rule"
    assert f"the {rule} of {op} with respect to {REGISTRY[op].operands[i]}" in message
    assert __file__ in message
    (report,) = reports
    suspects = report.suspects
    assert {s.op for s in suspects} == {op}
    source, first = inspect.getsourcelines(model)
    assert all(0 < s.where.line - first < len(source) for s in suspects)


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
def test_a_transposed_jacobian_is_caught(fast):
    A = numbers(3, 3)
    x = np.array([1.0, 2.0, 3.0])
    report = check(lambda x: A @ x, (x,), gradient=lambda x: A.T, fast=fast)
    assert not report.ok
    assert check(lambda x: A @ x, (x,), gradient=lambda x: A, fast=fast).ok


class Product(tape.autograd.Function):
    """A x, whose rules are those of Aᵀ x."""

    A = tape.tensor(numbers(3, 3))

    @staticmethod
    def forward(ctx, x):
        return Product.A @ x

    @staticmethod
    def backward(ctx, g):
        return Product.A @ g

    @staticmethod
    def jvp(ctx, x_dot):
        return Product.A.T @ x_dot


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_transposed_custom_rule_is_caught(mode, fast):
    report = check(Product.apply, (numbers(3),), reverse=mode == "reverse", forward=mode == "forward", fast=fast)
    assert not report.ok
    assert [(s.op, s.mode) for s in report.suspects] == [("Product", mode)]


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
def test_a_transposed_rule_is_caught(mutate, fast):
    mutate("permute", 0, lambda g, axes: REGISTRY["permute"](g, axes=axes))
    x = leaf(numbers(2, 2, 2))
    weights = numbers(2, 2, 2)
    with pytest.raises(GradcheckError, match="permute"):
        gradcheck(lambda x: (REGISTRY["permute"](x, axes=(1, 2, 0)) * weights).sum(), x, fast_mode=fast)


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
