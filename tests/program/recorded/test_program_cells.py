"""Arrays that a compiled function fills or reads one cell at a time: as in eager execution, and number by number."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from transformed import quietly

import tape
from tape.func import grad_and_value, hessian

RNG = np.random.default_rng(0)
A = RNG.random((4, 4)) + 4 * np.eye(4)
X = RNG.random(4) + 0.5


def recurrence(a, x):
    y = tape.zeros(4)
    y[0] = x[0]
    for i in range(1, 4):
        y[i] = tape.sin(y[i - 1]) * x[i] + a[i, i - 1]
    return (y**2).sum() + y[-1]


def cholesky(a, x):
    n = len(x)
    low = tape.zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s = s - low[i, k] * low[j, k]
            low[i, j] = tape.sqrt(s) if i == j else s / low[j, j]
    return (low @ x).sum()


def substitution(a, x):
    y = x * 1.0
    for i in range(4):
        for j in range(i):
            y[i] -= a[i, j] * y[j]
        y[i] /= a[i, i]
    return (y * x).sum()


def rows(a, x):
    path = tape.empty(5, 4)
    path[0] = x
    for i in range(4):
        path[i + 1] = path[i] + 0.1 * (a @ path[i])
    return (path**2).sum()


def columns(a, x):
    z = tape.zeros(4, 3)
    for j in range(3):
        z[:, j] = a[:, j] * x[j] + (z[:, j - 1] if j else 0.0)
    return (z * z).sum()


def partly(a, x):
    y = x * 2
    y[1] = a[0, 0] * y[3]
    y[np.int64(2)] = 5
    return (y * x).sum() + y[0]


def twice(a, x):
    y = tape.zeros(4)
    y[2] = x[0]
    y[2] = y[2] * x[1]
    y[-2] += 1.0
    return (y * x).sum()


def looked_at_between(a, x):
    y = tape.zeros(4)
    for i in range(4):
        y[i] = x[i] * y.sum() + a[i, 0]
    return (y**2).sum()


def other_axes(a, x):
    z = a * 1.0
    z[0] = x
    z[1, 2] = x[0] * z[0, 1]
    z[:, 3] = z[:, 2]
    z[..., 1] = 2.0
    return (z**2).sum()


def held_cells(a, x):
    y = x * 1.0
    first, second = y[0], y[1]
    y[0] = x[3] * 2
    first += x[1]
    y[1] = first * second
    return first * x[0] + second + (y * x).sum()


def views_of_it(a, x):
    y = x * 1.0
    tail = y[1:]
    y[1] = x[0] ** 2
    tail[1] = y[0] * y[1]
    return (tail * tail).sum() + y.sum()


def views_of_a_row(a, x):
    z = a * 1.0
    row = z[1]
    row[2] = x[0] * row[0]
    z[1, 3] = row[2] ** 2
    return (row * x).sum() + (z**2).sum()


def whole_then_cells(a, x):
    y = x * 1.0
    y[0] = x[1]
    y *= 2.0
    y[1] = y[0] * 3
    y.clamp_(max=5.0)
    return (y * y).sum()


def broadcast(a, x):
    z = tape.zeros(4, 4)
    z[0] = x[0]
    z[1] = x[1:2]
    z[2, :] = 7
    return (z * a).sum()


FUNCTIONS = [
    recurrence, cholesky, substitution, rows, columns, partly, twice, looked_at_between, other_axes, held_cells,
    views_of_it, views_of_a_row, whole_then_cells, broadcast,
]  # fmt: skip


OVERWRITTEN = {rows, held_cells}
"""Eager execution refuses their gradients, as PyTorch does: what they need is overwritten."""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_gradients(function, dtype):
    fast = tape.compile(grad_and_value(function, argnums=(0, 1)))
    rtol = 1e-4 if dtype == np.float32 else 1e-7 if function in OVERWRITTEN else 1e-12
    for k in range(3):
        a, x = (A + 0.1 * k).astype(dtype), (X * (1 + k)).astype(dtype)
        gradients, value = quietly(fast, tape.tensor(a), tape.tensor(x))
        expected = function(tape.tensor(a), tape.tensor(x))
        assert value.dtype == expected.dtype
        assert_allclose(value.numpy(), expected.item(), rtol=1e-5)
        for found, expected in zip(gradients, expected_gradients(function, a, x)):
            assert_allclose(found.numpy(), expected, rtol=rtol, atol=10 * rtol)


def expected_gradients(function, a, x):
    """By eager execution; where that refuses them, by finite differences."""
    if function not in OVERWRITTEN:
        return [g.numpy() for g in tape.func.grad(function, argnums=(0, 1))(tape.tensor(a), tape.tensor(x))]
    a, x = a.astype(np.float64), x.astype(np.float64)
    of_a = differences(lambda a: function(tape.tensor(a), tape.tensor(x)).item(), a)
    return of_a, differences(lambda x: function(tape.tensor(a), tape.tensor(x)).item(), x)


def differences(f, x, step=1e-6):
    """Derivatives with respect to each element, along the first axis."""
    steps = (step * np.eye(x.size)).reshape(-1, *x.shape)
    found = np.array([(f(x + h) - f(x - h)) / (2 * step) for h in steps])
    return found.reshape(*x.shape, *found.shape[1:])


@pytest.mark.parametrize("function", [recurrence, substitution, held_cells, rows], ids=lambda f: f.__name__)
def test_second_derivatives(function):
    def f(x):
        return function(a, x)

    a = tape.tensor(A)
    found = quietly(tape.compile(tape.func.jacrev(tape.func.grad(f))), tape.tensor(X)).numpy()
    assert_allclose(quietly(tape.compile(hessian(f)), tape.tensor(X)).numpy(), found, rtol=1e-10, atol=1e-12)
    gradient = tape.compile(tape.func.grad(f))
    assert_allclose(found, differences(lambda x: gradient(tape.tensor(x)).numpy(), X), rtol=1e-5, atol=1e-5)


def test_it_becomes_numbers():
    """No array is made in between: one step for all the numbers, which are put together at the end."""
    steps = tape.record(tape.func.grad(lambda x: recurrence(tape.tensor(A), x)), X).replay.steps
    assert [type(step).__name__ for step in steps] == ["KernelStep"] * len(steps)
    program = tape.record(tape.func.grad(cholesky, argnums=(0, 1)), A, X)
    by_numpy = [step.op.name for step in program.replay.steps if type(step).__name__ == "NumPyStep"]
    assert by_numpy.count("index_put") == by_numpy.count("getitem") == 1
    assert len(by_numpy) <= 10


def test_gradients_flow_past_what_did_not_record():
    def f(x):
        y = x * 1.0
        y[0] = x[1] * 2
        with tape.no_grad():
            seen = y.sum()  # the whole is put together here
        y[1] = x[0] * seen
        return (y * x).sum()

    fast = tape.compile(tape.func.grad(f))
    assert_allclose(quietly(fast, X), tape.func.grad(f)(tape.tensor(X)).numpy())


def test_no_gradient_flows_through_what_was_written_without_recording():
    def f(x):
        last = x[3] * 2
        with tape.no_grad():
            y = x * 1.0
            y[0] = last
        return (y[0] * x + y).sum()

    fast = tape.compile(tape.func.grad(f))
    assert_allclose(quietly(fast, X), tape.func.grad(f)(tape.tensor(X)).numpy())


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("index", [4, -5, (0, 1), 2.5], ids=str)
def test_what_is_no_cell(index):
    def write(x):
        y = x * 1.0
        y[0] = x[1]
        y[index] = x[0]
        return y.sum()

    def read(x):
        y = x * 1.0
        y[0] = x[1]
        return y[index]

    for f in (write, read):
        with pytest.raises((IndexError, TypeError)):
            f(tape.tensor(X))
        with pytest.raises((IndexError, TypeError)):
            tape.compile(f)(X)


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("value", [np.ones(3), 1j, np.ones((1, 2))], ids=str)
def test_what_does_not_fit(value):
    def f(x):
        y = x * 1.0
        y[0] = x[1]
        y[1] = value
        return y.sum()

    with pytest.raises(RuntimeError):
        f(tape.tensor(X))
    with pytest.raises(RuntimeError):
        tape.compile(f)(tape.tensor(X))


def test_whole_numbers():
    def f(x):
        y = tape.zeros(4, dtype=np.int64)
        for i in range(4):
            y[i] = i * i
        y[0] = y[3] + 1
        return x * y

    assert_allclose(quietly(tape.compile(f), X), f(tape.tensor(X)).numpy())


def test_a_result_and_its_cell():
    def f(x):
        y = tape.zeros(4)
        y[1] = x[0]
        return y, y[1], y[2:]

    for found, expected in zip(quietly(tape.compile(f), X), f(tape.tensor(X))):
        assert_allclose(found, expected.numpy())


class Carries(Exception):
    """Takes a value out of a function."""


def test_what_left_its_recording_is_not_written():
    def keep(x):
        raise Carries(x * 2)

    def write(x):
        y = x * tape.ones(2, 1)
        y[0] = element
        return y

    with pytest.raises(Carries) as caught:
        tape.record(keep, X)
    element = caught.value.args[0]
    with pytest.raises(RuntimeError, match="has left its function"):
        tape.record(write, X)
