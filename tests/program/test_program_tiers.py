"""Random programs of numbers, arrays and matrix products: every tier gives what is computed eagerly."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

TIERS = (None, "interpret", "quick", "optimised")


def unary(r, x):
    return r.choice([tape.sin, tape.tanh, tape.abs, lambda x: -x, lambda x: 1.0 / tape.sqrt(x * x + 1.0)])(x)


def binary(r, x, y):
    ways = [
        lambda: x + y, lambda: x - y, lambda: x * y * 0.5, lambda: x / (y * y + 1.0),
        lambda: tape.maximum(x, y), lambda: tape.where(x > y, x, y * 0.7),
    ]  # fmt: skip
    return r.choice(ways)()


def reduced(r, x):
    if not x.ndim or r.random() < 0.5:
        return x.sum()
    return r.choice([tape.sum, tape.mean])(x, r.randrange(x.ndim), keepdim=r.random() < 0.5)


def moved(r, x):
    """Indexing, reshaping, joining."""
    if not x.ndim:
        return tape.reshape(x, (1,) * r.randint(1, 2))
    k = r.randrange(-x.shape[0], x.shape[0])
    ways = [lambda: x[k], lambda: x[k:], lambda: tape.reshape(x, (-1,)), lambda: x.T if x.ndim == 2 else x]
    ways += [lambda: tape.cat([x, x * 2.0]), lambda: tape.stack([x, x]) if x.ndim < 2 else x]
    return r.choice(ways)()


def of_matrices(r, x):
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        return x * 0.3
    square = x @ x.T
    return tape.linalg.inv(square + tape.eye(len(x), dtype=x.dtype)) if r.random() < 0.5 else square * 0.3


def program(seed):
    """A function of a matrix and a number, which gives a number."""

    def f(d, c):
        r = random.Random(seed)
        pool = [d, c, d[0, 0], d[1]]
        for _ in range(r.randint(4, 12)):
            x, y = r.choice(pool), r.choice(pool)
            how = r.choice([unary, binary, binary, reduced, moved, of_matrices])
            try:
                made = how(r, x, y) if how is binary else how(r, x)
            except RuntimeError:  # shapes that do not go together
                continue
            if made.numel():
                pool.append(made)
        total = sum(z.sum() for z in r.sample(pool, 3)) + pool[-1].sum()
        return tape.sin(total) + 0.1 * total

    return f


@pytest.mark.parametrize("seed", range(16))
def test_tiers_agree(seed):
    rng = np.random.default_rng(seed)
    d, c = tape.tensor(rng.standard_normal((3, 3))), tape.tensor(rng.standard_normal())
    f = tape.func.grad_and_value(program(seed), argnums=(0, 1))
    (d_bar, c_bar), value = f(d, c)
    for tier in TIERS:
        fast = tape.compile(f, tier=tier)
        for _ in range(2):
            (found, found_c), z = fast(d, c)
            assert_allclose(found.numpy(), d_bar.numpy(), rtol=1e-9, atol=1e-9)
            assert_allclose([found_c.item(), z.item()], [c_bar.item(), value.item()], rtol=1e-9, atol=1e-9)
            for made in fast.programs:
                made.counter.value = 10**7  # the next tier is due


@pytest.mark.parametrize("tier", TIERS)
def test_numbers_with_and_without_axes_are_packed_together(tier):
    def f(x):
        y = tape.sin(x[:1] * 2.0)
        z = tape.cos(x.sum())
        return tape.cat([y, tape.reshape(z, (1,)), y * z]) * 3.0, tape.stack([z, z * y[0]])

    x = tape.tensor([0.5, 1.5])
    fast = tape.compile(f, tier=tier)
    for _ in range(2):
        for found, expected in zip(fast(x), f(x), strict=True):
            assert_allclose(found.numpy(), expected.numpy())


@pytest.mark.parametrize("tier", TIERS)
def test_a_gradient_that_packs_numbers_of_several_shapes(tier):
    """The adjoint of an index along an axis whose entries have axes of length one."""

    def f(d):
        q = tape.tanh((tape.mean(d, 1, keepdim=True) + 1.73)[-3])
        return tape.sin(tape.linalg.inv(d @ d.T + tape.eye(3)).sum() + q.sum())

    d = tape.tensor(np.arange(9.0).reshape(3, 3) / 5)
    expected = tape.func.grad(f)(d)
    assert_allclose(tape.compile(tape.func.grad(f), tier=tier)(d).numpy(), expected.numpy(), rtol=1e-9)
