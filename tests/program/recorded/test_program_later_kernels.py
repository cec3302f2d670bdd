"""Kernels compute what only later ones read in these: nothing is written to be read once more, or kept for nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

import tape
from tape.program import record
from tape.program.plans.replay import KernelStep


def gray_scott(u, v):
    """Two steps of a reaction and its diffusion."""
    for _ in range(2):
        spread = [np.roll(z, 1, 0) + np.roll(z, -1, 1) - 2.0 * z for z in (u, v)]
        made = u * v * v
        u, v = u + 0.1 * spread[0] - made + 0.04 * (1.0 - u), v + 0.2 * spread[1] + made - 0.1 * v
    return u, v


def test_a_step_of_a_stencil_writes_its_results_alone():
    u, v = np.random.default_rng(0).random((2, 20, 20))
    made = record(gray_scott, u, v)
    kernels = [step for step in made.replay.steps if isinstance(step, KernelStep) and step.group.size > 1]
    assert [len(step.makes) for step in kernels] == [2, 2]
    for found, expected in zip(made(u, v), gray_scott(u, v), strict=True):
        assert_allclose(found, expected, rtol=1e-12)


def test_sums_of_products_do_not_wait_for_one_another():
    """Else all products would be kept to the end."""

    def f(W, x):
        h = x
        for _ in range(30):
            h = np.tanh(W @ h)
        return (h * h).sum()

    slope, W, x = tape.func.grad(f), np.eye(40) * 0.5, np.ones(40)
    made = record(slope, W, x)
    assert_allclose(made(W, x), slope(W, x), rtol=1e-9, atol=1e-12)
    assert made.replay.sweeper.plan.memory.nbytes < 6 * W.nbytes + 60 * 8 * x.nbytes


@settings(max_examples=8)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=14))
def test_random_programs_give_what_numpy_gives(rows):
    """Of elementwise records among others, in any order."""

    def f(x):
        values = [x, x * 0.5]
        for kind, i, j in rows:
            a, b = values[i % len(values)], values[j % len(values)]
            made = (
                a + b,
                a * b,
                np.tanh(a),
                a - 0.5 * b,
                np.roll(a, 1, 0),
                a - b.sum(axis=0),
                np.cumsum(a, axis=1) * 0.1,
            )
            values.append(np.tanh(made[kind]))
        return sum((k + 1.0) * z for k, z in enumerate(values[-3:])), values[-1].sum()

    x = np.random.default_rng(len(rows)).standard_normal((6, 20))
    made, slope = record(f, x), tape.func.grad(lambda x: f(x)[0].sum())
    for found, expected in zip(made(x), f(x), strict=True):
        assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert_allclose(record(slope, x)(x), slope(x), rtol=1e-8, atol=1e-9)
