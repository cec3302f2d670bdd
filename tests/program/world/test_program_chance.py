"""Whether a function drew random numbers is seen by the state of the generators, however that is read."""

from __future__ import annotations

import numpy as np
import pytest

from tape.program.capture.chance import Chance, state_of

# ruff: noqa: NPY002  (what all share is what is tested)


@pytest.fixture(autouse=True)
def _as_before():
    generator, state = np.random.get_bit_generator(), np.random.get_state()
    yield
    np.random.set_bit_generator(generator)
    np.random.set_state(state)


def drawn(draw) -> bool:
    """Whether a draw is noticed, and undone."""
    before = repr(np.random.get_state(legacy=False))
    chance = Chance([])
    draw()
    noticed = chance.rewind()
    assert repr(np.random.get_state(legacy=False)) == before
    return noticed


@pytest.mark.parametrize("draw", [np.random.rand, np.random.normal, lambda: np.random.permutation(5)])
def test_draws_are_noticed_and_undone(draw):
    np.random.seed(3)
    assert not drawn(lambda: None)
    assert drawn(draw)


def test_half_of_a_pair_of_normal_numbers_may_be_left_over():
    np.random.seed(3)
    np.random.normal()
    words = np.random.get_state()[1:3]
    assert drawn(np.random.normal)  # which takes what is left, and leaves the words as they are
    np.random.normal()
    np.testing.assert_equal(np.random.get_state()[1:3], words)
    assert not drawn(lambda: None)


def test_another_generator_in_the_place_of_the_usual_one():
    np.random.set_bit_generator(np.random.PCG64(3))
    assert isinstance(state_of(np.random)[0], str)
    assert not drawn(lambda: None)
    assert drawn(np.random.rand)
