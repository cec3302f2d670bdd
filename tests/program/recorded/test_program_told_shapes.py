"""Results whose shape depends on the numbers: a program holds for one length, another for another."""

from __future__ import annotations

import numpy as np
import pytest

import tape

MASK = "x > 0.3"
LENGTHS = """
len(np.argwhere(M)) | np.argwhere(M).shape[0] | np.flatnonzero(M).size | np.nonzero(M)[0].shape[0] | len(M.nonzero()[0])
sum(1 for row in np.argwhere(M)) | np.transpose(np.nonzero(M)).shape[0] | np.vstack(np.nonzero(M)).shape[1]
np.take(x, np.flatnonzero(M)).size | np.nonzero(np.argwhere(M))[0].size | len(np.where(M)[0]) | len(x[M])
len(np.bincount(np.abs(np.round(x * 3)).astype(int))) | len(np.unique(np.round(x))) | len(np.extract(M, x))
len(np.bincount(M.astype(int), minlength=2)) | len(np.repeat(x, M.astype(int))) | len(np.delete(x, M))
np.trim_zeros(np.where(M, x, 0.0)).size | len(np.split(x, np.nonzero(M)[0])) | len(np.insert(x, np.flatnonzero(M), 1.0))
"""
PROGRAMS = [piece.strip() for line in LENGTHS.strip().splitlines() for piece in line.split(" | ")]
INPUTS = [*np.array([[0.5, -1.0, 0.2], [0.5, 1.0, -0.2], [-1.0, -0.5, 0.1], [2.0, 1.0, 0.4], [0.1, 0.9, -3.0]])]


@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_a_length_is_that_of_the_call(program):
    space = {"np": np}
    f = eval(f"lambda x: x[0] * {program.replace('M', f'({MASK})')}", space)
    fast = tape.compile(f)
    for x in (*INPUTS, *INPUTS):
        assert fast(x) == f(x), program


def test_loops_over_indices_write_where_they_say():
    def f(x, y):
        w = np.zeros((2, 3))
        for (j,) in np.argwhere(x > 0.3):
            w[j % 2] += y[j]
        for j in np.flatnonzero(x < 0):
            w[0, j] = y[j] * x[j]
        return (w * w).sum()

    fast = tape.compile(tape.func.grad(f, (0, 1)))
    for x in (*INPUTS, *INPUTS):
        for found, expected in zip(fast(x, x + 1), tape.func.grad(f, (0, 1))(x, x + 1)):
            np.testing.assert_allclose(found, expected)
    assert sum(p.replays for p in fast.programs) >= len(INPUTS)


@pytest.mark.parametrize("program", ["tape.nonzero(x)", "tape.masked_select(x, x > 0)", "x[x > 0]"])
def test_tensors_too(program):
    f = eval(f"lambda x: {program}.shape[0] * x.sum()", {"tape": tape})
    fast = tape.compile(f)
    for x in map(tape.tensor, ([1.0, -1.0], [1.0, 2.0], [-1.0, -2.0], [0.0, 3.0])):
        assert fast(x).item() == f(x).item()
