"""Custom functions: what PyTorch's users know of them."""

from __future__ import annotations

import numpy as np
import pytest
from custom_functions import FUNCTIONS, OURS, declare, every_example, examples, inputs_of, leaf
from numpy.testing import assert_allclose

import tape
from ops import REGISTRY
from tape.autograd import grad, gradcheck, gradgradcheck
from tape.autograd.function import FunctionCtx
from tape.recording.wengert import current


@every_example
def test_examples_pass_gradcheck(name):
    function = FUNCTIONS[name][0](OURS)
    inputs = tuple(map(leaf, inputs_of(name)))
    assert gradcheck(function, inputs)
    assert gradgradcheck(function, inputs)


@every_example
@pytest.mark.parametrize("create_graph", [False, True])
def test_examples_agree_with_torch(name, create_graph):
    torch = pytest.importorskip("torch")
    theirs = examples(torch, torch.autograd.Function)
    values = inputs_of(name)

    def run(package, space, grad, make):
        xs = [make(v) for v in values]
        y = FUNCTIONS[name][0](space)(*xs)
        first = grad((y * y).sum(), xs, create_graph=create_graph)
        if not create_graph:
            return [y, *first]
        return [y, *first, *grad(sum((g * g).sum() for g in first), xs)]

    ours = run(tape, OURS, grad, leaf)
    expected = run(torch, theirs, torch.autograd.grad, lambda v: torch.tensor(v, requires_grad=True))
    for mine, other in zip(ours, expected, strict=True):
        assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_names_and_nodes():
    x = leaf([1.0, 2.0])
    y = OURS["Exp"].apply(x * 1.0)
    assert y.grad_fn.name() == "ExpBackward"
    assert repr(y) == "tensor([2.7183, 7.3891], grad_fn=<ExpBackward>)"
    ((node, number),) = y.grad_fn.next_functions
    assert (node.name(), number) == ("MulBackward0", 0)
    assert_allclose(y.grad_fn.saved_tensors[0].detach().numpy(), np.exp([1.0, 2.0]))
    assert y.grad_fn.needs_input_grad == (True,)
    with pytest.raises(AttributeError, match="nothing"):
        y.grad_fn.nothing  # noqa: B018
    out, dx = OURS["MyCube"].apply(x)
    assert (out.output_nr, dx.output_nr) == (0, 1)
    assert out.grad_fn is dx.grad_fn


def test_ctx_is_an_instance_of_what_the_class_names():
    seen = []
    function = declare("Square", forward=lambda ctx, x: seen.append(ctx) or x * x, backward=lambda ctx, g: g)
    function.apply(leaf(1.0))
    (ctx,) = seen
    assert isinstance(ctx, FunctionCtx)
    assert type(ctx).__name__ == "SquareBackward"


def test_nothing_is_recorded_without_a_reason():
    rows = len(current())
    exp = OURS["Exp"]
    assert not exp.apply(tape.ones(2)).requires_grad
    with tape.no_grad():
        assert exp.apply(leaf([1.0])).grad_fn is None
    assert len(current()) == rows


def test_forward_does_not_record_and_restores_the_mode():
    modes = []
    noting = declare(forward=lambda ctx, x: modes.append(tape.is_grad_enabled()) or x * 1.0, backward=lambda ctx, g: g)
    noting.apply(leaf(1.0))
    assert modes == [False]
    assert tape.is_grad_enabled()
    with tape.no_grad():
        noting.apply(leaf(1.0))
        assert not tape.is_grad_enabled()


def test_recording_in_backward_follows_create_graph():
    modes = []
    function = declare(backward=lambda ctx, g: modes.append(tape.is_grad_enabled()) or g * 2.0)
    x = leaf(1.0)
    grad(function.apply(x), x)
    grad(function.apply(x), x, create_graph=True)
    assert modes == [False, True]


def test_a_mode_switched_in_backward_is_switched_back():
    modes = []

    def switching(ctx, g):
        tape.set_grad_enabled(not tape.is_grad_enabled())
        return g * 2.0

    x = leaf(1.0)
    function = declare(backward=switching)
    y = function.apply(x * 1.0) * 1.0
    z = declare(backward=lambda ctx, g: modes.append(tape.is_grad_enabled()) or g * 2.0).apply(x) * y
    z.backward()
    assert modes == [False]
    assert tape.is_grad_enabled()


def test_needs_input_grad_in_forward_and_backward():
    seen = []

    def forward(ctx, *xs):
        seen.append(ctx.needs_input_grad)
        return xs[0] + xs[2] + xs[3]

    def rule(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, g, g

    a, b, c = leaf(1.0), leaf(2.0), tape.tensor(3.0)
    function = declare(forward=forward, backward=rule)
    grad(function.apply(a, "other", b, c), a)
    assert seen == [(True, False, True, False), (True, False, False, False)]


def test_vjp_is_another_name_of_backward():
    function = declare(vjp=lambda ctx, g: g * 7.0)
    x = leaf(1.0)
    assert grad(function.apply(x), x)[0].item() == 7.0


def test_hooks_see_the_gradients_of_a_function():
    x = leaf([1.0, 2.0])
    y = OURS["Exp"].apply(x * 1.0)
    y.retain_grad()
    y.register_hook(lambda g: g * 10.0)
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]
    assert_allclose(x.grad.numpy(), 10 * np.exp([1.0, 2.0]))


def test_arguments_by_name_and_defaults_where_forward_takes_no_ctx():
    def forward(x, scale=2.0):
        return x * scale

    def keep(ctx, inputs, output):
        assert len(inputs) == 2
        ctx.scale = inputs[1]

    function = declare(forward=forward, setup_context=keep, backward=lambda ctx, g: (g * ctx.scale, None))
    x = leaf(1.0)
    assert grad(function.apply(x), x)[0].item() == 2.0
    assert grad(function.apply(x, scale=5.0), x)[0].item() == 5.0


def test_the_line_of_a_record_is_the_users():
    x = leaf(1.0)
    node = OURS["MulConstant"].apply(x, 2.0).grad_fn
    assert node.location.function == "test_the_line_of_a_record_is_the_users"


def test_gradcheck_names_the_function_at_fault():
    wrong = declare(
        "Wrong",
        forward=lambda ctx, x: ctx.save_for_backward(x) or x * x,
        backward=lambda ctx, g: g * ctx.saved_tensors[0],
    )
    with pytest.raises(gradcheck.GradcheckError, match=r"the rule of Wrong with respect to xs\[0\]") as caught:
        gradcheck(lambda x: tape.sin(wrong.apply(x)), (leaf([1.0, 2.0]),))
    assert "rule of sin" not in str(caught.value)


def test_the_joint_rule_runs_once_for_all_operands():
    calls = []
    function = declare(
        forward=lambda ctx, x, y: x * y, backward=lambda ctx, g: calls.append(ctx.needs_input_grad) or (g, g)
    )
    x, y = leaf(1.0), leaf(2.0)
    grad(function.apply(x, y), [x, y])
    assert calls == [(True, True)]
    assert REGISTRY["custom"].joint is not None
