"""Every rule of the registry against differences, complex steps, its own transpose, and itself at second order."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import (
    DIFFERENTIABLE,
    ELEMENTWISE,
    active,
    adjoints_for,
    along,
    directions,
    draw,
    inner,
    moved,
    results,
    samples,
    single,
    single_params,
    vjps,
)
from second_order import second_order_agrees

import tape
from ops import REGISTRY

every_op = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)


@every_op
def test_vjp_agrees_with_differences(op):
    rng = np.random.default_rng(1)
    for operands, params in samples(op):
        ts = directions(op, operands, rng)
        gs = adjoints_for(op(*operands, **params), rng)
        bars = vjps(op, operands, params, gs, list(ts))
        expected = along(op, operands, params, ts, gs)
        assert_allclose(inner(bars, ts.values()), expected, rtol=2e-6, atol=1e-7, err_msg=f"{params}")


@every_op
def test_vjp_has_the_shape_and_dtype_of_its_operand(op):
    rng = np.random.default_rng(2)
    for operands, params in samples(op):
        singles = tuple(map(single, operands))
        given = single_params(op, params)
        z = op(*singles, **given)
        gs = [g if g is None else single(g) for g in adjoints_for(z, rng)]
        assert all(p is None or p.dtype in (np.float32, np.complex64) for p in results(z)), "the result"
        positions = active(op, singles)
        precise = vjps(op, operands, params, gs, positions)
        for i, bar, exact in zip(positions, vjps(op, singles, given, gs, positions), precise):
            assert bar.shape == np.shape(singles[i])
            assert bar.dtype == singles[i].dtype, f"operand {i}"
            assert_allclose(bar, exact, rtol=5e-3, atol=2e-3)


@every_op
def test_jvp_is_the_transpose_of_vjp(op):
    rng = np.random.default_rng(3)
    for operands, params in samples(op):
        ts = directions(op, operands, rng)
        z = op(*operands, **params)
        gs = adjoints_for(z, rng)
        tangents = [ts.get(i) for i in range(len(operands))]
        with np.errstate(all="ignore"):
            z_dot = op.jvp(operands, tangents, z, params)
        z_dots = z_dot if isinstance(z_dot, tuple) else (z_dot,)
        for p, d in zip(results(z), z_dots):
            assert p is None or d is None or np.shape(d) == np.shape(p)
        bars = vjps(op, operands, params, gs, list(ts))
        assert_allclose(inner(gs, z_dots), inner(bars, ts.values()), rtol=1e-9, atol=1e-10, err_msg=f"{params}")


@every_op
def test_jvp_with_respect_to_one_operand_at_a_time(op):
    rng = np.random.default_rng(4)
    operands, params = samples(op)[0]
    z = op(*operands, **params)
    gs = adjoints_for(z, rng)
    for i, t in directions(op, operands, rng).items():
        with np.errstate(all="ignore"):
            z_dot = op.jvp(operands, [t if k == i else None for k in range(len(operands))], z, params)
        z_dots = z_dot if isinstance(z_dot, tuple) else (z_dot,)
        (bar,) = vjps(op, operands, params, gs, [i])
        assert_allclose(inner(gs, z_dots), inner([bar], [t]), rtol=1e-9, atol=1e-10)


@every_op
def test_second_order_agrees_with_differences_of_the_vjp(op):
    """∂⟨x_bar, t⟩ by recording the rules, against the change of x_bar along t and the tangent of z along t."""
    rng = np.random.default_rng(5)
    for operands, params in samples(op):
        ts = directions(op, operands, rng)
        gs = adjoints_for(op(*operands, **params), rng)
        us = directions(op, operands, rng)
        second_order_agrees(op, operands, params, ts, us, gs)


def complex_step(op, operands, params, ts, gs):
    """Im f(x + ih t) / h, or None where f does not take complex numbers."""
    h = 1e-30
    if any(np.iscomplexobj(x) for x in (*operands, *gs)):
        return None
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            zs = op.forward(*moved(operands, ts, 1j * h), **params)
    except (TypeError, ValueError, np.exceptions.ComplexWarning):
        return None
    zs = zs if isinstance(zs, tuple) else (zs,)
    if not any(np.iscomplexobj(z) for z in zs):
        return None
    return inner(gs, [np.imag(z) / h if g is not None else None for g, z in zip(gs, zs)])


def test_vjp_agrees_with_complex_steps():
    """To the last digits, wherever the forward is analytic: where it agrees with differences roughly."""
    settled = set()
    for op in DIFFERENTIABLE:
        rng = np.random.default_rng(6)
        for operands, params in samples(op):
            ts = directions(op, operands, rng)
            gs = adjoints_for(op(*operands, **params), rng)
            step = complex_step(op, operands, params, ts, gs)
            rough = along(op, operands, params, ts, gs)
            if step is None or not np.isclose(step, rough, rtol=1e-5, atol=1e-6):
                continue
            settled.add(op.name)
            bars = vjps(op, operands, params, gs, list(ts))
            assert_allclose(inner(bars, ts.values()), step, rtol=1e-11, atol=1e-12, err_msg=op.name)
    assert len(settled) > 80, sorted(settled)
    assert {"exp", "log", "tanh", "pow", "matmul", "inv", "contract", "cumprod", "prod"} <= settled


@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_what_does_not_matter_gets_an_exact_zero(op):
    """A zero adjoint gives zero, also at points where the partial is infinite or nan."""
    points = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        operands = np.meshgrid(*[points] * len(op.domain))
        z = op(*operands)
        for bar in vjps(op, operands, {}, [np.zeros_like(z)], active(op, operands)):
            assert_allclose(bar, 0.0)


@pytest.mark.parametrize("factor", [0.0, np.zeros(3)], ids=["number", "array"])
def test_a_factor_of_zero_gives_no_number_for_what_is_none(factor):
    """Only a partial that is zero whatever the operands are drops an adjoint: 0·nan and 0·∞ are nan, as in NumPy."""
    g = np.array([np.nan, np.inf, 1.0])
    (pulled,) = tape.func.vjp(lambda x: x * factor, np.ones(3))[1](g)
    compiled = tape.compile(lambda x, g: tape.func.vjp(lambda x: x * x[0] * factor / 2.0, x)[1](g))
    np.testing.assert_array_equal(pulled, [np.nan, np.nan, 0.0])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(compiled(np.ones(3), g)[0], [np.nan, np.nan, 0.0])


@pytest.mark.parametrize("op", [op for op in ELEMENTWISE if op.name != "output"], ids=lambda op: op.name)
def test_domain_is_kept_by_the_samples(op):
    rng = np.random.default_rng(7)
    with np.errstate(all="raise"):
        z = op(*draw(op, rng, [(50,)] * len(op.domain)))
    assert np.isfinite(z).all()


def test_results_of_svd_and_eigh_in_part():
    """Each result alone may carry the gradient; the others have none."""
    for name in ("svd", "eigh", "qr", "slogdet", "sort"):
        op = REGISTRY[name]
        for operands, params in samples(op):
            rng = np.random.default_rng(8)
            ts = directions(op, operands, rng)
            every = adjoints_for(op(*operands, **params), rng)
            for k, g in enumerate(every):
                if g is None:
                    continue
                gs = [g if i == k else None for i in range(len(every))]
                expected = along(op, operands, params, ts, gs)
                found = inner(vjps(op, operands, params, gs, list(ts)), ts.values())
                assert_allclose(found, expected, rtol=2e-6, atol=1e-7, err_msg=f"{name} {k}")
