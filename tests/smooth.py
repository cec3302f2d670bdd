"""Whether a function of an array has the derivatives that differences give, in every way that they are asked for."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

import tape


def differences(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])


def check(f, x):
    """The gradient in both modes, compiled, in lanes, and once more, against differences."""
    expected = differences(f, x)
    grad = tape.func.grad(f)
    assert_allclose(grad(x), expected, rtol=1e-6, atol=1e-7)
    assert_allclose(tape.func.jacfwd(f)(x), expected, rtol=1e-6, atol=1e-7)
    assert_allclose(tape.func.vmap(grad)(np.stack([x, 0.9 * x]))[0], expected, rtol=1e-6, atol=1e-7)
    compiled = tape.compile(grad)
    for at in (x, 0.9 * x, x):
        assert_allclose(compiled(at), grad(at), rtol=1e-12)
    curvature = np.array([differences(lambda x, k=k: grad(x)[k], x) for k in range(x.size)])
    assert_allclose(tape.func.hessian(f)(x), curvature, rtol=1e-5, atol=1e-6)
