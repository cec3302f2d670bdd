"""Random loops over triangles, whose slices have another length in each round: planned as they are, and shared."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.program.plans import prepared
from tape.program.plans.plan import Plan
from tape.program.plans.replay import KernelStep

N = 11
TOLERANCE = {np.float64: 1e-10, np.float32: 3e-4}


def rows_product(a: Any, b: Any, i: int, j: int) -> None:
    a[i, j] -= np.dot(a[i, :j], a[j, :j]) * 0.1


def divided(a: Any, b: Any, i: int, j: int) -> None:
    a[i, j] = a[i, j] / (2.0 + a[j, j] * a[j, j])


def of_a_column(a: Any, b: Any, i: int, j: int) -> None:
    a[j:, i] += 0.1 * a[j, i] * b[j:]


def turned(a: Any, b: Any, i: int, j: int) -> None:
    b[:i] += 0.1 * a[i, j] * b[:i][::-1]


def flipped(a: Any, b: Any, i: int, j: int) -> None:
    b[j] = np.tanh(b[j] + np.dot(np.flip(b[:i]), a[j, :i]))


def rest_of_a_row(a: Any, b: Any, i: int, j: int) -> None:
    a[i, j:] = a[i, j:] * 0.9 + 0.1 * a[j, j:] * b[i]


def of_a_matrix(a: Any, b: Any, i: int, j: int) -> None:
    b[j:] -= 0.01 * (a[j:, :i] @ b[:i])


def summed(a: Any, b: Any, i: int, j: int) -> None:
    b[i] = b[i] * 0.5 + 0.1 * (a[:i, j].sum() + (b[j:i] * b[i - 1]).sum())


def of_a_block(a: Any, b: Any, i: int, j: int) -> None:
    a[:i, :j] *= 0.99


def last_of_a_slice(a: Any, b: Any, i: int, j: int) -> None:
    """A number out of arrays of another length in each round."""
    y = np.sin(b[: j + 1] * a[i, : j + 1])
    b[i] = b[i] * 0.5 + y[j] * 0.1


STATEMENTS: list[Callable[..., None]] = [
    rows_product, divided, of_a_column, turned, flipped, rest_of_a_row, of_a_matrix, summed, of_a_block,
    last_of_a_slice,
]  # fmt: skip


def triangular(seed: int) -> Callable[..., Any]:
    """A loop within a loop that begins with nothing to do, and goes up or down."""
    rng = random.Random(seed)
    inner, outer = rng.sample(STATEMENTS, rng.choice([2, 3])), rng.sample(STATEMENTS, 1)
    down = rng.random() < 0.3

    def function(a: Any, b: Any) -> Any:
        a, b = a.copy(), b.copy()
        for i in range(N - 1, -1, -1) if down else range(N):
            for j in range(i):
                for statement in inner:
                    statement(a, b, i, j)
            for statement in outer:
                statement(a, b, i, i)
        return (a * a).sum() + (b * b).sum() + a[N - 1, 0]

    return function


def arguments(seed: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (rng.uniform(0.2, 0.8, (N, N)) + np.eye(N)).astype(dtype), rng.uniform(0.2, 0.8, N).astype(dtype)


def check(fast: Callable[..., Any], function: Callable[..., Any], dtype: Any) -> None:
    """Compare gradients and value at two points with those of each operation by itself."""
    for seed in (0, 1):
        at = arguments(seed, dtype)
        gradients, value = tape.func.grad_and_value(function, argnums=(0, 1))(*at)
        found, total = fast(*at)
        tolerance = TOLERANCE[dtype]
        assert_allclose(np.asarray(total), np.asarray(value), rtol=tolerance)
        for one, other in zip(map(np.asarray, found), map(np.asarray, gradients)):
            assert one.dtype == other.dtype == dtype
            assert_allclose(one, other, rtol=tolerance, atol=tolerance * max(abs(other).max(), 1.0))


@pytest.mark.parametrize(("seed", "dtype"), [(seed, (np.float64, np.float32)[seed % 2]) for seed in range(14)])
def test_triangular_loops_give_what_is_computed_eagerly(seed: int, dtype: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))  # with bytes between values that nobody may write to
    function = triangular(seed)
    check(tape.compile(tape.func.grad_and_value(function, argnums=(0, 1))), function, dtype)


@pytest.mark.parametrize("tier", ["interpret", "quick", "optimised"])
@pytest.mark.parametrize("seed", [20, 21])
def test_in_every_tier(seed: int, tier: str) -> None:
    function = triangular(seed)
    check(tape.compile(tape.func.grad_and_value(function, argnums=(0, 1)), tier=tier), function, np.float64)


@pytest.mark.parametrize("seed", [30, 31])
def test_from_a_file_and_with_threads(seed: int, tmp_path: Any) -> None:
    function = triangular(seed)
    check(tape.compile(tape.func.grad_and_value(function, argnums=(0, 1)), threads=2), function, np.float64)
    program = tape.record(tape.func.grad_and_value(function, argnums=(0, 1)), *arguments(0, np.float64))
    program.save(tmp_path / "triangles.wengert")
    check(tape.load(tmp_path / "triangles.wengert"), function, np.float64)


def test_numbers_out_of_arrays_of_any_length_are_read_by_one_kernel() -> None:
    """What a kernel reads a number out of may have any length."""

    def function(x: Any) -> Any:
        total = x[0]
        for n in range(2, 40):
            total = np.tanh(total + np.cumsum(x[:n] * total)[n - 1] * x[n])
        return total

    x = np.random.default_rng(0).uniform(0.0, 0.1, 40)
    program = tape.record(function, x)
    groups = [s for s in program.replay.steps if isinstance(s, KernelStep) and s.group.size == 1]
    assert len(groups) > 30
    assert len({id(s.kernel) for s in groups}) < 6
    assert_allclose(program(x), function(x), rtol=1e-12)
    assert_allclose(program(x[::-1]), function(x[::-1]), rtol=1e-12)


def test_kernels_for_arrays_of_any_length_are_found_without_their_tasks(monkeypatch: Any) -> None:
    """A group that differs from another in how long its arrays are has its kernel, of which nothing is said again."""

    def function(x: Any) -> Any:
        total = 0.0
        for n in range(60, 20, -1):
            total = total + np.cumsum(np.sin(x[:n]) * x[:n] + 1.0)[-1]
        return total

    x, tasks, plain = np.random.default_rng(0).uniform(size=60), [], prepared.task_of
    program = tape.record(function, x)
    monkeypatch.setattr(prepared, "task_of", lambda layout: (tasks.append(layout), plain(layout))[1])
    groups = [s for s in program.replay.steps if isinstance(s, KernelStep) and s.group.size > 1]
    assert len(groups) == 40
    assert len(tasks) < 8
    assert_allclose(program(x), function(x), rtol=1e-12)
