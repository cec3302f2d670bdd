"""What the tests of `tape.func` differentiate, where, and how they compare what they get."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import tape

X = tape.tensor([0.3, -0.7, 1.2])
V = tape.tensor([1.0, 0.5, -2.0])


def value(x):
    return x.detach().numpy()


def close(x, y, **how):
    assert_allclose(value(x), value(y) if isinstance(y, tape.Tensor) else y, **{"rtol": 1e-9, "atol": 1e-10, **how})


def bumpy(x):
    """A scalar of a vector, made of operators, methods, functions, NumPy's functions, indices and a matrix."""
    m = x.reshape(-1, 1) * tape.arange(1.0, 4.0)
    return (np.sin(x) * x**3).sum(dim=0) + tape.exp(x[0] * x[-1]) + (m @ m.T).tanh().mean() + x[x > 0].prod()
