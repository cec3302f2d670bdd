"""What an instruction calls, read from the code: the same on every Python, whose instructions are others each time."""

from __future__ import annotations

import operator
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tape
from tape.numpy.arrays.leaving import is_compared
from tape.numpy.names.callee import callee, is_called_at_once, only_calls, only_passes, reading, writes_texts

X = np.array([0.3, 0.7, -0.2])
KEY = {"key": 2}


class Asker:
    """Notes how it is asked for: what is called, and whether the answer is compared at once."""

    def __init__(self):
        self.seen = set()

    def _note(self):
        frame = sys._getframe(2)
        self.seen.add((callee(frame.f_code, frame.f_lasti), is_compared(frame.f_code, frame.f_lasti)))

    def __float__(self):
        self._note()
        return 1.0

    def __index__(self):
        self._note()
        return 1

    def __call__(self, *args, **kwargs):
        self._note()

    def __str__(self):
        self._note()
        return ""


ask = Asker()
ask.method = ask


def locally(name, more):
    name(more)
    alias = ask
    alias(more)


def within(first, second):
    def inner():
        second(first)

    inner()


CALLS = {
    "a global": (lambda: ask(1), ("global", "ask")),
    "an attribute": (lambda: ask.method(1, key=2), ("attribute", "method")),
    "stars": (lambda: ask.method(*[1], **KEY), ("attribute", "method")),
    "many lines": (
        lambda: ask.method(
            1,
            str(2),
        ),
        ("attribute", "method"),
    ),
    "a comprehension": (lambda: [ask(k) for k in range(2)], ("global", "ask")),
    "a local in a comprehension": (lambda a=ask: [a(k) for k in range(2)], ("local", "a")),
    "a local": (lambda a=ask, b=1: a(b), ("local", "a")),
    "a local behind another": (lambda a=ask, b=1: (b, a(b)), ("local", "a")),
    "a local in an argument": (lambda a=ask, b=id: b(a(b)), ("local", "a")),
    "an enclosed name": (lambda: within(1, ask), ("local", "second")),
    "float": (lambda: float(ask), ("global", "float")),
    "a text": (lambda: "%f" % ask, ("operator", "")),  # noqa: UP031
    "an item": (lambda: [0, 1][ask], ("", "")),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_called(name):
    call, expected = CALLS[name]
    ask.seen.clear()
    for _ in range(40):  # until Python has put its faster instructions there
        call()
    assert ask.seen == {(expected, False)}


def test_locals_by_several_names():
    ask.seen.clear()
    locally(ask, 1)
    assert ask.seen == {(("local", "name"), False), (("local", "alias"), False)}


@pytest.mark.parametrize(
    "test", [lambda: float(ask) < 2, lambda: not float(ask), lambda: 1 if float(ask) else 2, lambda: float(ask) in X]
)
def test_what_is_compared_at_once(test):
    ask.seen.clear()
    test()
    assert ask.seen == {(("global", "float"), True)}


class Watcher:
    def __init__(self):
        self.seen = set()

    @property
    def kind(self):
        frame = sys._getframe(1)
        self.seen.add(is_called_at_once(frame.f_code, frame.f_lasti))
        return str


watcher = Watcher()


@pytest.mark.parametrize(
    ("read", "at_once"),
    [
        (lambda: watcher.kind(3), True),
        (lambda: watcher.kind(object=3), True),
        (lambda: watcher.kind(*[3]), True),
        (lambda: isinstance(3, watcher.kind), False),
        (lambda: isinstance("", (int, watcher.kind)), False),
        (lambda: [watcher.kind], False),
    ],
)
def test_what_is_called_at_once(read, at_once):
    watcher.seen.clear()
    read()
    assert watcher.seen == {at_once}


class Showing:
    """Has one name, and tells how it is read."""

    seen = None

    @property
    def name(self):
        frame = sys._getframe(1)
        Showing.seen = reading(frame.f_code, frame.f_lasti, "name")
        return lambda *args: None


showing, other = Showing(), object()


@pytest.mark.parametrize(
    ("read", "how"),
    [
        (lambda: showing.name(3), ("called", "")),
        (lambda: showing.name(*[3]), ("called", "")),
        (lambda: [showing.name], ("kept", "")),
        (lambda: (showing.name if other else 2)(3), ("kept", "")),
        (lambda: getattr(showing, "name"), ("kept", "")),  # noqa: B009
        (lambda: operator.attrgetter("name")(showing), ("kept", "")),
        (lambda a=1: a is showing.name, ("local", "a")),
        (lambda a=1: showing.name is not a and a, ("local", "a")),
        (lambda a=1, b=2: a is b or b is showing.name, ("local", "b")),
        (lambda: other is showing.name, ("global", "other")),
        (lambda: [other][0] is showing.name, ("kept", "")),
        (lambda: list(map(Showing.name.__get__, [showing])), None),
    ],
)
def test_how_a_name_of_a_module_is_read(read, how):
    for _ in range(3):  # CPython takes shorter ways when it has seen code often
        read()
        assert Showing.seen == how


def by_alias(x):
    make = np.zeros
    made = make(3)
    made[:] = x
    return (made * made).sum()


def handed_over(x, make):
    made = make(x.size)
    made[:] = x
    return (made * made).sum()


@pytest.mark.parametrize("f", [by_alias, lambda x: handed_over(x, np.zeros), lambda x: handed_over(x, make=np.zeros)])
def test_a_constructor_under_another_name(f):
    assert_allclose(tape.func.grad(f)(X), 2 * X, rtol=1e-15)
    assert_allclose(tape.compile(tape.func.grad(f))(X), 2 * X, rtol=1e-15)


def percent_of(a, b):
    return "%s" % a if isinstance(a, str) else a % b  # noqa: UP031


@pytest.mark.parametrize(
    ("f", "texts", "calls", "passes"),
    [
        (lambda x: float(x), False, True, True),
        (lambda x: float(x) if isinstance(x, float) else float("1"), False, True, True),
        (lambda x: map(float, x), False, False, True),
        (lambda x: type(x) is float, False, False, False),
        (lambda x: f"{x}", True, True, True),
        (lambda x: f"{x:.3f}", True, True, True),
        (lambda x: str(x), True, True, True),
        (lambda x: "%r" % x, True, True, True),  # noqa: UP031
        (percent_of, True, True, True),
        (lambda x: x % 2, False, True, True),
        (lambda x: x.float, False, True, True),
        (lambda float: [float], False, True, True),
    ],
)
def test_what_code_does_with_texts_and_with_float(f, texts, calls, passes):
    code = f.__code__
    assert (writes_texts(code), only_calls(code, "float"), only_passes(code, "float")) == (texts, calls, passes)


def test_code_that_does_not_name_it_is_not_gone_through(monkeypatch):
    """A function may reach a lot of code, before whose first call each would be disassembled."""
    monkeypatch.setattr("tape.numpy.names.callee.steps_of", None)
    code = (lambda x: np.sin(x) * np.tanh(x) + abs(x)).__code__
    assert only_calls(code, "float")
    assert only_passes(code, "float")
    assert not writes_texts(code)
