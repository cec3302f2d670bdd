"""Forward lane kernels against NumPy, for every op that has a lane."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from ops import REGISTRY
from tape.jit.emission import lane_forward
from tape.recording.recorder import MANY

LANED = [
    op for op in REGISTRY.values()
    if op.lane is not None and op.kind == "elementwise" and op.arity <= 2 and not op.params
]  # fmt: skip
FIRST = [op for op in LANED if op.hints.lanes_first]
EXTREMES = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-310, 710.0, -745.0])


def inputs(op, n, dtype):
    rng = np.random.default_rng(n)
    return [domain.fit(rng.random(n)).astype(dtype) for domain in op.domain]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", LANED, ids=lambda op: op.name)
def test_every_lane_computes_what_numpy_computes(op, dtype):
    values = inputs(op, 1003, dtype)
    expected = op.forward(*(v.astype(np.float64) for v in values))
    found = lane_forward.evaluate(op, *values)
    assert found.dtype == dtype
    scale = 1e-3 + np.abs(expected).max()
    assert np.abs(found - expected).max() <= scale * (1e-11 if dtype == np.float64 else 2e-5)


@pytest.mark.parametrize("op", FIRST, ids=lambda op: op.name)
def test_lanes_that_stand_in_for_numpy_agree_with_it_at_extremes(op):
    grid = np.array(np.meshgrid(*[EXTREMES] * op.arity)).reshape(op.arity, -1)
    values = [np.ascontiguousarray(row) for row in grid]
    with np.errstate(all="ignore"):
        expected = op.forward(*values)
    np.testing.assert_allclose(lane_forward.evaluate(op, *values), expected, rtol=4e-15, atol=1e-300)


@pytest.mark.parametrize("op", FIRST, ids=lambda op: op.name)
@pytest.mark.parametrize("n", [MANY, MANY + 1, MANY + 15])
def test_large_tensors_go_through_lanes_and_differentiate(op, n):
    values = inputs(op, n, np.float64)
    tensors = [tape.tensor(v, requires_grad=True) for v in values]
    z = getattr(tape, op.name)(*tensors)
    np.testing.assert_allclose(z.detach().numpy(), op.forward(*values), rtol=1e-13, atol=1e-300)
    z.sum().backward()
    env = op.environment(values, op.forward(*values), {})
    for i, tensor in enumerate(tensors):
        expected = op.vjp(i, np.ones(n), env, (n,))
        np.testing.assert_allclose(tensor.grad.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_what_lanes_cannot_read_goes_through_numpy():
    op = REGISTRY["sin"]
    x = np.linspace(0.0, 1.0, 2 * MANY)
    for value in (x[::2], x[::-1], x.astype(">f8"), x.astype(np.float16), np.arange(2 * MANY)):
        assert lane_forward.evaluate(op, value) is None
        np.testing.assert_allclose(
            tape.sin(tape.from_numpy(value.astype(value.dtype.newbyteorder("=")))), np.sin(value)
        )
    assert lane_forward.evaluate(REGISTRY["hypot"], x, x[:1]) is None
