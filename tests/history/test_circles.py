"""What a custom function keeps may hold its own outputs: such circles are collected, and nothing else is."""

from __future__ import annotations

import gc
import weakref

import pytest

import tape
from tape.recording.wengert import current


class Keeping(tape.autograd.Function):
    """Twice the input; keeps a dictionary, into which anybody may put anything."""

    @staticmethod
    def forward(ctx, x, kept):
        ctx.kept = kept
        return x * 2

    @staticmethod
    def backward(ctx, g):
        ctx.kept["seen"] = True
        return 2 * g, None


class Two(tape.autograd.Function):
    """The input twice over."""

    @staticmethod
    def forward(ctx, x, kept):
        ctx.kept = kept
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + 3 * h, None


pytestmark = pytest.mark.usefixtures("by_hand")


def leaf():
    return tape.ones(3, requires_grad=True)


def own_output():
    kept = {}
    kept["out"] = Keeping.apply(leaf(), kept)
    return kept["out"]


def node_of_the_output():
    kept = {}
    out = Keeping.apply(leaf(), kept)
    kept["node"] = out.grad_fn
    return out


def through_other_operations():
    kept = {}
    kept["later"] = (Keeping.apply(leaf(), kept).exp() * 2).sum()
    return kept["later"]


def one_of_several_outputs():
    kept = {}
    first, kept["second"] = Two.apply(leaf(), kept)
    return first


def each_holds_the_other():
    one, other = {}, {}
    x = Keeping.apply(leaf(), one)
    one["other"] = y = Keeping.apply(leaf(), other)
    other["one"] = x
    return y


def a_closure():
    kept = {}
    out = Keeping.apply(leaf(), kept)
    kept["call"] = lambda: out
    return out


def with_a_hook_too():
    kept = {}
    out = Keeping.apply(leaf(), kept)
    out.register_hook(lambda g: g * len(kept["out"]) / 3)
    kept["out"] = out
    return out


CIRCLES = [
    own_output, node_of_the_output, through_other_operations, one_of_several_outputs, each_holds_the_other, a_closure,
    with_a_hook_too,
]  # fmt: skip


@pytest.mark.parametrize("circle", CIRCLES)
def test_a_circle_is_collected_with_its_records(circle):
    before = len(current())
    ref = weakref.ref(circle())
    gc.collect()
    gc.collect()
    assert ref() is None
    assert len(current()) == before


@pytest.mark.parametrize("circle", CIRCLES)
def test_what_is_still_held_has_its_gradient_after_a_collection(circle):
    out = circle()
    for _ in range(3):
        gc.collect()
    (x,) = leaves(out)
    (out * 1).sum().backward()
    assert (x.grad != 0).all()


def leaves(tensor):
    """The leaves that a tensor depends on."""
    found, queue = [], [tensor.grad_fn]
    while queue:
        node = queue.pop()
        found += [node.variable] if hasattr(node, "variable") else []
        queue += [n for n, _ in node.next_functions if n is not None]
    return found


def test_a_record_that_a_later_one_needs_keeps_its_ctx():
    x, kept = leaf(), {}
    kept["out"] = Keeping.apply(x, kept)
    z = kept["out"] * 5
    ref = weakref.ref(kept["out"])
    del kept
    gc.collect()
    assert ref() is not None  # its ctx holds it, which z needs
    z.sum().backward()
    assert x.grad.tolist() == [10.0, 10.0, 10.0]
    del z
    gc.collect()
    gc.collect()
    assert ref() is None


def test_a_ctx_is_the_same_after_a_collection():
    x, kept = leaf(), {}
    out = Keeping.apply(x, kept)
    kept["node"] = out.grad_fn
    gc.collect()
    out.sum().backward(retain_graph=True)
    assert kept["seen"]
    assert out.grad_fn.kept is kept


def test_a_finalizer_may_differentiate_what_is_alive():
    x, seen = leaf(), []
    kept = {}
    kept["out"] = Keeping.apply(x, kept)

    class Last:
        def __del__(self):
            seen.extend(tape.autograd.grad(kept["out"].sum(), [x], retain_graph=True)[0].tolist())

    circle = Last()
    circle.itself = circle
    del circle
    gc.collect()
    assert seen == [2.0, 2.0, 2.0]


def test_a_loop_of_circles_runs_in_constant_memory():
    before = len(current())
    for _ in range(5):
        for _ in range(20):
            own_output()
        gc.collect()
        assert len(current()) <= before + 2
