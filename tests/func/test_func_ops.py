"""Every op under ``tape.func``: forward mode is the transpose of reverse, and each goes through the other."""

from __future__ import annotations

import numpy as np
import pytest
from derivatives import close, value
from numpy.testing import assert_allclose
from samples import DIFFERENTIABLE, directions, inner, noise, samples, single

import tape
from ops.algebra.sparse import Matrix
from tape.func import grad, jvp, vjp

EVERY_OP = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)


def moving_part(op, operands, params):
    """An op as a function of its active operands, and what it is called on."""
    ts = directions(op, operands, np.random.default_rng(11))

    def function(*moving):
        whole = list(operands)
        for i, x in zip(ts, moving):
            whole[i] = x
        z = op(*whole, **params)
        return tuple(p for p in (z if isinstance(z, tuple) else (z,)) if p.dtype.kind in "fc")

    return function, tuple(tape.tensor(operands[i]) for i in ts), tuple(map(tape.tensor, ts.values()))


@EVERY_OP
def test_forward_mode_is_the_transpose_of_reverse(op):
    rng = np.random.default_rng(12)
    for operands, params in samples(op):
        function, xs, x_dots = moving_part(op, operands, params)
        zs, z_dots = jvp(function, xs, x_dots)
        outputs, pull = vjp(function, *xs)
        gs = tuple(tape.tensor(noise(value(z), rng)) for z in outputs)
        for z, again, z_dot in zip(zs, outputs, z_dots):
            close(z, again)
            assert z_dot.shape == z.shape
            assert z_dot.dtype == z.dtype
        forward = inner(map(value, gs), map(value, z_dots))
        backward = inner(map(value, pull(gs)), map(value, x_dots))
        assert_allclose(forward, backward, rtol=1e-9, atol=1e-10, err_msg=f"{params}")


@EVERY_OP
def test_forward_over_reverse_agrees_with_reverse_over_forward(op):
    """d/dx of ⟨g, J(x) ẋ⟩, by pushing ẋ through the pullback and by pulling g through the pushforward."""
    rng = np.random.default_rng(13)
    for operands, params in samples(op):
        function, xs, x_dots = moving_part(op, operands, params)
        gs = tuple(tape.tensor(noise(value(z), rng)) for z in function(*xs))

        def pulled(*xs, function=function, gs=gs):
            return vjp(function, *xs)[1](gs)

        def pushed(*xs, function=function, gs=gs, x_dots=x_dots):
            return sum(((g.conj() * d).real.sum() for g, d in zip(gs, jvp(function, xs, x_dots)[1])), tape.tensor(0.0))

        over_reverse = jvp(pulled, xs, x_dots)[1]
        over_forward = grad(pushed, argnums=tuple(range(len(xs))))(*xs)
        for a, b in zip(over_reverse, over_forward):
            close(a, b, rtol=1e-7, atol=1e-8)


@EVERY_OP
def test_forward_mode_in_single_precision(op):
    for operands, params in samples(op)[:1]:
        singles = tuple(map(single, operands))
        given = params if op.name != "cast" else {"dtype": np.dtype(np.float32)}
        if "matrix" in given:
            rows = given["matrix"].rows
            given = {**given, "matrix": Matrix(rows.astype(single(np.ones(1, rows.dtype)).dtype))}
        function, xs, x_dots = moving_part(op, singles, given)
        zs, z_dots = jvp(function, xs, tuple(t.to(x.dtype) for t, x in zip(x_dots, xs)))
        assert {z.dtype for z in (*zs, *z_dots)} <= {np.dtype(np.float32), np.dtype(np.complex64)}
