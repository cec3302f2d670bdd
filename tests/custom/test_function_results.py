"""What custom functions return, forward and backward: marks, the same tensor again, shapes, dtypes, None."""

from __future__ import annotations

import numpy as np
import pytest
from custom_functions import declare, leaf

import tape
from tape.autograd import grad
from tape.recording.wengert import current


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_unused_outputs(create_graph):
    seen = []

    def function(materialize):
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2.0, x.sum(), (x > 0)

        def rule(ctx, g, h, flag):
            seen.append((g, h, flag))
            return g * 2.0

        return declare(forward=forward, backward=rule)

    x = leaf([1.0, 2.0])
    for materialize in (True, False):
        grad(function(materialize).apply(x)[0].sum(), x, create_graph=create_graph)
    (_, zeros, flag), (_, none, no_flag) = seen
    assert zeros.shape == ()
    assert zeros.item() == 0.0
    assert flag.tolist() == [False, False]
    assert no_flag is none is None


def test_gradients_are_copies():
    """What backward does to its argument, or keeps of it, touches nobody else."""
    kept = []

    def spoil(ctx, g):
        kept.append(g)
        g.mul_(100.0)
        return g / 50.0

    function = declare(backward=spoil)
    x = leaf([1.0, 2.0])
    seed = tape.ones(2)
    y = function.apply(x)
    (y + 1.0 * y + x).backward(seed)
    assert seed.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [5.0, 5.0]
    kept[0].zero_()
    assert x.grad.tolist() == [5.0, 5.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_returned_tensor_of_the_users_own_stays_as_it_is(create_graph):
    weight = tape.tensor([3.0, 4.0])
    function = declare(forward=lambda ctx, x: (x * weight).sum(), backward=lambda ctx, g: weight)
    x = leaf([1.0, 2.0])
    (function.apply(x) + (x * x).sum() + function.apply(x)).backward(create_graph=create_graph)
    x.grad.detach().zero_()
    assert weight.tolist() == [3.0, 4.0]


def test_shapes_that_expand_and_dtypes_are_fitted():
    def rule(ctx, g):
        return g, g.sum(0), g.float()

    function = declare(forward=lambda ctx, x, y, z: x + y + z, backward=rule)
    x, y, z = leaf(np.ones((1, 3))), leaf(np.ones(3)), leaf(np.ones((2, 3)), np.float32)
    function.apply(x, y, z).sum().backward()
    assert x.grad.tolist() == [[2.0] * 3]
    assert y.grad.tolist() == [2.0] * 3
    assert z.grad.dtype == np.float32
    (g,) = grad(function.apply(x, y, z).pow(2).sum(), x, create_graph=True)
    assert g.shape == (1, 3)
    assert g.requires_grad
    wide = declare(backward=lambda ctx, g: g.double())
    w = leaf(np.ones(2), np.float32)
    (g,) = grad(wide.apply(w).sum(), w, create_graph=True)
    assert g.dtype == np.float32


def test_extra_gradients_of_none_are_dropped():
    function = declare(backward=lambda ctx, g: (g * 2.0, None, None))
    x = leaf(1.0)
    function.apply(x).backward()
    assert x.grad.item() == 2.0


def test_the_same_input_twice_and_the_same_output_twice():
    function = declare(
        forward=lambda ctx, x, y: (z := x * y, z),
        backward=lambda ctx, g, h: (g * 3.0, h * 5.0),
    )
    x = leaf(2.0)
    a, b = function.apply(x, x)
    assert a is b  # the second output, as in PyTorch
    grads = grad([a, b], x, [tape.tensor(1.0), tape.tensor(10.0)])
    assert grads[0].item() == 55.0


def test_an_input_returned_as_it_is_becomes_another_tensor():
    function = declare(forward=lambda ctx, x: x, backward=lambda ctx, g: g * 3.0)
    x = leaf([1.0, 2.0])
    y = function.apply(x)
    assert y is not x
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_mark_non_differentiable():
    def forward(ctx, x):
        a, b = x * 2.0, x * 3.0
        ctx.mark_non_differentiable(b)
        return a, b

    shapes = []
    function = declare(forward=forward, backward=lambda ctx, g, h: shapes.append(h.tolist()) or g * 2.0)
    x = leaf([1.0, 2.0])
    a, b = function.apply(x)
    assert a.requires_grad
    assert not b.requires_grad
    a.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert shapes == [[0.0, 0.0]]


def add_in_place(ctx, a, b):
    a.add_(b)
    ctx.mark_dirty(a)
    return a


def test_mark_dirty_of_a_tensor_without_history():
    function = declare(forward=add_in_place, backward=lambda ctx, g: (g, g * 2.0))
    a, b = tape.zeros(2), leaf([1.0, 2.0])
    out = function.apply(a, b)
    assert out is a
    assert a.requires_grad
    assert a._version == 1
    assert a.grad_fn.name() == "FBackward"
    (a * a).sum().backward()
    assert b.grad.tolist() == [4.0, 8.0]


def test_a_complex_gradient_of_a_real_input_is_refused():
    x = leaf([1.0, 2.0])
    function = declare(backward=lambda ctx, g: g * (2.0 + 1j))
    with pytest.raises(RuntimeError, match=r"complex128 for an input of dtype float64.*real part"):
        grad(function.apply(x).sum(), x)


def test_arguments_by_name_beside_a_ctx_only_choose():
    function = declare(forward=lambda ctx, x, k=1.0: x * k, backward=lambda ctx, g: g * 3.0)
    x = leaf([1.0, 2.0])
    y = function.apply(x, k=3.0)
    assert y.tolist() == [3.0, 6.0]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_one_result_has_one_record():
    function = declare(backward=lambda ctx, g: g * 2.0)
    x = leaf([1.0, 2.0])
    before = len(current())
    y = function.apply(x)
    assert len(current()) == before + 1
    (pair,) = declare(forward=lambda ctx, x: (x * 2.0,), backward=lambda ctx, g: g * 2.0).apply(x)
    assert len(current()) == before + 2
    assert (y.output_nr, pair.output_nr) == (0, 0)
    (y.sum() + pair.sum()).backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_what_the_node_tells_the_ctx_tells():
    told = []

    def rule(ctx, g):
        told.append((ctx.next_functions[0][0].name(), ctx.name(), ctx.requires_grad, ctx.metadata))
        return g

    declare(backward=rule).apply(leaf(1.0) * 1.0).backward()
    assert told == [("MulBackward0", "FBackward", True, {})]
