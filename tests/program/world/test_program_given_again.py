"""What a compiled function returns and keeps beside arrays: every call gives what belongs to it alone."""

from __future__ import annotations

import array
import functools
import types
import warnings
from collections import ChainMap, UserDict, UserList, deque
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tape
from tape.base.tree import tuples_in

pytestmark = pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
X = np.arange(1.0, 4.0)
# ruff: noqa: PLC3002


class Box:
    def __init__(self, inside):
        self.inside = inside


class Slotted:
    __slots__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside


HOLDING = {
    "a closure": (lambda x: lambda: x * 2, lambda r: r()),
    "a partial": (lambda x: functools.partial(np.multiply, x), lambda r: r(2.0)),
    "a method": (lambda x: (x * 2).sum, lambda r: r()),
    "an object": (lambda x: Box(x * 2), lambda r: r.inside),
    "an object with slots": (lambda x: Slotted(x * 2), lambda r: r.inside),
    "an object in an object": (lambda x: Box(Box(x * 2)), lambda r: r.inside.inside),
    "a list in an object": (lambda x: Box([x * 2]), lambda r: r.inside[0]),
    "a constant in an object": (lambda x: (Box(np.ones(2)), x)[0], lambda r: r.inside),
    "a deque": (lambda x: deque([x * 2]), lambda r: r[0]),
    "keys": (lambda x: {x[0] * 2: 1}, lambda r: next(iter(r))),
    "a set": (lambda x: frozenset([x[0] * 2]), lambda r: next(iter(r))),
    "a namespace": (lambda x: types.SimpleNamespace(a=x * 2), lambda r: r.a),
    "a dict of the user's": (lambda x: UserDict(a=x * 2), lambda r: r["a"]),
    "a list of the user's": (lambda x: UserList([x * 2]), lambda r: r[0]),
    "a chain": (lambda x: ChainMap({"a": x * 2}), lambda r: r["a"]),
    "a proxy": (lambda x: types.MappingProxyType({"a": x * 2}), lambda r: r["a"]),
    "an exception": (lambda x: ValueError(x * 2), lambda r: r.args[0]),
    "a slice": (lambda x: slice(x[0], None), lambda r: r.start),
    "values": (lambda x: {"a": x * 2}.values(), lambda r: next(iter(r))),
    "things": (lambda x: np.array([x[0] * 2, None], dtype=object), lambda r: r[0]),
}


@pytest.mark.parametrize(("f", "inside"), HOLDING.values(), ids=HOLDING)
def test_what_holds_a_result(f, inside):
    fast = tape.compile(f)
    for x in (X, X, 2 * X):
        found, expected = inside(fast(x)), inside(f(x))
        assert type(found) is type(expected)
        assert_array_equal(found, expected)


MUTABLE = {
    "a set": (lambda: {1}, lambda r: r.add(9)), "a list": (lambda: [1], lambda r: r.append(9)),
    "a deque": (lambda: deque([1]), lambda r: r.append(9)), "bytes": (lambda: bytearray(b"a"), lambda r: r.append(9)),
    "an array of Python's": (lambda: array.array("d", [1]), lambda r: r.append(9)),
    "a namespace": (lambda: types.SimpleNamespace(a=1), lambda r: setattr(r, "a", 9)),
    "things": (lambda: np.array([[1], None], dtype=object), lambda r: r[0].append(9)),
    "texts": (lambda: np.array(["a"]), lambda r: r.fill("b")),
}  # fmt: skip


@pytest.mark.parametrize(("make", "change"), MUTABLE.values(), ids=MUTABLE)
def test_what_a_caller_changes_is_its_own(make, change):
    fast = tape.compile(lambda x: (x * 2, make()))
    for _ in range(3):
        found = fast(X)[1]
        assert repr(found) == repr(make())
        change(found)


GIVEN = {"k": [1.0]}
SHARING = {
    "a list twice": lambda x, o: (lambda y: [y, y])([x * 2]),
    "a constant twice": lambda x, o: (lambda y: [y, y, x * 2])(np.zeros(2)),
    "a view of a constant": lambda x, o: (lambda y: [y, y[:1], x * 2])(np.zeros(2)),
}


@pytest.mark.parametrize("f", SHARING.values(), ids=SHARING)
def test_results_that_are_one_object_or_share_memory(f):
    fast = tape.compile(f)
    for _ in range(2):
        (a, b, *_), (c, d, *_) = fast(X, GIVEN), f(X, GIVEN)
        assert (a is b) == (c is d)
        a[0], c[0] = 7.0, 7.0
        assert b[0] == d[0] == 7.0


def test_a_list_or_dict_that_is_returned_is_the_callers_own():
    around = {"k": 1.0}
    for f in (lambda x, o: (o, x * 2), lambda x, o: (o["k"], x * 2), lambda x, o: (around, x * 2)):
        fast = tape.compile(f)
        for _ in range(2):
            assert fast(X, GIVEN)[0] is f(X, GIVEN)[0]


# What is kept.


@pytest.mark.parametrize("keep", [Box, Slotted, lambda y: [[y]], lambda y: lambda: y, lambda y: {"a": (1, y)}])
def test_a_result_that_is_kept_deep_inside_something_is_kept_by_every_call(keep):
    kept = []

    def f(x):
        kept[:] = [keep(x * 2)]
        return x * 3

    fast = tape.compile(f)
    for x in (X, 2 * X):
        assert_array_equal(fast(x), 3 * x)
        found = kept[0]
        while not isinstance(found, np.ndarray):
            found = (
                found.inside if isinstance(found, (Box, Slotted)) else found() if callable(found)
                else found["a"] if isinstance(found, dict) else found[-1]
            )  # fmt: skip
        assert type(found) is np.ndarray
        assert_array_equal(found, 2 * x)


@pytest.mark.parametrize("make", [Box, Slotted, lambda y: (y, [y]), lambda y: {"a": Box([y])}])
def test_what_is_made_once_and_kept_has_plain_arrays(make):
    made = {}

    def f(x):
        if "w" not in made:
            made["w"] = make(np.ones(3))
        return x * len(made)

    fast = tape.compile(f)
    for _ in range(3):
        assert_array_equal(fast(X), X)
    stack = [made["w"]]
    for found in stack:
        assert not isinstance(found, np.ndarray) or type(found) is np.ndarray
        if isinstance(found, (Box, Slotted)):
            stack.append(found.inside)
        elif isinstance(found, (tuple, list, dict)):
            stack += found.values() if isinstance(found, dict) else found
    assert fast.statistics().replays == 2


# What is warned of.

WARNING = {
    "of an empty slice": lambda x: x * 2 + np.mean(x[:0]),
    "of nothing but nan": lambda x: x + np.nanmean(x * np.nan),
    "of what is lost": lambda x: (x * 1j).astype(float),
    "of a poor fit": lambda x: x * np.polyfit([1.0, 1.0], [1.0, 1.0], 1)[0],
    "of degrees of freedom": lambda x: x + np.var(x[:1], ddof=1),
}


def warned(function, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(x)
    return [w.category for w in found if "tape.compile runs" not in str(w.message)]


@pytest.mark.parametrize("f", WARNING.values(), ids=WARNING)
def test_what_is_warned_of_each_time_is_warned_of_by_each_call(f):
    fast = tape.compile(f)
    for _ in range(5):
        assert warned(fast, X) == warned(f, X)


def test_what_is_warned_of_once_keeps_nothing_from_being_compiled():
    fast = tape.compile(lambda x: (x * 1j).astype(float))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            fast(X)
    assert len(found) == 1
    assert fast.statistics().replays == 3


class Pair(NamedTuple):
    first: object
    second: object


AROUND = (1, 2.0)


def twice(x):
    t = (x * 2,)
    return t, t


def within_others(x):
    t = Pair(x * 2, x)
    u = (t, [t])
    return [u, {"t": t, "u": u}]


def of_constants(x):
    t = (1.0, "name")
    return t, x * 2, t


def from_around(x):
    return AROUND, [AROUND, x * 2]


def alike_but_another(x):
    y = x * 2
    return (y,), (y,), Pair(y, ()), Pair(y, ())


def same_objects(tree):
    """By the way to each part of a tree, the way on which it was met first."""
    first, ways = {}, []

    def look(part, way):
        ways.append((way, first.setdefault(id(part), way)))
        if isinstance(part, (tuple, list, dict)):
            for key, inside in part.items() if isinstance(part, dict) else enumerate(part):
                look(inside, (*way, key))

    look(tree, ())
    return ways


@pytest.mark.parametrize("x", [np.ones(3), tape.tensor([1.0, 2.0])], ids=["array", "tensor"])
@pytest.mark.parametrize("f", [twice, within_others, of_constants, from_around, alike_but_another])
def test_a_tuple_that_is_returned_twice_is_one_object(f, x):
    compiled = tape.compile(f)
    for _ in range(3):
        found = compiled(x)
        assert same_objects(found) == same_objects(f(x))
    if f is from_around:
        assert found[0] is AROUND


OF_FILES = [
    "m", "m[1:]", "m[...]", "(m, m * 2)", "m[0, 0]", "m.dot(w)", "m @ w", "np.concatenate([m, m])", "m.cumsum(0)",
    "m.sum(0)", "m.mean(0)", "m.max(0)", "np.sort(m)", "m.take([0, 1], 0)", "m[[0, 1]]", "m[m > 1]", "m.astype('f4')",
    "np.where(m > 0, m, 0)", "m.clip(0, 1)", "np.roll(m, 1)", "np.flip(m)", "m.diagonal()", "m.repeat(2, 0)", "m.real",
    "m.conj()", "+m", "m.copy()", "np.copy(m)", "m ** 2", "m.argsort()", "m.flatten()", "np.partition(m, 1)",
    "np.nan_to_num(m)", "m.compress([1, 0, 1], 0)", "m.argmax(0)", "(m * w).sum()", "m.reshape(-1)", "m.T", "m == 1",
    "np.gradient(m)", "np.gradient(m)[0]", "np.gradient(m, axis=0)", "np.zeros_like(m)", "np.full_like(m, 2)",
    "m @ m", "m @ w", "np.ediff1d(m)", "np.nanargmax(m, axis=0)", "np.tanh(m).T", "np.tanh(m) @ w", "np.linalg.inv(m)",
    "np.cumsum(m)", "np.outer(m, m)", "np.dot(m, m)", "np.dot(m, w)", "np.dot(m, m[0])", "np.dot(m * 1, m)", "m.dot(m)",
    "np.dot(m.T, m).T", "np.dot(m, m) * 2", "np.inner(m, m[:1])", "np.inner(w, m)", "np.linalg.multi_dot([m, m, m])",
    "np.correlate(m[0], m[1])", "np.convolve(m[0], m[1])", "np.vdot(m, m)", "np.tensordot(m, m, 1)", "np.kron(m, m)",
    "np.dot(m, np.ones((3, 3)))", "np.dot(np.dot(m, m), m)", "np.dot(np.dot(m, w), m)", "np.dot(m, 2.0)",
]  # fmt: skip


def classes_in(tree):
    return [*map(classes_in, tree)] if isinstance(tree, tuple) else type(tree)


@pytest.mark.parametrize("text", OF_FILES)
def test_what_numpy_gives_as_an_array_in_a_file_is_one(text, tmp_path):
    m, w = np.memmap(tmp_path / "numbers", float, "w+", shape=(3, 3)), np.ones(3)
    m[:] = np.eye(3) * 2 + 0.1
    f = eval(f"lambda m, w: {text}", {"np": np})
    for turns in ([m, np.array(m), m], [np.array(m), m]):
        compiled = tape.compile(f)
        for x in turns:
            found, expected = compiled(x, w), f(x, w)
            assert classes_in(found) == classes_in(expected)
            for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, expected)], strict=True):
                np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("product", [np.matmul, np.dot])
def test_what_is_computed_of_a_file_is_compiled(tmp_path, product):
    m, w = np.memmap(tmp_path / "numbers", float, "w+", shape=(3, 3)), np.ones(3)
    m[:] = np.eye(3) * 2 + 0.1
    gradient = tape.func.grad(lambda w, m: (np.tanh(product(m, w)) ** 2).sum())
    compiled = tape.compile(gradient)
    for _ in range(2):
        np.testing.assert_allclose(compiled(w, m), gradient(w, m))
    assert len(compiled.programs) == 1


class Two(NamedTuple):
    first: object
    second: object


GIVEN_BACK = {
    "itself": lambda t: t,
    "and a part": lambda t: (t, t[0]),
    "and what is computed": lambda t: (t[0] * 2, t),
    "one within": lambda t: (t[1], t[0] + 1.0),
    "twice": lambda t: [t, t],
    "a new one": lambda t: (t[0], t[1]),
    "in a dict": lambda t: {"t": t, "z": t[0] * t[0]},
}


def same_places(result, argument):
    """Which tuples in a result are which in an argument, and which are there twice."""
    theirs, seen = {id(part): k for k, part in enumerate(tuples_in(argument))}, {}
    return [(theirs.get(id(part)), seen.setdefault(id(part), k)) for k, part in enumerate(tuples_in(result))]


@pytest.mark.parametrize("make", [lambda x: (x, (x, 2.0)), lambda x: Two(x, Two(x, x)), lambda x: (x, ((x, x), 1))])
@pytest.mark.parametrize("kind", [np.ones, tape.ones])
@pytest.mark.parametrize("function", GIVEN_BACK.values(), ids=GIVEN_BACK)
def test_tuples_among_the_arguments_are_given_back_themselves(function, make, kind):
    fast = tape.compile(function)
    program = tape.record(function, make(kind(2)))
    for calls in range(300):
        given = make(kind(2) * calls)
        expected = same_places(function(given), given)
        assert same_places(fast(given), given) == expected
        assert same_places(program(given), given) == expected
    assert fast.programs


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 3)])
@pytest.mark.parametrize("kind", [np.zeros, tape.zeros])
@pytest.mark.parametrize("function", [lambda x: x, lambda x: (x, x * 2), lambda x: [x * 2, x, x]])
def test_an_argument_without_elements_is_given_back_itself(function, kind, shape):
    fast = tape.compile(function)
    for _ in range(3):
        x = kind(shape)
        found, expected = (f(x) if isinstance(f(x), (tuple, list)) else [f(x)] for f in (fast, function))
        assert [z is x for z in found] == [z is x for z in expected]
    assert fast.programs
