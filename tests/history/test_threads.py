"""Several threads: a list each, leaves for all, records that cross."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import weakref

import numpy as np
import pytest

import tape
from ops import REGISTRY
from tape.autograd import grad
from tape.base.row import XV
from tape.recording import wengert
from tape.recording.wengert import LISTS, current


@pytest.fixture
def eager_switching():
    """Let threads take turns every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_thread(function, *args):
    """Run in a thread of its own that has ended on return; what it returned, or its exception raised."""
    box: list = []

    def work():
        try:
            box.append((function(*args), None))
        except BaseException as error:
            box.append((None, error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    result, error = box.pop()
    if error:
        raise error
    return result


def all_at_once(count, function):
    start = threading.Barrier(count)

    def work(k):
        start.wait()
        return function(k)

    errors: list = []

    def guarded(k):
        try:
            work(k)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(k,)) for k in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not any(t.is_alive() for t in threads)
    if errors:
        raise errors[0]


def leaf(value):
    return tape.tensor(np.array(value, float), requires_grad=True)


def test_each_thread_has_its_own_list():
    mine = current()
    other = in_thread(current)
    assert other is not mine
    assert other.number != mine.number


def test_threads_may_end_while_a_list_is_started():
    """Before CPython 3.12 garbage is collected wherever something is made, and what is collected may end a thread."""
    others = itertools.count(-1, -1)

    def ends_and_starts(phase, info):
        LISTS[next(others)] = mine

    mine, threshold = current(), gc.get_threshold()
    gc.callbacks.append(ends_and_starts)
    try:
        for first in range(1, 60):
            gc.set_threshold(first)
            assert in_thread(current) is not mine
    finally:
        gc.callbacks.remove(ends_and_starts)
        gc.set_threshold(*threshold)
        for known in [known for known in list(LISTS) if known < 0]:
            del LISTS[known]


def test_shared_leaves_add_up(eager_switching):
    """Every thread accumulates into the same leaves, and nothing is lost."""
    w, large = leaf([1.0, 2.0, 3.0]), leaf(np.ones(20_000))

    def work(k):
        for _ in range(50):
            (tape.exp(w * 0.1) * (k + 1) + w * w).sum().backward()
            (large * (k + 1)).sum().backward()

    all_at_once(4, work)
    expected = 50 * (10 * 0.1 * np.exp([0.1, 0.2, 0.3]) + 4 * 2 * np.array([1, 2, 3.0]))
    np.testing.assert_allclose(w.grad.numpy(), expected)
    assert set(large.grad.tolist()) == {500.0}


def test_first_gradients_at_once(eager_switching):
    """Nobody takes a leaf for one without a gradient while another gives it its first."""
    for _ in range(100):
        w = leaf(np.ones(3))
        all_at_once(3, lambda k, w=w: (w * 2).sum().backward())
        assert w.grad.tolist() == [6.0] * 3


def test_sweeps_at_the_same_time_do_not_mix(eager_switching):
    """grad() over shared leaves from many threads at once, with stops, hooks and kernels not seen before."""
    w = leaf(np.linspace(0.1, 0.9, 50))
    x = w.detach().numpy()
    functions = [
        (tape.exp, np.exp(x)), (tape.sin, np.cos(x)), (tape.log1p, 1 / (1 + x)), (tape.atan, 1 / (1 + x * x)),
        (tape.sinh, np.cosh(x)), (tape.asinh, 1 / np.hypot(x, 1)), (tape.expm1, np.exp(x)),
        (tape.tan, 1 / np.cos(x) ** 2),
    ]  # fmt: skip

    def work(k):
        for i in range(40):
            f, derivative = functions[(k + i) % len(functions)]
            y = f(w)
            y.register_hook(lambda g: g * 2)
            (g,) = grad((y[10:40] * 3.0).sum(), w)
            expected = np.zeros(50)
            expected[10:40] = 6 * derivative[10:40]
            np.testing.assert_allclose(g.numpy(), expected, rtol=1e-9)

    all_at_once(8, work)


def test_a_fresh_kernel_wanted_by_all_threads_at_once(eager_switching):
    """One of them compiles it; the code is never taken from under another's feet."""
    from tape.jit.emission.kernels import KERNELS

    w = leaf(np.linspace(0.1, 0.9, 1000))
    KERNELS.update()
    for name in ("erf", "cbrt", "mul"):
        KERNELS.forget(REGISTRY[name])
    results: list = []
    all_at_once(6, lambda k: [results.append(grad((tape.erf(w) * tape.cbrt(w)).sum(), w)[0].numpy()) for _ in range(5)])
    for g in results:
        np.testing.assert_array_equal(g, results[0])


def test_grad_mode_is_the_threads_own():
    with tape.no_grad():
        assert in_thread(tape.is_grad_enabled)
        assert not tape.is_grad_enabled()

    def switch_off():
        tape.set_grad_enabled(False)
        return tape.is_grad_enabled()

    assert not in_thread(switch_off)
    assert tape.is_grad_enabled()


def test_a_result_outlives_its_thread(either):
    x = leaf([1.0, 2.0])
    y = in_thread(lambda: tape.exp(x) * x)
    gc.collect()
    in_thread(current)  # a new thread makes the old lists be looked through
    (y * 2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([1, 2]) * (1 + np.array([1, 2])))
    x.grad = None
    z = in_thread(lambda: (x * x).sum())
    z.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()


def test_backward_in_another_thread(either):
    x = leaf([1.0, 2.0])
    y = (x * x * x).sum()
    in_thread(y.backward)
    assert x.grad.tolist() == [3.0, 12.0]


def test_records_that_cross_to_and_fro(either):
    """Here → there → here → there, with the same tensor used on both sides."""
    x = leaf(1.5)
    y = x
    for k in range(6):
        y = in_thread(lambda y=y: tape.sin(y) * y + x) if k % 2 else y * x + tape.cos(y)
    (g,) = grad(y, x, retain_graph=True)

    def f(t):
        y = t
        for k in range(6):
            y = np.sin(y) * y + t if k % 2 else y * t + np.cos(y)
        return y

    assert g.item() == pytest.approx((f(1.5 + 1e-6) - f(1.5 - 1e-6)) / 2e-6, rel=1e-6)
    y.backward()
    assert x.grad.item() == pytest.approx(g.item())


def test_targets_on_another_threads_list(either):
    """A target there is found, and so is what lies below it."""
    x = leaf(2.0)
    y = in_thread(lambda: x * x)
    z = y * 3
    g_y, g_x = grad(z, [y, x], retain_graph=True)
    assert (g_y.item(), g_x.item()) == (3.0, 12.0)
    y.retain_grad()
    z.backward(inputs=[x])
    assert (x.grad.item(), y.grad.item()) == (12.0, 3.0)


def test_second_order_across_threads():
    x = leaf(2.0)
    y = in_thread(lambda: x * x * x)
    (g,) = grad(y * x, x, create_graph=True)
    (h,) = in_thread(lambda: grad(g, x))
    assert (g.item(), h.item()) == (32.0, 48.0)


def test_the_list_of_an_ended_thread_is_taken_over_when_nothing_reaches_it():
    def work():
        x = leaf([1.0, 2.0])
        return [x * x for _ in range(10)]

    held = in_thread(work)
    gc.collect()
    kept = held.pop()
    del held
    number = kept._node >> wengert.THREAD_SHIFT
    assert number not in {in_thread(lambda: current().number) for _ in range(5)}
    last = -(-kept._node)  # another int: the handle itself would keep the record alive
    del kept
    wengert._by_number = {number: wengert._by_number[number], **wengert._by_number}
    taken = in_thread(current)
    assert taken.number == number
    assert taken.next() > last
    assert all(ident in {t.ident for t in threading.enumerate()} for ident in wengert.LISTS)


def test_many_short_threads_leave_nothing():
    in_thread(current)
    before = len(wengert._by_number)
    for _ in range(200):
        in_thread(lambda: (leaf(1.0) * 2).backward())
    in_thread(current)
    assert len(wengert._by_number) <= before + 1


@pytest.mark.parametrize("changed", [False, True])
def test_a_thread_may_record_while_another_sweeps_its_list(eager_switching, monkeypatch, changed):
    """The owner's scans and the other's release never meet: positions hold until values are gone."""
    monkeypatch.setattr("tape.recording.wengert.ROWS_BETWEEN_SCANS", 16)
    x, other = leaf(np.ones(3)), leaf(np.ones(3))
    held = other * other
    if changed:  # then every backward looks for changed values first
        with tape.no_grad():
            other.add_(1.0)
    produced: list = []
    done = threading.Event()

    def owner():
        try:
            while not done.is_set():
                y = tape.exp(x * 0.5)
                if len(produced) < 50:
                    produced.append((y * y).sum())
                for _ in range(200):
                    tape.sin(y)
        finally:
            done.set()

    thread = threading.Thread(target=owner)
    thread.start()
    try:
        for _ in range(300):
            while not produced and not done.is_set():
                pass
            (g,) = grad(produced.pop(0), x)
            np.testing.assert_allclose(g.numpy(), np.e * np.ones(3))
    finally:
        done.set()
        thread.join(60)
    assert not thread.is_alive()
    assert held.requires_grad


def test_an_exception_in_one_thread_leaves_the_others_alone():
    x = leaf(2.0)
    y = x * x

    def fail():
        z = y * 3
        z.register_hook(lambda g: 1 / 0)
        (z * z).backward()

    with pytest.raises(ZeroDivisionError):
        in_thread(fail)
    assert current().busy == 0
    y.backward()
    assert x.grad.item() == 4.0


def test_what_one_sweep_releases_lives_while_another_may_read_it():
    """Two sweeps at once over the same records: the values go when the last has ended."""
    y = leaf(np.full(1000, 2.0)) * 2
    z = y * y
    held, position = current(), current().locate(z._node)
    values = weakref.ref(held.row(position)[XV])
    del y
    held.enter("one")
    held.enter("another")
    held.release([(position, position + 1)])
    assert held.row(position)[XV] is None
    held.leave("one")
    assert values() is not None
    held.leave("another")
    assert values() is None


FIRST = {
    "a number": lambda x: x * 2.0, "two": lambda x: x + x, "one": np.sin, "element": lambda x: x[0],
    "sum": lambda x: x.sum(), "slice": lambda x: x[1:], "array": lambda x: tape.func.grad(lambda y: y @ y)(np.ones(2)),
    "new": lambda x: tape.ones(2, requires_grad=True), "in place": lambda x: x.clone().mul_(2.0),
}  # fmt: skip


@pytest.mark.parametrize("first", FIRST.values(), ids=list(FIRST))
def test_whatever_a_thread_does_first_it_has_a_list(first):
    x = tape.ones(2, requires_grad=True)
    assert in_thread(lambda: first(x).tolist()) == first(x).tolist()
