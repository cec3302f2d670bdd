"""Every op of the registry in a program: replayed at other values than those it was recorded with."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import DIFFERENTIABLE, active, noise, results, samples, single, vjps

import tape
from ops import REGISTRY
from tape import autograd
from tape.program import compile

every_op = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
TIERS = ("quick", "optimised")


def in_turn(first):
    """Each op interpreted, and at one of the compiled tiers in turns, of which the `first` begins."""
    tiers = lambda k: ("interpret", TIERS[(k + first) % 2])  # noqa: E731
    every = [pytest.param(op, tier, id=f"{tier}-{op.name}") for k, op in enumerate(DIFFERENTIABLE) for tier in tiers(k)]
    return pytest.mark.parametrize(("op", "tier"), every)


def shared(op, tier):
    """Of an op's samples every second one for each of its two tiers; all for both, where there are two or fewer."""
    found = list(pairs(op))
    return found if len(found) <= 2 else found[(op.code + (tier == "interpret")) % 2 :: 2]


def pairs(op):
    """Samples to record with, beside others of the same shapes to replay at."""
    for (first, params), (second, again) in zip(samples(op, 0), samples(op, 1)):
        same = all(np.shape(x) == np.shape(y) for x, y in zip(first, second))
        yield first, second if same and str(params) == str(again) else first, params


@in_turn(0)
def test_values(op, tier):
    for first, second, params in shared(op, tier):
        fast = compile(lambda *xs, params=params: op(*xs, **params), tier=tier)
        for xs in (first, second, second):
            found, expected = fast(*map(np.asarray, xs)), op.forward(*xs, **params)
            for z, w in zip(results(found), results(expected), strict=True):
                if w is not None:
                    assert_allclose(z, w, rtol=1e-12, atol=1e-14)
                    assert np.shape(z) == np.shape(w)
                    assert np.asarray(z).dtype == np.asarray(w).dtype


@in_turn(1)
def test_adjoints(op, tier):
    for first, second, params in shared(op, tier):
        positions = active(op, first)

        def adjoints(xs, gs, params=params, positions=positions):
            z = op(*xs, **params)
            zs = [p for p in (z if isinstance(z, tuple) else (z,)) if p.dtype.kind in "fc"]
            return autograd.grad(zs, [xs[i] for i in positions], gs, materialize_grads=True)

        fast = compile(adjoints, tier=tier)
        rng = np.random.default_rng(3)
        for xs in (first, second, second):
            outputs = results(op.forward(*xs, **params))
            gs = [None if z is None else noise(z, rng) for z in outputs]
            given = [tape.tensor(np.asarray(x), requires_grad=i in positions) for i, x in enumerate(xs)]
            found = fast(given, [tape.tensor(g) for g in gs if g is not None])
            expected = vjps(op, xs, params, gs, positions)
            for bar, w in zip(found, expected, strict=True):
                assert_allclose(bar.detach().numpy(), 0.0 if w is None else w, rtol=1e-9, atol=1e-10)


@every_op
def test_single_precision(op):
    for first, _, params in pairs(op):
        xs = [single(np.asarray(x)) for x in first]
        expected = results(op.forward(*xs, **params))
        found = results(compile(lambda *xs, params=params: op(*xs, **params))(*xs))
        for z, w in zip(found, expected, strict=True):
            if w is not None:
                assert np.asarray(z).dtype == np.asarray(w).dtype
                assert_allclose(z, w, rtol=2e-4, atol=2e-5)


OF_ORDERS = {"exchanges", "exchanged"}
"""Ops of orders of rows."""
PLAIN = [op for op in REGISTRY.values() if op.kind == "plain" and op.arity in (1, 2) and not op.params]


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.name)
def test_ops_without_derivative(op):
    rng = np.random.default_rng(0)
    kinds = (np.float64, np.int64, np.bool_) if op.name not in OF_ORDERS else (np.int64,)
    tried = 0
    for kind in kinds:
        xs, ys = (3 * rng.standard_normal((2, op.arity, 5, 3))).astype(kind)
        if op.name in OF_ORDERS:
            xs, ys = np.argsort(xs), np.argsort(ys)
        try:
            with np.errstate(all="ignore"):
                op.forward(*xs)
        except TypeError:
            continue
        tried += 1
        fast = compile(lambda *xs: op(*xs))
        with np.errstate(all="ignore"):
            for values in (list(xs), list(ys)):
                np.testing.assert_array_equal(fast(*values), op.forward(*values))
    assert tried
