"""What stands in for an argument: which object it is, what its class keeps beside its items, who else has it."""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape

pytestmark = pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
X = np.arange(1.0, 4.0)
SHARED, OPTIONS, SCALE = np.arange(1.0, 4.0), {"k": 2.0}, 2.0
OFTEN = [1, 300]


def check(f, calls, often=1):
    """Each of some calls gives what the function gives, the first one also when it was made often."""
    fast = tape.compile(f)
    for _ in range(often):
        fast(*calls[0])
    for given in (*calls, *reversed(calls)):
        found, expected = fast(*given), f(*given)
        assert type(found) is type(expected)
        assert_array_equal(found, expected)
    return fast


class Node:
    def __init__(self, **attributes):
        vars(self).update(attributes)


A, B = Node(), Node()
WEIGHTS = {A: 2.0, B: 5.0}
NODES = [Node(), Node()]
ITEMS = [1.0]
OF_OBJECTS = {
    "found in a dict": (lambda x, p: x * WEIGHTS[p], [(X, A), (X, B)]),
    "not found in a dict": (lambda x, p: x * WEIGHTS.get(p, 1.0), [(X, Node()), (X, B)]),
    "found in a list": (lambda x, p: x * NODES.index(p), [(X, NODES[0]), (X, NODES[1])]),
    "the same twice": (lambda x, p, q: x * (2.0 if p is q else 1.0), [(X, A, A), (X, A, B)]),
    "equal": (lambda x, p, q: x * (2.0 if p == q else 1.0), [(X, A, A), (X, A, B)]),
    "in a set": (lambda x, p, q: x * len({p, q}), [(X, A, A), (X, A, B)]),
    "one of all": (lambda x, p: x * (2.0 if p is A else 1.0), [(X, A), (X, B)]),
    "parts that are the same": (
        lambda x, p: x * (2.0 if p.a is p.b else 1.0), [(X, Node(a=ITEMS, b=ITEMS)), (X, Node(a=[1.0], b=[1.0]))],
    ),
    "a part among shared ones": (
        lambda x, p: x * p.all.index(p.one), [(X, Node(all=NODES, one=NODES[0])), (X, Node(all=NODES, one=NODES[1]))],
    ),
    "a part of another": (
        lambda x, p, q: x * (2.0 if p.one is q else 1.0), [(X, Node(one=A), A), (X, Node(one=B), A)],
    ),
    "a key": (lambda x, d: x * d.get(A, 1.0), [(X, {A: 2.0}), (X, {B: 2.0})]),
}  # fmt: skip


@pytest.mark.parametrize("often", OFTEN)
@pytest.mark.parametrize(("f", "calls"), OF_OBJECTS.values(), ids=OF_OBJECTS)
def test_which_object_an_argument_is(f, calls, often):
    check(f, calls, often)


def test_objects_that_are_made_anew_for_each_call_are_replayed():
    fast = check(lambda x, p, q: x * p.k * q.part.k, [(X, Node(k=2.0), Node(part=Node(k=3.0))) for _ in range(3)])
    assert len(fast.programs) == 1


def test_an_object_that_is_returned_or_kept_is_the_callers_own():
    first, second = Node(k=2.0, part=Node(name="a")), Node(k=2.0, part=Node(name="b"))
    for f in (lambda x, p: (p, x * p.k), lambda x, p: (p.part, x * p.k), lambda x, p: ([p], x * p.k)):
        fast = tape.compile(f)
        for p in (first, first, second, first):
            found, expected = fast(X, p)[0], f(X, p)[0]
            assert found is expected or found[0] is expected[0]
    kept = Node(last=None)

    def keeps(x, p):
        kept.last = p
        return x * p.k

    fast = tape.compile(keeps)
    for p in (first, first, first, second, first):
        fast(X, p)
        assert kept.last is p


def test_an_array_of_an_object_that_is_returned_is_the_objects_own():
    fast = tape.compile(lambda x, p: (p.w, x * 2))
    first, second = Node(w=np.ones(2)), Node(w=np.ones(2))
    for p in (first, first, second):
        assert fast(X, p)[0] is p.w


OF_STAND_INS = {
    "an array": (lambda x: x * (2.0 if x is SHARED else 1.0), [(X,), (SHARED,)]),
    "an array of an object": (lambda x, p: x * (2.0 if x is p.w else 1.0), [(X, n := Node(w=SHARED)), (SHARED, n)]),
    "a dict": (lambda x, o: x * (2.0 if o is OPTIONS else 1.0), [(X, dict(OPTIONS)), (X, OPTIONS)]),
    "a list twice": (lambda x, o, p: x * (2.0 if o is p else 1.0), [(X, [1], [1]), (X, ITEMS, ITEMS)]),
}


@pytest.mark.parametrize("often", OFTEN)
@pytest.mark.parametrize(("f", "calls"), OF_STAND_INS.values(), ids=OF_STAND_INS)
def test_arguments_that_are_told_apart_from_what_is_around(f, calls, often):
    check(f, calls, often)


# Classes of their own.


class Listed(list):
    k = 2.0


class Mapped(dict):
    k = 2.0


class Made(list):
    def __init__(self, count):
        super().__init__([2.0] * count)


Pair = namedtuple("Pair", "a b")


class Wide(Pair):
    pass


class Real(float):
    k = 2.0

    def __mul__(self, other):
        return float(self) * 10 * other


def with_k(thing, k):
    thing.k = k
    return thing


OF_CLASSES = {
    "a list with an attribute": (lambda x, p: x * p.k * p[0], [Listed([2.0]), with_k(Listed([2.0]), 5.0)]),
    "a dict with an attribute": (lambda x, p: x * p.k * p["a"], [Mapped(a=2.0), with_k(Mapped(a=2.0), 5.0)]),
    "a named tuple with an attribute": (lambda x, p: x * p.k, [with_k(Wide(1.0, 2.0), k) for k in (2.0, 5.0)]),
    "a list that is made otherwise": (lambda x, p: x * len(p) * p[0], [Made(2), Made(3)]),
    "a counter": (lambda x, p: x * p["a"], [Counter(a=2), Counter(a=3)]),
    "a dict with defaults": (lambda x, p: x * p["a"], [defaultdict(lambda: 2.0), defaultdict(lambda: 3.0)]),
    "a dict with an order": (lambda x, p: x * p["a"], [OrderedDict(a=2.0, b=1.0), OrderedDict(b=1.0, a=3.0)]),
    "a float": (lambda x, p: p * x, [2.0, Real(2.0)]),
    "a float with an attribute": (lambda x, p: p.k * x, [Real(2.0), with_k(Real(2.0), 5.0)]),
}


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("f", "things"), OF_CLASSES.values(), ids=OF_CLASSES)
def test_arguments_of_classes_that_keep_more_or_do_otherwise(f, things, order):
    check(f, [(X, thing) for thing in things][::order])


def test_containers_that_keep_more_are_refused_where_they_would_be_made_again():
    for thing in (with_k(Mapped(a=X), 5.0), Counter(a=2.0), defaultdict(float, a=X)):
        with pytest.raises(TypeError, match="keeps more, or takes it otherwise; pass a dict instead"):
            tape.func.grad(lambda p: (p["a"] * 2).sum())(thing)
    assert_array_equal(tape.func.grad(lambda p: (p["a"] * p.k).sum())(Mapped(a=X))["a"], [2.0, 2.0, 2.0])


class Loud(np.ndarray):
    def __mul__(self, other):
        return np.ndarray.__mul__(self, 10 * other)


def test_arrays_of_classes_of_their_own():
    check(lambda x: x * 2.0, [(X,), (X.view(Loud),)])
    records = np.rec.array([(1.0, 2.0)], dtype=[("n", float), ("m", float)])
    check(lambda x: x.n * 2.0, [(records,), (records.copy(),)])


class Step(NamedTuple):
    k: float

    def scaled(self):
        return self.k * SCALE


class Level(enum.IntEnum):
    LOW = 1

    def scaled(self):
        return self.value * SCALE


class Name(str):
    __slots__ = ()

    def scaled(self):
        return len(self) * SCALE


class Several(list):
    def scaled(self):
        return self[0] * SCALE


@pytest.mark.parametrize("often", OFTEN)
@pytest.mark.parametrize("thing", [Step(2.0), Level.LOW, Name("ab"), Several([2.0])], ids=repr)
def test_methods_of_arguments_read_what_is_around_them(thing, often, monkeypatch):
    f = lambda x, p: x * p.scaled()  # noqa: E731
    fast = tape.compile(f)
    for _ in range(often):
        fast(X, thing)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert_array_equal(fast(X, thing), f(X, thing))


def test_an_attribute_that_a_number_gets():
    number = type("Number", (int,), {})(2)
    number.k = 2.0
    fast = tape.compile(lambda x, n: x * n.k)
    assert_array_equal(fast(X, number), 2 * X)
    number.k = 5.0
    assert_array_equal(fast(X, number), 5 * X)


# What a function does to arguments that are not stood in for.


@dataclass
class State:
    k: float = 1.0


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (lambda: np.array([1, None], dtype=object), lambda a: a.__setitem__(0, a[0] + 1)),
        (lambda: np.array(["a", "b"]), lambda a: a.__setitem__(0, "z")),
        (lambda: np.array(["2020-01-01"], "M8[D]"), lambda a: a.__setitem__(0, a[0] + np.timedelta64(1, "D"))),
        (lambda: np.zeros(2, [("n", int)]), lambda a: a["n"].__iadd__(1)),
        (lambda: np.zeros((2, 2)), lambda a: setattr(a, "shape", (4,))),
        (lambda: np.zeros(2), lambda a: setattr(a.flags, "writeable", False)),
        (lambda: Listed([1]), lambda a: setattr(a, "k", 7.0)),
    ],
)
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
def test_what_a_function_does_to_an_argument_is_done_by_every_call(make, change):
    def f(x, a):
        change(a)
        return x * 2

    fast = tape.compile(f)
    for found, expected in [(make(), make()) for _ in range(3)]:
        for _ in range(2):
            fast(X, found), f(X, expected)
            assert repr(found) == repr(expected)
            assert getattr(found, "k", None) == getattr(expected, "k", None)
            assert getattr(found, "flags", None) == getattr(expected, "flags", None)
