"""Memory that is written after parts of it were read: what records have saved stays, and is no larger than it was."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from common.traced_memory import peak_of_another_call
from differences import jacobians
from numpy.testing import assert_allclose

import tape

N = 64
"""Of N × N numbers it is looked whether parts alone were saved; fewer are copied at once."""


def rows_and_elements(x):
    y = np.outer(x, x)
    for k in range(1, N):
        y[k, 0] -= np.dot(y[k, :k], y[k - 1, :k])
        y[k, k] *= y[k - 1] @ y[k]
    return y[:, 0].sum() + y.trace()


def products_of_several(x):
    y = np.outer(x, x)
    for k in range(3, N):
        y[k, 1] = np.einsum("i,i,i", y[k, :3], y[k - 1, :3], y[k - 2, :3])
    return y[:, 1].sum()


def kept_looks(x):
    y = np.outer(x, x)
    kept = []
    for k in range(1, N):
        row = y[k, :4]
        kept.append(row * row)
        y[k, 2] = y[k - 1, 2] * 0.5
        kept.append(row * y[k - 1, :4])
    return sum(part.sum() for part in kept)


def large_parts(x):
    y = np.outer(x, x)
    for k in range(1, 5):
        y[k:] *= y[:-k] * np.exp(-y[:-k])
    return y.sum()


def functions_of_results(x):
    y = np.outer(x, x)
    for k in range(1, N):
        y[k, :3] = np.exp(y[k - 1, 1:4]) * 0.1
        y[k, 0] = 0.5
    return y.sum()


def several_buffers(x):
    buffers = [np.outer(x, x) * k for k in range(1, 6)]
    for k in range(1, N):
        y, z = buffers[k % 5], buffers[(k + 1) % 5]
        y[k, 1] = y[k - 1, :3] @ z[k, :3]
    return sum(y.sum() for y in buffers)


PROGRAMS = rows_and_elements, products_of_several, kept_looks, large_parts, functions_of_results, several_buffers


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_was_saved_stays(program):
    x = np.linspace(0.1, 0.3, N)
    (expected,) = jacobians(lambda t: np.atleast_1d(program(t)), [x])
    assert_allclose(tape.func.grad(program)(x), expected[0], rtol=1e-5, atol=1e-7)
    assert_allclose(tape.func.jacfwd(program)(x), expected[0], rtol=1e-5, atol=1e-7)
    assert_allclose(tape.compile(tape.func.grad(program))(x), expected[0], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("program", PROGRAMS)
def test_second_derivatives_of_what_was_saved(program):
    x, t = np.linspace(0.1, 0.3, N), np.cos(np.arange(N))
    gradient = tape.func.grad(program)
    h = 1e-5
    expected = (gradient(x + h * t) - gradient(x - h * t)) / (2 * h)
    _, found = tape.func.jvp(gradient, (x,), (t,))
    assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())
    again = tape.func.grad(lambda x: gradient(x) @ t)(x)
    assert_allclose(again, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("program", [rows_and_elements, products_of_several])
def test_the_whole_is_not_copied_for_small_parts(program):
    gradient, x = tape.func.grad(program), np.full(4 * N, 0.1)
    # with a copy for each round it is three times as much at least
    assert peak_of_another_call(gradient, x) < 20 * x.size**2 * 8


def test_another_threads_records_keep_what_they_saved():
    """Its list is not looked through, so that the whole is copied."""
    expected = tape.func.grad(rows_and_elements)(np.linspace(0.1, 0.3, N))
    found = {}

    def run(k):
        found[k] = tape.func.grad(rows_and_elements)(np.linspace(0.1, 0.3, N))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[k], expected) for k in range(4))


def test_looks_that_the_program_holds_see_what_is_written():
    """They hold the memory too, and are not records."""

    def program(x):
        y = np.outer(x, x)
        seen = []
        for k in range(1, 8):
            part = tape.stop_gradient(y[k, :4])
            seen.append(np.array(part))
            y[k, 0] = y[k, :4] @ y[k - 1, :4]
            seen[-1] = seen[-1] * part[0]
        return y[:, 0].sum() + np.sum(np.stack(seen))

    x = np.linspace(0.1, 0.3, N)
    value, gradient = tape.func.value_and_grad(program)(x), tape.func.grad(program)(x)
    assert_allclose(value[1], gradient)
