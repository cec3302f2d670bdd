"""Every op of the registry recorded on the list and swept, against its own rules run by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracle import Traced, gradients
from samples import DIFFERENTIABLE, active, directions, noise, results, samples, vjps

import ops
import tape
from tape import autograd

every_op = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)


def record(op, operands, params):
    """The operands, tensors where they are active, and the floating results with their adjoints."""
    rng = np.random.default_rng(3)
    positions = active(op, operands)
    xs = [tape.tensor(x, requires_grad=True) if i in positions else x for i, x in enumerate(operands)]
    z = op(*xs, **params)
    zs = [p for p in (z if isinstance(z, tuple) else (z,)) if p.dtype.kind in "fc"]
    return [xs[i] for i in positions], zs, [noise(p.detach().numpy(), rng) for p in zs]


def in_place(gs, z):
    """The adjoints at the places of their results, None for the results that have none."""
    rest = iter(gs)
    return [None if p is None else next(rest) for p in results(z)]


def arrays(bars, like):
    return [np.zeros(x.shape) if bar is None else np.asarray(bar) for bar, x in zip(bars, like)]


@every_op
def test_first_order(op):
    for operands, params in samples(op):
        leaves, zs, gs = record(op, operands, params)
        bars = autograd.grad(zs, leaves, [tape.tensor(g) for g in gs])
        expected = vjps(op, operands, params, in_place(gs, op(*operands, **params)), active(op, operands))
        for bar, w in zip(arrays(bars, leaves), expected, strict=True):
            assert_allclose(bar, w, rtol=1e-9, atol=1e-10, err_msg=f"{params}")


@every_op
def test_second_order(op):
    for operands, params in samples(op):
        ts = list(directions(op, operands, np.random.default_rng(4)).values())
        leaves, zs, gs = record(op, operands, params)
        bars = autograd.grad(zs, leaves, [tape.tensor(g) for g in gs], create_graph=True)
        pairs = [(b, t) for b, t in zip(bars, ts) if b.requires_grad]
        if not pairs:
            continue
        found = autograd.grad([b for b, _ in pairs], leaves, [tape.tensor(t) for _, t in pairs], allow_unused=True)

        positions = active(op, operands)
        xs = [Traced(x) if i in positions else x for i, x in enumerate(operands)]
        z = op(*xs, **params)
        outputs = [p for p in (z if isinstance(z, tuple) else (z,)) if isinstance(p, Traced) and p.dtype.kind in "fc"]
        inputs = [xs[i] for i in positions]
        with np.errstate(all="ignore"):
            first = gradients(outputs, [Traced(g) for g in gs], inputs, create_graph=True)
            pairs = [(b, t) for b, t in zip(first, ts) if isinstance(b, Traced)]
            expected = gradients([b for b, _ in pairs], [t for _, t in pairs], inputs)
        for bar, w in zip(arrays(found, leaves), arrays(expected, inputs), strict=True):
            assert_allclose(bar, w, rtol=1e-8, atol=1e-9, err_msg=f"{params}")


def test_results_of_two_records_do_not_share_memory():
    """The adjoints of a decomposition's results wait for each other while the sweep goes on."""
    x = np.random.default_rng(0).normal(size=(3, 3))
    weights = np.arange(9.0).reshape(3, 3)

    def gradient(f):
        leaf = tape.tensor(x, requires_grad=True)
        (bar,) = autograd.grad((f(leaf) ** 3).sum(), leaf, create_graph=True)
        (twice,) = autograd.grad((bar * weights).sum(), leaf)
        return twice.numpy()

    def once(a):
        u, _, vh = ops.svd(a)
        return ops.matmul(u, vh) * weights

    def twice(a):
        return ops.matmul(ops.svd(a)[0], ops.svd(a)[2]) * weights

    assert_allclose(gradient(twice), gradient(once), rtol=1e-9)
