"""NumPy's warnings of floating-point errors: compiled functions give those that the function gives itself."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import tape
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
    "a norm of negative order": (lambda x: np.linalg.norm(x, -2), 0.0),
    "of the order -1": (lambda x: np.linalg.vector_norm(np.stack([x, x]), ord=-1, axis=1).sum(), 0.0),
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


UNREAD = {
    "a logarithm of less than zero": (lambda x: np.log(x).sum(), -1.0),
    "of zero": (lambda x: np.log2(x).mean(), 0.0),
    "one near zero": (lambda x: np.log1p(x).sum(), -2.0),
    "weighted": (lambda x: (x[::-1] * np.log10(x)).sum(), -1.0),
    "of a logarithm": (lambda x: np.sin(np.log(x)).sum(), -1.0),
    "a hyperbolic one": (lambda x: np.arctanh(x / 10.0).sum(), 20.0),
    "another": (lambda x: np.arccosh(x + 1.0).sum(), -1.5),
    "a square": (lambda x: (x * x).sum(), 1e200),
    "a cube": (lambda x: (x**3).sum(), -1e110),
    "a root": (lambda x: (x**2.5).sum(), -1.0),
    "a sum": (lambda x: (x + x).sum(), 1.5e308),
    "a product of numbers": (lambda x: x[-2] * x[0] * 1e200, 1e200),
    "a product of vectors": (lambda x: x @ x, 1e200),
    "a remainder": (lambda x: (3.0 % x).sum(), 0.0),
    "a quotient of one that is not read": (lambda x: (1.0 / np.log(x)).sum(), 1.0),
    "a norm of negative order": (lambda x: np.linalg.norm(x, -2), 0.0),
    "of the order -1": (lambda x: np.linalg.vector_norm(np.stack([x, x]), ord=-1, axis=1).sum(), 0.0),
    "a loop": (lambda x: sum(np.log(x[i]) for i in range(x.size)), -1.0),
    "beside infinity": (lambda x: (x - x).sum(), np.inf),
    "the largest so far": (lambda x: np.exp(np.maximum.accumulate(x)).sum(), 1e4),
    "sorted": (lambda x: np.log(np.sort(x)).sum(), -1.0),
    "a solution": (lambda x: np.exp(np.linalg.solve(np.eye(len(x)), x)).sum(), 1e4),
}


@pytest.mark.parametrize("n", [5, 21, 200])
@pytest.mark.parametrize("transform", ["grad", "jacfwd"])
@pytest.mark.parametrize("name", UNREAD)
def test_of_what_no_result_reads(name, transform, n):
    f, number = UNREAD[name]
    function = getattr(tape.func, transform)(f)
    compiled, good = tape.compile(function), np.linspace(1.1, 2.0, n)
    x = good.copy()
    x[-2] = number
    wanted = told(function, x)
    assert wanted
    for calls in (0, 1, 5):
        for _ in range(calls):
            assert told(compiled, good) == []
        assert told(compiled, x) == wanted
    assert [p.alarms for p in compiled.programs] == [0] * len(compiled.programs)


def test_many_numbers_that_nobody_reads_are_watched_by_the_inputs():
    """A gradient of squares of a list of numbers does not compute as many squares; an input tells of large ones."""

    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + (x[i] - 1.0) ** 2 * x[i]
        return total

    few, many = (tape.compile(tape.func.grad(f)) for _ in range(2))
    few(np.linspace(1.0, 2.0, 8)), many(np.linspace(1.0, 2.0, 200))
    assert many.programs[0].listing.watched == 1
    for number in (1e150, -1e300, 1e30, np.nan, np.inf):
        for n, compiled in ((8, few), (200, many)):
            x = np.linspace(1.0, 2.0, n)
            x[n // 2] = number
            assert told(compiled, x) == told(compiled.function, x), (number, n)
    assert [p.alarms for p in many.programs] == [1]  # an infinity might have met another one


@pytest.mark.parametrize("power", [np.power, np.float_power])
def test_negative_powers_are_no_polynomials(power):
    def function(x):
        y = power(x, -3.0)
        for _ in range(12):
            y = y * 1.5 + x
        return x * 1.0

    compiled = tape.compile(function)
    compiled(np.ones(200))
    for number in (0.0, 1e-200):
        x = np.full(200, number)
        assert told(compiled, x) == told(function, x) != []


def test_memory_that_nobody_has_written_is_not_watched():
    def f(x):
        for _ in range(3):
            y = np.empty_like(x)
            y = np.floor(x) + x
            x = y * y
        return (x * 1.0)[0]

    compiled, x = tape.compile(tape.func.grad(f)), np.linspace(1.0, 2.0, 50)
    compiled(x)
    listing = compiled.programs[0].listing
    assert "empty_like" not in [listing.op(k).name for k in range(len(listing)) if listing.code[k] >= 0]


def test_numbers_that_something_watched_reads_are_computed():
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total = total + x[i] * x[i]
        return np.log(total - 1.0) + (3.0 * total)

    compiled, x = tape.compile(tape.func.grad(lambda x: f(x) if len(x) < 3 else f(x) - x[0])), np.full(100, 0.2)
    for number in (0.2, 0.1, 0.0, 1e160):
        y = np.full(100, number)
        assert told(compiled, y) == told(compiled.function, y), number
    assert told(compiled, x) == []


def _added(x):
    z = np.zeros(3)
    np.add.at(z, np.array([0, 1, 0, 2, 1]), x * x)
    return (z * z).sum()


def _taken_away(x):
    z = np.zeros(3)
    np.subtract.at(z, [0, 2], x[:2])
    return (z * z).sum()


@pytest.mark.parametrize("transform", [tape.func.hessian, lambda f: tape.func.jacrev(tape.func.jacrev(f))])
@pytest.mark.parametrize("function", [_added, _taken_away])
def test_so_are_those_that_it_reads_through_what_is_not_watched(function, transform):
    """A look-up, which raises for some indices, makes no error of numbers; its operand stays an array all the same."""
    f, x = transform(function), np.linspace(-1.0, 2.0, 5)
    fast = tape.compile(f)
    for _ in range(3):
        np.testing.assert_array_equal(fast(x), f(x))
    assert fast.statistics().eager == 0
    assert fast.statistics().replays == 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [np.rad2deg, np.degrees, lambda x: np.hypot(x, x)])
def test_of_what_overflows_for_the_largest_numbers_alone(function, dtype):
    largest = np.finfo(dtype).max
    for x in (largest, np.full(3, largest)):
        f = tape.func.vmap(tape.func.grad(function)) if x.shape else tape.func.grad(function)
        fast = tape.compile(f)
        fast(np.ones_like(x))
        assert told(fast, x) == told(f, x) != []


@pytest.mark.parametrize("name", UNREAD)
def test_of_what_does_not_depend_on_what_is_differentiated(name):
    f, number = UNREAD[name]
    function = tape.func.grad(lambda x, y: x.sum() + 0.0 * np.nan_to_num(f(y)))
    both, good = (lambda y: function(np.ones(3), y)), np.linspace(1.1, 2.0, 5)
    fast = tape.compile(function)
    compiled = lambda y: fast(np.ones(3), y)  # noqa: E731
    x = good.copy()
    x[-2] = number
    for calls in (1, 2, 60):
        for _ in range(calls):
            assert told(compiled, good) == told(both, good) == []
        assert [w[0] for w in told(compiled, x)] == [w[0] for w in told(both, x)] != []


def test_a_result_that_needs_nothing_of_it_is_made_of_no_more_records_than_before():
    program = tape.record(tape.func.grad(lambda x: np.log(x).sum()), GOOD)
    assert program.listing.watched == 0
    assert len(program.listing) < 6


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
    """Its replays raise flags, and it warns of nothing: it is not called to see that."""

    def f(x):
        with np.errstate(all="ignore"):
            return np.where(x > 0, np.log(x), 0.0).sum()

    compiled = tape.compile(f)
    for _ in range(8):
        assert told(compiled, bad(-1.0)) == []
    assert compiled.programs[0].alarms == 1


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


def test_what_is_made_of_numbers_that_are_the_same_as_needed_ones():
    """Unneeded numbers of whole ones, which are needed under another name."""

    def function(x):
        k = np.cumsum(x > 1)
        1 / np.cumsum(x > 1)
        return x * k

    fast = tape.compile(function)
    for _ in range(3):
        fast(np.array([2.0, 3.0]))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        fast(np.array([0.5, 2.0]))


@pytest.mark.parametrize("calls", [1, 600])
def test_filters_that_change_after_a_warning_was_shown_once(calls):
    def f(x):
        return (1.0 / x).sum()

    compiled = tape.compile(f)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        for _ in range(calls):
            compiled(GOOD)
        for _ in range(calls):
            compiled(bad(0.0))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled(GOOD)
            for _ in range(2):
                with pytest.raises(RuntimeWarning, match="divide by zero"):
                    compiled(bad(0.0))
    for _ in range(2):
        assert told(compiled, bad(0.0)) == told(f, bad(0.0)) != []
    assert not compiled.programs[0].said


def caught(x):
    try:
        return 1.0 / x
    except RuntimeWarning:
        return x * 5.0


def caught_around_a_derivative(x):
    try:
        return tape.func.grad(lambda x: np.log(x).sum())(x)
    except Warning:
        return x * 5.0


def suppressed_of_a_constant(x):
    found = x * 5.0
    with contextlib.suppress(RuntimeWarning):
        found = x / np.zeros(5)
    return found


@pytest.mark.parametrize("f", [caught, caught_around_a_derivative, suppressed_of_a_constant])
@pytest.mark.parametrize("calls", [0, 1, 600])
def test_a_function_that_catches_the_warning_as_an_error(f, calls):
    """What it gives then is not what was recorded where the warning was none."""
    compiled = tape.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for action in ("ignore", "error", "ignore"):
            for _ in range(calls):
                compiled(bad(0.0))
            warnings.filterwarnings(action, category=RuntimeWarning)
            for x in (bad(0.0), GOOD, bad(0.0)):
                np.testing.assert_array_equal(compiled(x), f(x))


def test_finding_out_what_an_op_moves_makes_no_warning():
    x = np.array([1.0, 3.0, 2.0], np.float16)
    for f in (np.median, lambda x: np.median(x) * 2):
        compiled = tape.compile(lambda x, f=f: f(x))
        assert [told(compiled, x) for _ in range(3)] == [told(f, x)] * 3 == [[]] * 3


UNVARYING = {
    "a constant": lambda x: x + 1.0 / np.zeros(5),
    "clipped": lambda x: x * (np.ones(1) / np.zeros(1)).clip(0, 1),
    "a number": lambda x: x * np.log(np.zeros(1))[0],
    "beside what varies": lambda x: (x + 1.0 / np.zeros(5)) * np.log(x),
    "none": lambda x: x * 2,
}


@pytest.mark.parametrize("actions", [("always",), ("default", "always", "error"), ("ignore", "always"), ("error",)])
@pytest.mark.parametrize("name", UNVARYING)
def test_errors_of_what_does_not_vary_are_told_by_every_call(name, actions):
    f = UNVARYING[name]
    compiled = tape.compile(f)
    for action in actions:
        for k, x in enumerate((GOOD, bad(-1.0), *[GOOD] * 40)):
            found = told(compiled, x, action)
            if action != "default" or k == 0:  # where it is told once, the first call tells it
                assert found == told(f, x, action)


FEW = {
    "mean": lambda x, mask: np.mean(x, where=mask), "mean of rows": lambda x, mask: x.mean(1, where=mask),
    "std": lambda x, mask: np.std(x, where=mask), "var": lambda x, mask: np.var(x, axis=1, ddof=1, where=mask),
    "std of some": lambda x, mask: np.std(x, where=mask & (x > 0)), "nanmean": lambda x, mask: np.nanmean(1 / mask * x),
    "nanmean of some": lambda x, mask: np.nanmean(x, axis=1, where=mask),
    "nanvar": lambda x, mask: np.nanvar(np.where(mask, x, np.nan), axis=1, ddof=1),
    "nanstd": lambda x, mask: np.nanstd(np.where(mask, x, np.nan)),
    "nanmax": lambda x, mask: np.nanmax(np.where(mask, x, np.nan), axis=1),
}  # fmt: skip


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize(
    "transformed", [lambda f: f, lambda f: lambda x, mask: tape.func.vjp(lambda x: f(x, mask), x)[0]]
)
def test_what_numpy_says_of_too_few_numbers_does_not_depend_on_flags(name, transformed):
    """Errors of numbers are told of by the processor's flags, unless NumPy ignores them; this warning is another."""
    x, few = np.arange(6.0).reshape(2, 3), np.array([[True] * 3, [False] * 3])
    compiled = tape.compile(transformed(FEW[name]))
    with np.errstate(all="ignore"):
        for mask in (np.ones((2, 3), bool), few, ~few, np.zeros((2, 3), bool)) * 2:
            said = []
            for function in (FEW[name], compiled):
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    function(x, mask)
                said.append({str(w.message) for w in caught if "without compiling" not in str(w.message)})
            assert said[0] == said[1], mask
