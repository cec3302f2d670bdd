"""Hooks that hold the tensor that they hang on: they go with it, and not before."""

from __future__ import annotations

import gc

import pytest

import tape
from tape.history.hooks import lend_hooks
from tape.recording.wengert import current


@pytest.fixture
def x():
    gc.collect()
    current().scan()
    current().hooks.clear()
    return tape.tensor([1.0], requires_grad=True)


def chains():
    return list(current().hooks.values())


def test_a_loop_of_circles_takes_no_more_and_more(x):
    for _ in range(1500):
        y = x * 2
        y.register_hook(lambda g, y=y: None)
        node = y.grad_fn
        node.register_prehook(lambda gs, node=node: None)
        (y * y).sum().backward()
    gc.collect()
    current().scan()
    assert len(current().hooks) < 1200


def test_a_circle_is_found_once_its_hooks_are_lent(x):
    gc.collect()
    current().scan()
    n = len(current())
    y = x * 2
    y.register_hook(lambda g, y=y: None)
    lend_hooks(current())
    assert [chain.is_lent for chain in chains()] == [True]
    del y
    gc.collect()
    current().scan()
    assert len(current()) <= n
    assert chains() == []


@pytest.mark.parametrize("circular", [False, True])
def test_what_another_record_needs_is_given_back(x, circular):
    """Lent to a tensor which is then used, and goes before the result does."""
    seen = []
    y = x * 2
    y.register_hook(lambda g, held=y if circular else None: seen.append(g.item()))
    lend_hooks(current())
    assert chains()[0].is_lent
    z = y * 3
    del y
    gc.collect()
    assert not chains()[0].is_lent
    z.backward()
    assert (seen, x.grad.item()) == ([3.0], 6.0)


def test_hooks_work_while_they_are_lent(x):
    y = x * 2
    y.grad_fn.metadata["mine"] = 1
    handle = y.register_hook(lambda g: g * 10)
    lend_hooks(current())
    y.register_hook(lambda g: g + 1)
    y.backward(retain_graph=True)
    assert (x.grad.item(), y.grad_fn.metadata) == (22.0, {"mine": 1})
    handle.remove()
    lend_hooks(current())
    y.backward()
    assert x.grad.item() == 22.0 + 4.0


def test_nothing_is_lent_where_something_else_holds_the_record(x):
    y = x * 2
    y.register_hook(lambda g: None)
    held = [y._node]
    lend_hooks(current())
    assert not chains()[0].is_lent
    del held
    lend_hooks(current())
    assert chains()[0].is_lent


def test_two_borrowers(x):
    """A tensor and its node: as long as one of them is there, so are the hooks."""
    seen = []
    y = x * 2
    node = y.grad_fn
    node.register_prehook(lambda gs: seen.append(1))
    lend_hooks(current())
    del node
    gc.collect()
    y.backward()
    assert seen == [1]
