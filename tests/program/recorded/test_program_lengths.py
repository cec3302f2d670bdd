"""How long a row is, is no part of a kernel: rows that grow from step to step have one kernel."""

import numpy as np
import pytest

import tape
from tape.program.plans import threads as sharing
from tape.program.plans.prepared import KernelCode


def rank_one_updates(A):
    C = np.zeros(A.shape)
    for i in range(len(A)):
        C[i, : i + 1] += np.sin(A[i, 0] * A[: i + 1, 1]) * A[i, : i + 1]
    return (C * C).sum()


def sums_and_means(A):
    y = 0.0
    for i in range(1, len(A)):
        y = y + np.exp(A[i, :i]).mean() * np.cos(A[:i, i]).sum()
    return y


def two_results(A):
    C, D = np.zeros(A.shape), np.ones(A.shape)
    for i in range(len(A)):
        C[i, : i + 1] = np.sin(A[i, : i + 1])
        D[: i + 1, i] = np.cos(A[i, : i + 1] * A[0, i]) * C[i, : i + 1]
    return (C * D).sum()


FUNCTIONS = [rank_one_updates, sums_and_means, two_results]


@pytest.fixture
def kernels(monkeypatch):
    """The widths of the kernels that are written."""
    written = []
    init = KernelCode.__init__

    def counted(self, task, width, level, parted):
        written.append(width)
        init(self, task, width, level, parted)

    monkeypatch.setattr(KernelCode, "__init__", counted)
    return written


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_lengths_are_data(function, dtype, kernels):
    """Rows of any length have the same few kernels, which longer ones share."""
    gradient = tape.func.grad_and_value(function)
    programs, numbers = [], []
    for n in (20, 28):
        A = np.random.default_rng(0).uniform(-1, 1, (n, n)).astype(dtype)
        programs.append(tape.record(gradient, A, tier="quick"))
        tolerance = 1e-12 if dtype is np.float64 else 2e-4
        for found, wanted in zip(programs[-1](A), gradient(A)):
            np.testing.assert_allclose(found, wanted, tolerance, tolerance)
        numbers.append(sum(width > 1 for width in kernels))
    assert 0 < numbers[0] == numbers[1] < 8, numbers


def test_threads_that_share_a_mean(monkeypatch):
    """Each takes a part; the mean is of all."""
    monkeypatch.setattr(sharing, "ENOUGH", 1 << 14)
    x = np.linspace(0.0, 1.0, 100_000)
    program = tape.record(lambda x: np.exp(x).mean(), x, tier="optimised", threads=2)
    np.testing.assert_allclose(program(x), np.exp(x).mean(), 1e-12)
