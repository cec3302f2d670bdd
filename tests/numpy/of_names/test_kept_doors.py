"""Functions of NumPy's and Python's that are compared, looked up, passed on, returned and kept while doors stand."""

import collections
import copy
import dataclasses
import functools
import gc
import importlib
import math
import operator
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from numpy import zeros as make_zeros
from numpy.testing import assert_allclose

import tape
import tape.numpy.names.outlived
from tape.numpy import names

X = np.array([0.5, 1.0, 2.0])


def both(f):
    """A derivative, and the same compiled."""
    return tape.func.grad(f), tape.compile(tape.func.grad(f))


def sine():
    return math.sin


def exponential():
    return math.exp


def zeros():
    return np.zeros


def filled(make, x):
    y = make(3)
    y[:] = x * x
    return (y * x).sum()


def once(x):
    yield np.zeros


class Maker:
    make = property(lambda self: np.zeros)

    def __getitem__(self, name):
        return getattr(np, name)

    def __getattr__(self, name):
        return getattr(np, name)


RETURNED = {
    "from a function": lambda x: filled(zeros(), x), "at once": lambda x: (zeros()(3) + x * x * x).sum(),
    "getattr": lambda x: filled(getattr(np, "zeros"), x),  # noqa: B009
    "attrgetter": lambda x: filled(operator.attrgetter("zeros")(np), x),
    "methodcaller": lambda x: filled(lambda n: operator.methodcaller("zeros", n)(np), x),
    "a module by name": lambda x: filled(importlib.import_module("numpy").zeros, x),
    "a generator": lambda x: filled(next(once(x)), x), "a property": lambda x: filled(Maker().make, x),
    "an item": lambda x: filled(Maker()["zeros"], x), "an attribute": lambda x: filled(Maker().zeros, x),
    "mapped": lambda x: filled(lambda n: next(map(np.zeros, [n])), x),
    "a partial": lambda x: filled(lambda n: functools.partial(np.zeros, n)(), x),
    "a factory": lambda x: filled(lambda n: collections.defaultdict(functools.partial(np.zeros, n))["a"], x),
    "its __call__": lambda x: filled(np.zeros.__call__, x),
    "a choice": lambda x: filled(np.zeros if x.size > 2 else np.ones, x),
    "math": lambda x: sine()(x[0]) * x[1] + exponential()(x[2]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("name", RETURNED)
def test_what_another_function_returns_is_recorded(name):
    f = RETURNED[name]
    slopes = [(f(X + h) - f(X - h)) / 2e-6 for h in np.eye(3) * 1e-6]
    for transformed in both(f):
        for _ in range(2):
            assert_allclose(transformed(X), slopes, atol=1e-7)
    assert_allclose(tape.vmap(tape.func.grad(f))(np.stack([X, X]))[1], slopes, atol=1e-7)


def bound(rng):
    return rng.normal


def test_compiled_code_that_reads_names_gets_the_functions_themselves():
    def f(x):
        rng = np.random.default_rng(3)
        return (x * bound(rng)(size=3)).sum() + (x * rng.permutation(3)).sum()

    assert_allclose(tape.func.grad(f)(X), [f(row) for row in np.eye(3)], rtol=1e-14)


@dataclasses.dataclass(slots=True, frozen=True)
class Frozen:
    how: object


Named = collections.namedtuple("Named", "how")
SUM_OF, ROUTES = {np.sum: "sum", np.mean: "mean", math.sin: "sine"}, {np.mean}
OBJECT, NAMED, LATEST = Frozen(np.mean), Named(np.mean), collections.deque([np.mean])
ORDERED = collections.OrderedDict(how=np.mean)
NESTED = {"a": [(np.mean,)]}


def chosen(x, how):
    return how(x * x) if how is np.mean else x.sum()


def by_turns(x):
    total = 0.0
    for how in SUM_OF:
        if how is np.mean:
            total = total + how(x * x)
    return total


COMPARED = {
    "an argument": (chosen, (np.mean,)),
    "in an argument": (lambda x, kept: chosen(x, kept["how"]), ({"how": np.mean},)),
    "an argument by name": (functools.partial(chosen, how=np.mean), ()),
    "a slot": (lambda x: chosen(x, OBJECT.how), ()),
    "a named tuple": (lambda x: chosen(x, NAMED.how), ()), "a deque": (lambda x: chosen(x, LATEST[0]), ()),
    "an ordered dict": (lambda x: chosen(x, ORDERED["how"]), ()),
    "nested": (lambda x: chosen(x, NESTED["a"][0][0]), ()),
    "an element of a set": (lambda x: sum(chosen(x, how) for how in ROUTES), ()),
    "a key": (lambda x: (x * x).mean() if SUM_OF[np.mean] == "mean" else x.sum(), ()), "the keys": (by_turns, ()),
    "in a dict": (lambda x: (x * x).mean() if np.mean in SUM_OF else x.sum(), ()),
    "equal": (lambda x: (x * x).mean() if np.mean == [*SUM_OF][1] and [*SUM_OF][1] == np.mean else x.sum(), ()),
    "in a set": (lambda x: (x * x).mean() if {np.mean} == ROUTES else x.sum(), ()),
    "its text": (lambda x: (x * x).mean() if "built-in" in repr(np.zeros) else x.sum(), ()),
    "its class": (lambda x: (x * x).mean() if isinstance(math.sin, type(len)) else x.sum(), ()),
    "a copy": (lambda x: (x * x).mean() if copy.deepcopy([np.zeros]) == [copy.copy(np.zeros)] else x.sum(), ()),
    "a name of its own": (lambda x: (x * x).mean() if make_zeros is np.zeros else x.sum(), ()),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("name", COMPARED)
def test_a_function_is_one_thing_wherever_it_comes_from(name):
    f, more = COMPARED[name]
    for transformed in both(f):
        for _ in range(2):
            assert_allclose(transformed(X, *more), 2 * X / 3, rtol=1e-15)
    assert f(X, *more) == np.mean(X * X)
    assert tape.compile(f)(X, *more) == np.mean(X * X)


def test_it_is_pickled_as_itself():
    def f(x):
        texts.append(pickle.dumps([np.zeros, np.sum, math.sin, make_zeros]))
        return x.sum()

    texts = []
    tape.func.grad(f)(X)
    assert all(x is y for x, y in zip(pickle.loads(texts[0]), [np.zeros, np.sum, math.sin, np.zeros], strict=True))
    assert b"tape" not in texts[0]


class Keeper:
    kept = None

    def __init__(self):
        self.functions = []


class Slotted:
    __slots__ = ("kept",)


def giving(thing):
    return lambda: thing


def with_default(x, make=None):
    return make


KEEPERS = {
    "a list": (lambda k: k.functions.append(np.zeros), lambda k: k.functions[0]),
    "an attribute": (lambda k: setattr(k, "kept", np.zeros), lambda k: k.kept),
    "an attribute of the class": (lambda k: setattr(Keeper, "kept", np.zeros), lambda k: Keeper.kept),
    "a tuple": (lambda k: k.functions.append((1, (np.zeros,))), lambda k: k.functions[0][1][0]),
    "a partial": (lambda k: k.functions.append(functools.partial(np.zeros, 3)), lambda k: k.functions[0].func),
    "an argument of a partial": (
        lambda k: k.functions.append(functools.partial(filled, np.zeros)), lambda k: k.functions[0].args[0],
    ),
    "a set": (lambda k: setattr(k, "kept", {np.zeros, 1}), lambda k: next(x for x in k.kept if x != 1)),
    "a key": (lambda k: setattr(k, "kept", {np.zeros: 1, 2: 3}), lambda k: next(iter(k.kept))),
    "a closure": (lambda k: k.functions.append(giving(np.zeros)), lambda k: k.functions[0]()),
    "a default": (lambda k: setattr(with_default, "__defaults__", (np.zeros,)), lambda k: with_default(0)),
    "a namespace": (lambda k: k.functions.append(SimpleNamespace(f=np.zeros)), lambda k: k.functions[0].f),
    "a deque": (lambda k: k.functions.append(collections.deque([np.zeros])), lambda k: k.functions[0][0]),
    "a slot": (lambda k: (k.functions.append(Slotted()), setattr(k.functions[0], "kept", np.zeros)),
               lambda k: k.functions[0].kept),
    "by its own name": (lambda k: k.functions.append(make_zeros), lambda k: k.functions[0]),
    "a static method": (lambda k: setattr(Keeper, "kept", staticmethod(np.zeros)), lambda k: k.kept),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", KEEPERS)
def test_what_a_function_keeps_is_the_function_itself_afterwards(name, is_compiled, monkeypatch):
    monkeypatch.setattr(names.outlived, "ALLOWANCE", 1e9)
    keep, kept = KEEPERS[name]
    keeper = Keeper()

    def f(x):
        keep(keeper)
        return (x * x).sum()

    try:
        assert_allclose((tape.compile(tape.func.grad(f)) if is_compiled else tape.func.grad(f))(X), 2 * X)
        assert kept(keeper) is np.zeros
    finally:
        Keeper.kept, with_default.__defaults__ = None, (None,)


class Remembering:
    """Keeps a function when it first needs it."""

    def __call__(self, x):
        if not hasattr(self, "make"):
            self.make = np.zeros
        return filled(self.make, x)


def remembering(x):
    if not hasattr(remembering, "make"):
        remembering.make = np.zeros
    return filled(remembering.make, x)


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("f", [Remembering(), remembering])
def test_what_was_kept_is_recorded_in_the_next_call(f, monkeypatch):
    monkeypatch.setattr(names.outlived, "ALLOWANCE", 1e9)
    for transformed in both(f):
        for _ in range(3):
            assert_allclose(transformed(X), 3 * X**2)
            assert f.make is np.zeros
        del f.make


def test_what_cannot_be_exchanged_stays_and_gives_way():
    def f(x):
        made = rows(x)
        next(made)
        kept.append(made)
        return x.sum()

    def rows(x):
        make = np.zeros
        while True:
            yield make(2)

    kept = []
    tape.func.grad(f)(X)
    assert type(next(kept[0])) is np.ndarray


def test_what_a_function_returns_is_the_function_itself():
    def f(x):
        return (x * x).sum(), {"make": [np.zeros], "f": math.sin}

    for transformed in (tape.func.grad(f, has_aux=True), tape.compile(tape.func.grad(f, has_aux=True))):
        for _ in range(3):
            _, given = transformed(X)
            assert given["make"][0] is np.zeros
            assert given["f"] is math.sin


def test_what_outlives_its_recording_calls_the_function_wherever_it_is():
    def f(x):
        iterators.append(map(np.zeros, [2]))
        return x.sum()

    iterators = []
    tape.func.grad(f)(X)
    made = next(iterators[0])
    assert type(made) is np.ndarray
    assert made.tolist() == [0.0, 0.0]


def test_nothing_is_sought_where_nothing_is_kept(monkeypatch):
    def f(x):
        make, table = np.zeros, {"sine": math.sin}
        return filled(make, x) + table["sine"](x[0])

    def refuse(*things):
        raise AssertionError(things)

    monkeypatch.setattr(gc, "get_referrers", refuse)
    for transformed in both(f):
        transformed(X)


def raising(x):
    make = np.zeros
    raise LookupError(make)


def from_below(x, of=np.zeros):
    make = of
    if make(1).sum() == 0:
        raise ZeroDivisionError
    return x.sum()


@pytest.mark.parametrize("transformed", [tape.func.grad, lambda f: tape.compile(tape.func.grad(f))])
def test_nothing_is_sought_that_arguments_were_given_or_frames_of_an_error_hold(transformed, monkeypatch):
    def called(x, function, *, mean):
        return function(x) + mean(x, axis=0)

    def refuse(*things):
        raise AssertionError(things)

    monkeypatch.setattr(gc, "get_referrers", refuse)
    for function in (called, functools.partial(called, mean=np.mean)):
        options = {} if function is not called else {"mean": np.mean}
        assert_allclose(transformed(function)(X, np.sum, **options), np.full(3, 1 + 1 / 3))
    if names.outlived.COUNTS:
        with pytest.raises(ZeroDivisionError):
            transformed(from_below)(X, np.zeros)


def test_what_an_error_has_kept_is_the_function_itself_afterwards(monkeypatch):
    monkeypatch.setattr(names.outlived, "ALLOWANCE", 1e9)
    with pytest.raises(LookupError) as raised:
        tape.func.grad(raising)(X)
    assert raised.value.args[0] is np.zeros
