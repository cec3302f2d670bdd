"""Strategies draw what they say, and what gradients stumble over."""

import numpy as np
import pytest
from hypothesis import find, given, settings, strategies as st

import tape
from tape.testing import strategies


@settings(max_examples=60)
@given(strategies.arrays("float32", (2, 3), small=1e-2, large=1e2))
def test_arrays_have_their_shape_dtype_and_sizes(x):
    assert (x.shape, x.dtype) == ((2, 3), np.float32)
    sizes = np.abs(x[x != 0])
    assert np.all((sizes > 0.99e-2) & (sizes < 1.01e2))


@settings(max_examples=40)
@given(st.data())
def test_tensors_are_leaves(data):
    x = data.draw(strategies.tensors(shape=strategies.shapes(1, 2), requires_grad=True))
    assert type(x) is tape.Tensor
    assert x.is_leaf
    assert x.requires_grad
    assert x.ndim in (1, 2)
    assert not data.draw(strategies.tensors(requires_grad=False)).requires_grad


WANTED = {
    "a tie": ((3,), lambda x: x[0] == x[1] != 0),
    "zeros of both signs": ((2,), lambda x: np.all(x == 0) and np.signbit(x[0]) != np.signbit(x[1])),
    "far apart": ((2,), lambda x: 0 < abs(x[0]) < 1e-3 and abs(x[1]) > 1e3),
    "repeated eigenvalues": (
        (3, 3), lambda x: np.array_equal(x, x.T) and x[0, 1] != 0 and np.ptp(np.linalg.eigvalsh(x)[:2]) < 1e-9,
    ),
    "many": ((400,), lambda x: np.std(x) > 1),
}  # fmt: skip


@pytest.mark.parametrize("what", WANTED)
def test_what_gradients_stumble_over_is_drawn(what):
    shape, holds = WANTED[what]
    assert holds(find(strategies.arrays(shape=shape), holds, settings=settings(max_examples=2000, database=None)))


def test_complex_numbers_and_nan():
    holds = find(strategies.arrays("complex64", 2, nonfinite=True), lambda z: np.isnan(z.imag).any() and z.real.any())
    assert holds.dtype == np.complex64
    with pytest.raises(TypeError, match="floating-point or complex numbers; got int64"):
        strategies.arrays("int64", 2)
    with pytest.raises(ValueError, match="0 < small <= large < inf; got small=2, large=1"):
        strategies.numbers(2, 1)
