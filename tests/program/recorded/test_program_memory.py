"""Memory of replays: large results are used again when nobody holds them, threads share what is large."""

import ctypes
import mmap
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.base.spec import spec
from tape.jit.machine.frames import LARGE, Pool
from tape.program.plans import threads as sharing
from tape.program.plans.threads import SMALLEST, guided

N = LARGE // 8


def address(array):
    return array.ctypes.data


class TestPool:
    def test_what_was_dropped_is_given_again(self):
        pool = Pool(spec((N,), np.dtype(np.float64)))
        first = address(pool.take())
        assert address(pool.take()) == first

    def test_what_is_held_is_not(self):
        pool = Pool(spec((N,), np.dtype(np.float64)))
        held = [pool.take() for _ in range(5)]
        views = [pool.take()[3:5] for _ in range(5)]
        assert len({address(a) for a in held} | {address(v) - 24 for v in views}) == 10

    def test_an_array_that_somebody_keeps_makes_room_for_others(self):
        """As in a benchmark that keeps its first result: the ones that come and go are used in turns."""
        pool = Pool(spec((N,), np.dtype(np.float64)))
        kept, last, seen = [pool.take(), pool.take()], None, []
        for _ in range(10):
            last = pool.take()
            seen.append(address(last))
        assert len(set(seen)) == 2
        assert not {*seen} & {address(a) for a in kept}

    @pytest.mark.parametrize("spoil", ["shape", "dtype", "writeable"])
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_what_came_back_changed_is_not_given_again(self, spoil):
        pool = Pool(spec((N,), np.dtype(np.float64)))
        array = pool.take()
        if spoil == "shape":
            array.shape = (2, N // 2)
        elif spoil == "dtype":
            array.dtype = np.int64
        else:
            array.flags.writeable = False
        del array
        fresh = pool.take()
        assert (fresh.shape, fresh.dtype) == ((N,), np.float64)
        assert fresh.flags.writeable

    def test_small_ones_are_not_kept(self):
        pool = Pool(spec((3,), np.dtype(np.float64)))
        pool.take()
        assert not pool._kept


def test_results_stay_as_they_are():
    """Whatever is called later."""
    fast = tape.compile(tape.func.grad(lambda x: (x * x).sum()), threads=1)
    inputs = [np.full(N, float(k)) for k in range(6)]
    results = [fast(x) for x in inputs]
    for x, result in zip(inputs, results):
        assert_array_equal(result, 2 * x)


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("smallest", [1, SMALLEST])
@pytest.mark.parametrize("over", [7, 100, 62_500, 1_000_003])
def test_pieces_cover_everything(over, threads, smallest):
    edges = list(guided(over, threads, smallest))
    assert (edges[0], edges[-1]) == (0, over)
    sizes = np.diff(edges)
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()
    assert len(sizes) >= min(threads, over // smallest)


def test_a_sum_is_the_same_each_time(monkeypatch):
    """Also if threads take other pieces: they are added in their order."""
    monkeypatch.setattr(sharing, "ENOUGH", 1 << 16)
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=300_000), 1.5
    fast = tape.compile(lambda x, c: ((tape.exp(x) * c).sum(), (x * c).mean(), x * c), threads=3)
    first = fast(x, c)
    assert_allclose(first[0], np.sum(np.exp(x) * c))
    assert_allclose(first[1], np.mean(x * c))
    for _ in range(20):
        total, mean, each = fast(x, c)
        assert (total, mean) == first[:2]
        assert_array_equal(each, x * c)


def test_numbers_of_one_call_do_not_reach_another(monkeypatch):
    """Frames go from thread to thread; each has its own numbers."""
    monkeypatch.setattr(sharing, "ENOUGH", 1 << 14)
    fast = tape.compile(lambda x, c: (x * c, (x * c).sum()), threads=2)
    x = np.ones(100_000)
    for c in range(1, 30):
        each, total = fast(x, float(c))
        assert_array_equal(each, c)
        assert total == c * len(x)


@pytest.mark.skipif(sys.platform == "win32", reason="mprotect")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_beyond_an_array_is_read(dtype):
    """Kernels ask for memory ahead; at the end of the readable they would crash if they did more."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 9 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(start + 8 * page), ctypes.c_size_t(page), 0) == 0
    x = np.frombuffer(memory, dtype, 8 * page // np.dtype(dtype).itemsize)
    x[:] = 3
    fast = tape.compile(tape.func.grad_and_value(lambda x: (tape.exp(x) * x).sum()), tier="optimised")
    leaf = tape.tensor(x, requires_grad=True)
    for n in (len(x), len(x) - 1, 33):
        gradient, value = fast(x[-n:])
        assert_allclose(gradient, 4 * np.exp(3), rtol=1e-5)
        assert_allclose(value, 3 * np.exp(3) * n, rtol=1e-5)
        (eager,) = tape.autograd.grad((tape.exp(leaf[-n:]) * leaf[-n:]).sum(), leaf)
        assert_allclose(eager[-n:], gradient, rtol=1e-5)


def test_windows_on_recorded_tensors_are_recorded_for_all_values():
    """They asked for the value, to know how it lies, so that each new value was recorded anew."""
    for f in (
        lambda x: (x.unfold(0, 2, 1) ** 2).sum() * x,
        lambda x: ((x * 2.0)[1:].as_strided((2,), (1,), 0) ** 2).sum() * x,
        lambda x: (tape.outer(x, x).T.unfold(0, 2, 2) * x[:2]).sum(),
    ):
        compiled = tape.compile(f)
        for k in range(4):
            x = tape.arange(3.0) + k
            assert np.allclose(compiled(x).numpy(), f(x).numpy())
        statistics = compiled.statistics()
        assert (len(statistics.programs), statistics.eager, statistics.missed) == (1, 0, 0)


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize("make", [lambda: tape.zeros(3, requires_grad=True) * 1, lambda: tape.ones(3).requires_grad_()])
def test_each_call_gives_its_own_tensor_where_that_has_a_history_of_its_own(make):
    compiled = tape.compile(lambda x: (x * 2, make()))
    expected = make()
    for _ in range(3):
        made = compiled(tape.ones(3))[1]
        assert (made.tolist(), made.is_leaf) == (expected.tolist(), expected.is_leaf)
        (made * made).sum().backward()
        with tape.no_grad():
            made.add_(1.0)
        if made.is_leaf:
            assert made.grad.tolist() == [2.0, 2.0, 2.0]
