"""What is replaced in libraries between two calls: methods of classes, and functions that other functions call."""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import dataclasses
import fractions
import functools
import random
import statistics
import string

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.stats

import tape

X = np.array([1.0, 2.0, 3.0])
SPLINE = scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])


class Own(collections.abc.Sequence):
    def __len__(self):
        return 2

    def __getitem__(self, k):
        return (1.0, 2.0)[k]


@contextlib.contextmanager
def two():
    yield 2.0


def entered():
    with two() as k:
        return k


@dataclasses.dataclass
class Part:
    k: float = 2.0


REPLACED = {
    "method of collections": (collections.UserDict, "__getitem__", lambda: collections.UserDict(k=2.0)["k"]),
    "missing of a counter": (collections.Counter, "__missing__", lambda: 1 + collections.Counter()["k"]),
    "mixin of an abstract class": (collections.abc.Sequence, "index", lambda: 1 + Own().index(2.0)),
    "method of fractions": (fractions.Fraction, "__float__", lambda: float(fractions.Fraction(1, 3))),
    "random": (random.Random, "uniform", lambda: random.Random(3).uniform(0, 1)),
    "template": (string.Template, "substitute", lambda: float(string.Template("$k").substitute(k=2.0))),
    "spline": (scipy.interpolate.CubicSpline, "__call__", lambda: SPLINE(0.5)),
    "density": (type(scipy.stats.norm), "_pdf", lambda: scipy.stats.norm.pdf(0.5)),
    "density of any": (scipy.stats.rv_continuous, "pdf", lambda: scipy.stats.norm.pdf(0.5)),
    "function of statistics": (statistics, "fsum", lambda: statistics.fmean([1.0, 2.0])),
    "function of dataclasses": (dataclasses, "_asdict_inner", lambda: dataclasses.asdict(Part())["k"]),
    "class in contextlib": (contextlib, "_GeneratorContextManager", entered),
}
NEW = {
    "function of dataclasses": lambda thing, factory: {"k": 5.0},
    "class in contextlib": lambda *_: contextlib.nullcontext(5.0),
}


@pytest.mark.parametrize("calls", [1, 20])
@pytest.mark.parametrize("name", REPLACED)
def test_what_is_replaced_in_a_library_is_noticed(name, calls, monkeypatch):
    holder, attribute, read = REPLACED[name]
    compiled = tape.compile(lambda x: x * read())
    for _ in range(calls):
        before = compiled(X)
    with monkeypatch.context() as patch:
        patch.setattr(holder, attribute, NEW.get(name, lambda *_, **__: 5.0))
        expected = X * read()
        assert not np.allclose(expected, before)
        for _ in range(calls):
            np.testing.assert_allclose(compiled(X), expected)
    for _ in range(calls):
        np.testing.assert_allclose(compiled(X), before)


def test_what_the_users_replacement_reads_is_watched(monkeypatch):
    held = {"k": 2.0}
    monkeypatch.setattr(statistics, "fsum", lambda values: held["k"])
    monkeypatch.setattr(collections.UserDict, "__getitem__", lambda self, key: held["k"])
    compiled = tape.compile(lambda x: x * statistics.fmean([1.0]) * collections.UserDict()["k"])
    for held["k"] in (2.0, 3.0, 5.0):
        np.testing.assert_allclose(compiled(X), X * held["k"] ** 2)


def test_libraries_that_nobody_touches_cost_no_recording():
    compiled = tape.compile(
        lambda x: x * SPLINE(0.5) * statistics.fmean([1.0, 2.0]) * functools.reduce(max, [1.0]) * len(Own())
    )
    for k in range(5):
        compiled(X + k)
        tape.func.grad(lambda x: scipy.stats.norm.logpdf(x).sum())(X)  # whose doors stand in classes meanwhile
    assert len(compiled.programs) == 1
    assert compiled.programs[0].replays == 5


INSIDE = {
    "sum": (np._core.fromnumeric, "_wrapreduction", lambda x: np.sum(x * x)),
    "prod": (np._core.fromnumeric, "_wrapreduction", lambda x: np.prod(x) + np.sum(x)),
    "norm": (np.linalg._linalg, "sqrt", lambda x: np.linalg.norm(x) * x[0]),
    "simpson": (scipy.integrate._quadrature, "_basic_simpson", lambda x: scipy.integrate.simpson(np.r_[x, x, 1.0][:5])),
}


@pytest.mark.filterwarnings("ignore:tape.compile runs:RuntimeWarning")
@pytest.mark.parametrize("calls", [1, 20])
@pytest.mark.parametrize("name", INSIDE)
def test_what_numpys_own_functions_call_is_noticed(name, calls, monkeypatch):
    """An op answers for them, which runs none of their code, so it does not where somebody has put his own there."""
    holder, attribute, f = INSIDE[name]
    original = getattr(holder, attribute)
    compiled, slope = tape.compile(f), tape.compile(tape.func.grad(f))
    for _ in range(calls):
        before = compiled(X), slope(X)
    with monkeypatch.context() as patch:
        patch.setattr(holder, attribute, lambda *given, **named: 2 * original(*given, **named))
        expected = f(X), tape.func.grad(f)(X)
        assert not np.allclose(expected[0], before[0])
        for _ in range(calls):
            np.testing.assert_array_equal(compiled(X), expected[0])
            np.testing.assert_array_equal(slope(X), expected[1])
    for _ in range(calls):
        np.testing.assert_allclose(compiled(X), before[0], rtol=1e-15)
        np.testing.assert_allclose(slope(X), before[1], rtol=1e-15)
