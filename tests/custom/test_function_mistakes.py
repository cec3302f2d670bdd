"""Mistakes in custom functions: each raises with a message that says what to do."""

from __future__ import annotations

import numpy as np
import pytest
from custom_functions import (
    declare,
    leaf,
)
from mistakes import explained

import tape
from tape.autograd import Function


def run(function, *rest):
    x = leaf([1.0, 2.0])
    out = function.apply(x, *rest)
    out = out[0] if isinstance(out, tuple) else out
    out.sum().backward()


def returning(result):
    return lambda ctx, *g: result


def saving(*things):
    def forward(ctx, x):
        ctx.save_for_backward(*things)
        return x * 1.0

    return declare(forward=forward, backward=lambda ctx, g: g)


def marking(make):
    def forward(ctx, x):
        ctx.mark_dirty(make(x))
        return x * 1.0

    return declare(forward=forward, backward=lambda ctx, g: g)


class NoForward(Function):
    @staticmethod
    def backward(ctx, g):
        return g


class Both(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        return g

    @staticmethod
    def vjp(ctx, g):
        return g


MISTAKES = {
    "too few gradients": (
        lambda: run(declare(forward=lambda ctx, x, y: x * 1.0, backward=returning(tape.ones(2))), 1),
        RuntimeError,
        ["F.backward", "each of the 2 inputs", "returned 1", "Return None"],
    ),
    "too many gradients": (
        lambda: run(declare(backward=returning((tape.ones(2), tape.ones(2))))),
        RuntimeError,
        ["each of the 1 inputs", "returned 2"],
    ),
    "wrong shape": (
        lambda: run(declare(backward=returning(tape.ones(3)))),
        RuntimeError,
        ["gradient at index 0", "got [3] but expected shape compatible with [2]"],
    ),
    "a shape that is too small": (
        lambda: run(declare(backward=returning(tape.tensor(1.0)))),
        RuntimeError,
        ["got [] but expected shape compatible with [2]"],
    ),
    "wrong type": (
        lambda: run(declare(backward=returning(1.0))),
        RuntimeError,
        ["tensors or None", "gradient 0 is of type float", "tape.as_tensor()"],
    ),
    "a gradient for something else": (
        lambda: run(declare(forward=lambda ctx, x, y: x * 1.0, backward=lambda ctx, g: (g, g)), 1),
        RuntimeError,
        ["input 1, which is not a tensor", "return None"],
    ),
    "no backward": (
        lambda: run(declare()),
        NotImplementedError,
        ["You must implement either the backward or vjp method", "F defines neither"],
    ),
    "no forward": (
        lambda: NoForward.apply(leaf(1.0)),
        NotImplementedError,
        ["You must implement the forward function: NoForward"],
    ),
    "backward and vjp": (lambda: run(Both), RuntimeError, ["both 'backward' and 'vjp'", "keep one"]),
    "saving a number": (
        lambda: saving(None, 1.0).apply(leaf(1.0)),
        TypeError,
        ["save_for_backward() takes tensors", "argument 1 in F is of type float", "ctx.name = value"],
    ),
    "an array returned": (
        lambda: declare(forward=lambda ctx, x: np.ones(2), backward=returning(None)).apply(leaf(1.0)),
        TypeError,
        ["ndarray", "tape.as_tensor(array)"],
    ),
    "a list returned": (
        lambda: declare(forward=lambda ctx, x: [x], backward=returning(None)).apply(leaf(1.0)),
        TypeError,
        ["a tuple in place of a list"],
    ),
    "a leaf marked dirty": (
        lambda: marking(lambda x: x).apply(leaf(1.0)),
        RuntimeError,
        ["a leaf that requires grad", "x.clone()"],
    ),
    "something else marked dirty": (
        lambda: marking(lambda x: tape.ones(1)).apply(leaf(1.0)),
        RuntimeError,
        ["marked as dirty", "not returned as output", "F.forward"],
    ),
    "an attribute that was never set": (
        lambda: run(declare(backward=lambda ctx, g: ctx.scale)),
        AttributeError,
        ["ctx of F has no attribute 'scale'"],
    ),
    "arguments by name": (
        lambda: declare(backward=returning(None)).apply(x=leaf(1.0)),
        TypeError,
        ["by position", "got x by name", "setup_context"],
    ),
    "an instance called": (lambda: instance(declare())(leaf(1.0)), RuntimeError, ["F.apply(…)", "static"]),
}


def instance(function):
    with pytest.warns(DeprecationWarning, match="F should not be instantiated"):
        return function()


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_explain_themselves(name):
    explained(MISTAKES[name])
    assert tape.is_grad_enabled()
    x = leaf(2.0)
    (x * x).backward()
    assert x.grad.item() == 4.0
