"""Custom functions under vmap: by their own rule, by mapping forward and backward, and refused without either."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.autograd import Function
from tape.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

X = tape.tensor([[0.3, -0.7], [1.2, 0.5], [-0.2, 0.9]])
W = tape.tensor([2.0, -3.0])


class Product(Function):
    """z = x y with everything written out, on lanes and on single tensors alike."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y, g * x

    @staticmethod
    def jvp(ctx, x_dot, y_dot):
        x, y = ctx.saved_tensors
        return x_dot * y + x * y_dot


class Sine(Function):
    """The style in which forward takes the ctx; the output is saved, and a number is kept."""

    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, factor):
        z = x.sin()
        ctx.save_for_backward(x, z)
        ctx.factor = factor
        return z * factor, (x > 0)

    @staticmethod
    def backward(ctx, g, _):
        x, z = ctx.saved_tensors
        assert x.shape == z.shape == g.shape == (2,)
        return g * ctx.factor * x.cos(), None

    @staticmethod
    def jvp(ctx, x_dot, _):
        x, z = ctx.saved_tensors
        assert x.shape == z.shape == (2,)
        return x_dot * ctx.factor * x.cos(), None


class Own(Function):
    """A function that says itself how it is mapped."""

    seen = []  # noqa: RUF012

    @staticmethod
    def forward(x, y, power):
        return (x * y).sum(-1) ** power

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.power = inputs[2]

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        slope = (g * ctx.power * (x * y).sum(-1) ** (ctx.power - 1))[..., None]
        x_bar, y_bar = slope * y, slope * x
        bars = [b if b.shape == v.shape else b.sum(0) for b, v in ((x_bar, x), (y_bar, y))]
        return *bars, None

    @staticmethod
    def vmap(info, in_dims, x, y, power):
        Own.seen.append((info.batch_size, info.randomness, in_dims))
        x, y = (v if d is None else v.movedim(d, 0) for v, d in zip((x, y), in_dims))
        return Own.apply(x, y, power), 0


def stacked(f, *columns):
    return np.stack([np.asarray(f(*row)) for row in zip(*columns)])


@pytest.mark.parametrize("f", [lambda x, w: Product.apply(x, w).sin().sum(), lambda x, w: Own.apply(x, w, 3)])
def test_it_is_what_it_is_lane_by_lane(f):
    rows = list(X)
    assert_allclose(vmap(f, in_dims=(0, None))(X, W), stacked(lambda x: f(x, W), rows))
    assert_allclose(vmap(f, in_dims=(1, 0))(X.T, X), stacked(f, rows, rows))
    for argnum in (0, 1):
        g = grad(f, argnum)
        assert_allclose(vmap(g, in_dims=(0, None))(X, W), stacked(lambda x, g=g: g(x, W).detach(), rows))
        assert_allclose(
            grad(lambda x, w: vmap(f, in_dims=(0, None))(x, w).sum(), argnum)(X, W),
            sum(g(x, W) for x in rows) if argnum else stacked(lambda x, g=g: g(x, W), rows),
        )  # fmt: skip
    assert_allclose(vmap(jacrev(grad(f)), in_dims=(0, None))(X, W), stacked(lambda x: jacrev(grad(f))(x, W), rows))


def test_forward_mode():
    rows, f = list(X), Product.apply

    def push(x):
        return jvp(f, (x, W), (x * x, W))[1]

    assert_allclose(vmap(push)(X), stacked(push, rows))
    assert_allclose(jvp(vmap(f, in_dims=(0, None)), (X, W), (X * X, W))[1], stacked(push, rows))
    assert_allclose(vmap(jacfwd(f), in_dims=(0, None))(X, W), stacked(lambda x: jacfwd(f)(x, W), rows))
    twice = hessian(lambda x: Product.apply(x, x).sum() ** 2)
    assert_allclose(vmap(twice)(X), stacked(twice, rows))


def test_several_results_and_what_is_kept():
    z, positive = vmap(lambda x: Sine.apply(x, 2.0))(X)
    assert_allclose(z, 2 * np.sin(X))
    assert_array_equal(positive, X > 0)
    x = X.clone().requires_grad_()
    vmap(lambda x: Sine.apply(x, 2.0)[0] * W)(x).sum().backward()
    assert_allclose(x.grad, 2 * np.cos(X) * W)
    assert_allclose(vmap(grad(lambda x: Sine.apply(x, 2.0)[0].sum()))(X), 2 * np.cos(X))
    assert_allclose(vmap(hessian(lambda x: Sine.apply(x, 2.0)[0].sum()))(X)[1], np.diag(-2 * np.sin(X[1])))


def test_nested_maps():
    def f(x, y):
        return Product.apply(x, y).sum()

    outer = vmap(vmap(f, in_dims=(None, 0)), in_dims=(0, None))(X, X)
    assert_allclose(outer, X @ X.T)
    grads = vmap(vmap(grad(f), in_dims=(None, 0)), in_dims=(0, None))(X, X)
    assert_allclose(grads[1], X)


def test_the_rule_of_ones_own_gets_what_is_below():
    Own.seen.clear()
    vmap(lambda x, w: Own.apply(x, w, 2), in_dims=(1, None), randomness="same")(X.T, W)
    assert Own.seen == [(3, "same", (0, None, None))]


def test_batched_gradients_reach_the_backward_as_lanes():
    x = X[0].clone().requires_grad_()
    z, _ = Sine.apply(x, 2.0)
    (rows,) = tape.autograd.grad(z, x, tape.eye(2), is_grads_batched=True)
    assert_allclose(rows, np.diag(2 * np.cos(X[0])))
    _, pull = vjp(lambda x: Product.apply(x, W), X[0])
    assert_allclose(vmap(pull)(tape.eye(2))[0], np.diag(W))


class Silent(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2 if g.sum() > 0 else 2 * g


def test_a_function_that_says_nothing_is_refused():
    with pytest.raises(RuntimeError, match=r"does not have vmap support(.|\n)*generate_vmap_rule"):
        vmap(Silent.apply)(X)
    assert_allclose(jacrev(Silent.apply)(X[0]), 2 * np.eye(2))
    with pytest.raises(RuntimeError, match="data-dependent"):
        tape.autograd.grad(Silent.apply(x := X[0].clone().requires_grad_()), x, tape.eye(2), is_grads_batched=True)


@pytest.mark.parametrize(
    ("returned", "text"),
    [(lambda x: x, "to have two returns"), (lambda x: ((x, x), (0,)), "2 outputs and 1 out_dims")],
)
def test_what_ones_own_rule_must_return(returned, text):
    class Wrong(Silent):
        @staticmethod
        def vmap(info, in_dims, x):
            return returned(x)

    with pytest.raises(RuntimeError, match=text):
        vmap(Wrong.apply)(X)


def test_two_rules_are_one_too_many():
    class Both(Own):
        generate_vmap_rule = True

    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden vmap"):
        vmap(lambda x: Both.apply(x, W, 2))(X)


def test_an_input_changed_in_place_is_refused():
    class Dirty(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x

    with pytest.raises(RuntimeError, match="mark_dirty"):
        vmap(Dirty.apply)(X.clone())
