"""Entries to programs: what they give is what the general way gives, and they refuse what is not as expected."""

from __future__ import annotations

import gc
import math
import sys
import threading
import weakref
from collections import OrderedDict, namedtuple
from typing import NamedTuple

import numpy as np
import pytest
from entries import at_once, compiled, entered  # noqa: F401  (at_once is a fixture)

import tape
from tape.base.tree import leaves_of


def alike(found, expected):
    """Whether two trees are the same in structure, types, dtypes and numbers."""
    assert type(found) is type(expected)
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for x, y in zip(found, expected):
            alike(x, y)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        alike(list(found.values()), list(expected.values()))
    elif expected is not None:
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(found, expected)


VECTOR, MATRIX = np.array([0.5, -1.5, 2.0]), np.arange(9.0).reshape(3, 3) ** 2 + np.eye(3)
Pair = namedtuple("Pair", "first second")


class Point(NamedTuple):
    """As `typing` writes named tuples, with a method."""

    x: object
    y: float = 0.0

    def norm(self):
        return self.x + self.y


class Clipped(namedtuple("Clipped", "a b")):
    """Keeps other numbers than it is given, and has room for attributes."""

    def __new__(cls, a, b):
        return super().__new__(cls, min(a, 4.0), b)


class Doubled(namedtuple("Doubled", "a b")):
    """Tells otherwise what is in it."""

    __slots__ = ()

    def __iter__(self):
        return iter((self[0] * 2, self[1] * 2))


CALLS = {
    "floats": (lambda x, y: (x * y, x - y), (0.5, 2.0), (1.5, -3.0)),
    "numpy numbers": (lambda x, y: x * y, (np.float64(0.5), np.float64(2.0)), (np.float64(1.5), np.float64(3.0))),
    "arrays without axes": (lambda x: x * 2.0, (np.array(0.5),), (np.array(1.5),)),
    "single precision": (lambda x: (x * x, x > 1), (np.float32(0.5),), (np.float32(1.5),)),
    "vectors": (lambda x, y: [x * y, (x * y).sum()], (VECTOR, VECTOR), (VECTOR + 1, VECTOR - 1)),
    "matrices": (lambda x: {"a": x * x, "b": x > 0}, (np.eye(3),), (np.ones((3, 3)),)),
    "more than a few numbers": (lambda x: x * 2.0, (np.ones(300),), (np.arange(300.0),)),
    "no numbers at all": (lambda x: (x * 2.0).sum(), (np.ones(0),), (np.ones(0),)),
    "structures": (
        lambda p, q: {"s": p["a"] * q[0], "t": (q[1][0] - 1.0, None, "text", 7)},
        ({"a": 2.0}, (3.0, [VECTOR])),
        ({"a": 4.0}, (5.0, [VECTOR * 2])),
    ),
    "what is no number": (lambda x, n, s: x**n if s == "power" else x, (2.0, 3, "power"), (5.0, 3, "power")),
    "one result twice": (lambda x: (y := x * x, y, [y]), (VECTOR,), (VECTOR + 1,)),
    "numbers of Python": (lambda x: (math.sin(x), [math.exp(x) * x, x * 2]), (0.5,), (1.5,)),
    "an array without axes as a result": (lambda x: (np.asarray(x.sum()), x * 2), (VECTOR,), (VECTOR + 1,)),
    "a named tuple": (np.linalg.slogdet, (MATRIX,), (MATRIX + 1,)),
    "named tuples in others": (lambda x: Pair([np.linalg.qr(x)], Pair(x * 2, None)), (MATRIX,), (MATRIX * 2,)),
    "a dict in its order": (lambda x: OrderedDict(b=x * 2, a=x.sum()), (VECTOR,), (VECTOR + 1,)),
    "named tuples as arguments": (
        lambda p: p.first * p.second[0],
        (Pair(2.0, Point(VECTOR, 1.0)),),
        (Pair(3.0, Point(VECTOR * 2, 4.0)),),
    ),
    "gradients": (tape.func.grad_and_value(lambda x, y: x * x * y, argnums=(0, 1)), (0.5, 2.0), (1.5, -3.0)),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_entry_gives_what_the_general_way_gives(name):
    function, first, then = CALLS[name]
    fast = compiled(function, *first)
    found = entered(fast, *then)
    assert found is not NotImplemented
    alike(found, tape.compile(function, threads=1)(*then))


def test_arguments_with_names():
    fast = compiled(lambda x, scale=1.0: x * scale, 2.0, scale=3.0)
    assert entered(fast, 5.0, scale=4.0) == 20.0
    assert entered(fast, 5.0) is NotImplemented
    assert entered(fast, 5.0, other=4.0) is NotImplemented
    assert fast(5.0) == 5.0


REFUSED = {
    "an int for a float": (lambda x: x * 2.0, (1.0,), (3,)),
    "a string": (lambda x: x + x, (1.0,), ("3",)),
    "one argument more": (lambda *xs: xs[0] * 2.0, (1.0,), (3.0, 4.0)),
    "another length": (lambda x: x * 2.0, (np.ones(3),), (np.ones(4),)),
    "another number of axes": (lambda x: x * 2.0, (np.ones(3),), (np.ones((3, 1)),)),
    "another dtype": (lambda x: x * 2.0, (np.ones(3),), (np.ones(3, np.float32),)),
    "ints": (lambda x: x * 2.0, (np.ones(3),), (np.ones(3, int),)),
    "an array for a number": (lambda x: x * 2.0, (np.float64(1.0),), (np.array(2.0),)),
    "a number for an array": (lambda x: x * 2.0, (np.array(1.0),), (np.float64(2.0),)),
    "not contiguous": (lambda x: x * 2.0, (np.ones(3),), (np.arange(6.0)[::2],)),
    "not aligned": (lambda x: x * 2.0, (np.ones(3),), (np.zeros(25, np.uint8)[1:].view(np.float64),)),
    "a transposed matrix": (lambda x: x * 2.0, (np.ones((2, 3)),), (np.ones((3, 2)).T,)),
    "a tuple for a named one": (lambda x: x[0] * 2.0, (Pair(1.0, 3.0),), ((2.0, 5.0),)),
    "another named tuple": (lambda x: x[0] * 2.0, (Pair(1.0, 3.0),), (Point(2.0, 5.0),)),
    "a list for a tuple": (lambda x: x[0] * 2.0, ((1.0,),), ([2.0],)),
    "another key": (lambda x: next(iter(x.values())) * 2.0, ({"a": 1.0},), ({"b": 2.0},)),
    "another order of keys": (lambda x: x["a"] - x["b"], ({"a": 1.0, "b": 2.0},), ({"b": 2.0, "a": 5.0},)),
    "another int": (lambda x, n: x**n, (2.0, 3), (2.0, 4)),
    "a truth value for an int": (lambda x, n: x**n, (2.0, 1), (2.0, True)),
    "another string": (lambda x, s: x * len(s), (2.0, "ab"), (2.0, "abc")),
    "another branch": (lambda x: x * 2.0 if x > 0 else x - 1.0, (2.0,), (-2.0,)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_entry_refuses_what_it_was_not_made_for(name):
    function, first, then = REFUSED[name]
    fast = compiled(function, *first)
    assert entered(fast, *then) is NotImplemented
    np.testing.assert_array_equal(fast(*then), function(*then))


@pytest.mark.parametrize("kind", [Clipped, Doubled])
@pytest.mark.filterwarnings("ignore:.*not made again out of what is in it")
def test_a_class_that_resembles_a_named_tuple_has_no_entry(kind):
    def product(pair):
        x, y = pair
        return x * y + pair.a

    fast = tape.compile(product)
    for a in (1.0, 3.0, 9.0, 2.0):
        for _ in range(3):
            assert fast(kind(a, 2.0)) == product(kind(a, 2.0))
    assert fast._entry is None


OTHERWISE = {
    "by columns": np.asfortranarray,
    "a part": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "repeated": lambda x: np.broadcast_to(x[0], x.shape),
}
LOOKING = {
    "at none": lambda x, y: (x * y).sum(),
    "in a result": lambda x, y: (x * y, x @ y),
    "in what is shared": lambda x, y: (x.reshape(-1), y),
}


@pytest.mark.parametrize("kind", [np.asarray, tape.tensor])
@pytest.mark.parametrize("looking", LOOKING)
@pytest.mark.parametrize("name", OTHERWISE)
def test_arguments_that_lie_otherwise_than_in_rows(name, looking, kind):
    """The entry is for what lies so; the general way takes what lies in rows, and the other way round."""
    function, lying = LOOKING[looking], OTHERWISE[name]
    x, y = np.arange(9.0).reshape(3, 3), np.arange(9.0, 18.0).reshape(3, 3)
    fast = tape.compile(function, tier="optimised", threads=1)
    for step in range(12):
        given = [kind(lying(x + step) if step % 4 < 3 else x - step), kind(y)]
        if kind is tape.tensor and step % 4 < 3:
            given[0] = tape.from_numpy(lying(x + step).copy("K") if name == "repeated" else lying(x + step))
        found, expected = fast(*given), function(*given)
        for one, other in zip(leaves_of(found), leaves_of(expected), strict=True):
            assert type(one) is type(other)
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
            assert np.asarray(one).strides == np.asarray(other).strides
            assert np.shares_memory(np.asarray(one), np.asarray(given[0])) == np.shares_memory(
                np.asarray(other), np.asarray(given[0])
            )
    assert looking == "in what is shared" or fast._entry is not None


class Special(np.ndarray):
    pass


def test_subclasses_of_arrays_and_read_only_arrays():
    fast = compiled(lambda x: x * 2.0, VECTOR)
    assert entered(fast, VECTOR.view(Special)) is NotImplemented
    assert entered(fast, np.ma.masked_array(VECTOR)) is NotImplemented
    fixed = VECTOR.copy()
    fixed.flags.writeable = False
    np.testing.assert_array_equal(entered(fast, fixed), VECTOR * 2)


def test_results_are_the_callers_own():
    fast = compiled(lambda x: (x * 2.0, x + 1.0), VECTOR)
    first, second = entered(fast, VECTOR), entered(fast, VECTOR + 1)
    first[0][:] = 100.0
    for array in (*first, *second):
        assert array.flags.owndata
        assert array.flags.writeable
    np.testing.assert_array_equal(second[0], (VECTOR + 1) * 2)
    np.testing.assert_array_equal(entered(fast, VECTOR)[0], VECTOR * 2)


def test_guards_are_verified_at_every_call():
    def function(x):
        if x > 0:
            return x * 2.0
        return x - 1.0 if x == -1.0 else x * 3.0

    fast = compiled(function, 1.0)
    for x in (1.0, -1.0, 2.0, -2.0, float("nan"), -1.0, 0.0, -0.0, 3.0) * 2:
        np.testing.assert_array_equal(fast(x), function(x))


def test_a_guard_for_a_number():
    fast = compiled(lambda x: x * 2.0 + float(x), 1.0)
    assert fast(1.0) == 3.0
    assert fast(2.0) == 6.0
    assert fast(0.0) == 0.0
    assert not np.signbit(fast(0.0))
    assert np.signbit(fast(-0.0))


def test_replays_are_counted_and_better_kernels_are_taken_up(monkeypatch):
    monkeypatch.setattr("tape.jit.emission.tiers.COMPILE", {"quick": 1e-9, "optimised": 1e-7})
    fast = tape.compile(lambda x, y: x * y + x)
    for k in range(200):
        assert fast(2.0, float(k)) == 2.0 * k + 2.0
    (program,) = fast.programs
    assert program.replays == 200
    assert {s.tier for s in program.replay.steps} == {"optimised"}


def test_a_program_that_was_recorded_has_an_entry():
    program = tape.record(lambda x, y: x * y, 1.0, VECTOR)
    for k in range(3):
        np.testing.assert_array_equal(program(float(k), VECTOR), k * VECTOR)
    assert program._shortcut.entry is not None
    with pytest.raises(TypeError, match="was recorded for"):
        program(1.0, 2.0)
    assert program.replays == 3


def test_several_threads_get_their_own_results():
    fast = compiled(lambda x: (x * 2.0, (x * 1.5).sum()), np.ones(50))
    wrong = []

    def work(k):
        x = np.full(50, float(k))
        for _ in range(2000):
            double, total = fast(x)
            if double[7] != 2.0 * k or total != 75.0 * k:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_errors_are_those_of_the_function():
    fast = compiled(lambda x: x * 2.0, 1.0)
    with pytest.raises(TypeError, match="can't multiply sequence"):
        fast("text")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        fast()
    assert fast(4.0) == 8.0


def test_an_entry_goes_with_its_function():
    class Thing:
        pass

    def make():
        thing = Thing()
        return compiled(lambda x: (x * 2.0, thing is None), 1.0), weakref.ref(thing)

    fast, gone = make()
    assert fast(4.0) == (8.0, False)
    del fast
    gc.collect()
    assert gone() is None


def tensors(*values):
    return [tape.tensor(v) for v in values]


def test_tensors_give_tensors():
    fast = compiled(lambda x, y: (x * y, (x * y).sum()), *tensors([1.0, 2.0], 3.0))
    product, total = entered(fast, *tensors([2.0, 4.0], 5.0))
    assert type(product) is type(total) is tape.Tensor
    assert (product.tolist(), total.item()) == ([10.0, 20.0], 30.0)
    assert not product.requires_grad
    given = tensors([2.0, 4.0], 5.0)
    with tape.inference_mode():
        assert entered(fast, *given)[0].is_inference()


def test_tensors_with_history_go_the_general_way():
    fast = compiled(lambda x: x * x, *tensors([1.0, 2.0]))
    x = tape.tensor([3.0, 4.0], requires_grad=True)
    assert entered(fast, x) is NotImplemented
    fast(x).sum().backward()
    assert x.grad.tolist() == [6.0, 8.0]
    assert entered(fast, x.detach()).tolist() == [9.0, 16.0]
    assert entered(fast, x.detach().numpy()) is NotImplemented


@pytest.mark.parametrize("name", CALLS)
def test_entries_leave_no_objects_behind(name):
    function, first, then = CALLS[name]
    fast = compiled(function, *first)
    refusing = [
        (compiled(lambda x: x * 2.0 if x > 0 else -x, 1.0), -1.0),
        (compiled(lambda x: x * 2.0 if x.sum() > 0 else -x, VECTOR), -VECTOR),
        (compiled(lambda x: (x + 1.0, np.log(x), x.sum()), np.abs(VECTOR)), VECTOR),
    ]

    def work():
        for _ in range(500):
            entered(fast, *then)
            assert all(entered(refused, x) is NotImplemented for refused, x in refusing)

    counted, held = [], (None, np.float64, then, NotImplemented, np.True_, np.dtype(np.float64))
    for _ in range(3):
        work()
        gc.collect()
        counted.append((sys.getallocatedblocks(), [sys.getrefcount(x) for x in held]))
    assert abs(counted[2][0] - counted[1][0]) < 400
    assert all(abs(x - y) < 400 for x, y in zip(counted[2][1], counted[1][1]))


@pytest.mark.parametrize("shape", [(2, 3), (10, 10), (64, 2), (3, 65), (2, 3, 4), (40, 25), (40, 26), (1, 5), (5, 1)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.bool_])
def test_results_that_lie_by_columns(dtype, shape):
    def f(x, y):
        return (x.T + y.T).astype(dtype), x + y

    rng, compiled = np.random.default_rng(0), tape.compile(f)
    for _ in range(600):
        x, y = rng.normal(size=(2, *shape)).round()
        compiled(x, y)
    assert compiled._entry is not None
    for z, wanted in zip(compiled(x, y), f(x, y)):
        assert np.array_equal(z, wanted)
        assert (z.dtype, z.strides, z.flags.owndata) == (wanted.dtype, wanted.strides, True)
