"""Draws that depend on a tensor's numbers."""

import numpy as np
import pytest

import tape


@pytest.fixture(autouse=True)
def seed():
    tape.manual_seed(0)


def test_coins():
    p = tape.full((10000,), 0.3, dtype=tape.float32, requires_grad=True)
    drawn = p.bernoulli()
    assert drawn.dtype == tape.float32
    assert not drawn.requires_grad
    assert set(drawn.tolist()) == {0.0, 1.0}
    assert abs(drawn.mean().item() - 0.3) < 0.02
    assert abs(tape.zeros(10000).bernoulli(0.8).mean().item() - 0.8) < 0.02
    for wrong in (lambda: tape.tensor([1.5]).bernoulli(), lambda: tape.zeros(1).bernoulli(-0.1)):
        with pytest.raises(RuntimeError, match="probabilities between 0 and 1"):
            wrong()


def test_counts():
    drawn = tape.full((10000,), 3.0).poisson()
    assert abs(drawn.mean().item() - 3) < 0.1
    assert abs(drawn.var().item() - 3) < 0.2


def test_choices():
    weights = tape.tensor([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0]])
    drawn = weights.multinomial(4000, replacement=True)
    assert drawn.shape == (2, 4000)
    np.testing.assert_array_equal(drawn[1].numpy(), 0)
    assert abs((drawn[0] == 2).double().mean().item() - 0.75) < 0.03
    assert sorted(tape.ones(5).multinomial(5).tolist()) == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="cannot draw 2 places without replacement"):
        weights.multinomial(2)
    with pytest.raises(RuntimeError, match="at least 0, and not all 0"):
        tape.zeros(2).multinomial(1)
