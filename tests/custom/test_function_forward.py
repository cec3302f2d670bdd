"""Custom functions in forward mode, and what they return: views, changed inputs, one tensor twice."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from peer import torch

import tape
from tape.autograd import Function, forward_ad as fw, gradcheck


def tangent(x):
    return fw.unpack_dual(x).tangent


def function(lib=tape, **rules):
    return type("F", (lib.autograd.Function,), {name: staticmethod(rule) for name, rule in rules.items()})


def pushed(f, *xs):
    """The results of a function of which each argument but the last moves, and tangents that it was given."""
    given = [tape.full_like(x, 10.0 + i) for i, x in enumerate(xs[:-1])]
    results = f.apply(*[fw.make_dual(x, t) for x, t in zip(xs, given)], xs[-1])
    return results, given


X, Y = tape.tensor([1.0, 2.0, 3.0]), tape.tensor([4.0, 5.0, 6.0])


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("tracked", [False, True])
def test_the_tangent_of_a_returned_input_is_a_view_of_its_tangent(shape, tracked):
    def forward(ctx, x, y):
        return x + y, x

    good = function(forward=forward, jvp=lambda ctx, a, b: (a + b, a.view_as(a)))
    x = tape.ones(shape).requires_grad_(tracked)
    with fw.dual_level():
        (_, same), (x_dot,) = pushed(good, x, tape.ones(shape))
        assert tangent(same)._base is x_dot
        for last in (lambda a: a, lambda a: a * 1.0, lambda a: a.clone().view_as(a)):
            bad = function(forward=forward, jvp=lambda ctx, a, b, last=last: (a + b, last(a)))
            with pytest.raises(RuntimeError, match=r"is returning a view \(or an input as-is\) but its jvp is not"):
                pushed(bad, x, tape.ones(shape))


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize(
    ("of_base", "last", "message"),
    [
        (True, lambda t: t.clone(), "is not returning a view: F"),
        (True, lambda t: t.clone().view_as(t), "is not returning a view of the given tangent"),
        (False, lambda t: t.clone().view_as(t), "is not returning a view of the same base as the given tangent"),
    ],
)
def test_the_tangent_of_a_view_is_a_view(tracked, of_base, last, message):
    def view(x, flag):
        return x[:2]

    x = X.clone().requires_grad_(tracked)
    x = x if of_base else x.view_as(x)
    with fw.dual_level():
        head, (x_dot,) = pushed(function(forward=lambda ctx, *a: view(*a), jvp=lambda ctx, *a: view(*a)), x, None)
        assert tangent(head).tolist() == [10.0, 10.0]
        x_dot.mul_(2.0)
        assert tangent(head).tolist() == [20.0, 20.0]
        with pytest.raises(RuntimeError, match=message):
            pushed(function(forward=lambda ctx, *a: view(*a), jvp=lambda ctx, *a: last(view(*a))), x, None)


def scaling(change=lambda t: t.mul_(2.0)):
    def forward(ctx, x, flag):
        ctx.mark_dirty(x)
        return x.mul_(2.0)

    return function(forward=forward, backward=lambda ctx, g: (2.0 * g, None), jvp=lambda ctx, t, _: change(t))


@pytest.mark.parametrize("tracked", [False, True])
def test_an_input_that_is_changed_in_place_is_the_result(tracked):
    x, x_dot = tape.ones(2).requires_grad_(tracked) * 1.0, tape.tensor([1.0, 5.0])
    with fw.dual_level():
        dual = fw.make_dual(x, x_dot)
        result = scaling().apply(dual, None)
        assert result is dual
        assert tangent(result) is x_dot
        assert x_dot.tolist() == [2.0, 10.0]
        assert (result * 3.0).tolist() == [6.0, 6.0]
        assert tangent(result * 3.0).tolist() == [6.0, 30.0]
        assert result.requires_grad == tracked


@pytest.mark.parametrize("change", [lambda t: t, lambda t: t * 2.0, lambda t: None])
def test_the_tangent_of_a_changed_input_is_changed_in_place_too(change):
    with fw.dual_level():
        dual = fw.make_dual(X.clone(), Y.clone())
        with pytest.raises(RuntimeError, match="jvp function must modify the corresponding gradient inplace"):
            scaling(change).apply(dual, None)


def test_a_changed_input_begins_to_move():
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.mul_(y)

    def jvp(ctx, x_dot, y_dot):
        return x_dot.add_(y_dot)

    x = tape.ones(3)
    head = x[:1]
    with fw.dual_level():
        assert function(forward=forward, jvp=jvp).apply(x, fw.make_dual(Y, X.clone())) is x
        assert tangent(x).tolist() == [1.0, 2.0, 3.0]
        assert tangent(head).tolist() == [1.0]
        assert head.tolist() == [4.0]


def test_gradcheck_in_forward_mode_of_changed_inputs_and_views():
    assert gradcheck(lambda x: scaling().apply(x.clone(), None), X.clone().requires_grad_(), check_forward_ad=True)
    head = function(
        forward=lambda ctx, x: x[:2],
        backward=lambda ctx, g: tape.cat([g, tape.zeros(1)]),
        jvp=lambda ctx, t: t[:2],
    )
    assert gradcheck(head.apply, X.clone().requires_grad_(), check_forward_ad=True, check_batched_grad=False)


def test_outputs_without_a_gradient_have_no_tangent():
    def forward(ctx, x, y):
        marked = y.clone()
        ctx.mark_non_differentiable(marked)
        return x.clone(), marked, x.argmax(), "text"

    seen = []

    def jvp(ctx, x_dot, y_dot):
        seen.append(y_dot)
        return x_dot * 1.0, None, None, None

    with fw.dual_level():
        (x, *others), _ = pushed(function(forward=forward, jvp=jvp), X, tape.arange(3))
        assert tangent(x).tolist() == [10.0] * 3
        assert seen == [None]
        assert [tangent(z) for z in others[:2]] == [None, None]
        for place in (1, 2, 3):

            def bad(ctx, x_dot, y_dot, place=place):
                return tuple([x_dot.clone() if i in (0, place) else None for i in range(4)])

            with pytest.raises(RuntimeError, match=f"at position {place}, .* return None at that position instead"):
                pushed(function(forward=forward, jvp=bad), X, tape.arange(3))


def test_forward_mode_finds_what_was_saved_for_it():
    seen = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    def jvp(ctx, t):
        seen.append(ctx.saved_tensors)
        return t.clone()

    with fw.dual_level():
        function(forward=forward, jvp=jvp).apply(fw.make_dual(X, Y))
    assert seen == [()]


def test_what_is_returned_twice_is_one_tensor():
    found = []
    for lib in (tape, torch):

        def forward(ctx, x):
            y = x * 2.0
            return y, y, x * 3.0

        def backward(ctx, a, b, c):
            return a * 2.0 + b * 20.0 + c * 3.0

        x = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
        a, b, c = function(lib, forward=forward, backward=backward).apply(x)
        assert a is b
        (a + b + c).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


def test_an_input_that_is_changed_and_returned_twice():
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2.0)
        return x, x

    x = tape.ones(2, requires_grad=True)
    y = x * 1.0
    a, b = function(forward=forward, backward=lambda ctx, g, h: (g + h) * 2.0).apply(y)
    assert a is b is y
    (a * b).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0]


def test_changed_inputs_that_are_returned_twice_and_returned_inputs_under_no_grad():
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        return x.mul_(2.0), x, y

    f = function(forward=forward, jvp=lambda ctx, a, b: (a.mul_(2.0), a, b.view_as(b)))
    y = Y.clone().requires_grad_()
    with fw.dual_level(), tape.no_grad():
        dual, y_dot = fw.make_dual(X.clone(), Y.clone()), X.clone()
        a, b, c = f.apply(dual, fw.make_dual(y, y_dot))
        assert a is b is dual
        assert not c.requires_grad
        assert tangent(c)._base is y_dot


def test_a_returned_input_is_another_tensor_each_time():
    f = function(forward=lambda ctx, y: (y, y), backward=lambda ctx, g, h: g * 10.0 + h)
    for x in (tape.ones(2), tape.tensor(1.0)):
        a, b = f.apply(x)
        assert a is not b
        assert a._base is b._base is x
        x.requires_grad_()
        a, b = f.apply(x)
        assert a is not b
        assert a._base is b._base is x
        (g,) = tape.autograd.grad(a.sum() + 2.0 * b.sum(), x)
        assert np.all(g.numpy() == 12.0)
        with tape.no_grad():
            a, b = f.apply(x)
        assert not a.requires_grad
        assert not a._is_view()


def test_what_is_no_input_need_not_be_marked_dirty():
    def forward(ctx, x):
        y = x * 3.0
        ctx.mark_dirty(y)
        return y

    f = function(forward=forward, backward=lambda ctx, g: g * 3.0)
    x = tape.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=r"Only input Tensors should be given to ctx.mark_dirty\(\): F") as caught:
        y = f.apply(x)
    assert caught[0].filename == __file__
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_changed_view_among_several_results():
    """PyTorch refuses it; here the gradients are right."""

    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.add_(y)
        return x, x + y

    f = function(forward=forward, backward=lambda ctx, g, h: (g + h, g + 2.0 * h))

    def program(x, y):
        base = x * 1.0
        first, second = f.apply(base[1:], y)
        return (first * second).sum() + base.sum()

    def plain(x, y):
        first = x[1:] + y
        return (first * (first + y)).sum() + x[0] + first.sum()

    x, y = X.clone().requires_grad_(), tape.tensor([0.5, 0.25], requires_grad=True)
    found, expected = (tape.autograd.grad(g(x, y), (x, y)) for g in (program, plain))
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a.tolist(), b.tolist())


def test_the_legacy_call_says_what_to_do():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        old = type("Old", (Function,), {"forward": lambda self, x: x})()
    with pytest.raises(RuntimeError, match=r"(?s)non-static forward method is deprecated.*Old\.apply"):
        old(X)
