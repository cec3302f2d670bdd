"""What is a view and what a copy, where that depends on an index or on how memory lies."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape


@pytest.mark.parametrize("index", [True, np.True_, (None, True), False])
@pytest.mark.parametrize("changes", ["what was read", "what it was read of"])
def test_a_number_that_is_read_by_a_mask_is_copied(index, changes):
    """Whether it lies in memory of its own yet or not."""
    x = tape.tensor(2.0, requires_grad=True)
    z = x * 1
    v = z[index]
    assert not v._is_view()
    (v if changes == "what was read" else z).mul_(3)
    (z * z + (v * v).sum()).backward()
    of_z, of_v = (4.0, 36.0) if changes == "what was read" else (36.0, 4.0)
    assert x.grad.item() == of_z + of_v * v.numel()


IN_COLUMNS = {
    "softmax": lambda x: tape.softmax(x.t(), 1), "joined": lambda x: tape.cat([x.t(), x.t()]),
    "sums": lambda x: x.t().cumsum(0), "rolled": lambda x: tape.roll(x.t(), (1, 0), (0, 1)),
    "cumulative": lambda x: x.t().cummax(0)[0], "product": lambda x: x.t() * 2,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("make", IN_COLUMNS.values(), ids=IN_COLUMNS)
@pytest.mark.parametrize("tracked", [False, True])
def test_a_view_of_what_does_not_lie_in_rows_shows_its_memory(make, tracked):
    """PyTorch has most of them in rows; NumPy lays them out as their operands are."""

    def through_the_view(x):
        z = make(x)
        z.view(-1)[:3].mul_(0)
        return z

    def seen_in_the_view(x):
        z = make(x)
        v = z.view(-1)
        z[0].mul_(0)
        return v.view(z.shape)

    def as_a_copy(x):
        z = make(x)
        return tape.cat([z[:1] * 0, z[1:]])

    whole = lambda x: make(x).view(-1)  # noqa: E731
    assert tape.vmap(whole)(tape.ones(2, 3, 4)).shape == (2, make(tape.ones(3, 4)).numel())
    assert tape.func.jacfwd(whole)(tape.ones(3, 4)).shape[1:] == (3, 4)
    x = tape.arange(12.0).reshape(3, 4).requires_grad_(tracked)
    expected, saves = as_a_copy(x), make is IN_COLUMNS["softmax"]
    for f in (through_the_view, seen_in_the_view):
        for g in (f, tape.compile(f)):
            for _ in range(2):
                found = g(x)
                assert found.tolist() == expected.tolist()
                if tracked and saves and g is f:  # programs save what they need by themselves
                    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                        (found * found).sum().backward()
                elif tracked:
                    gradients = [tape.autograd.grad((z * z).sum(), x, retain_graph=True)[0] for z in (found, expected)]
                    assert_allclose(*[x_bar.numpy() for x_bar in gradients], rtol=1e-13 if saves else 0.0)
