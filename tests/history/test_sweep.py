"""The reverse sweep: jitted and in Python, over programs chosen to be awkward."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.autograd import grad
from tape.base import jit_door
from tape.history import propagate
from tape.jit.driving import run
from tape.program.recorded.raising import STATE
from tape.recording.wengert import current


def leaf(value, dtype=np.float64):
    return tape.tensor(np.array(value, dtype), requires_grad=True)


def poison():
    """Fill the memory that NumPy hands out next, so that an adjoint nobody wrote is noticed."""
    for n in (1, 2, 3, 4, 6, 8, 12):
        blocks = [np.full(n, 7e77) for _ in range(40)]
        del blocks


@pytest.mark.parametrize(("small", "large"), [
    ((3,), (0, 3)), ((3, 1), (3, 0)), ((1, 3), (0, 3)), ((2, 1), (2, 0)), ((), (0,)), ((1,), (0,)),
    ((2, 1, 3), (2, 0, 3)),
])  # fmt: skip
def test_broadcasting_into_nothing_gives_zeros(small, large, either):
    x, nothing = leaf(np.ones(small)), tape.zeros(large)
    for f in (lambda: x + nothing, lambda: tape.sin(x) * nothing, lambda: nothing - x * 2.0):
        x.grad = None
        poison()
        f().sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.zeros(small))


SHAPES = [
    (), (1,), (4,), (3, 4), (3, 1), (1, 4), (2, 3, 4), (2, 1, 4), (2, 3, 1), (2, 1, 1), (1, 3, 1), (1, 1, 1),
    (200, 3, 1),
]  # fmt: skip


def compatible(a, b):
    return all(m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("a", "b"), [(a, b) for a in SHAPES for b in SHAPES if compatible(a, b)])
def test_every_pattern_of_broadcasting(a, b, dtype):
    """Through intermediates, on both sides, with what is saved and what is not, against sums written out."""
    rng = np.random.default_rng(1)
    x, y = rng.uniform(1, 2, a).astype(dtype), rng.uniform(1, 2, b).astype(dtype)
    w = rng.uniform(1, 2, np.broadcast_shapes(a, b)).astype(dtype)
    cases = [
        (lambda x, y: x * y, w * y, w * x),
        (lambda x, y: x - y, w, -w),
        (lambda x, y: x / y, w / y, -w * x / y**2),
        (lambda x, y: (x + 0.0) * (y * 1.0), w * y, w * x),
    ]
    for f, x_bar, y_bar in cases:
        s, t = leaf(x, dtype), leaf(y, dtype)
        (f(s, t) * tape.tensor(w)).sum().backward()
        for got, bar, like in ((s.grad, x_bar, x), (t.grad, y_bar, y)):
            full = np.broadcast_to(bar, w.shape).astype(np.float64)
            axes = tuple(range(w.ndim - like.ndim))
            expected = full.sum(axis=axes) if axes else full
            for axis, n in enumerate(like.shape):
                if n == 1:
                    expected = expected.sum(axis=axis, keepdims=True)
            assert got.dtype == dtype
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-3 if dtype == np.float32 else 1e-12)


def test_one_constant_operand_in_every_pattern():
    """A constant that no rule reads is not saved; the other operand still gets its sum."""
    for a, b in ((a, b) for a in SHAPES for b in SHAPES if compatible(a, b)):
        x, c = leaf(np.ones(a)), np.ones(b)
        (x + c).sum().backward()
        n = np.prod(np.broadcast_shapes(a, b)) / np.prod(a)
        np.testing.assert_allclose(x.grad.numpy(), np.full(a, n))
        x.grad = None
        (tape.tensor(c) - x).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.full(a, -n))


@pytest.mark.parametrize("n", [2, 5, 2000])
def test_a_leaf_whose_data_was_replaced_by_another_shape(n, either):
    """The gradient has nowhere to go: an error, and never a write past the new array's end."""
    for f in (lambda x: x * x, lambda x: x + 1.0, lambda x: tape.sin(x) + x):
        x = leaf(np.arange(1000.0))
        y = f(x)
        x.data = tape.zeros(n)
        with pytest.raises((ValueError, RuntimeError)):
            y.sum().backward()


@pytest.mark.parametrize("f", [
    lambda x: x**3.0, lambda x: 2.0**x, lambda x: 3.0 / x, lambda x: x / x, lambda x: x * x, tape.exp, tape.sqrt,
    lambda x: tape.cat([x, x]).prod(), lambda x: tape.sort(x)[0], lambda x: x @ x,
])  # fmt: skip
def test_a_second_backward_is_refused(f, either):
    """Nothing stands in for a value that was released: not the plain number beside it either."""
    x = leaf([2.0, 3.0])
    y = f(x).sum()
    y.backward()
    held = x.grad.numpy().copy()
    with pytest.raises(RuntimeError, match=r"second time.*\n.*test_sweep\.py"):
        y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), held)


def test_what_saves_nothing_can_run_twice(either):
    x = leaf([2.0, 3.0])
    y = (x + x - 1.0).sum() * 2.0
    y.backward()
    y.backward()
    assert x.grad.tolist() == [8.0, 8.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_target_is_not_consumed(create_graph, either):
    """grad() up to a hidden tensor leaves what lies below it for a later backward."""
    x = leaf([1.0, 2.0])
    for f in (lambda x: x * x, lambda x: tape.sort(tape.exp(x))[0]):
        x.grad = None
        hidden = f(x)
        (g,) = grad((hidden * hidden).sum(), hidden, retain_graph=False, create_graph=create_graph)
        np.testing.assert_allclose(g.detach().numpy(), 2 * hidden.detach().numpy())
        hidden.sum().backward()
        assert x.grad is not None


def test_only_what_leads_to_a_target_runs():
    """Hooks beside the way to the target stay silent."""
    x, y = leaf(2.0), leaf(3.0)
    a, b = x * 2, y * 5
    called = []
    a.register_hook(lambda g: called.append("a"))
    b.register_hook(lambda g: called.append("b"))
    (g,) = grad(a * b, x)
    assert (g.item(), called, y.grad) == (30.0, ["a"], None)


def test_unreached_records_are_not_released():
    x = leaf(2.0)
    a, b = x * x, tape.exp(x)
    a.backward()
    b.backward()
    assert x.grad.item() == pytest.approx(4 + np.exp(2.0))


def test_the_same_tensor_twice_as_output_and_target(either):
    x = leaf([1.0, 2.0])
    y = x * 3
    first, second = grad([y, y], [y, y], [tape.ones(2), tape.ones(2)])
    assert first.tolist() == second.tolist() == [2.0, 2.0]
    (g,) = grad([y, y], x, [tape.ones(2), tape.ones(2)])
    assert g.tolist() == [6.0, 6.0]


def test_adjoints_are_not_shared_between_operands(either):
    """One adjoint that reaches several operands unchanged ends in separate memory."""
    x, y = leaf([[1.0, 2.0]]), leaf([[3.0, 4.0]])
    (x + y).reshape(2).backward(tape.ones(2))
    x.grad.zero_()
    assert y.grad.tolist() == [[1.0, 1.0]]
    a = x * 1.0
    b, c = a.reshape(2), a.reshape(2, 1)
    (g_b, g_c) = grad((b + c.reshape(2)).sum(), [b, c])
    g_b.zero_()
    assert g_c.tolist() == [[1.0], [1.0]]


def test_many_sizes_and_many_records_in_one_sweep(either):
    """More sizes than there are size classes, more steps than a chunk, more leaves than the first table."""
    leaves = [leaf(np.full(n, 0.5)) for n in range(1, 150)]
    total = tape.tensor(0.0)
    for x in leaves:
        y = x
        for _ in range(20):
            y = tape.sin(y) * y + x
        total = total + y.sum()
    total.backward()
    for x in leaves:
        np.testing.assert_allclose(x.grad.numpy(), np.full(x.shape, leaves[0].grad.item()))


def test_an_error_in_a_hook_leaves_the_list_usable(either):
    x = leaf([1.0, 2.0])
    y = tape.exp(x) * x
    handle = y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert current().busy == 0
    assert current().recording
    assert current().where is None
    assert x.grad is None
    handle.remove()
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * y.detach().numpy() * np.exp([1, 2]) * (1 + np.array([1, 2])))


def test_an_interrupt_in_a_hook_leaves_the_list_usable(either):
    x = leaf(2.0)

    def interrupt(g):
        raise KeyboardInterrupt

    y = x * x
    y.register_hook(interrupt)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            (y * x).backward()
    z = x * x * x
    z.backward()
    assert (x.grad.item(), current().busy) == (12.0, 0)


def test_backward_inside_a_hook(either):
    """A sweep within a sweep, over the same list, which meanwhile grows far past the next scan."""
    x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])

    def inner(g):
        assert not tape.is_grad_enabled()
        with tape.enable_grad():
            for _ in range(4000):
                (w * w * w * w).sum().backward()
            w.grad = None
            (w * w).sum().backward()
        return g * 2

    y = tape.sin(x)
    y.register_hook(inner)
    z = tape.exp(y) * y
    z.sum().backward()
    s, c = np.sin([1, 2]), np.cos([1, 2])
    np.testing.assert_allclose(x.grad.numpy(), 2 * c * np.exp(s) * (1 + s))
    assert w.grad.tolist() == [6.0, 8.0]


def test_a_hook_that_releases_what_the_sweep_still_needs(either):
    """The outer sweep notices, or had taken hold of the values before; it never reads what is gone."""
    x = leaf(np.ones(1000))
    y = x * x
    a, b = tape.exp(y).sum(), tape.sin(y).sum()
    hooked = []

    def release(g):
        hooked.append(g)
        if len(hooked) == 1:
            b.backward()

    y.register_hook(release)
    expected = 2 * np.cos(np.ones(1000))
    if either == "jitted":
        with pytest.raises(RuntimeError, match="second time"):
            a.backward()
    else:
        a.backward()
        expected = expected + 2 * np.e
    assert (current().busy, len(hooked)) == (0, 2)
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_infinite_partials_do_not_spoil_what_has_no_influence(either):
    x = leaf([0.0, 4.0])
    tape.where(x > 0, tape.sqrt(x), x).sum().backward()
    assert x.grad.tolist() == [1.0, 0.25]


def test_read_only_and_strided_gradients(either):
    x = leaf(np.arange(6.0).reshape(2, 3))
    v = np.arange(12.0).reshape(3, 4)[:, ::-2].T
    v.flags.writeable = False
    (x * 2.0).backward(tape.as_tensor(v))
    np.testing.assert_array_equal(x.grad.numpy(), 2 * v)
    assert not v.flags.writeable


@pytest.mark.parametrize("length", [100_000])
def test_a_deep_graph(length, either):
    """No recursion anywhere: forward, backward and release."""
    x = leaf(1.0)
    y = x
    for _ in range(length):
        y = y * 1.0
    y.backward()
    assert x.grad.item() == 1.0
    del y
    current().scan()


def test_a_million_records():
    current().scan()
    others = len(current())
    x = leaf(1.0)
    y = x
    for _ in range(500_000):
        y = y * x + x
        y = y - x
    before = len(current())
    assert before >= 1_000_000
    y.backward()
    assert np.isfinite(x.grad.item())
    assert x.grad.item() == pytest.approx(500_001.0)
    del y
    current().scan()
    assert len(current()) < others + 1000


def test_both_sweeps_on_one_list():
    """The same roots on the same list, jitted and in Python."""
    rng = np.random.default_rng(3)
    x, w = leaf(rng.standard_normal((4, 3))), leaf(rng.standard_normal((3, 2)))
    h = tape.tanh(x @ w)
    z = (h * h).mean() + tape.logsumexp(h, dim=0).sum() + h[1].sum() + h.reshape(-1)[::2].sum()
    a, visited = run.sweep(current(), {z._node: np.float64(1)}, {}, None)
    try:
        b, runs = propagate.sweep(current(), {z._node: np.float64(1)}, {}, None, False)
    finally:
        current().where = None  # the engine does this
    assert a.keys() == b.keys()
    for k in a:
        np.testing.assert_allclose(a[k], b[k], rtol=1e-12)
    assert [tuple(r) for r in visited] == runs


def test_order_four():
    x = leaf(0.7)
    g = tape.sin(x) * x
    for _ in range(4):
        (g,) = grad(g, x, create_graph=True)
    assert g.item() == pytest.approx(np.sin(0.7) * 0.7 - 4 * np.cos(0.7))


def test_the_native_half_is_in_use():
    assert jit_door.jitted("driving.run") is run


def test_numpy_warns_again_in_hooks_and_after_a_sweep_through_a_custom_function():
    states = {}

    def look(name):
        states[name] = np.geterr()["divide"]

    class Watching(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            look("backward")
            if g[0] < 0:
                raise KeyError("no")
            return g

    x = tape.ones(2, requires_grad=True)
    y = Watching.apply(x)
    y.register_hook(lambda g: look("between"))
    z = Watching.apply(y)
    x.register_hook(lambda g: look("leaf"))
    with np.errstate(divide="call"):
        z.sum().backward(retain_graph=True)
        look("after")
        with pytest.raises(KeyError):
            (-z.sum()).backward()
        look("failed")
    assert states == {"backward": "ignore", "between": "call", "leaf": "call", "after": "call", "failed": "call"}


def test_rules_in_python_leave_no_setting_behind():
    """Afterwards NumPy keeps what it kept before, not another setting that says the same."""
    if STATE is None:
        pytest.skip("NumPy has another place for its settings")
    x = tape.ones(4, requires_grad=True)
    with np.errstate(all="warn"):
        before = STATE.get()
        x[1:3].sum().backward()
        assert STATE.get() is before
