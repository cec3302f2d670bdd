"""Errors that a replay makes, and the function warns of none: later ones are told nevertheless."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from common.covering import covering

import tape
from ops import REGISTRY
from tape.jit.machine.platform import target
from tape.program.capture import warned
from tape.program.error_check import _leaves_traces
from tape.program.recorded.raising import KINDS

GOOD = np.array([1.0, 2.0, 3.0, 1.5, 2.5])


def with_(number: float, x: np.ndarray = GOOD) -> np.ndarray:
    x = x.copy()
    x[-2] = number
    return x


def messages(function, *xs, action="always"):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        function(*xs)
    return [str(w.message) for w in found if issubclass(w.category, RuntimeWarning)]


def ignoring(f, **kinds):
    """A function that ignores what it does first."""

    def function(x):
        with np.errstate(**kinds):
            y = f(x)
        return y * 2.0 + 1.0 / (x - 7.0)

    return function


def masked(f):
    return lambda x: np.where(x > 0, f(x), 0.0)


BESIDE = {
    "a logarithm": (ignoring(masked(np.log), all="ignore"), -1.0),
    "one kind": (ignoring(masked(np.log), invalid="ignore"), -1.0),
    "a quotient": (ignoring(lambda x: np.where(x != 0, 1.0 / x, 0.0), divide="ignore"), 0.0),
    "a root": (ignoring(lambda x: np.nan_to_num(np.sqrt(x)), invalid="ignore"), -1.0),
    "an exponential": (ignoring(lambda x: np.minimum(np.exp(x), 5.0), over="ignore"), 1e4),
    "a loop": (ignoring(lambda x: sum(np.log(v) if v > 0 else v * 1e200 * 1e200 * 0.0 for v in x), all="ignore"), -1.0),
    "a sum": (
        ignoring(lambda x: np.where(x < 1e300, x, 0).sum() + np.clip(x.sum() * 8, -1, 1), over="ignore"),
        1.7e308,
    ),
}
TRANSFORMS = {"f": lambda f: f, "value and grad": lambda f: tape.func.grad_and_value(lambda x: f(x).sum())}


@pytest.mark.filterwarnings("ignore:tape.compile runs")
@pytest.mark.parametrize(("name", "transform", "falls"), covering(BESIDE, TRANSFORMS, (10, 700)))
def test_a_true_one_after_many_false_ones(name, transform, falls):
    f, number = BESIDE[name]
    function = TRANSFORMS[transform](f)
    compiled, x, y = tape.compile(function), with_(number), with_(7.0)
    expected = messages(function, x), messages(function, y), messages(function, with_(7.0, x[::-1]))
    assert expected[1]
    for some in (falls, falls, 10):
        for _ in range(some):
            assert messages(compiled, x) == expected[0]
        assert messages(compiled, y) == expected[1]
        assert messages(compiled, with_(7.0, x[::-1])) == expected[2]


def test_what_the_function_ignores_altogether_costs_one_call(monkeypatch):
    def f(x):
        with np.errstate(all="ignore"):
            return np.where(x > 0, np.log(x), 0.0).sum()

    compiled = tape.compile(f)
    compiled(with_(-1.0))
    assert compiled.programs[0].unsaid == 0
    monkeypatch.setattr(type(compiled), "_eager", None)
    for _ in range(8):
        assert messages(compiled, with_(-1.0)) == []


def test_one_kind_that_it_ignores_altogether():
    def f(x):
        with np.errstate(divide="ignore"):
            return np.log(x)

    compiled = tape.compile(f)
    for x in (GOOD, with_(0.0), with_(-1.0)) * 8:
        assert messages(compiled, x) == messages(f, x)
    assert compiled.programs[0].unsaid == sum(KINDS.values()) - KINDS["divide"]


def test_errors_beside_what_is_ignored_are_looked_for_without_a_call(monkeypatch):
    compiled = tape.compile(BESIDE["a logarithm"][0])
    for _ in range(warned.FALSE_ALARMS + 1):
        assert messages(compiled, with_(-1.0)) == []
    monkeypatch.setattr(type(compiled), "_eager", None)
    for _ in range(8):
        assert messages(compiled, with_(-1.0)) == []


@pytest.mark.parametrize("x", [0.0, 1e-320])
def test_errors_of_a_gradient_s_own_records_are_looked_for_without_a_call(x, monkeypatch):
    """No gradient warns of what its rules do: of a quotient that a mask leaves out."""
    compiled = tape.compile(tape.func.grad(lambda x: np.where(x > 0.5, np.sqrt(x), x * 2.0).sum()))
    for _ in range(warned.FALSE_ALARMS + 1):
        assert messages(compiled, with_(x)) == messages(compiled.function, with_(x)) == []
    monkeypatch.setattr(type(compiled), "_eager", None)
    for _ in range(8):
        assert messages(compiled, with_(x)) == []


def test_an_order_of_summing_is_not_relied_upon():
    """A sum of large numbers that is finite may have been too large on the way."""

    def f(x):
        with np.errstate(invalid="ignore"):
            y = np.nan_to_num(np.sqrt(-x))
        return x.sum() + y.sum()

    compiled, x = tape.compile(f), np.linspace(1.0, 2.0, 64)
    for _ in range(10):
        assert messages(compiled, x) == messages(f, x) == []
    rng = np.random.default_rng(0)
    for _ in range(20):
        x = rng.choice([1.7e308, -1.7e308, 1.0, 1e308], 64)
        if messages(f, x):
            assert messages(compiled, x) == messages(f, x)


NUMBERS = 0.0, -0.0, 1.0, -3.0, 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan
COMPARING = {
    "less": np.less, "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "equal": np.equal, "not_equal": np.not_equal, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax,
    "fmin": np.fmin, "where": lambda x, y: np.where(x > y, x, 1.0), "clip": lambda x, y: np.clip(x, -1.0, y),
    "sign": lambda x, y: np.sign(x), "heaviside": np.heaviside, "abs": lambda x, y: np.abs(x),
    "and": lambda x, y: (x > 0) & (y <= 1), "gradient": tape.func.grad(lambda x, y: np.maximum(x, y).sum()),
    "sorted": lambda x, y: np.sort(x), "a choice": lambda x, y: np.where(x < 0, y, np.where(y >= x, x, y)),
}  # fmt: skip


@pytest.mark.skipif(target().bits == 128, reason="before AVX no comparison of many numbers is quiet")
@pytest.mark.parametrize("n", [1, 3, 16, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", COMPARING)
@pytest.mark.parametrize("tier", [None, "interpret", "optimised"])
def test_comparing_numbers_is_no_alarm(name, dtype, n, tier, monkeypatch):
    """Of a nan, too: no flag is raised, so that the function itself is never called."""
    f = COMPARING[name]
    compiled = tape.compile(lambda x, y: f(x, y), tier=tier)
    compiled(np.full(n, 0.5, dtype), np.full(n, 0.5, dtype))
    monkeypatch.setattr(type(compiled), "_eager", None)
    for pair in itertools.product(NUMBERS, repeat=2):
        with np.errstate(all="ignore"):
            x, y = (np.full(n, v, dtype) for v in pair)
        assert messages(compiled, x, y) == []


TOLD = sorted(
    name
    for name, op in REGISTRY.items()
    if op.kind == "elementwise" and op.arity in (1, 2) and isinstance(op.forward, np.ufunc)
)


OF_WHAT = {"four": lambda v: np.full(4, v), "a number": np.float64, "Python's number": float}


@pytest.mark.parametrize("of_what", OF_WHAT)
@pytest.mark.parametrize("name", TOLD)
def test_the_same_warnings_after_false_alarms(name, of_what):
    """Of each of NumPy's own functions, at all pairs of extreme numbers one after the other."""
    op = REGISTRY[name]
    compiled = tape.compile(lambda *xs: op.forward(*xs))
    with np.errstate(all="ignore"):
        compiled(*[OF_WHAT[of_what](0.75)] * op.arity)
    points = [*itertools.product((*NUMBERS, 0.5, 2.0, 710.0, 1e-200), repeat=op.arity)]
    for point in points:
        xs = [OF_WHAT[of_what](v) for v in point]
        assert messages(compiled, *xs) == messages(op.forward, *xs), point


@pytest.mark.parametrize("calls", [1, 3, 700])
@pytest.mark.parametrize("name", BESIDE)
def test_what_the_caller_ignores_at_first_is_told_later(name, calls):
    f, number = BESIDE[name]
    compiled = tape.compile(f)
    with np.errstate(all="ignore"):
        for _ in range(calls):
            assert messages(compiled, with_(7.0)) == []
    for x in (GOOD, with_(number), with_(7.0), with_(7.0, GOOD[::-1])):
        assert messages(compiled, x) == messages(f, x)


def test_what_leaves_traces():
    ops = {
        name: _leaves_traces(REGISTRY[name]) for name in ("add", "mul", "div", "log", "exp", "sqrt", "sum", "matmul")
    }
    assert all(ops.values()), ops


AFTER = {
    "a maximum": lambda y: y.max(), "a minimum": lambda y: np.minimum.reduce(y), "a sorted one": lambda y: np.sort(y),
    "comparisons": lambda y: (y > 1.5).sum(), "a whole function": np.isfinite, "hyperbolic": lambda y: np.tanh(y).max(),
    "a norm": lambda y: np.linalg.norm(y, np.inf), "a sum": lambda y: y.sum(), "a matrix": lambda y: np.outer(y, y) @ y,
    "an order": lambda y: np.argsort(y), "a median": np.median, "running": np.cumsum, "signs": lambda y: np.signbit(y),
    "the largest so far": np.maximum.accumulate, "a solution": lambda y: np.linalg.solve(np.eye(5), y),
}  # fmt: skip
ERRING = {"exp": (np.exp, 1e4), "log": (np.log10, 0.0), "root": (np.sqrt, -1.0), "product": (lambda x: x * x, 1e200)}


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("erring", ERRING)
def test_errors_before_what_takes_flags_down(erring, after):
    """NumPy's own loops take down flags, and those of the steps before them with these."""
    f, number = ERRING[erring]
    then = AFTER[after]

    def function(x, y):
        z = f(x)
        return then(y), z if erring == "root" else None

    compiled = tape.compile(function)
    for calls in (1, 2, 60):
        for _ in range(calls):
            assert messages(compiled, GOOD, GOOD) == []
        assert messages(compiled, with_(number), GOOD) == messages(function, with_(number), GOOD) != []


@pytest.mark.parametrize("f", [np.log, np.log2, np.log10, np.log1p, np.arctanh, np.arccosh])
def test_poles_of_what_nobody_differentiates(f):
    def function(x, y):
        return (x * 2.0).sum() + 0.0 * np.where(x > -9.0, 0.0, f(y)).sum()

    gradient = tape.func.grad(function)
    y = np.full(9, 1.5 if f is np.arccosh else 0.5)
    compiled = tape.compile(gradient)
    for number in (0.0, -1.0, 1.0, -2.0, 2.0):
        assert messages(compiled, y, y) == messages(gradient, y, y)
        assert messages(compiled, y, with_(number, y)) == messages(gradient, y, with_(number, y))
