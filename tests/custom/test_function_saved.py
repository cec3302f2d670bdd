"""What custom functions keep from forward to backward, how long it lives, and what is told when it is gone."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from custom_functions import OURS, declare, leaf
from numpy.testing import assert_allclose

import tape
from tape.autograd import grad
from tape.recording.wengert import ROWS_BETWEEN_SCANS, current


def test_saved_tensors_keep_their_identity_and_history():
    found = []

    def forward(ctx, x, w, y):
        ctx.save_for_backward(x, None, w)
        ctx.middle, ctx.result = x, (z := x * w)
        return z

    def rule(ctx, g):
        x, none, w = ctx.saved_tensors
        found.append((x, none, w, ctx.middle, ctx.result))
        return g * w, g * x, None

    function = declare(forward=forward, backward=rule)
    x, w = leaf(2.0), leaf(3.0)
    middle = x * 1.0
    z = function.apply(middle, w, 1)
    grad(z, x, create_graph=True)
    saved, none, weight, attribute, result = found[0]
    assert none is None
    assert weight is w
    assert saved.grad_fn is attribute.grad_fn is middle.grad_fn
    assert result.grad_fn is z.grad_fn
    assert result.item() == 6.0


def test_second_backward_through_saved_tensors():
    x = leaf([1.0, 2.0])
    y = OURS["Exp"].apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert_allclose(x.grad.numpy(), 2 * np.exp([1.0, 2.0]))
    with pytest.raises(RuntimeError, match=r"(?s)backward through Exp a second time.*retain_graph=True"):
        y.backward()


def test_second_backward_where_nothing_was_saved():
    x = leaf([1.0, 2.0])
    y = declare(backward=lambda ctx, g: g * 2.0).apply(x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_a_saved_tensor_changed_in_place():
    x = leaf([1.0, 2.0])
    y = OURS["Exp"].apply(x)
    y.detach().mul_(2.0)
    with pytest.raises(RuntimeError, match=r"(?s)changed in place"):
        y.sum().backward()
    w, s = leaf(2.0), leaf(3.0)
    function = declare(
        forward=lambda ctx, x, y: ctx.save_for_backward(x, y) or x * y,
        backward=lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
    )
    z = function.apply(w, s)
    with tape.no_grad():
        w.mul_(10.0)
    with pytest.raises(RuntimeError, match=r"F .*was changed in place|F saved was changed in place"):
        z.backward()


def test_ctx_outlives_its_record():
    kept = []
    function = declare(forward=lambda ctx, x: kept.append(ctx) or ctx.save_for_backward(x) or x * 1.0, backward=None)
    function.apply(leaf(1.0))
    current().scan()
    with pytest.raises(RuntimeError, match="after the record that it belongs to was gone"):
        kept[0].saved_tensors  # noqa: B018


def fails(ctx, *args):
    raise ZeroDivisionError("in the user's code")


def in_containers():
    """A function that keeps its inputs where nobody can see them."""

    def forward(ctx, x):
        ctx.inputs = [x]
        return x * 2.0

    return declare(forward=forward, backward=lambda ctx, g: g * 2.0)


def as_attributes():
    def forward(ctx, x):
        ctx.x, ctx.y = x, (y := x * 2.0)
        return y

    return declare(forward=forward, backward=lambda ctx, g: g * ctx.y / ctx.x)


KEEPING = {
    "saved": lambda: OURS["Exp"], "containers": in_containers, "attributes": as_attributes,
    "exceptions": lambda: declare(backward=fails),
}  # fmt: skip


@pytest.mark.parametrize("keeping", KEEPING)
@pytest.mark.parametrize("how", ["forward", "backward", "create_graph"])
def test_constant_memory(keeping, how, monkeypatch):
    """2,500 steps, each a chain of functions that hold on to each other, leave nothing behind."""
    often = ROWS_BETWEEN_SCANS // 4
    monkeypatch.setattr("tape.recording.wengert.ROWS_BETWEEN_SCANS", often)
    function = KEEPING[keeping]()
    x = leaf(0.1)

    def loop(steps):
        for _ in range(steps):
            y = x
            for _ in range(4):
                y = function.apply(y * 0.5)
            try:
                if how == "backward":
                    y.backward()
                elif how == "create_graph":
                    (g,) = grad(y, x, create_graph=True)
                    g.backward()
            except (ZeroDivisionError, RuntimeError):
                assert keeping != "saved"

    gc.collect()
    current().scan()
    kept = len(current())
    loop(2_500 if how == "forward" else 750 if how == "backward" else 125)
    assert len(current()) - kept <= 2 * often
    gc.collect()
    current().scan()
    assert len(current()) <= kept


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_put_saved_tensors_away_and_get_them_back(create_graph):
    def forward(ctx, x, y):
        z = x * y
        ctx.save_for_backward(x, y, z)
        return z

    def rule(ctx, g):
        x, y, z = ctx.saved_tensors
        return g * y + 0.5 * (z - x * y), g * x

    log = []
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    put, get = (lambda t: log.append("put") or t.tolist()), (lambda t: log.append("get") or tape.tensor(t))
    with tape.autograd.graph.saved_tensors_hooks(put, get):
        z = declare(forward=forward, backward=rule).apply(x, y * 1.0)
    assert log.count("put") >= 3
    gs = grad(z.sum(), (x, y), create_graph=create_graph)
    assert log.count("get") >= 3
    assert [g.tolist() for g in gs] == [[3.0, 4.0], [1.0, 2.0]]
    if create_graph:
        assert grad(gs[0].sum(), x, retain_graph=True)[0].tolist() == [0.0, 0.0]  # z and x y move alike
        assert grad(gs[1].sum(), x)[0].tolist() == [1.0, 1.0]


def test_what_is_set_on_the_node_is_on_the_ctx():
    x = leaf([1.0, 2.0])
    y = declare(backward=lambda ctx, g: g * ctx.factor).apply(x)
    y.grad_fn.factor = 7.0
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_the_places_of_what_was_saved():
    class Product(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, None, y)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, _, y = ctx.saved_tensors
            return g * y, g * x

    x, y = tape.tensor([1.0, 2.0], requires_grad=True), tape.tensor([3.0, 4.0], requires_grad=True)
    z = Product.apply(x, y)
    first, nothing, second = z.grad_fn._raw_saved_tensors
    assert first.data.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        nothing.register_hooks(lambda t: t, lambda t: t)
    second.register_hooks(lambda t: t.numpy() * 10.0, tape.from_numpy)
    with pytest.raises(RuntimeError, match="already been set"):
        second.register_hooks(lambda t: t, lambda t: t)
    z.sum().backward()
    assert x.grad.tolist() == [30.0, 40.0]
    assert y.grad.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="second time"):
        z.grad_fn._raw_saved_tensors  # noqa: B018
    with pytest.raises(AttributeError, match="_raw_saved_tensors"):
        (x * y).grad_fn._raw_saved_tensors  # noqa: B018


def test_what_was_made_in_inference_mode_is_not_saved():
    """As no operation saves it; within a derivative that is taken there, it may be."""

    class Times(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y, None)
            return x * y

        @staticmethod
        def backward(ctx, g):
            x, y, _ = ctx.saved_tensors
            return g * y, g * x

    with tape.inference_mode():
        y = tape.tensor([3.0, 4.0])
        assert Times.apply(tape.ones(2, requires_grad=True), y).tolist() == [3.0, 4.0]
        assert tape.func.grad(lambda x: Times.apply(x, y).sum())(tape.ones(2)).tolist() == [3.0, 4.0]
    x = tape.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Inference tensors cannot be saved.*Times\.forward saves it"):
        Times.apply(x, y)
    with tape.no_grad():
        assert Times.apply(x, y).tolist() == [3.0, 4.0]
    assert Times.apply(tape.ones(2), y).tolist() == [3.0, 4.0]
    Times.apply(x, y.clone()).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0]
