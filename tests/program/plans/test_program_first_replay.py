"""A list of many steps is run by NumPy once; who asks again gets a plan of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program.plans import replay as replays

M = np.linalg.qr(np.arange(36.0).reshape(6, 6) + 7 * np.eye(6))[0]
SPD = M @ np.diag(np.arange(2.0, 8.0)) @ M.T


@pytest.fixture(autouse=True)
def many(monkeypatch):
    """A few hundred steps are many."""
    monkeypatch.delenv("TAPE_JIT", raising=False)
    monkeypatch.setattr(replays, "NOTICED", 1e-4)


def cholesky(a):
    """Its rows have all lengths, so that no loop is found."""
    a = a.copy()
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
    return np.tril(a)


def steps_are_made(fast):
    """Whether the last program of a compiled function has steps."""
    return "steps" in vars(fast.programs[-1].replay)


@pytest.mark.parametrize("turned", [lambda f: f, lambda f: tape.func.grad(lambda a: (f(a) ** 3).sum())])
def test_the_first_call_plans_nothing(turned):
    fast, slow = tape.compile(turned(cholesky)), turned(cholesky)
    assert_allclose(fast(SPD), slow(SPD), rtol=1e-12, atol=1e-12)
    assert not steps_are_made(fast)
    for k in range(3):
        assert_allclose(fast(SPD + k), slow(SPD + k), rtol=1e-12, atol=1e-12)
        assert steps_are_made(fast)
    assert fast.statistics().replays == 4


def test_errors_and_warnings_are_those_of_the_function():
    fast = tape.compile(cholesky)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        found = fast(-SPD)
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        assert_array_equal(found, fast(-SPD))
    singular = tape.compile(lambda a: np.linalg.inv(cholesky(a) * 0.0))
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError):
            singular(SPD)


def test_a_decision_on_numbers_is_verified_by_the_first_call_too():
    """Kernels round otherwise than NumPy: so what they give for it is asked at once."""

    def f(a):
        z = cholesky(a)
        return z if z[2, 1] > 0 else 2 * z

    fast = tape.compile(f)
    for a in (SPD, SPD[::-1, ::-1], SPD):
        for _ in range(2):
            assert_allclose(fast(a), f(a), rtol=1e-12, atol=1e-12)


def test_results_do_not_share_memory_with_each_other():
    fast = tape.compile(cholesky)
    first = fast(SPD)
    kept = first.copy()
    fast(SPD + 1)[:] = 0.0
    assert_array_equal(first, kept)


def test_short_lists_are_planned_at_once(monkeypatch):
    monkeypatch.undo()
    fast = tape.compile(cholesky)
    fast(SPD)
    assert steps_are_made(fast)
