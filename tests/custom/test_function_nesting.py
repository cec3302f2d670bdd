"""Custom functions within one another, within other modes, in threads, and where something raises."""

from __future__ import annotations

import _thread
import threading
import time
import traceback

import numpy as np
import pytest
from custom_functions import OURS, declare, leaf
from numpy.testing import assert_allclose

import tape
from tape.autograd import Function, backward, grad
from tape.autograd.function import once_differentiable
from tape.recording.wengert import current


def test_nested_backward():
    """A gradient computed inside a backward by a backward of its own, as checkpointing does it."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x * x).detach()

    def rule(ctx, g):
        (x,) = ctx.saved_tensors
        with tape.enable_grad():
            y = x.detach().requires_grad_()
            z = y * y * y
        backward(z, g)
        return y.grad

    def depth(ctx, g):
        x = leaf(2.0)
        with tape.enable_grad():
            inner.apply(x).backward()
        return g * x.grad

    inner = declare(forward=forward, backward=rule)
    x = leaf([1.0, 2.0])
    (inner.apply(x * 2.0) + x).sum().backward()
    assert x.grad.tolist() == [25.0, 97.0]
    outer = declare(backward=depth)
    y = leaf(1.0)
    outer.apply(outer.apply(y)).backward()
    assert y.grad.item() == 144.0


def test_a_function_within_a_function():
    exp = OURS["Exp"]

    def rule(ctx, g):
        return exp.apply(g) * g

    function = declare(backward=rule)
    x, seed = leaf([0.5, 0.25]), leaf([1.0, 2.0])
    (g,) = grad(function.apply(x), x, seed, create_graph=True)
    assert_allclose(g.detach().numpy(), np.exp([1.0, 2.0]) * [1.0, 2.0])
    (h,) = grad(g.sum(), seed)
    assert_allclose(h.numpy(), np.exp([1.0, 2.0]) * [2.0, 3.0])


def jvp(function, xs, tangents, *rest):
    """The rule of forward mode, as an op's jvp is called."""
    z = []

    class Moving(tape.Tensor):
        __slots__ = ()

        @staticmethod
        def __bind__(op, operands, params):
            plain = [wrap_plain(x) for x in operands]
            z.extend(op(*plain, **params))
            return op.jvp(plain, [tape.tensor(t) if t is not None else None for t in tangents], tuple(z), params)

    def wrap_plain(x):
        made = tape.tensor(0.0)
        made._data, made._spec = x._data, x._spec
        return made

    moving = []
    for x in xs:
        t = tape.tensor(x)
        t.__class__ = Moving
        moving.append(t)
    return function.apply(*moving, *rest)


def product(ctx, x, y, scale):
    ctx.save_for_backward(x)
    ctx.save_for_forward(x, y)
    ctx.scale = scale
    return x * y * scale


def product_jvp(ctx, x_t, y_t, scale_t):
    assert scale_t is None
    x, y = ctx.saved_tensors
    return (x_t * y + x * y_t) * ctx.scale


def test_jvp_uses_what_was_saved_for_forward():
    function = declare(forward=product, jvp=product_jvp)
    assert jvp(function, [2.0, 3.0], [1.0, 10.0], 4.0).item() == 4.0 * 23.0
    assert jvp(function, [2.0, 3.0], [1.0, None], 4.0).item() == 4.0 * 3.0


JVP_MISTAKES = {
    "no jvp": (None, NotImplementedError, "must implement the jvp function.*F defines none"),
    "number": (lambda ctx, *ts: (ts[0], ts[0]), RuntimeError, "one tangent for each of the 1 outputs.*returned 2"),
    "shape": (lambda ctx, *ts: tape.ones(3), RuntimeError, r"shape \(\), its tangent \(3,\)"),
    "type": (lambda ctx, *ts: 1.0, TypeError, "tensors or None; tangent 0 is a float"),
}


@pytest.mark.parametrize("name", JVP_MISTAKES)
def test_mistakes_of_jvp(name):
    rule, kind, message = JVP_MISTAKES[name]
    with pytest.raises(kind, match=message):
        jvp(declare(forward=product, jvp=rule), [2.0, 3.0], [1.0, 1.0], 4.0)


@pytest.mark.parametrize("by", [None, 3.0], ids=["plain seed", "seed with history"])
def test_once_differentiable(by):
    modes = []

    @once_differentiable
    def rule(ctx, g):
        modes.append(tape.is_grad_enabled())
        (x,) = ctx.saved_tensors
        return g * 2.0 * x

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    function = declare("Square", forward=forward, backward=rule)
    x = leaf(3.0)
    function.apply(x).backward()
    assert x.grad.item() == 6.0
    seed = None if by is None else leaf(by)
    (g,) = grad(function.apply(x), x, seed, create_graph=True)
    assert g.item() == 6.0 * (by or 1.0)
    assert g.grad_fn.name() == "Error"
    assert modes == [False, False]
    for target in [x] if seed is None else [x, seed]:
        with pytest.raises(RuntimeError, match="marked once_differentiable: Square"):
            grad(g, target, retain_graph=True)


def fails(ctx, *args):
    raise ZeroDivisionError("in the user's code")


@pytest.mark.parametrize("create_graph", [False, True])
def test_exceptions_keep_their_traceback_and_leave_the_list_usable(create_graph):
    x = leaf([1.0, 2.0])
    y = declare(backward=fails).apply(x * 1.0)
    busy = current().busy
    with pytest.raises(ZeroDivisionError) as caught:
        y.sum().backward(create_graph=create_graph)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fails"
    assert (current().busy, current().where, tape.is_grad_enabled()) == (busy, None, True)
    with pytest.raises(ZeroDivisionError):
        declare(forward=fails).apply(x)
    assert (current().where, tape.is_grad_enabled()) == (None, True)
    OURS["Exp"].apply(x).sum().backward()
    assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]))


def test_threads():
    """Many threads go through one function, with a graph of their own and with one that another has made."""
    x = leaf(np.linspace(0.1, 1.0, 5))
    shared = OURS["Exp"].apply(x * 1.0)
    shared_cube = cube = OURS["cube"](shared).sum()
    failures = []

    def work():
        try:
            mine = leaf(np.linspace(0.1, 1.0, 5))
            for _ in range(20):
                y = (OURS["Exp"].apply(mine) * OURS["Exp"].apply(x.detach())).sum()
                y.backward()
            assert_allclose(mine.grad.numpy(), 20 * np.exp(2 * x.detach().numpy()))
            (g,) = grad(cube, x, retain_graph=True)
            assert_allclose(g.numpy(), 3 * np.exp(3 * x.detach().numpy()))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    shared_cube.backward()


def square_in_forward_mode():
    return declare(
        forward=lambda ctx, x: ctx.save_for_backward(x) or ctx.save_for_forward(x) or x * x * x,
        backward=lambda ctx, g: g * ctx.saved_tensors[0] ** 2 * 3.0,
        jvp=lambda ctx, t: t * ctx.saved_tensors[0] ** 2 * 3.0,
    )


def test_forward_and_reverse_mode_nest_in_every_order():
    cube = square_in_forward_mode().apply
    x, ones = tape.tensor([1.0, 2.0]), tape.ones(2)

    def pushed(f):
        return lambda x: tape.func.jvp(f, (x,), (ones,))[1]

    def pulled(f):
        return tape.func.grad(lambda x: f(x).sum())

    for outer in (pushed, pulled):
        for inner in (pushed, pulled):
            assert outer(inner(cube))(x).tolist() == [6.0, 12.0]
            assert outer(outer(inner(cube)))(x).tolist() == [6.0, 6.0]


class Countdown(Function):
    """x − 1, whose backward runs a backward of its own until the number is negative."""

    fails_at = None

    @staticmethod
    def forward(ctx, x):
        with tape.enable_grad():
            ctx.below = x.detach().requires_grad_() - 1.0
        return ctx.below.detach()

    @staticmethod
    def backward(ctx, g):
        if ctx.below.item() == Countdown.fails_at:
            raise KeyError("far down")
        if ctx.below.item() >= 0.0:
            with tape.enable_grad():
                Countdown.apply(ctx.below).sum().backward()
        return g


def test_backwards_nested_a_thousand_deep(monkeypatch):
    x, threads = leaf(1000.0), threading.active_count()
    Countdown.apply(x).sum().backward()
    assert x.grad.item() == 1.0
    monkeypatch.setattr(Countdown, "fails_at", 3.0)
    with pytest.raises(KeyError, match="far down"):
        Countdown.apply(x).sum().backward()
    assert threading.active_count() == threads
    assert current().busy == 0
    (x * x).backward()
    assert x.grad.item() == 2001.0


def test_an_interrupt_far_down():
    def rule(ctx, g):
        threading.Timer(0.2, _thread.interrupt_main).start()
        late = time.monotonic() + 60.0
        while time.monotonic() < late:
            pass

    endless = declare(backward=rule)
    x = leaf(30.0)

    class Down(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.n = x.item()
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            y = leaf(ctx.n - 1.0)
            with tape.enable_grad():
                (Down if ctx.n > 0.0 else endless).apply(y).sum().backward()
            return g

    with pytest.raises(KeyboardInterrupt):
        Down.apply(x).sum().backward()
    assert current().busy == 0
    (x * x).backward()
    assert x.grad.item() == 60.0
