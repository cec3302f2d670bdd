"""Functions of NumPy's, SciPy's and Python's that a program keeps: in tables, attributes, defaults, or as they are."""

import functools
import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from numpy.testing import assert_allclose
from scipy import stats

import tape

X = np.array([0.2, 0.4, 0.7])
SQUARE = np.eye(2) + 0.1


class Model:
    """Keeps functions as attributes of its own and of its class."""

    sine = math.sin
    density = staticmethod(stats.norm.logpdf)

    def __init__(self):
        self.density_of = stats.norm.logpdf
        self.table = {"exp": math.exp, 1: [math.cos, (math.tanh, np.zeros)]}

    def by_attribute(self, x):
        return self.density_of(x).sum()

    def by_class(self, x):
        return self.sine(x[0]) * Model.sine(x[1]) + self.density(x[2])

    def by_table(self, x):
        y = self.table[1][1][1](3)
        y[:] = x * self.table[1][1][0](x[1])
        return y.sum() * self.table["exp"](x[0]) + self.table[1][0](x[2])

    def __call__(self, x):
        return self.by_attribute(x) + self.by_class(x) + self.by_table(x)


MODEL = Model()
LOG_DENSITY = stats.norm.logpdf
POWER_OF_TWO = functools.partial(math.pow, 2.0)
NAMED = [("sin", math.sin), ("exp", math.exp)]
ZEROS = {"zeros": np.zeros}


def by_default(x, make=np.zeros, *, f=math.sin):
    y = make(3)
    y[:] = x * f(x[0])
    return y.sum()


def by_turns(x):
    total = 0.0
    for _, f in NAMED:
        total = total + f(x[0]) * x[1]
    return total


def filled(x):
    y = ZEROS["zeros"](len(x))
    y[1:] = x[:-1] * x[1:]
    return (y * y).sum()


KEEPING = {
    "by a name of its own": lambda x: LOG_DENSITY(x).sum(),
    "a partial": lambda x: POWER_OF_TWO(x[0]) * x[1],
    "by attribute": MODEL.by_attribute, "by class": MODEL.by_class, "by table": MODEL.by_table, "an object": MODEL,
    "by default": by_default, "by turns": by_turns, "filled": filled,
    "mapped": lambda x: sum(map(LOG_DENSITY, x)),
}  # fmt: skip
THEMSELVES = {
    "logsumexp": (scipy.special.logsumexp, X), "det": (scipy.linalg.det, SQUARE), "NumPy's": (np.linalg.det, SQUARE),
    "math.sin": (math.sin, 0.3), "logpdf": (stats.norm.logpdf, 0.3), "frozen": (stats.norm(0.5, 2.0).logpdf, 0.3),
    "a partial": (functools.partial(stats.norm.logpdf, loc=0.5), 0.3), "a power": (POWER_OF_TWO, 0.3),
}  # fmt: skip


def slopes(f, x, step=1e-6):
    """Central differences."""
    x = np.asarray(x)
    units = [step * unit.reshape(x.shape) for unit in np.eye(x.size)]
    return np.array([(f((x + u)[()]) - f((x - u)[()])) / (2 * step) for u in units]).reshape(x.shape)


def kept():
    """All that the functions here keep, as it is now."""
    table = MODEL.table
    return [
        *NAMED, *ZEROS.values(), *vars(Model).values(), *vars(MODEL).values(), *table.values(), *table[1], table[1][1],
        *by_default.__defaults__, *by_default.__kwdefaults__.values(), POWER_OF_TWO, LOG_DENSITY,
    ]  # fmt: skip


@pytest.mark.parametrize("name", KEEPING)
def test_what_keeps_functions_is_recorded_and_stays_as_it_was(name):
    f, before = KEEPING[name], kept()
    compiled = tape.compile(tape.func.grad(f))
    for x in (X, X, X + 0.1):
        assert_allclose(tape.func.grad(f)(x), slopes(f, x), atol=1e-7)
        assert_allclose(compiled(x), tape.func.grad(f)(x), rtol=1e-14)
        assert tape.compile(f)(x) == f(x)
    assert compiled.statistics().eager == 0
    assert all(a is b for a, b in zip(kept(), before, strict=True))


@pytest.mark.parametrize("name", THEMSELVES)
def test_such_a_function_itself_is_differentiated(name):
    f, x = THEMSELVES[name]
    assert_allclose(tape.func.grad(f)(x), slopes(f, x), atol=1e-7)
    assert_allclose(tape.compile(tape.func.grad(f))(x), slopes(f, x), atol=1e-7)
    assert tape.compile(f)(x) == f(x)


CHANGES = {
    "an item": (lambda x: MODEL.table["exp"](x[0]), lambda f: MODEL.table.__setitem__("exp", f)),
    "an attribute": (lambda x: MODEL.other(x[0]), lambda f: setattr(MODEL, "other", f)),
    "an attribute of the class": (lambda x: MODEL.sine(x[0]), lambda f: setattr(Model, "sine", f)),
    "a tuple in a list": (lambda x: NAMED[1][1](x[0]), lambda f: NAMED.__setitem__(1, ("f", f))),
    "a default": (lambda x: by_default(x), lambda f: by_default.__kwdefaults__.update(f=f)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_function_that_is_kept_later_is_noticed(name):
    f, change = CHANGES[name]
    compiled = tape.compile(tape.func.grad(f))
    for kept_now in (math.exp, math.cos, math.exp, math.sin):
        change(kept_now)
        for _ in range(3):
            assert_allclose(compiled(X), slopes(f, X), atol=1e-7)


def helper(x):
    return np.array([x[0] * 2.0, x[1]]).sum()


def through_a_name(x):
    return helper(x)


def test_what_is_found_is_looked_for_again_if_a_name_names_something_else(monkeypatch):
    assert tape.func.grad(through_a_name)(X).tolist() == [2.0, 1.0, 0.0]
    for other in (filled, MODEL, by_turns):
        monkeypatch.setitem(globals(), "helper", other)
        assert_allclose(tape.func.grad(through_a_name)(X), slopes(other, X), atol=1e-7)


def test_what_the_function_changes_meanwhile_stays_changed():
    space = SimpleNamespace()
    table, row = {"f": math.sin, "g": math.cos}, [math.sin, math.exp]

    def changing(x):
        y = table["f"](x[0]) * row[1](x[1])
        table["f"] = table.pop("g")
        row.insert(0, len)
        space.last = row.pop()
        return y

    assert_allclose(tape.func.grad(changing)(X)[0], math.cos(0.2) * math.exp(0.4))
    assert table == {"f": math.cos}
    assert row == [len, math.sin]


def test_another_thread_computes_with_what_is_kept():
    going, found = threading.Event(), []

    def compute():
        going.wait(10)
        found.append((MODEL(X), ZEROS["zeros"](2), NAMED[0][1](0.5)))

    other = threading.Thread(target=compute)
    other.start()

    def f(x):
        y = MODEL(x) + filled(x)
        going.set()
        other.join()
        return y

    value = MODEL(X)
    tape.func.grad(f)(X)
    ((there, zeros, sine),) = found
    assert (there, type(zeros), sine) == (value, np.ndarray, math.sin(0.5))
