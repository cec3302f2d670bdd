"""Rows of memory inside `vmap`: a lane lies as it would alone, so that views of it are views."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape

BATCH = np.random.default_rng(3).normal(size=(2, 3, 4))

MADE = {
    "filled": lambda x: _filled(np.zeros(x.shape), x), "computed": lambda x: x * 2, "turned": lambda x: x.T * 2,
    "copied": lambda x: x.copy(), "in columns": lambda x: np.asfortranarray(x * 2), "like": np.zeros_like,
    "part": lambda x: (x * 2)[:, ::2], "outer": lambda x: np.outer(x[0], x[1]),
}  # fmt: skip
SEEN = {
    "ravel": lambda y: y.ravel(), "ravel F": lambda y: y.ravel("F"), "ravel K": lambda y: y.ravel("K"),
    "ravel A": lambda y: y.ravel("A"), "turned": lambda y: y.T.ravel(), "reshape": lambda y: y.reshape(-1),
    "reshape F": lambda y: y.reshape(-1, order="F"), "flatten": lambda y: y.flatten(),
    "turned reshape": lambda y: y.T.reshape(-1),
}  # fmt: skip


def _filled(y, x):
    y[:] = x
    return y


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("seen", SEEN)
def test_a_write_through_a_row_reaches_what_it_reaches_alone(made, seen, axis):
    def program(x):
        y = MADE[made](x)
        SEEN[seen](y)[2] = 5.0 * x[0, 0]
        return y

    lanes = [np.ascontiguousarray(x) for x in np.moveaxis(BATCH, axis, 0)]
    assert_array_equal(tape.vmap(program, in_dims=axis)(BATCH), np.stack([program(x) for x in lanes]))
