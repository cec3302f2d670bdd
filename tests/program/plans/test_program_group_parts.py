"""Groups that are cut into the parts that recur, where each would have a long kernel of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.program.plans import group_parts
from tape.program.plans.replay import KernelStep, Replay

MATRIX = np.random.default_rng(0).normal(size=(12, 14)) + 3 * np.eye(12, 14)


def orthogonalised(x: Any) -> Any:
    """Gram and Schmidt: each round does less than the one before, for columns that are alike."""
    x, q, total = x * 1, np.zeros((12, 12)), 0.0
    for k in range(12):
        q[:, k] = x[:, k] / np.sqrt(np.dot(x[:, k], x[:, k]))
        for j in range(k + 1, 14):
            r = np.dot(q[:, k], x[:, j])
            x[:, j] -= q[:, k] * r
            total = total + r * (j + 1.0)
    return total + (q * q[::-1]).sum()


def chained(x: Any) -> Any:
    """Values that go from round to round within a group, a truth value among them, and sums of them."""
    total = 0.0
    for n in range(40, 4, -1):
        y, seen = x[:n], x[:n] > 0.2
        for k in range(n // 4):
            y = np.where(seen, y * 1.01 + float(k), y) - x[:n]
            seen = y > x[:n]
        total = total + y.sum() * (y * y).mean()
    return total


def compiled_kernels(replay: Replay) -> set[int]:
    """The different kernels of arrays that a replay has."""
    steps = [step for step in replay.steps if isinstance(step, KernelStep) and step.kernel is not None]
    return {step.kernel.address for step in steps if step.group.size > 1}


@pytest.mark.parametrize("function", [orthogonalised, chained])
def test_groups_in_parts_give_the_same(function, monkeypatch):
    x = MATRIX if function is orthogonalised else MATRIX.ravel()
    monkeypatch.setattr(group_parts, "LEAST", 1 << 30)
    whole = tape.record(tape.func.grad_and_value(function), x)
    whole_steps = whole.replay.steps
    monkeypatch.setattr(group_parts, "LEAST", 3)
    monkeypatch.setattr("tape.program.plans.replay.KERNELS", 0)
    cut = tape.record(tape.func.grad_and_value(function), x)
    assert len(cut.replay.steps) > len(whole_steps)
    for at in (x, x[::-1] * 1.1 + 0.01):
        wanted = tape.func.grad_and_value(function)(at)
        found = cut(at)
        assert_allclose(found[0], wanted[0], rtol=1e-9, atol=1e-9)
        assert_allclose(found[1], wanted[1], rtol=1e-11)
        assert_allclose(found[0], whole(at)[0], rtol=1e-11, atol=1e-11)
        in_python = cut.replay.in_python([at])
        assert_allclose(in_python[0], np.asarray(found[0]).reshape(in_python[0].shape), rtol=1e-9, atol=1e-9)


def test_a_loop_that_does_less_each_time_has_few_kernels():
    program = tape.record(tape.func.grad(orthogonalised), MATRIX)
    groups = [step for step in program.replay.steps if isinstance(step, KernelStep) and step.group.size > 1]
    assert len(groups) > 4 * group_parts.KERNELS
    assert len(compiled_kernels(program.replay)) <= 2 * group_parts.KERNELS


def test_few_kernels_are_whole(monkeypatch):
    def few(x: Any) -> Any:
        for _ in range(20):
            x = np.sin(x) * 0.5 + np.cumsum(x)[::-1] * 0.01
        return x.sum()

    monkeypatch.setattr("tape.program.plans.replay.parts", lambda *group: pytest.fail("a group was cut"))
    program = tape.record(tape.func.grad(few), MATRIX.ravel())
    assert_allclose(program(MATRIX.ravel()), tape.func.grad(few)(MATRIX.ravel()), rtol=1e-12)


def test_a_group_is_not_cut_where_views_stand(monkeypatch):
    """A view is no step, so what stands on both sides of one is one kernel."""

    def function(x: Any) -> Any:
        total = 0.0
        for k in range(6):
            total = total + (np.sin(x[k : k + 6]) * x[6 - k : 12 - k] * 0.5 + 1.0).sum()
        return total

    monkeypatch.setattr(group_parts, "LEAST", 3)
    monkeypatch.setattr("tape.program.plans.replay.KERNELS", 0)
    x = MATRIX.ravel()[:20]
    program = tape.record(tape.func.grad(function), x)
    before = group_parts.steps_before(program.listing)
    for step in program.replay.steps:
        if isinstance(step, KernelStep) and step.group.size > 1:
            rows = step.group.rows
            assert (before[rows[1:]] == before[rows[:-1] + 1]).all()
    assert_allclose(program(x), tape.func.grad(function)(x), rtol=1e-12)
