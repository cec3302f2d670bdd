"""Array records as steps of one sweep: the numbers that NumPy gives, within the memory that is theirs."""

from __future__ import annotations

import gc
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import record
from tape.program.plans import plan as plans, prepared
from tape.program.plans.plan import Plan
from tape.program.plans.plan_steps.plan_places import CANARY, DataRegion, rounded
from tape.program.plans.sweeping import PlanBlock, PlanRun, Sweeper

UNARY = [
    lambda x: x.T,
    lambda x: x[::-1],
    lambda x: x[..., ::2],
    lambda x: x[1:] if x.shape[0] > 1 else x,
    lambda x: x.reshape(-1),
    lambda x: np.broadcast_to(x, (2, *x.shape))[1],
    lambda x: np.concatenate([x, x[:1] * 2.0]),
    lambda x: np.stack([x, x + 1.0]).sum(axis=0),
    lambda x: np.pad(x, 1),
    lambda x: np.roll(x, 1),
    lambda x: np.flip(x),
    lambda x: np.tile(x, 2),
    lambda x: x[np.array([0, -1, 0])],
    lambda x: np.moveaxis(x[None], 0, -1)[..., 0],
    lambda x: np.cumsum(x, axis=0),
    lambda x: np.cumprod(x * 0.5, axis=-1),
    lambda x: np.where(x > 0, x, 0.5 * x),
    lambda x: x - x.max(axis=0),
    lambda x: x * x.min(),
    lambda x: x + x.mean(axis=-1, keepdims=True),
    lambda x: x / (1.0 + np.prod(np.abs(x), axis=0)),
    lambda x: np.tanh(x),
    lambda x: x @ np.linspace(-1.0, 1.0, x.shape[-1] * 3).reshape(-1, 3) if x.ndim > 1 else x * (x @ x),
    lambda x: np.outer(x.reshape(-1)[:3], x.reshape(-1)[:2]),
    lambda x: (
        np.linalg.solve(np.outer(x.reshape(-1)[:2], x.reshape(-1)[:2]) + 4.0 * np.eye(2), x.reshape(-1)[:2])
        if x.size > 1
        else x
    ),
    lambda x: np.sort(x, axis=0),
    lambda x: np.nan_to_num(x),
]  # fmt: skip
"""Records of arrays; the last has no step."""
SMALLEST = 64


def program(steps, branches):
    """A function that applies these one after another, and joins what several of them give."""

    def f(x):
        parts = []
        for k, step in enumerate(steps):
            x = UNARY[step](x)
            if x.ndim == 0:
                x = x.reshape(1)
            if k in branches:
                parts.append(np.tanh(x).sum())
            if x.size > SMALLEST:
                x = x.reshape(-1)[:SMALLEST].reshape(8, 8)
        return sum(parts, (np.tanh(x) * np.arange(1.0, x.size + 1).reshape(x.shape)).sum()), x

    return f


@pytest.fixture(autouse=True)
def _checked(monkeypatch):
    """Every piece of memory is followed by bytes that nobody may write to."""
    monkeypatch.setattr(Plan.__init__, "__defaults__", (True,))


@settings(max_examples=20)
@given(
    st.lists(st.integers(0, len(UNARY) - 1), min_size=1, max_size=7),
    st.sets(st.integers(0, 6), max_size=3),
    st.sampled_from([(3,), (2, 3), (4, 4), (2, 1, 3)]),
    st.integers(0, 2**32 - 1),
)
def test_random_programs_give_what_numpy_gives(steps, branches, shape, seed):
    rng = np.random.default_rng(seed)
    f = program(steps, branches)
    made = record(f, rng.standard_normal(shape))
    slope = record(tape.func.grad(lambda x: f(x)[0]), rng.standard_normal(shape))
    for _ in range(2):
        x = rng.standard_normal(shape)
        kept = x.copy()
        value, z = made(x)
        expected_value, expected = f(x)
        assert_allclose(z, expected, rtol=1e-10, atol=1e-12)
        assert_allclose(value, expected_value, rtol=1e-9, atol=1e-10)
        assert z.shape == expected.shape
        assert z.dtype == expected.dtype
        eager = tape.func.grad(lambda x: f(x)[0])(x)
        assert_allclose(slope(x), eager, rtol=1e-7, atol=1e-9)
        is_view = np.shares_memory(expected, x)
        assert np.shares_memory(z, x) == is_view
        assert z.flags.writeable == expected.flags.writeable
        if z.flags.writeable and not is_view:
            z[...] = 7.0
        assert_array_equal(x, kept)
        assert_allclose(made(x)[1], expected, rtol=1e-10, atol=1e-12)


def test_a_step_that_writes_beyond_its_memory_is_noticed():
    """The check itself: a copy of one element more than there is."""
    made = record(lambda x: np.concatenate([x[1:], x[:1]]) * 2.0, np.ones(8))
    assert_array_equal(made(np.arange(8.0)), 2 * np.roll(np.arange(8.0), -1))
    sweeper = made.replay.sweeper
    assert sweeper.plan.memory.canaries
    block = PlanBlock(sweeper.plan)
    block.memory[sweeper.plan.data + sweeper.plan.memory.canaries[0]] = 0
    with pytest.raises(MemoryError, match="wrote behind the memory"):
        PlanRun(sweeper, block, [np.ones(8)]).results()


def test_memory_is_used_again():
    """A chain of a thousand slices needs no more than a few of them."""

    def f(x):
        for _ in range(300):
            x = np.concatenate([x[1:], x[:1]])
        return x

    made = record(f, np.ones(1000))
    assert_array_equal(made(np.arange(1000.0)), np.roll(np.arange(1000.0), -300))
    assert made.replay.sweeper.plan.memory.nbytes < 10 * (8000 + CANARY)
    memory = DataRegion()
    first = memory.take(100)
    first.users = 1
    memory.give(first)
    assert memory.take(rounded(100)).offset == first.offset


def test_views_are_no_steps():
    plain = record(lambda x: (x * x).sum(), np.ones((4, 4)))
    views = record(lambda x: (x.reshape(2, 8).reshape(4, 4)[:] ** 2).sum(), np.ones((4, 4)))
    assert views.replay.sweeper.plan.count == plain.replay.sweeper.plan.count


def test_stops_are_counted():
    found = record(lambda x: np.linalg.pinv(x[1:, None]).sum() + x[0], np.ones(5)).statistics()
    assert found.numpy == found.stops > 0
    assert record(lambda x: (x[1:] @ x[:-1]) * x.max(), np.ones(5)).statistics().stops == 0


@pytest.mark.parametrize("f", [np.linalg.inv, np.linalg.cholesky, lambda a: np.linalg.solve(a, np.ones(3))])
def test_singular_matrices_raise_what_numpy_raises(f):
    rng = np.random.default_rng(0)
    good = rng.standard_normal((3, 3))
    good = good @ good.T + np.eye(3)
    made = record(lambda a: f(a) * 2.0, good)
    assert made.statistics().stops == 0
    for bad in (np.zeros((3, 3)), -np.ones((3, 3))):
        with pytest.raises(np.linalg.LinAlgError) as expected:
            f(bad)
        with pytest.raises(np.linalg.LinAlgError) as found:
            made(bad)
        assert str(found.value) == str(expected.value)
        assert_allclose(made(good), f(good) * 2.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "sizes", [(4, 4, 4), (9, 7, 8), (1, 40, 20), (20, 40, 1), (33, 17, 5), (1, 1, 300), (30, 1, 30)]
)
def test_products_of_matrices_however_they_lie(dtype, sizes):
    rows, inner, columns = sizes
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2 * rows, inner)).astype(dtype), rng.standard_normal((columns, inner)).astype(dtype)
    for f in (
        lambda x, y: x[::2] @ y.T,
        lambda x, y: x[:rows] @ np.ascontiguousarray(y.T),
        lambda x, y: (y @ x[rows:].T).T,
        lambda x, y: x[::-1][:rows] @ y[0],
        lambda x, y: y[:, 0] @ (y * 2)[:, ::-1],
    ):
        made = record(f, x, y)
        found, expected = made(x, y), f(x, y)
        assert found.dtype == expected.dtype
        assert_allclose(found, expected, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-5)


def test_complex_numbers_whole_numbers_and_truth_values_are_moved():
    for dtype in (np.complex128, np.int64, np.int8, np.bool_):
        x = np.arange(12).reshape(3, 4).astype(dtype)
        made = record(lambda x: np.concatenate([x[::-1].T, x.T[:2]], axis=0), x)
        assert_array_equal(made(x), np.concatenate([x[::-1].T, x.T[:2]], axis=0))
    z = np.array([1 + 2j, 3 - 4j])
    assert_array_equal(record(lambda z: np.conj(z)[::-1], z)(z), np.conj(z)[::-1])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (3,), (2, 3)])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_a_stop_reads_the_part_that_a_view_of_a_stops_result_shows(monkeypatch, shape, dtype):
    def views_alone(plan, record):
        """All that is no view is a stop."""
        return record.op.name in ("real", "imag", "select", "reshape", "permute", "slice") and any(
            room.step(plan, record) for room in rooms
        )

    rooms = plans.ROOMS
    monkeypatch.setattr(plans, "ROOMS", (SimpleNamespace(step=views_alone),))
    rng = np.random.default_rng(1)
    z = np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    for look in (
        lambda z: z.real,
        lambda z: z.imag,
        lambda z: z.T.imag,
        lambda z: z[..., -1:].imag if z.ndim else z.real,
        lambda z: z.reshape(1, -1).imag,
    ):

        def f(z, look=look):
            return look(z * (2 - 1j)) * (1 + 1j)

        made = record(f, z)
        assert made.statistics().stops >= 2
        assert_allclose(made(z), f(z), rtol=1e-5)
        assert_allclose(made(z + 1), f(z + 1), rtol=1e-5)


def test_shapes_and_dtypes_are_verified_before_anything_is_read():
    made = record(lambda x: x[1:] @ x[:-1], np.ones(4))
    for wrong in (np.ones(5), np.ones((4, 1)), np.ones(4, np.float32), np.ones(4, np.int64)):
        with pytest.raises(TypeError):
            made(wrong)
    wide = np.arange(8.0)
    for view in (wide[::2], wide[::-1][:4], np.frombuffer(b"\0" + wide.tobytes(), np.uint8)[1:33].view(np.float64)):
        assert_allclose(made(view), view[1:] @ view[:-1])


def test_threads_and_calls_within_calls():
    made = record(lambda x: np.sort(np.cumsum(x[::-1]) @ np.outer(x, x)).sum(), np.ones(6))
    rng = np.random.default_rng(0)
    inputs = [rng.random(6) for _ in range(8)]
    expected = [made(x) for x in inputs]
    wrong = []

    def work(k):
        wrong.extend(k for _ in range(200) if made(inputs[k]) != expected[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not wrong
    assert len(made.replay.sweeper._blocks) <= 4


def test_a_plan_is_made_again_when_kernels_are():
    made = record(lambda x: np.tanh(x[1:] * x[:-1]) @ x[:3], np.ones(4), tier="interpret")
    assert isinstance(made.replay.sweeper, Sweeper)
    assert not plans.CHECKED
    assert_allclose(made(np.arange(4.0)), np.tanh(np.array([0.0, 2.0, 6.0])) @ np.arange(3.0))


def test_nothing_is_moved_without_a_stop():
    """Slices that are empty in the last round, as those of a loop over the rest of a column are."""

    def rest(x):
        y = x * 1.0
        for i in range(len(x)):
            y[i] += y[i + 1 :] @ x[i + 1 :]
        return (y * y).sum()

    x = np.linspace(0.1, 1.0, 6)
    program = record(rest, x)
    assert_allclose(program(x), rest(x), 1e-12)
    assert program.statistics().stops == 0
    assert_allclose(record(tape.func.grad(rest), x)(x), tape.func.grad(rest)(x), 1e-12)


def test_a_program_that_nobody_holds_is_gone_at_once_with_its_plan():
    """Its memory and kernels need not wait for Python to collect circles."""
    made = record(lambda x: np.tanh(x[1:] * x[:-1]) @ x[:3], np.ones(4))
    made(np.arange(4.0))
    held = [weakref.ref(made.replay), weakref.ref(made.replay.sweeper), weakref.ref(made.replay.sweeper.plan)]
    gc.disable()
    try:
        del made
        assert [what() for what in held] == [None, None, None]
    finally:
        gc.enable()


def test_a_program_that_is_made_anew_finds_its_kernel_again(monkeypatch):
    """Also where nobody has held the one before: a function that compiles within is called again and again."""

    def value():
        return record(lambda x: np.tanh(x * 3.25) * x, np.ones(40), tier="quick")(np.full(40, 0.5))

    first = value()
    monkeypatch.setattr(prepared, "KernelCode", lambda *_: pytest.fail("its kernel was made again"))
    assert_array_equal(value(), first)
