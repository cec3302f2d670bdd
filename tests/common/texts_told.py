"""What is told of numbers that are read back from the text of a value that carries a gradient."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.numpy.arrays.leaving import _told

X = np.array([1.25, 2.0])


def is_told_of(read):
    """What reads a text is warned of, in every mode, eagerly and compiled."""

    def program(x):
        return read(x) * x.sum()

    for transformation in (tape.func.grad, lambda f: tape.compile(tape.func.grad(f)), tape.func.jacfwd):
        _told.clear()
        with pytest.warns(UserWarning, match="makes a plain number of the text of a value that carries a gradient"):
            transformation(program)(X)


def lengthened(text):
    """What was put together before it is read."""
    return float(text)
