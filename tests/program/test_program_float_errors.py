"""NumPy's warnings of floating-point errors: compiled functions give those that the function gives itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tape
from tape.program import compiled as compiled_module
from tape.program.recorded import raising

GOOD = np.array([1.0, 2.0, 3.0, 1.5, 2.5])
BAD = {
    "a logarithm of zero": (lambda x: np.log(x).sum(), 0.0),
    "of less": (lambda x: np.log(x).sum(), -1.0),
    "a quotient": (lambda x: (1.0 / x).sum(), 0.0),
    "a root": (lambda x: np.sqrt(x).sum(), -1.0),
    "an exponential": (lambda x: np.exp(x).sum(), 1e4),
    "what a mask leaves out": (lambda x: np.where(x > 0, np.log(x), 0.0).sum(), -1.0),
    "a difference of infinities": (lambda x: (np.exp(x) - np.exp(x)).sum(), 1e4),
    "before a matrix": (lambda x: np.linalg.solve(np.eye(x.size), np.log(x)).sum(), -1.0),
    "a loop": (lambda x: sum(x[i] / x[i + 1] for i in range(x.size - 1)), 0.0),
}
TRANSFORMS = {
    "f": lambda f: f,
    "grad_and_value": tape.func.grad_and_value,
    "jvp": lambda f: lambda x: tape.func.jvp(f, (x,), (x,)),
}


def bad(number: float) -> np.ndarray:
    x = GOOD.copy()
    x[-2] = number
    return x


def told(function, x, action="always"):
    """The messages and lines of the warnings of a call, or the one that it raises."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        try:
            function(x)
        except RuntimeWarning as error:
            return str(error)
    return [(str(w.message), w.category, w.filename, w.lineno) for w in found]


@pytest.mark.parametrize("tier", [None, "interpret", "quick", "optimised"])
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_same_warnings(transform, name, tier):
    f, number = BAD[name]
    function, x = TRANSFORMS[transform](f), bad(number)
    compiled = tape.compile(function, tier=tier)
    wanted = told(function, x)
    for calls in (0, 1, 5):
        for _ in range(calls):
            assert told(compiled, GOOD) == told(function, GOOD)
        assert told(compiled, x) == wanted
        assert told(compiled, x, "error") == told(function, x, "error")


def test_where_a_call_takes_an_entry():
    compiled = tape.compile(BAD["a quotient"][0])
    for _ in range(600):
        compiled(GOOD)
    assert compiled._entry is not None
    for _ in range(3):
        assert told(compiled, bad(0.0)) == told(compiled.function, bad(0.0)) != []
    before = compiled.statistics().replays
    compiled(GOOD)
    assert compiled.statistics().replays == before + 1


def test_numbers_that_do_not_fill_a_vector_are_no_errors():
    """What lies in the other lanes of a vector is divided too, and its errors are nobody's."""
    for n in range(1, 20):
        for f in (lambda x: (1.0 / x).sum(), lambda x: np.log(x[1:] / x[:-1]), lambda x: np.roll(x, 1) / x):
            compiled, x = tape.compile(f, tier="optimised"), np.linspace(1.0, 2.0, n)
            for _ in range(5):
                compiled(x)
            assert [p.alarms for p in compiled.programs] == [0], n


@pytest.mark.filterwarnings("ignore")
def test_one_that_is_not_shown_costs_no_call(monkeypatch):
    compiled = tape.compile(lambda x: (1.0 / x).sum())
    compiled(GOOD)
    monkeypatch.setattr(type(compiled), "_eager", None)
    for _ in range(5):
        assert compiled(bad(0.0)) == np.inf


def test_a_warning_that_is_shown_once_costs_one_call():
    compiled = tape.compile(lambda x: (1.0 / x).sum())
    compiled(GOOD)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(5):
            compiled(bad(0.0))
    assert [str(w.message) for w in found] == ["divide by zero encountered in divide"]
    assert not compiled.programs[0].unsaid & raising.KINDS["divide"]


def test_what_numpy_is_told_to_ignore():
    compiled = tape.compile(lambda x: np.log(x))
    compiled(GOOD)
    with np.errstate(all="ignore"):
        assert told(compiled, bad(-1.0)) == []
    assert told(compiled, bad(-1.0)) != []


def test_what_the_function_ignores():
    """Its replays raise flags, and it warns of nothing: it is not called for ever to see that."""

    def f(x):
        with np.errstate(all="ignore"):
            return np.where(x > 0, np.log(x), 0.0).sum()

    compiled = tape.compile(f)
    for _ in range(8):
        assert told(compiled, bad(-1.0)) == []
    assert compiled.programs[0].alarms == compiled_module.FALSE_ALARMS + 1


def test_errors_of_other_threads_are_this_one_s():
    n = 1 << 19
    compiled, x = tape.compile(lambda x: np.sqrt(np.log(x) + 30.0).sum(), threads=2), np.linspace(1.0, 2.0, n)
    for _ in range(3):
        compiled(x)
    x[n // 3] = 0.0
    assert told(compiled, x) == told(compiled.function, x) != []


def test_flags_that_the_caller_raised_are_not_the_replay_s():
    compiled = tape.compile(lambda x: (x * x).sum())
    for _ in range(600):
        compiled(GOOD)
    for _ in range(3):
        assert np.isnan(float("inf") * 0.0)  # which Python computes, and leaves the flag
        assert told(compiled, GOOD) == []
    assert compiled.programs[0].alarms == 0


def test_nothing_is_changed_about_how_errors_are_handled():
    before = np.geterr(), np.geterrcall()
    compiled = tape.compile(lambda x: 1.0 / x)
    compiled(GOOD)
    told(compiled, bad(0.0))
    assert (np.geterr(), np.geterrcall()) == before
