"""Sums of products lie in memory as PyTorch's do, pair after pair, whether or not `opt_einsum` chooses the pairs."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tape
from ops.algebra import contraction

torch = pytest.importorskip("torch")


def program(r):
    """Subscripts, and operands as arrays that lie in some order of their axes, a few with gaps."""
    letters = "abcde"[: r.randint(2, 5)]
    sizes = {c: r.choice([1, 2, 3, 4]) for c in letters}
    terms = [r.sample(letters, r.randint(0, min(3, len(letters)))) for _ in range(r.choice([2, 3, 3, 4]))]
    terms = [[*term, r.choice(term)] if term and r.random() < 0.12 else term for term in terms]
    used = sorted({c for term in terms for c in term})
    subscripts = f"{','.join(map(''.join, terms))}->{''.join(r.sample(used, r.randint(0, len(used))))}"
    arrays = []
    for term in terms:
        order = r.sample(range(len(term)), len(term))
        made = np.random.default_rng(r.randrange(9)).normal(
            size=[sizes[term[k]] for k in order] + [r.choice([1, 1, 2])]
        )
        arrays.append((made, [order.index(k) for k in range(len(term))]))
    return subscripts, arrays


def outcome(library, subscripts, arrays):
    operands = [
        library.tensor(made)[..., 0].permute(*back) if back else library.tensor(made)[0] for made, back in arrays
    ]
    z = library.einsum(subscripts, *operands)
    return z.numpy(), [(n, step) for n, step in zip(z.shape, z.stride()) if n != 1]


@pytest.mark.parametrize("by_opt_einsum", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_strides_are_pytorchs(seed, by_opt_einsum, monkeypatch):
    if by_opt_einsum and not torch.backends.opt_einsum.is_available():
        pytest.skip("opt_einsum is not installed")
    if not by_opt_einsum:
        monkeypatch.setattr(contraction, "_contract_path", lambda: None)
    contraction._order_of_contraction.cache_clear()
    monkeypatch.setattr(torch.backends.opt_einsum, "enabled", by_opt_einsum)
    r = random.Random(seed)
    for _ in range(75):
        drawn = program(r)
        (z, steps), (expected, theirs) = outcome(tape, *drawn), outcome(torch, *drawn)
        np.testing.assert_allclose(z, expected, rtol=1e-10, atol=1e-12)
        assert steps == theirs, drawn[0]
