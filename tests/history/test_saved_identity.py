"""What a function saved is the very tensor again, as long as that is there and is what it was."""

from __future__ import annotations

import pytest

import tape
from tape.autograd import Function, grad
from tape.autograd.graph import saved_tensors_hooks
from tape.utils.checkpoint import checkpoint


class Keep(Function):
    """Sums its inputs and keeps them, and what `extra` gives besides."""

    extra: tuple = ()
    seen: tuple = ()

    @staticmethod
    def forward(ctx, *xs):
        ctx.save_for_backward(*xs, *Keep.extra)
        return xs[0] * 1 if len(xs) == 1 else xs[0] + xs[1]

    @staticmethod
    def backward(ctx, g):
        Keep.seen = ctx.saved_tensors
        return (g,) * len(ctx.needs_input_grad)


@pytest.fixture(autouse=True)
def nothing_kept():
    yield
    Keep.extra, Keep.seen = (), ()


def leaf(value):
    return tape.tensor(value, requires_grad=True)


@pytest.mark.parametrize("value", [2.0, [1.0, 2.0]])
@pytest.mark.parametrize("how", ["plain", "create_graph", "hooks", "checkpoint"])
def test_leaves_constants_and_what_is_beside_the_inputs(value, how):
    x, c, d = leaf(value), tape.tensor(value), tape.tensor(value)
    Keep.extra = (d,)
    if how == "hooks":
        with saved_tensors_hooks(lambda x: x, lambda x: x):
            y = Keep.apply(x, c)
    else:
        y = checkpoint(Keep.apply, x, c) if how == "checkpoint" else Keep.apply(x, c)
    grad(y.sum(), x, create_graph=how == "create_graph")
    first, *others = Keep.seen
    assert first.tolist() == x.tolist()
    assert first is x or how in ("hooks", "checkpoint")
    assert [a is b for a, b in zip(others, (c, d))] == [True, True]


def test_inputs_with_a_history():
    y = leaf([1.0, 2.0]) * 2
    Keep.apply(y).sum().backward()
    assert Keep.seen[0] is y


def test_a_tensor_that_is_gone_leaves_its_value():
    x, c = leaf([1.0, 2.0]), tape.tensor([3.0, 4.0])
    y = Keep.apply(x, c)
    del c
    y.sum().backward()
    assert Keep.seen[1].tolist() == [3.0, 4.0]


def test_a_tensor_that_has_got_another_value_or_history():
    x, c, d = leaf([1.0, 2.0]), tape.tensor([3.0, 4.0]), tape.tensor([5.0, 6.0])
    Keep.extra = (d,)
    y = Keep.apply(x, c)
    c.data = tape.tensor([0.0, 0.0])
    d.requires_grad_()
    y.sum().backward()
    assert [t.tolist() for t in Keep.seen[1:]] == [[3.0, 4.0], [5.0, 6.0]]
    assert [t.requires_grad for t in Keep.seen[1:]] == [False, False]
