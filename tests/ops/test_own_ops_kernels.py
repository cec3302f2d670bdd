"""Ops of one's own within the jitted sweep: their kernels, by address, from the first use to the last."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose
from own_ops import bump, bump_dx, library, softcap  # noqa: F401  (a fixture)

import ops
import tape
from tape.base.jit_door import jitted

if jitted("driving.run") is None:
    pytest.skip("the jitted sweep is off", allow_module_level=True)

from tape.jit.driving.run import SweepRun
from tape.jit.emission.kernels import KERNELS
from tape.jit.machine.state import FIRST_OWN, LANES, MOTION, PYTHON
from tape.jit.machine.workspace import ALL, IDLE, at_rest

pytestmark = pytest.mark.usefixtures("library")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def stops(monkeypatch):
    """The records that the sweep stops at."""
    met, stop = [], SweepRun.stop

    def counted(self):
        met.append(1)
        return stop(self)

    monkeypatch.setattr(SweepRun, "stop", counted)
    return met


def leaf(values, dtype=None):
    return tape.tensor(values, requires_grad=True, dtype=dtype)


def motion(op):
    KERNELS.update()
    return KERNELS.ops[op.code, MOTION]


@pytest.mark.parametrize("dtype", [tape.float64, tape.float32])
def test_rules_run_within_the_sweep(dtype, stops):
    ops.elementwise("softcap", softcap)
    ops.elementwise("bump", bump, bump_dx)
    ops.elementwise("cubed", lambda x: x**3, lambda x: 3.0 * x * x)
    for n in (1, 5, 37):
        x, c = leaf(np.linspace(-0.9, 0.8, n), dtype=dtype), leaf([[2.0], [3.0]], dtype=dtype)
        z = ops.bump(x) * ops.softcap(x, c) + ops.cubed(x) + ops.softcap(x, 1.5)
        z.sum().backward()
        X, C = leaf(x.tolist()), leaf(c.tolist())
        plain = tape.exp(-1.0 / (1.0 - X * X)) * C * tape.tanh(X / C) + X**3 + 1.5 * tape.tanh(X / 1.5)
        plain.sum().backward()
        assert_allclose(x.grad, X.grad, rtol=1e-10 if dtype == tape.float64 else 3e-4, atol=1e-6)
        assert_allclose(c.grad, C.grad, rtol=1e-10 if dtype == tape.float64 else 3e-4, atol=1e-6)
    assert not stops
    assert {motion(op) for op in (ops.softcap, ops.bump, ops.cubed)} == {LANES}


def test_large_arrays_are_evaluated_in_one_pass():
    from tape.jit.emission import lane_forward

    op = ops.elementwise("softcap", softcap)
    x, c = np.linspace(-3, 3, 10_000), np.linspace(1, 4, 10_000)
    assert_allclose(lane_forward.evaluate(op, x, c), softcap(x, c), rtol=1e-14)
    assert_allclose(lane_forward.evaluate(op, x, 2.0), softcap(x, 2.0), rtol=1e-14)
    assert_allclose(ops.softcap(leaf(x), 2.0).detach(), softcap(x, 2.0), rtol=1e-14)
    assert lane_forward.evaluate(op, x, c[:1]) is None


def test_a_rule_that_no_kernel_can_hold_is_a_stop(stops):
    op = ops.elementwise("ramp", lambda x: np.interp(x, [0.0, 1.0], [0.0, 2.0]), lambda x: np.where(x < 1, [2.0], 0.0))
    x = leaf([0.25, 0.5])
    op(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert len(stops) == 1
    assert motion(op) == PYTHON


def test_scalar_code_that_may_raise_is_a_stop(stops):
    @numba.njit
    def inverse(x):
        if x == 0.0:
            raise ZeroDivisionError("no inverse")
        return -1.0 / (x * x)

    op = ops.elementwise("inverse", lambda x: 1.0 / x, inverse)
    x = leaf([2.0, 4.0])
    op(x).sum().backward()
    assert x.grad.tolist() == [-0.25, -0.0625]
    assert len(stops) == 1


@pytest.fixture
def rested():
    """No sweep under way: one that was interrupted in another test may have kept its workspace for ever."""
    IDLE[:] = ALL


@pytest.mark.usefixtures("rested")
def test_kernels_are_freed_with_their_op():
    """Each address is of code that was freed a moment ago: one wrong address, and this process is gone."""
    x = leaf(np.linspace(0.5, 1.5, 9))
    old = []
    for k in range(1, 13):
        op = _declare_scaled(k)
        z = ops.scaled(x)
        (g,) = tape.autograd.grad(z.sum(), x, retain_graph=True)
        assert_allclose(g, 2.0 * k * x.detach())
        first = FIRST_OWN + 4 * op.code
        assert KERNELS.addresses[first]
        old.append((k, op, z))
        if k > 1:
            gone = FIRST_OWN + 4 * old[-2][1].code
            assert not KERNELS.addresses[gone]
            assert gone not in KERNELS._engines
    gc.collect()
    assert at_rest()
    assert not KERNELS._retired
    for k, _, z in old:  # what was recorded with an op that is gone compiles its kernel anew
        (g,) = tape.autograd.grad(z.sum(), x)
        assert_allclose(g, 2.0 * k * x.detach())


def _declare_scaled(k):
    return ops.elementwise("scaled", lambda x: float(k) * x * x, replace=True)


@pytest.mark.usefixtures("rested")
def test_an_op_leaves_in_the_middle_of_a_sweep():
    _declare_scaled(3)
    x = leaf([1.0, 2.0])
    ops.scaled(x).sum().backward()
    y = ops.scaled(ops.scaled(x))
    z = (y * 1.0).sum()
    y.register_hook(lambda g: ops.remove("scaled"))
    x.grad = None
    z.backward()
    assert_allclose(x.grad, 4 * 27 * x.detach() ** 3)
    _declare_scaled(2)
    ops.remove("scaled")
    assert not KERNELS._retired


def test_declarations_while_other_threads_sweep():
    stop, wrong = threading.Event(), []

    def sweep():
        x = leaf(np.linspace(0.5, 1.5, 33))
        while not stop.is_set():
            op = ops.REGISTRY.get("scaled")
            if op is None:
                continue
            x.grad = None
            z = op(x) * op(x)
            z.sum().backward()
            k = z.detach()[-1].item() ** 0.5 / 2.25
            if abs(x.grad[-1].item() - 4 * k * k * 1.5**3) > 1e-9 * k * k:
                wrong.append((k, x.grad[-1].item()))

    workers = [threading.Thread(target=sweep) for _ in range(2)]
    _declare_scaled(1)
    for worker in workers:
        worker.start()
    try:
        for k in range(2, 20):
            _declare_scaled(k)
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert not wrong


SCRIPT = """
import numpy as np, numba, ops, tape
@numba.njit
def f(x): return np.exp(-x) if x > 0.0 else 1.0
@numba.njit
def df(x): return -np.exp(-x) if x > 0.0 else 0.0
ops.elementwise("decay", f, df)
ops.elementwise("softcap", lambda x, c: c * ops.tanh(x / c))
x = tape.tensor([-1.0, 0.5, 2.0], requires_grad=True)
(ops.decay(x) * ops.softcap(x, 2.0)).sum().backward()
print(x.grad.tolist())
"""


def run(folder):
    environment = {**os.environ, "TAPE_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
    ).stdout  # fmt: skip


def test_kernels_on_disk_serve_another_process(tmp_path):
    first = run(tmp_path / "cache")
    files = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert files
    assert run(tmp_path / "cache") == first
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == files
    (tmp_path / "file").write_text("no folder can be made here")
    assert run(tmp_path / "file" / "cache") == first
