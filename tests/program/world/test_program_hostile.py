"""What could make a replay silently wrong: results that share memory, state that changes, values that jump."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import warnings
from collections import namedtuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import compile, record

NAN, INF = np.nan, np.inf


def test_a_gradient_belongs_to_the_path_that_is_taken():
    fast = compile(lambda x: 0.0 if x < 0 else x)
    assert fast(-1.3) == 0
    x = tape.tensor(1.34, requires_grad=True)
    fast(tape.tensor(-1.3, requires_grad=True))
    fast(x).backward()
    assert x.grad == 1
    grad = compile(tape.func.grad(lambda x: x * 0.0 if x < 0 else x))
    assert (grad(-1.3), grad(1.34), grad(-0.5)) == (0, 1, 0)


# Whose results are.


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x, lambda x: x * 1.0, lambda x: -(-x), lambda x: x - 0.0, lambda x: x.T, lambda x: x[::2],
        lambda x: x.reshape(-1), lambda x: np.broadcast_to(x, (3, 4)), lambda x: np.stack([x, x])[0],
    ],
)  # fmt: skip
def test_a_result_shares_memory_with_an_argument_where_the_functions_own_does(function):
    fast, x = compile(function), np.arange(4.0)
    for _ in range(3):
        z, own = fast(x), function(x)
        assert_array_equal(z, own)
        assert np.shares_memory(z, x) == np.shares_memory(own, x)
        assert z.flags.writeable == own.flags.writeable
        assert (z is x) == (own is x)


def test_equal_results_are_two_arrays():
    fast = compile(lambda x: (x * 2, 2 * x, x * 2 + 0 * x[0], x, x * 1))
    for _ in range(3):
        results = fast(np.ones(3))
        for z in results:
            z.__iadd__(10)
        assert [z[0] for z in results] == [12, 12, 12, 11, 11]


def test_a_result_does_not_share_memory_with_what_is_captured():
    weight, hidden = np.ones(3), tape.ones(3)
    fast = compile(lambda x: (weight + x * 0, tape.tensor(weight) - 0.0, hidden - 0.0, x * 0 + hidden))
    for _ in range(3):
        for z in fast(np.zeros(3)):
            if isinstance(z, np.ndarray):
                z[:] = 5
    assert_array_equal(weight, np.ones(3))
    assert_array_equal(hidden.numpy(), np.ones(3))


@pytest.mark.parametrize("keep", [lambda z: z, lambda z: z[5:], lambda z: memoryview(z), lambda z: z.T.reshape(2, -1)])
def test_large_results_that_are_kept_stay_what_they_are(keep):
    fast = compile(lambda x: x * 2 + 1)
    kept = [keep(fast(np.full(1 << 16, float(k)))) for k in range(6)]
    gc.collect()
    for k, z in enumerate(kept):
        assert np.asarray(z).min() == np.asarray(z).max() == 2 * k + 1


def test_what_backward_needs_survives_later_calls():
    fast = compile(lambda x: (x * 2).exp())
    xs = [tape.tensor(np.full(1 << 16, k / 10), requires_grad=True) for k in range(5)]
    for z in [(fast(x) ** 2).sum() for x in xs]:
        z.backward()
    for k, x in enumerate(xs):
        assert_allclose(x.grad.numpy(), 4 * np.exp(4 * k / 10))


# Numbers.


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 0.0,
        lambda x: 0.0 + x,
        lambda x: x - 0.0,
        lambda x: x + (-0.0),
        lambda x: 0.0 - x,
        lambda x: x * 1.0,
    ],
)
@pytest.mark.parametrize("tier", ["interpret", "optimised"])
def test_zeros_keep_their_signs_and_nan_stays(function, tier):
    x = np.array([0.0, -0.0, NAN, INF, -INF, 5e-324])
    fast = compile(function, tier=tier)
    for _ in range(2):
        found, expected = fast(x), function(tape.tensor(x)).numpy()
        assert_array_equal(found, expected)
        assert_array_equal(np.signbit(found[:2]), np.signbit(expected[:2]))


def test_a_number_that_was_seen_is_told_from_all_others():
    fast = compile(lambda x: x * 0 + np.float64(1) / np.float64(float(x[0])))
    with np.errstate(all="ignore"):
        for x in (0.0, -0.0, NAN, INF, -INF, 1.0, np.nextafter(1.0, 2), -0.0, 0.0):
            assert_array_equal(fast(np.array([x, 1.0]))[1], np.float64(1) / x)
    single = compile(lambda x, a: x / a)
    with np.errstate(all="ignore"):
        assert [single(np.ones(1, np.float32), a)[0] for a in (0.0, -0.0, 0.0)] == [INF, -INF, INF]


def test_a_kernel_that_rounds_otherwise_than_numpy_misses_no_guard():
    def f(x):
        y = np.log1p(np.sin(np.exp(x)))
        return x * float(y.sum())

    fast = compile(f, tier="optimised")
    rng = np.random.default_rng(0)
    for x in rng.random((5, 17)):
        for _ in range(3):
            assert_allclose(fast(x), f(tape.tensor(x)).numpy())
    assert len(fast.programs) == 5
    for x in rng.random((20, 17)):
        program = record(f, x)
        assert_allclose(program(x), f(tape.tensor(x)).numpy())


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "bool", "float16", "float32", "longdouble", "complex64"])
def test_every_dtype(dtype):
    f = lambda x: (x * 3 + x, x.sum(), x[0])  # noqa: E731
    x = np.array([1, 0, 1, 1]).astype(dtype)
    fast = compile(f)
    for values in (x, x[::-1], x):
        for found, expected in zip(fast(values), f(tape.tensor(values.astype(values.dtype.newbyteorder("="))))):
            assert_array_equal(found, expected.numpy())
            assert found.dtype == expected.dtype


def test_memory_that_kernels_cannot_read():
    memory = bytearray(8 * 4 + 1)
    odd = np.frombuffer(memory, dtype=float, offset=1, count=4)
    odd[:] = [1, 2, 3, 4]

    fast = compile(lambda x: ((x * 2).sum(), x + 1), tier="optimised")
    for x in (
        np.arange(1.0, 5),
        odd,
        np.arange(1.0, 9)[::2] / 2 + 0.5,
        np.broadcast_to(2.5, 4),
    ):
        total, more = fast(x)
        assert total == 20
        assert_array_equal(more, np.asarray(x) + 1)
    with pytest.warns(RuntimeWarning, match="mask"):
        total, more = fast(np.ma.masked_array([1.0, 2.0], [True, False]))
    assert total == 4.0
    assert more.mask.tolist() == [True, False]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3), ()])
def test_arrays_of_nothing_and_without_axes(shape):
    fast = compile(lambda x: (np.exp(x) * 2 + x, x.sum(), np.where(x > 0, x, -x)), tier="optimised")
    for _ in range(2):
        for found, expected in zip(
            fast(np.ones(shape)), (np.exp(np.ones(shape)) * 2 + 1, np.sum(np.ones(shape)), np.ones(shape))
        ):
            assert_allclose(found, expected)
            assert np.shape(found) == np.shape(expected)


def test_the_same_array_twice_and_one_that_is_changed_between_calls():
    fast, x = compile(lambda x, y: (x * y).sum() + x.sum()), np.array([1.0, 2.0])
    assert fast(x, np.array([3.0, 4.0])) == 14
    assert fast(x, x) == 8
    x *= 2
    assert fast(x, x) == 26


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 3, 5, 40])
def test_small_arrays_with_threads(threads, n):
    f = lambda m, v: ((m.T + m) + v, m * v, (m * v).sum())  # noqa: E731
    m, v = np.random.default_rng(0).random((n, n)), np.arange(float(n))
    for found, expected in zip(compile(f, threads=threads, tier="optimised")(m, v), f(m, v)):
        assert_allclose(found, expected)


# What is taken and given.


def test_structures_and_other_things_among_arguments_and_results():
    pair = namedtuple("pair", "a b")
    fast = compile(lambda p, name: pair(p.a * len(name), {"s": p.b}))
    for name in ("abc", "ab", "abc"):
        result = fast(pair(np.ones(2), 2.0), name)
        assert type(result) is pair
        assert_array_equal(result.a, len(name) * np.ones(2))
    chosen = compile(lambda x, among: x * sum(among))
    among = {1, 2}
    assert chosen(2.0, among) == 6
    among.add(5)
    assert chosen(2.0, among) == 16
    words = compile(lambda x, w: x * len(w[0]))
    names = np.array(["a", "bbb"])
    assert words(1.0, names) == 1
    names[:] = "bb"
    assert words(1.0, names) == 2


def test_results_that_no_gradient_reaches():
    x = tape.tensor([1.0, -2.0], requires_grad=True)
    f = lambda x, y: (x * 2, x.detach(), y * 3, x > 0)  # noqa: E731
    fast = compile(f)
    for _ in range(2):
        assert [z.requires_grad for z in fast(x, tape.ones(1))] == [True, False, False, False]


def test_a_generator_is_run_as_it_is():
    with pytest.warns(RuntimeWarning, match="generator"):
        assert [float(z) for z in compile(lambda x: (x * k for k in (1, 2)))(3.0)] == [3, 6]


class Raising:
    """Whatever is not there raises what nobody expects."""

    def __init__(self, error):
        self.k, self.error = 2.0, error

    def __getattr__(self, name):
        raise self.error


class Keyed:
    __slots__ = ()

    def __getattr__(self, name):
        return {"k": 2.0}[name]


@pytest.mark.parametrize("error", [None, KeyError, ZeroDivisionError, RuntimeError])
def test_objects_whose_getattr_raises_anything(error):
    thing = Raising(error("x")) if error else Keyed()
    fast = compile(lambda x: x * thing.k)
    for _ in range(2):
        assert_array_equal(fast(np.ones(2)), [2.0, 2.0])


def refusing(name, base=object):
    """An object that raises if Python asks it for something."""

    def refuse(*args, **kwargs):
        raise ZeroDivisionError(name)

    kind = type(f"Refusing{name.strip('_').capitalize()}", (base,), {name: refuse})
    return base.__new__(kind)


class Unhashed(type):
    """A class of classes that have no hash."""

    __hash__ = None


AGAINST = [
    *[lambda base=base: refusing("__getattribute__", base) for base in (object, list, dict, tuple, str, float)],
    lambda: refusing("__len__", list), lambda: refusing("__iter__", dict), lambda: refusing("__eq__"),
    lambda: refusing("__hash__"), lambda: Unhashed("Kind", (), {}), lambda: Unhashed("Kind", (), {})(),
    lambda: type("Classless", (), {"__class__": property(lambda self: 1 // 0)})(), lambda: np.array(None, dtype=object),
]  # fmt: skip


@pytest.mark.parametrize("make", AGAINST)
@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
def test_what_raises_when_it_is_looked_at_is_no_error_of_the_functions(make):
    """It need not be asked for anything by the function."""
    thing = make()
    box = [thing]

    def shared(x):
        return (x * x).sum() * (2 if box[0] is None else 3)

    def given(x, thing):
        return (x * x).sum() * (2 if thing is None else 3)

    for function in (shared, tape.func.grad(shared)):
        fast = compile(function)
        for _ in range(2):
            assert_array_equal(fast(np.ones(2)), function(np.ones(2)))
    fast = compile(given)
    for _ in range(2):
        assert fast(np.ones(2), thing) == 6.0


class Held:
    """What raises for any name but its own lies among the methods."""

    k = Keyed()

    def __call__(self, x):
        return (x * self.k.k).sum()


def test_members_of_classes_are_not_asked_for_anything():
    assert_array_equal(tape.func.grad(Held())(np.ones(2)), [2.0, 2.0])


def test_object_arrays_without_axes_are_watched():
    scale = np.array(2.0, dtype=object)
    fast = compile(lambda x: (x * scale.item()).sum())
    assert [fast(np.ones(2)) for _ in range(2)] == [4.0, 4.0]
    scale[()] = 3.0
    assert fast(np.ones(2)) == 6.0


def test_copies_and_pickles_begin_anew():
    fast = compile(square)
    fast(2.0)
    for again in (
        copy.deepcopy(fast),
        copy.copy(fast),
        pickle.loads(pickle.dumps(fast)),
        pickle.loads(pickle.dumps(decorated)),
    ):
        assert again(3.0) == 9


def square(x):
    return x * x


@compile
def decorated(x):
    return x * x


# Chance.


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.rand(),  # noqa: NPY002
        random.random,
        lambda: tape.rand(1),
        lambda: OWN.random(),
        lambda: OLD.rand(),
        lambda: PYTHONS.random(),
    ],
)
def test_random_numbers_are_drawn_anew(draw):
    fast = compile(lambda x: x * draw())
    with pytest.warns(RuntimeWarning, match="random"):
        found = [float(fast(np.ones(1))[0]) for _ in range(3)]
    assert len(set(found)) == 3


def test_no_random_number_is_lost():
    fast = compile(lambda x: x * tape.rand(1) * np.random.rand() * random.random() * OWN.random())  # noqa: NPY002
    seen = []
    for function in (fast, lambda x: x * tape.rand(1).numpy() * np.random.rand() * random.random() * OWN.random()):  # noqa: NPY002
        tape.manual_seed(3), np.random.seed(3), random.seed(3)  # noqa: NPY002
        OWN.bit_generator.state = np.random.default_rng(3).bit_generator.state
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen.append([function(np.ones(1))[0] for _ in range(2)])
    assert_array_equal(*seen)


OWN, OLD, PYTHONS = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
