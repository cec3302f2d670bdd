"""Functions that say in one line what others compute, beside PyTorch's: values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from peer import torch

import tape

CALLS = {
    "trapz": lambda m, x, y: m.trapz(x, y.cumsum(1)), "row_stack": lambda m, x, y: m.row_stack([x, y]),
    "ger": lambda m, x, y: m.ger(x[0], y[1]), "ger as a method": lambda m, x, y: x[0].ger(y[1]),
    "detach": lambda m, x, y: m.detach(x) * y, "rsub": lambda m, x, y: m.rsub(x, y, alpha=2),
    "rsub of a number": lambda m, x, y: m.rsub(x, 3.0), "scalar_tensor": lambda m, x, y: x * m.scalar_tensor(2.5),
    "cumulative_trapezoid": lambda m, x, y: m.cumulative_trapezoid(x, dx=0.5),
    "cumulative_trapezoid at": lambda m, x, y: m.cumulative_trapezoid(x, y, dim=0),
    "cumulative_trapezoid at one": lambda m, x, y: m.cumulative_trapezoid(x, y[0]),
    "cosine_similarity": lambda m, x, y: m.cosine_similarity(x, y),
    "cosine_similarity along": lambda m, x, y: m.cosine_similarity(x, y[0], dim=-1),
    "cosine_similarity of zeros": lambda m, x, y: m.cosine_similarity(x * 0.0, y, dim=0) + x.sum(),
    "pairwise_distance": lambda m, x, y: m.pairwise_distance(x, y, p=3.0, keepdim=True),
    "pdist": lambda m, x, y: m.pdist(x), "pdist of few": lambda m, x, y: m.pdist(x[:2], p=1.0),
    "cartesian_prod": lambda m, x, y: m.cartesian_prod(x[0], y[1, :2]),
    "cartesian_prod of one": lambda m, x, y: m.cartesian_prod(x[0]),
    "combinations": lambda m, x, y: m.combinations(x[0]),
    "all combinations": lambda m, x, y: m.combinations(x[0], 3, True),
    "block_diag": lambda m, x, y: m.block_diag(x, y[0], y[:2, :1], x[0, 0]),
    "chain_matmul": lambda m, x, y: m.chain_matmul(x, y.mT, x),
    "celu": lambda m, x, y: m.celu(x, 0.5), "selu": lambda m, x, y: m.selu(x),
    "hardshrink": lambda m, x, y: x.hardshrink(0.3),
    "threshold": lambda m, x, y: m.threshold(x, 0.1, 20.0), "prelu": lambda m, x, y: m.prelu(x, y[0]),
    "prelu of one": lambda m, x, y: x.prelu(y[0, :1]), "pinverse": lambda m, x, y: x.pinverse(),
    "mvlgamma_": lambda m, x, y: (x.abs() + 3).mvlgamma_(2),
}  # fmt: skip
NUMBERS = np.sin(np.arange(24.0) ** 2).reshape(2, 3, 4)


@pytest.mark.filterwarnings("ignore:.*(chain_matmul|cross):UserWarning")
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name):
    def computed(m):
        x, y = (m.tensor(part.tolist(), dtype=m.float64, requires_grad=True) for part in NUMBERS)
        z = CALLS[name](m, x, y)
        (z * z.detach().cos()).sum().backward()
        return [np.zeros((3, 4)) if v is None else np.array(v.tolist()) for v in (z, x.grad, y.grad)]

    for ours, theirs in zip(computed(tape), computed(torch)):
        assert ours.shape == theirs.shape
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_places():
    for name in ("tril_indices", "triu_indices"):
        for arguments in ((3, 3), (2, 4, 1), (4, 2, -1), (0, 3)):
            assert getattr(tape, name)(*arguments).tolist() == getattr(torch, name)(*arguments).tolist()
    assert tape.detach(tape.ones(1, requires_grad=True)).is_leaf
