"""tape.compile: what goes in and out, what is read from around, transformations, threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import compile
from tape.program.plans import sweeping, threads as sharing

# What goes in and out.


def test_arrays_in_arrays_out():
    fast = compile(lambda x, y: {"sum": (x + y).sum(), "both": [x * y, (x - y,)], "name": "a"})
    x, y = np.arange(3.0), np.ones(3)
    for _ in range(3):
        found = fast(x, y)
        assert type(found["sum"]) is np.float64
        assert type(found["both"][0]) is np.ndarray
        assert found["name"] == "a"
        assert found["sum"] == 6.0
        assert_array_equal(found["both"][1][0], x - y)


def test_tensors_in_tensors_out():
    fast = compile(lambda x: (x.exp().sum(), x * 2))
    x = tape.tensor([0.5, 1.0], requires_grad=True)
    for _ in range(2):
        total, twice = fast(x)
        (g,) = tape.autograd.grad(total + twice.sum(), x)
        assert_allclose(g.numpy(), np.exp([0.5, 1.0]) + 2)
    with tape.no_grad():
        assert not fast(x)[0].requires_grad


def test_any_order_of_derivatives():
    fast = compile(lambda x: (x**4).sum() * x[0])
    x = tape.tensor([1.5, 2.0], requires_grad=True)
    y, w = x, x
    found, expected = fast(y), (w**4).sum() * w[0]
    for _ in range(4):
        (found,), (expected,) = (tape.autograd.grad(z.sum(), x, create_graph=True) for z in (found, expected))
        assert_allclose(found.detach().numpy(), expected.detach().numpy())


def test_forward_mode_through_a_compiled_function():
    f = lambda x: x.sin() * x[1]  # noqa: E731
    x, t = tape.tensor([0.3, 0.7]), tape.tensor([1.0, -2.0])
    found, expected = tape.func.jvp(compile(f), (x,), (t,)), tape.func.jvp(f, (x,), (t,))
    for z, w in zip(found, expected):
        assert_allclose(z.numpy(), w.numpy())


def test_numbers_keywords_and_nested_arguments():
    fast = compile(lambda data, *, scale, power=2: (data["x"] ** power * scale).sum() + data["more"][0])
    for scale in (1.0, 2.5):
        for power in (2, 3):
            data = {"x": np.array([1.0, 2.0]), "more": [np.float64(7.0)]}
            assert_allclose(fast(data, scale=scale, power=power), np.sum(data["x"] ** power * scale) + 7)
    assert len(fast.programs) == 2


def test_single_precision_stays_single():
    fast = compile(lambda x, a: (x * a + 1.0).sum())
    x = np.ones(5, np.float32)
    for a in (0.1, 0.2):
        found = fast(x, a)
        assert found.dtype == np.float32
        assert_allclose(found, np.sum(x * np.float32(a) + 1), rtol=1e-6)


def test_other_shapes_and_dtypes_are_recorded_apart():
    fast = compile(lambda x: (x * x).sum(axis=0))
    for shape in ((3,), (4,), (2, 3), (0,), (0, 3), ()):
        for dtype in (np.float64, np.float32, np.int64, np.complex128):
            x = (np.arange(np.prod(shape)).reshape(shape) + 1).astype(dtype) if shape else dtype(3)
            if shape == ():
                assert compile(lambda x: x * x)(x) == 9
                continue
            found = fast(x)
            assert found.dtype == np.sum(x * x, axis=0).dtype
            assert_allclose(found, np.sum(x * x, axis=0))


@pytest.mark.parametrize("layout", ["T", "step", "negative", "readonly"])
def test_any_memory_layout(layout):
    x = np.random.default_rng(0).random((6, 4))
    x = {"T": x.T, "step": x[::2, 1:], "negative": x[::-1], "readonly": x.copy()}[layout]
    x.flags.writeable = layout != "readonly"
    before = x.copy()
    assert_allclose(compile(lambda x: (np.exp(x) * x + 1).sum())(x), np.sum(np.exp(x) * x + 1))
    assert_array_equal(x, before)


def test_results_are_the_callers_own():
    fast = compile(lambda x: (x * 2, np.ones(2)))
    x = np.ones(1 << 16)
    kept = [fast(x * k) for k in range(5)]
    kept[0][1][:] = 7
    for k, (z, ones) in enumerate(kept):
        assert_array_equal(z, 2.0 * k * np.ones(1 << 16))
        assert_array_equal(ones, np.ones(2) if k else np.full(2, 7.0))


# What a function reads from around it.


WEIGHT = 2.0


def test_captured_arrays_and_tensors_are_read_anew():
    array, tensor = np.ones(3), tape.ones(3)
    fast = compile(lambda x: (x * array + tensor).sum())
    x = np.ones(3)
    assert fast(x) == 6
    array[:] = 2
    tensor.fill_(5.0)
    assert fast(x) == 21


def test_a_name_that_stands_for_something_else_is_noticed(monkeypatch):
    factor = 3.0

    def f(x):
        return x * factor * WEIGHT

    fast = compile(f)
    assert fast(np.ones(1)) == 6
    factor = 4.0
    assert fast(np.ones(1)) == 8
    monkeypatch.setitem(globals(), "WEIGHT", 10.0)
    assert fast(np.ones(1)) == 40


def test_gradients_reach_captured_tensors():
    w = tape.tensor([1.0, 2.0], requires_grad=True)
    fast = compile(lambda x: (x * w).sum().exp())
    for _ in range(2):
        w.grad = None
        fast(np.array([0.1, 0.2])).backward()
        assert_allclose(w.grad.numpy(), np.exp(0.5) * np.array([0.1, 0.2]))
    with tape.no_grad():
        w *= 2.0
    w.grad = None
    fast(np.array([0.1, 0.2])).backward()
    assert_allclose(w.grad.numpy(), np.exp(1.0) * np.array([0.1, 0.2]))


def test_in_place_changes_of_ones_own():
    def f(x):
        y = x * 1.0
        y += x
        y[0] = x[1] * 3
        y *= 2.0
        z = np.zeros(3) + y
        z[x > 0.5] = 0.0
        return y, z

    for x in (np.array([0.1, 0.7, 0.2]), np.array([0.9, 0.3, 0.2])):
        for found, expected in zip(compile(f)(x), f(x)):
            assert_allclose(found, expected)


def test_no_grad_and_detach_inside():
    def f(x):
        with tape.no_grad():
            y = x * x
        return tape.func.grad(lambda t: (t * y + t * tape.stop_gradient(t * 2)).sum())(x)

    x = np.array([1.0, 2.0])
    assert_allclose(compile(f)(x), f(x))
    assert_allclose(compile(f)(tape.tensor(x)).numpy(), f(tape.tensor(x)).numpy())


# Transformations, threads.


@pytest.mark.parametrize("name", ["grad", "jacrev", "jacfwd", "hessian"])
def test_transformations_compile(name):
    f = lambda x: (x**3).sum() * np.sin(x[0]) if name in ("grad", "hessian") else x.cumsum(0) * np.exp(x)  # noqa: E731
    g = getattr(tape.func, name)(f)
    fast = compile(g)
    for x in np.random.default_rng(0).random((3, 4)):
        assert_allclose(fast(x), g(tape.tensor(x)).numpy(), rtol=1e-10)


def test_vmap_compiles():
    g = tape.func.vmap(tape.func.grad(lambda x: np.sin(x[0] * x[1])))
    x = np.random.default_rng(0).random((5, 2))
    fast = compile(g)
    for _ in range(2):
        assert_allclose(fast(x), g(tape.tensor(x)).numpy())


def test_a_compiled_function_within_another():
    inner = compile(lambda x: x * x)
    outer = compile(lambda x: tape.func.grad(lambda t: inner(t).sum())(x))
    assert_array_equal(outer(np.arange(3.0)), 2 * np.arange(3.0))


def test_several_threads_at_once():
    fast = compile(tape.func.grad(lambda x: (np.exp(x) * np.sin(x)).sum()))
    xs = np.random.default_rng(0).random((40, 500))
    expected = np.exp(xs) * (np.sin(xs) + np.cos(xs))
    fast(xs[0])
    wrong = []

    def work(part):
        wrong.extend(k for k in part if not np.allclose(fast(xs[k]), expected[k]))

    threads = [threading.Thread(target=work, args=(range(k, 40, 4),)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong


@pytest.mark.parametrize("n", [1, 7, 100, 5001])
def test_large_work_is_shared_and_sums_are_the_same_to_the_bit(monkeypatch, n):
    monkeypatch.setattr(sharing, "ENOUGH", 100)
    monkeypatch.setattr(sharing, "SMALLEST", 1)
    taken, share = [], sweeping.share
    monkeypatch.setattr(sweeping, "share", lambda run, parts: (taken.append(len(parts)), share(run, parts)))
    x = np.random.default_rng(0).random((n, 3))
    y = np.random.default_rng(1).random(3)
    found = []
    for threads in (1, 2, 3):
        fast = compile(lambda x, y: ((x * y).sum(), (x * y).mean(), x + y), threads=threads, tier="optimised")
        total, mean, both = fast(x, y)
        assert_allclose(total, np.sum(x * y))
        assert_allclose(mean, np.mean(x * y))
        assert_array_equal(both, x + y)
        found.append((total, mean))
    assert len(set(found)) == 1
    assert n < 5000 or sorted(set(taken)) == [1, 2, 3]


def test_a_change_under_no_grad_leaves_the_history():
    def f(x, y):
        v = x * 1.0
        with tape.no_grad():
            v.copy_(y * 2)
        return (v * v).sum()

    x, y = tape.tensor([1.0, 2.0], requires_grad=True), tape.tensor([3.0, 4.0], requires_grad=True)
    with pytest.warns(RuntimeWarning, match="no_grad"):
        z = tape.compile(f)(x, y)
    dx, dy = tape.autograd.grad(z, [x, y], allow_unused=True)
    np.testing.assert_array_equal(dx.numpy(), [12.0, 16.0])
    assert dy is None


def test_gradients_in_lanes_under_no_grad():
    s = tape.tensor(1.7)

    def f(x, y):
        with tape.no_grad():
            return tape.func.vmap(tape.func.grad(lambda t: (t * t * s * y).sin()))(x)

    x, y = tape.tensor([0.3, -0.7, 1.1]), tape.tensor(0.5)
    with pytest.warns(RuntimeWarning, match="no_grad"):
        found = tape.compile(f)(x, y)
    np.testing.assert_allclose(found.numpy(), f(x, y).numpy(), rtol=1e-12)
    assert found.numpy().all()
