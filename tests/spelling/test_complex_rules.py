"""Every op that has a meaning for complex numbers, off the real axis: its rules against differences and each other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import (
    DIFFERENTIABLE,
    active,
    adjoints_for,
    along,
    directions,
    in_the_plane as off_the_axis,
    inner,
    noise,
    results,
    single,
    single_params,
    vjps,
)
from second_order import second_order_agrees

import tape
from ops import REGISTRY
from ops.core.op import ADJOINT, HOLOMORPHIC
from tape import autograd
from tape.autograd import forward_ad

VECTORS = {"eigh", "svd"}
"""Their vectors have phases that nothing determines; tested with losses that do not depend on them."""


@cache
def in_the_plane(op):
    """The samples that the op takes: both parts of `complex` must be real, and both operands of `index_put` alike."""
    return [case for case in off_the_axis(op) if takes(op, *case)]


def takes(op, operands, params):
    try:
        op(*operands, **params)
    except RuntimeError:
        return False
    return True


MEANT = [op for op in DIFFERENTIABLE if op.complex and op.name not in VECTORS and in_the_plane(op)]
every_op = pytest.mark.parametrize("op", MEANT, ids=lambda op: op.name)


def test_there_are_many():
    names = {op.name for op in MEANT}
    assert len(names) > 100
    assert {"mul", "exp", "pow", "abs", "matmul", "contract", "inv", "det", "prod", "cumprod", "vector_norm"} <= names


@every_op
def test_vjp_agrees_with_differences(op):
    """Along a random complex direction, so along the real and the imaginary axis."""
    rng = np.random.default_rng(1)
    for operands, params in in_the_plane(op):
        for turn in (1.0,) if op.symmetric else (1.0, 1j):
            ts = {i: t * turn if np.iscomplexobj(t) else t for i, t in directions(op, operands, rng).items()}
            gs = adjoints_for(op(*operands, **params), rng)
            bars = vjps(op, operands, params, gs, list(ts))
            expected = along(op, operands, params, ts, gs)
            assert_allclose(inner(bars, ts.values()), expected, rtol=2e-6, atol=1e-7, err_msg=f"{params}")


@every_op
def test_jvp_is_the_adjoint_of_vjp(op):
    """⟨g, Jẋ⟩ = ⟨Jᴴg, ẋ⟩ with ⟨u, v⟩ = Re Σ conj(u) v."""
    rng = np.random.default_rng(2)
    for operands, params in in_the_plane(op):
        ts = directions(op, operands, rng)
        z = op(*operands, **params)
        gs = adjoints_for(z, rng)
        with np.errstate(all="ignore"):
            z_dot = op.jvp(operands, [ts.get(i) for i in range(len(operands))], z, params)
        z_dots = z_dot if isinstance(z_dot, tuple) else (z_dot,)
        for p, d in zip(results(z), z_dots):
            assert p is None or d is None or (np.shape(d), np.iscomplexobj(d)) == (np.shape(p), np.iscomplexobj(p))
        bars = vjps(op, operands, params, gs, list(ts))
        assert_allclose(inner(gs, z_dots), inner(bars, ts.values()), rtol=1e-9, atol=1e-10, err_msg=f"{params}")


@every_op
def test_adjoints_are_real_where_the_operand_is_and_keep_its_precision(op):
    rng = np.random.default_rng(3)
    for operands, params in in_the_plane(op):
        singles = tuple(map(single, operands))
        given = single_params(op, params, np.complex64)
        z = op(*singles, **given)
        assert all(p is None or p.dtype in (np.float32, np.complex64) for p in results(z))
        gs = [g if g is None else single(g) for g in adjoints_for(z, rng)]
        positions = active(op, singles)
        precise = vjps(op, operands, params, gs, positions)
        for i, bar, exact in zip(positions, vjps(op, singles, given, gs, positions), precise):
            assert (bar.shape, bar.dtype) == (np.shape(singles[i]), singles[i].dtype)
            assert_allclose(bar, exact, rtol=5e-3, atol=4e-3)


@every_op
def test_second_order_agrees_with_differences_of_the_vjp(op):
    rng = np.random.default_rng(4)
    for operands, params in in_the_plane(op):
        ts, us = directions(op, operands, rng), directions(op, operands, rng)
        gs = adjoints_for(op(*operands, **params), rng)
        second_order_agrees(op, operands, params, ts, us, gs)


def recorded(op, operands, params):
    rng = np.random.default_rng(5)
    positions = active(op, operands)
    xs = [tape.tensor(x, requires_grad=True) if i in positions else x for i, x in enumerate(operands)]
    z = op(*xs, **params)
    zs = [p for p in (z if isinstance(z, tuple) else (z,)) if p.dtype.kind in "fc"]
    return [xs[i] for i in positions], zs, [noise(p.detach().numpy(), rng) for p in zs]


@every_op
@pytest.mark.parametrize("create_graph", [False, True], ids=["jitted", "recorded"])
def test_both_sweeps_run_the_rules(op, create_graph):
    for operands, params in in_the_plane(op):
        leaves, zs, gs = recorded(op, operands, params)
        bars = autograd.grad(zs, leaves, [tape.tensor(g) for g in gs], create_graph=create_graph)
        rest = iter(gs)
        in_place = [None if p is None else next(rest) for p in results(op(*operands, **params))]
        expected = vjps(op, operands, params, in_place, active(op, operands))
        for x, bar, w in zip(leaves, bars, expected, strict=True):
            assert bar.dtype == x.dtype
            assert_allclose(bar.detach().numpy(), w, rtol=1e-9, atol=1e-10, err_msg=f"{params}")


@every_op
def test_forward_mode_runs_the_rules(op):
    rng = np.random.default_rng(6)
    for operands, params in in_the_plane(op):
        ts = directions(op, operands, rng)
        with forward_ad.dual_level():
            xs = [
                forward_ad.make_dual(tape.tensor(x), tape.tensor(ts[i])) if i in ts else x
                for i, x in enumerate(operands)
            ]
            z = op(*xs, **params)
            found = [forward_ad.unpack_dual(p).tangent for p in (z if isinstance(z, tuple) else (z,))]
        z = op(*operands, **params)
        with np.errstate(all="ignore"):
            expected = op.jvp(operands, [ts.get(i) for i in range(len(operands))], z, params)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for p, tangent, w in zip(results(z), found, expected, strict=True):
            if p is None or tangent is None:
                continue
            assert tangent.dtype == p.dtype
            assert_allclose(tangent.numpy(), w, rtol=1e-9, atol=1e-10, err_msg=f"{params}")


REFUSE = [op for op in REGISTRY.values() if not op.complex and op.kind in ("elementwise", "plain")]


@pytest.mark.parametrize("op", REFUSE, ids=lambda op: op.name)
def test_an_op_without_complex_meaning_says_so(op):
    x = tape.tensor([1 + 2j, 2 - 1j])
    params = {"n": 1} if "n" in op.params else {}
    with pytest.raises(RuntimeError, match="no meaning for complex numbers"):
        op(*[x] * op.arity, **params)


@pytest.mark.parametrize("op", [op for op in DIFFERENTIABLE if not op.complex and op.cases], ids=lambda op: op.name)
def test_a_general_op_without_complex_meaning_says_so(op):
    for operands, params in off_the_axis(op):
        with pytest.raises(RuntimeError, match="no meaning for complex numbers"):
            op(*map(tape.tensor, operands), **params)


def test_declarations_are_of_the_known_kinds():
    for op in REGISTRY.values():
        if op.kind == "plain":
            assert op.complex in (None, True), op.name
        elif op.differentiable:
            assert op.complex in (None, HOLOMORPHIC, ADJOINT), op.name
        if op.complex is HOLOMORPHIC:
            assert op.outputs == 1, f"{op.name}: the adjoints of several results cannot be conjugated as one"
            assert op.joint is None, op.name
