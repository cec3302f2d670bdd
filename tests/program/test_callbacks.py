"""Functions that are called at the end of a backward."""

from __future__ import annotations

import pytest
from custom_functions import declare

import tape
from tape.autograd import Variable, grad

queue = Variable._execution_engine.queue_callback


def leaf(value=1.0):
    return tape.tensor(value, requires_grad=True)


pytestmark = pytest.mark.usefixtures("either")


def test_they_come_when_all_gradients_are_there():
    x, y = leaf(), leaf()
    seen = []
    z = x * 2
    z.register_hook(lambda g: queue(lambda: seen.append((x.grad.item(), y.grad.item()))))
    (z * y * 3).backward()
    assert seen == [(6.0, 6.0)]


def test_one_may_add_another():
    x = leaf()
    seen = []
    x.register_hook(lambda g: queue(lambda: [seen.append(1), queue(lambda: seen.append(2))]))
    grad(x * 2, x)
    assert seen == [1, 2]


@pytest.mark.parametrize("create_graph", [False, True])
def test_they_belong_to_the_innermost_backward(create_graph):
    events = []

    def again(ctx, g):
        queue(lambda: events.append("outer"))
        inner = leaf()
        inner.register_hook(lambda g: queue(lambda: events.append("inner")))
        with tape.enable_grad():
            (inner * 3).backward()
        events.append("left")
        return g * 2

    x = leaf()
    declare(backward=again).apply(x).backward(create_graph=create_graph)
    assert events == ["inner", "left", "outer"]


def test_one_that_fails():
    x = leaf()
    handle = x.register_hook(lambda g: queue(lambda: 1 / 0))
    y = x * x
    with pytest.raises(ZeroDivisionError):
        y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert x.grad.item() == 4.0
    with pytest.raises(RuntimeError, match="only be installed during backward pass"):
        queue(print)
