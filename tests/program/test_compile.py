"""tape.compile: what goes in and out, the paths through a function, and what cannot be recorded."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from custom_functions import declare
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import GuardMissed, Untraceable, compile, record
from tape.program.plans import sweeping, threads as sharing


def loops(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total = total + x[i] * x[i]
        else:
            total = total - x[i]
    return total


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


# Paths.


def test_each_path_is_recorded_once():
    fast = compile(loops)
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.standard_normal(3)
        assert_allclose(fast(x), np.sum(np.where(x > 0, x * x, -x)))
    assert len(fast.programs) == 8


def test_each_path_of_a_plain_number_is_recorded():
    fast = compile(lambda x: x - x if x < 0 else x)
    assert [fast(x) for x in (-1.3, 1.34, -2.0, 2.0)] == [0.0, 1.34, 0.0, 2.0]
    assert len(fast.programs) == 2
    with pytest.raises(GuardMissed, match=r"bool\(\) gives True, and for these inputs it gives False"):
        fast.programs[0].run([1.0])


def test_a_loop_until_convergence():
    @compile
    def root(a):
        x = a * 1.0
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for a in np.linspace(0.5, 9, 30):
            assert_allclose(root(float(a)), np.sqrt(a))
    assert 1 < len(root.programs) < 12


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: float(x.sum()), lambda x: x.sum().item(), lambda x: int(x.sum()), lambda x: x.tolist()[0],
        lambda x: np.asarray(x).copy()[0], lambda x: np.asarray(tape.stop_gradient(x))[0],
        lambda x: bool(x.sum()) * 1.0, lambda x: max(x), lambda x: x[x > 0.5].sum(), lambda x: x[x.argmax()],
        lambda x: 1.0 if x[0] in x[1:] else 2.0,
        lambda x: sorted(x)[1], lambda x: x[int(x[0])],
    ],
)  # fmt: skip
def test_whatever_python_is_told_of_a_value_is_verified(ask):
    def f(x):
        return ask(x) * x.sum()

    fast = compile(f)
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(12):
            x = rng.random(3)
            expected = f(tape.tensor(x))
            assert_allclose(fast(x), expected.numpy() if isinstance(expected, tape.Tensor) else expected)


def test_a_function_that_always_takes_another_path_runs_as_it_is():
    fast = compile(lambda x: x * float(x[0]), most_paths=4)
    for k in range(4):
        assert_array_equal(fast(np.array([k, 2.0])), np.array([k, 2.0]) * k)
    with pytest.warns(RuntimeWarning, match=r"4 paths were recorded.*test_compile"):
        fast(np.array([5.0, 2.0]))
    for k in range(10):
        assert_array_equal(fast(np.array([k, 2.0])), np.array([k, 2.0]) * k)


def test_a_program_alone_refuses_another_path():
    program = record(loops, np.array([1.0, -1.0]))
    assert program(np.array([2.0, -1.0])) == 5.0
    with pytest.raises(GuardMissed, match=r"bool\(\) gives True.*\n.*test_compile.py:\d+ in loops: if x\[i\] > 0"):
        program(np.array([-2.0, -1.0]))
    with pytest.raises(TypeError, match="recorded for arguments"):
        program(np.ones(3))


def test_errors_are_the_functions_own():
    @compile
    def f(x):
        if x.sum() < 0:
            raise KeyError("negative")
        return np.linalg.inv(x)

    f(np.eye(2))
    with pytest.raises(KeyError):
        f(-np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        f(np.ones((2, 2)))
    assert_array_equal(f(2 * np.eye(2)), 0.5 * np.eye(2))


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


# What cannot be recorded.


Double = declare(backward=lambda ctx, g: g * 2)


def change_argument(x):
    x += 1
    return x


@pytest.mark.parametrize(
    "function",
    [
        Double.apply, change_argument, lambda x: x * tape.rand(3),
        lambda x: x * np.random.random_sample(),  # noqa: NPY002
    ],
)  # fmt: skip
def test_what_a_list_cannot_repeat_runs_as_it_is(function):
    fast = compile(function)
    with pytest.warns(RuntimeWarning, match="without compiling"):
        fast(tape.ones(3))
    a, b = fast(tape.ones(3)).numpy(), fast(tape.ones(3)).numpy()
    if function in (Double.apply, change_argument):
        assert_array_equal(a, function(tape.ones(3)).numpy())
        assert_array_equal(a, b)
    else:
        assert not np.array_equal(a, b)
    with pytest.raises(Untraceable):
        record(function, tape.ones(3))


def test_an_array_among_the_arguments_is_changed_by_every_call():
    fast = compile(change_argument)
    x = np.ones(3)
    with pytest.warns(RuntimeWarning, match="was changed in place"):
        fast(x)
    fast(x)
    assert_array_equal(x, np.full(3, 3.0))


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


# A replay that raises: for what the function does, or because it could not be made.


def no_kernel(*args, **kwargs):
    raise RuntimeError("LLVM IR parsing error")


@pytest.mark.parametrize("make", [lambda f: f, tape.func.grad])
def test_a_kernel_that_cannot_be_made_is_told_once(monkeypatch, make):
    made = make(lambda x: (np.sin(x) * x).sum())
    fast = compile(made, tier="quick")
    monkeypatch.setattr("tape.jit.machine.machine_code.compile_kernel", no_kernel)
    x = np.arange(1.0, 4)
    with pytest.warns(RuntimeWarning, match="could not be made.*LLVM IR parsing error"):
        found = fast(x)
    for result in found, fast(x), fast(x):
        assert_array_equal(result, made(x))


def test_a_better_kernel_that_cannot_be_made_is_told_once(monkeypatch):
    fast = compile(lambda x: (np.sin(x) * x).sum(), tier=None)
    x = np.arange(1.0, 4)
    expected = fast(x)
    monkeypatch.setattr("tape.program.plans.replay.KernelStep.upgraded", no_kernel)
    fast.programs[0].replay.until = fast.programs[0].counter.value + 1
    for step in fast.programs[0].replay.steps:
        step.upgrade_at = 0
    with pytest.warns(RuntimeWarning, match="a better kernel could not be made"):
        assert fast(x) == expected
    assert fast(x) == expected


def test_a_replay_that_raises_where_the_function_goes_on_is_told_once():
    def function(A):
        try:
            return np.linalg.inv(A).sum()
        except np.linalg.LinAlgError:
            return A.sum()

    fast = compile(function)
    assert_allclose(fast(np.eye(2)), 2)
    with pytest.warns(RuntimeWarning, match="LinAlgError"):
        assert fast(np.ones((2, 2))) == 4
    assert fast(np.ones((2, 2))) == 4
