"""Many vectors times one Jacobian: batched gradients, vectorized Jacobians, and when they pay."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import DIFFERENTIABLE, active, samples

import tape
from tape.autograd import Function, grad
from tape.autograd.functional import hessian, jacobian
from tape.func import jacfwd, jacrev, vjp
from tape.func.seeds import pays

X = tape.tensor([0.3, -0.7, 1.2])
EYE = tape.eye(3)


def leaf():
    return X.clone().requires_grad_()


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if op.outputs == 1], ids=lambda op: op.name)
def test_of_every_op(op):
    """One sweep with three vectors is three sweeps with one."""
    rng = np.random.default_rng(4)
    for operands, params in samples(op):
        places = active(op, operands)
        xs = [tape.tensor(x, requires_grad=i in places) for i, x in enumerate(operands)]
        z = op(*xs, **params)
        if z.grad_fn is None:
            continue
        shape = (3, *z.shape)
        g = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if z.dtype.kind == "c" else 0)
        g = tape.tensor(g, dtype=z.dtype)
        inputs = [xs[i] for i in places]
        for create in (False, True):
            found = grad(z, inputs, g, retain_graph=True, create_graph=create, is_grads_batched=True)
            rows = [grad(z, inputs, v, retain_graph=True) for v in g]
            for together, alone in zip(found, zip(*rows)):
                assert together.shape == (3, *alone[0].shape)
                expected = np.stack([r.detach().numpy() for r in alone])
                assert_allclose(together.detach().numpy(), expected, rtol=1e-9, atol=1e-11)


def test_several_outputs_inputs_and_unused_ones():
    x, y, u = leaf(), leaf(), leaf()
    zs = (x * y).sin(), (x**2).sum()
    gs = EYE, tape.tensor([1.0, 2.0, 3.0])
    a, b, none = grad(zs, (x, y, u), gs, is_grads_batched=True, allow_unused=True, retain_graph=True)
    cosine = np.cos(X * X)
    assert_allclose(a, np.diag(cosine * X) + np.outer([1, 2, 3], 2 * X))
    assert_allclose(b, np.diag(cosine * X))
    assert none is None
    zeros = grad(zs, (u,), gs, is_grads_batched=True, materialize_grads=True, retain_graph=True)[0]
    assert_array_equal(zeros, np.zeros((3, 3)))
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(zs, (u,), gs, is_grads_batched=True)


def test_the_graph_is_released_as_by_any_sweep():
    x = leaf()
    z = x.sin()
    grad(z, x, EYE, is_grads_batched=True)
    with pytest.raises(RuntimeError, match="second time"):
        grad(z, x, EYE, is_grads_batched=True)


def test_recorded_ones_are_differentiated_again():
    x = leaf()
    (rows,) = grad(x**3, x, EYE, is_grads_batched=True, create_graph=True)
    (again,) = grad(rows.sum(), x, create_graph=True)
    assert_allclose(again.detach(), 6 * X)
    weights = leaf()
    (rows,) = grad(x**3, x, tape.outer(X, weights), is_grads_batched=True, create_graph=True)
    assert_allclose(grad(rows.sum(), weights)[0], X.sum() * 3 * X**2)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (None, "needs a grad_outputs for every output"),
        (tape.tensor(1.0), "same leading length"),
        (tape.ones(2, 2), r"must have its shape \(3,\) behind"),
    ],
)
def test_weights_that_do_not_fit(weights, text):
    x = leaf()
    with pytest.raises(RuntimeError, match=text):
        grad(x * 2, x, weights, is_grads_batched=True)


def test_hooks_see_lanes():
    seen = []
    x = leaf()
    y = x.sin()
    y.register_hook(lambda g: seen.append(g.shape) or 2 * g)
    x.register_hook(lambda g: seen.append(g.shape))
    assert_allclose(grad(y * y, x, EYE, is_grads_batched=True)[0], np.diag(4 * np.sin(X) * np.cos(X)))
    assert seen == [(3,), (3,)]


def test_numbers_that_differ_from_lane_to_lane_decide_nothing():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g if g.sum() > 0 else -g)
    with pytest.raises(RuntimeError, match="data-dependent"):
        grad(y, x, EYE, is_grads_batched=True)


FUNCTIONS = {
    "vector": lambda x: x.sin() * x.sum(),
    "scalar": lambda x: (x**3).sum(),
    "matrix": lambda x: tape.outer(x, x.exp()),
    "two": lambda x: (x**2, x.sum()),
    "linear": lambda x: x * 2.0,
    "constant": lambda x: tape.ones(2),
}


def flat(found):
    return [x.detach().numpy() for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "how",
    [
        {"vectorize": True}, {"vectorize": True, "create_graph": True}, {"vectorize": True, "strategy": "forward-mode"},
        {"strategy": "forward-mode"}, {"strategy": "forward-mode", "create_graph": True},
    ],
    ids=str,
)  # fmt: skip
def test_jacobians_by_any_way(name, how):
    expected = flat(jacobian(FUNCTIONS[name], X))
    for found, block in zip(flat(jacobian(FUNCTIONS[name], X, **how)), expected, strict=True):
        assert_allclose(found, block, rtol=1e-12)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_vectorized_hessian(strategy):
    f = FUNCTIONS["scalar"]
    h = hessian(f, X, vectorize=True, outer_jacobian_strategy=strategy)
    assert_allclose(h, np.diag(6 * X))
    x = leaf()
    h = hessian(f, x, vectorize=True, create_graph=True, outer_jacobian_strategy=strategy)
    assert_allclose(grad(h.sum(), x)[0], [6.0, 6.0, 6.0])


def test_strict_and_vectorize_are_not_supported_together():
    for how in ({"vectorize": True}, {"strategy": "forward-mode"}):
        with pytest.raises(RuntimeError, match="not supported together"):
            jacobian(FUNCTIONS["vector"], X, strict=True, **how)
    with pytest.raises(RuntimeError, match="not supported together"):
        hessian(FUNCTIONS["scalar"], X, strict=True, vectorize=True)


def test_a_function_is_called_once_for_all_columns():
    calls = []
    jacfwd(lambda x: calls.append(x) or x.sin())(X)
    assert len(calls) == 1
    jacfwd(lambda x: calls.append(x) or x.sin(), chunk_size=2)(X)
    assert len(calls) == 3
    jacfwd(lambda x: calls.append(x) or x.sin(), chunk_size=1)(X)
    assert len(calls) == 6


def test_the_numbers_of_primals_may_decide():
    def f(x):
        for v in x:
            x = x * v if v > 0 else x - v.exp()
        return x.sum()

    slopes = jacrev(f)(X)
    assert_allclose(jacfwd(f)(X), slopes)
    h = tape.func.hessian(f)(X)
    assert_allclose(h, jacrev(jacrev(f), chunk_size=1)(X))
    assert_allclose(h, jacfwd(jacfwd(f))(X))


class Doubled(Function):
    """Its rules look at the numbers, so that they cannot be batched."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return 2 * g if g.sum().item() > 0 else g * 2

    @staticmethod
    def jvp(ctx, t):
        return 2 * t if t.sum().item() > 0 else t * 2


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_what_cannot_be_batched_goes_one_by_one(transform, chunk_size):
    found = transform(lambda x: Doubled.apply(x).sin(), chunk_size=chunk_size)(X)
    assert_allclose(found, np.diag(2 * np.cos(2 * X)))


def test_a_batch_pays_for_many_vectors_and_heavy_rows_not_for_long_histories():
    x, w = tape.ones(100, requires_grad=True), tape.randn(100, 100)
    short = (w @ x).tanh()
    long = x
    for _ in range(3000):
        long = long.sin()
    assert pays(short, 100, create=False)
    assert not pays(long, 10, create=False)
    assert pays(long, 10, create=True)
    assert not pays(short, 1, create=True)


def test_jacobians_within_jacobians_and_pullbacks_of_pullbacks():
    f = FUNCTIONS["vector"]
    expected = jacrev(jacrev(f), chunk_size=1)(X)
    for outer, inner in ((jacrev, jacfwd), (jacfwd, jacrev), (jacfwd, jacfwd), (jacrev, jacrev)):
        assert_allclose(outer(inner(f))(X), expected, rtol=1e-12, atol=1e-15)
    _, pull = vjp(f, X)
    assert_allclose(tape.vmap(pull)(EYE)[0], jacrev(f)(X))
    assert_allclose(jacrev(lambda g: pull(g)[0])(X).detach(), np.asarray(jacrev(f)(X)).T)


def test_without_the_jitted_sweep_too():
    program = (
        "import tape, numpy as np; x = tape.tensor([0.3, -0.7, 1.2]); f = lambda x: (x.sin() * x.sum()).cumsum(0);"
        "j = tape.func.jacrev(f); a, b = j(x), tape.func.jacrev(f, chunk_size=3)(x);"
        "np.testing.assert_allclose(a, b); np.testing.assert_allclose(tape.func.jacfwd(f)(x), b);"
        "np.testing.assert_allclose(tape.vmap(j)(tape.stack([x, 2 * x]))[0], a)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "TAPE_JIT": "0"})


def squared(x):
    y = x.clone()
    y *= x
    return (y * y).sum()


def written(x):
    y = x.sin()
    y[1] = x[0] * x[2]
    y += x
    y *= x
    return (y * x).prod() + y.sum()


@pytest.mark.parametrize("f", [squared, written])
def test_in_place_changes_between_lanes_and_what_they_share(f):
    """The lanes of a shared tensor are those that it had when they were used."""
    expected = jacrev(jacrev(f), chunk_size=1)(X)
    for outer, inner in ((jacrev, jacfwd), (jacfwd, jacrev), (jacfwd, jacfwd), (jacrev, jacrev)):
        for how in ({}, {"chunk_size": 1}):
            assert_allclose(outer(inner(f, **how))(X), expected, rtol=1e-9, atol=1e-12)
    shared = tape.vmap(tape.func.hessian(lambda w, x: f(w * x)), in_dims=(None, 0))
    rows = [jacrev(jacrev(lambda w, x=x: f(w * x)), chunk_size=1)(X) for x in EYE + 1.0]
    assert_allclose(shared(X, EYE + 1.0), tape.stack(rows), rtol=1e-9, atol=1e-12)
