"""Classes that are registered as subclasses of abstract ones, or made abstract, between two calls."""

from __future__ import annotations

import abc
import collections
import random
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np
import pytest
from entries import at_once, compiled, entered  # noqa: F401  (at_once is a fixture)

import tape
from tape.program.world import registered

X = np.array([0.5, 1.5, 2.5])


def made():
    """An object of a class of its own, like a mapping and like a sequence, but neither."""

    class Own:
        values = {"a": 7, "b": 3}  # noqa: RUF012

        def keys(self):
            return self.values.keys()

        def items(self):
            return self.values.items()

        def get(self, key, default=None):
            return self.values.get(key, default)

        def __iter__(self):
            return iter(self.values)

        def __len__(self):
            return len(self.values)

        def __getitem__(self, key):
            return self.values.get(key, 4)

    return Own()


def matched(thing):
    match thing:
        case {"a": value}:
            return value
        case [_, _]:
            return 2.5
    return 1


def counted(thing):
    return collections.Counter(thing)["a"]


def counted_later(thing):
    counts = collections.Counter()
    counts.update(thing)
    return counts["a"]


def drawn(thing):
    try:
        return len(random.Random(3).sample(thing, 2))
    except TypeError:
        return 1


def put(thing):
    made = collections.OrderedDict()
    made.update(thing)
    return made["a"]


def is_one(thing):
    return 3 if isinstance(thing, (Mapping, Sequence)) else 1


CASES = [
    (matched, Mapping), (matched, Sequence), (matched, MutableMapping), (matched, MutableSequence), (counted, Mapping),
    (counted_later, MutableMapping), (drawn, Sequence), (put, Mapping), (is_one, Mapping), (is_one, MutableSequence),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "abstract"), CASES)
@pytest.mark.parametrize("given", [False, True], ids=["around", "argument"])
def test_a_class_registered_between_calls(ask, abstract, given):
    thing = made()
    args = (thing,) if given else ()
    fast = compiled((lambda x, thing: x * ask(thing)) if given else (lambda x: x * ask(thing)), X, *args)
    before = ask(thing)
    assert np.array_equal(fast(X, *args), X * before)
    abstract.register(type(thing))
    for _ in range(3):
        assert np.array_equal(fast(X, *args), X * ask(thing))
    assert (ask(thing) == before) == (ask is put)


def test_a_base_of_the_class_is_registered():
    thing = made()
    below = type("Below", (type(thing),), {})()
    fast = compiled(lambda x: x * matched(below), X)
    Mapping.register(type(thing))
    assert np.array_equal(fast(X), 7 * X)


def test_registrations_of_other_classes_leave_the_recording():
    """Packages register their own classes when they are imported, which may be at any time."""
    thing = made()
    fast = compiled(lambda x: x * matched(thing), X)
    (program,), entry = fast.programs, fast._entry
    Mapping.register(type(made()))
    assert entered(fast, X) is NotImplemented
    assert np.array_equal(fast(X), X * matched(thing))
    assert np.array_equal(entered(fast, X), X * matched(thing))
    assert fast.programs == [program]
    assert fast._entry is entry


def test_a_class_that_is_made_abstract():
    class Base(abc.ABC):
        @abc.abstractmethod
        def value(self):
            """What it gives."""

    class Own(Base):
        def value(self):
            return 2.0

    def function(x):
        try:
            return x * Own().value()
        except TypeError:
            return x * 5.0

    fast = tape.compile(function)
    assert np.array_equal(fast(X), 2 * X)
    Own.__abstractmethods__ = frozenset(["value"])
    assert np.array_equal(fast(X), 5 * X)
    Own.__abstractmethods__ = frozenset()
    assert np.array_equal(fast(X), 2 * X)


def test_a_function_that_registers_classes_itself():
    function = lambda x, thing: x * (Mapping.register(type(thing)) and matched(thing))  # noqa: E731
    fast = tape.compile(function)
    for _ in range(3):
        thing = made()
        assert [matched(thing), *(fast(X, thing) / X).tolist()] == [1, 7.0, 7.0, 7.0]


def test_registrations_are_counted_where_the_count_is_looked_for():
    """CPython's; elsewhere `abc` itself is asked."""
    if registered.COUNT is None:
        pytest.skip("it was not found")
    for _ in range(3):
        before = registered.COUNT.value
        assert before == abc.get_cache_token()
        Mapping.register(type(made()))
        assert registered.COUNT.value == before + 1 == abc.get_cache_token()


def test_without_that_count(monkeypatch):
    monkeypatch.setattr(registered, "COUNT", None)
    monkeypatch.setattr("tape.program.entries.conditions.COUNT", None)
    thing = made()
    fast = compiled(lambda x: x * matched(thing), X)
    assert np.array_equal(entered(fast, X), X)
    Mapping.register(type(thing))
    assert entered(fast, X) is NotImplemented
    assert np.array_equal(fast(X), 7 * X)
