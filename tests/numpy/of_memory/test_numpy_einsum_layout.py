"""Sums of products that NumPy makes pair after pair lie in memory as it leaves them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape

WAYS = (True, "greedy", "optimal")


def program(r):
    """Subscripts, and operands that lie in some order of their axes, a few with gaps."""
    letters = "abcde"[: r.randint(2, 5)]
    sizes = {c: r.choice([1, 2, 3, 4]) for c in letters}
    terms = [r.sample(letters, r.randint(0, min(3, len(letters)))) for _ in range(r.choice([2, 2, 3, 4]))]
    used = sorted({c for term in terms for c in term})
    subscripts = f"{','.join(map(''.join, terms))}->{''.join(r.sample(used, r.randint(0, len(used))))}"
    arrays = []
    for term in terms:
        order = r.sample(range(len(term)), len(term))
        made = np.random.default_rng(r.randrange(9)).normal(size=[sizes[term[k]] for k in order] + [2])
        view = made[..., 0] if r.random() < 0.3 else made[..., 0].copy()
        arrays.append(view.transpose([order.index(k) for k in range(len(term))]))
    return subscripts, arrays


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("seed", range(8))
def test_pairs_lie_as_numpys_do(seed):
    r = random.Random(seed)
    for _ in range(25):
        subscripts, arrays = program(r)
        how = {"optimize": r.choice(WAYS)}

        def f(*xs, subscripts=subscripts, how=how):
            z = np.einsum(subscripts, *xs, **how)
            return z, z.ravel("K") * np.arange(z.size)

        expected, in_memory = f(*arrays)
        for found, also in (tape.func.vjp(f, *arrays)[0], tape.compile(f)(*arrays)):
            assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
            assert_allclose(also, in_memory, rtol=1e-10, atol=1e-12)
            steps = [[s for n, s in zip(z.shape, z.strides) if n > 1] for z in (found, expected)]
            assert steps[0] == steps[1], subscripts


def test_a_path_of_the_users_own():
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=shape) for shape in ((3, 4), (4, 5), (5, 6)))
    path = ["einsum_path", (1, 2), (0, 1)]

    def f(a, b, c):
        return np.einsum("ij,jk,kl->il", a, b, c, optimize=path).ravel("K") * np.arange(18)

    expected = f(a, b, c)
    for found in (tape.func.vjp(f, a, b, c)[0], tape.compile(f)(a, b, c)):
        assert_allclose(found, expected, rtol=1e-12)
