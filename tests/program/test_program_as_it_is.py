"""Calls that run the function as it is: what cannot be recorded, what a replay raises, what could not be made."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from custom_functions import declare
from numpy.testing import assert_allclose, assert_array_equal

import tape
from tape.program import Untraceable, compile, record

Double = declare(backward=lambda ctx, g: g * 2)


def change_argument(x):
    x += 1
    return x


@pytest.mark.parametrize(
    "function",
    [
        Double.apply, change_argument, lambda x: x * tape.rand(3),
        lambda x: x * np.random.random_sample(),  # noqa: NPY002
    ],
)  # fmt: skip
def test_what_a_list_cannot_repeat_runs_as_it_is(function):
    fast = compile(function)
    with pytest.warns(RuntimeWarning, match="without compiling"):
        fast(tape.ones(3))
    a, b = fast(tape.ones(3)).numpy(), fast(tape.ones(3)).numpy()
    if function in (Double.apply, change_argument):
        assert_array_equal(a, function(tape.ones(3)).numpy())
        assert_array_equal(a, b)
    else:
        assert not np.array_equal(a, b)
    with pytest.raises(Untraceable):
        record(function, tape.ones(3))


def test_an_array_among_the_arguments_is_changed_by_every_call():
    fast = compile(change_argument)
    x = np.ones(3)
    with pytest.warns(RuntimeWarning, match="was changed in place"):
        fast(x)
    fast(x)
    assert_array_equal(x, np.full(3, 3.0))


DECLINING = {
    "float": lambda x: float.__mul__(2.0, x[0]),
    "number": lambda x: (2.0).__add__(x[0]),
    "power": lambda x: float.__rpow__(2.0, x[0]),
    "comparison": lambda x: (0.5).__lt__(x[0]),
    "in a tuple": lambda x: (x, float.__sub__(2.0, x[0])),
}
"""What C code would take the numbers of, and declines what stands for them."""


@pytest.mark.parametrize("function", DECLINING.values(), ids=DECLINING)
def test_that_an_operand_is_declined_is_no_result(function):
    x = np.array([0.7, 1.3])
    compiled = compile(function)
    with pytest.warns(RuntimeWarning, match="without compiling"):
        first = compiled(x)
    assert repr(first) == repr(compiled(x)) == repr(function(x))
    assert repr(compiled(2 * x)) == repr(function(2 * x))


# A replay that raises, for what the function does or because it could not be made.


def test_errors_are_the_functions_own():
    @compile
    def f(x):
        if x.sum() < 0:
            raise KeyError("negative")
        return np.linalg.inv(x)

    f(np.eye(2))
    with pytest.raises(KeyError):
        f(-np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        f(np.ones((2, 2)))
    assert_array_equal(f(2 * np.eye(2)), 0.5 * np.eye(2))


def no_kernel(*args, **kwargs):
    raise RuntimeError("LLVM IR parsing error")


@pytest.mark.parametrize("make", [lambda f: f, tape.func.grad])
def test_a_kernel_that_cannot_be_made_is_told_once(monkeypatch, make):
    made = make(lambda x: (np.sin(x) * x).sum())
    fast = compile(made, tier="quick")
    monkeypatch.setattr("tape.jit.machine.machine_code.compile_kernel", no_kernel)
    x = np.arange(1.0, 4)
    with pytest.warns(RuntimeWarning, match="could not be made.*LLVM IR parsing error"):
        found = fast(x)
    for result in found, fast(x), fast(x):
        assert_array_equal(result, made(x))


def test_a_better_kernel_that_cannot_be_made_is_told_once(monkeypatch):
    fast = compile(lambda x: (np.sin(x) * x).sum(), tier=None)
    x = np.arange(1.0, 4)
    expected = fast(x)
    monkeypatch.setattr("tape.program.plans.replay.KernelStep.upgraded", no_kernel)
    fast.programs[0].replay.until = fast.programs[0].counter.value + 1
    for step in fast.programs[0].replay.steps:
        step.upgrade_at = 0
    with pytest.warns(RuntimeWarning, match="a better kernel could not be made"):
        assert fast(x) == expected
    assert fast(x) == expected


def test_a_replay_that_raises_where_the_function_goes_on_is_told_once():
    def function(A):
        try:
            return np.linalg.inv(A).sum()
        except np.linalg.LinAlgError:
            return A.sum()

    fast = compile(function)
    assert_allclose(fast(np.eye(2)), 2)
    with pytest.warns(RuntimeWarning, match="LinAlgError"):
        assert fast(np.ones((2, 2))) == 4
    assert fast(np.ones((2, 2))) == 4


KEEPING = {
    "grad": tape.func.grad,
    "grad_and_value": tape.func.grad_and_value,
    "vjp": lambda f: lambda x: tape.func.vjp(f, x)[1](tape.ones(()))[0],
    "jacrev": tape.func.jacrev,
    "grad of grad": lambda f: tape.func.grad(lambda x: tape.func.grad(f)(x).sum()),
}
KEPT = {
    "its argument": lambda x: x, "a result": lambda x: x * 2, "a view": lambda x: x[1:], "a part of it": lambda x: x[0],
    "nothing": None, "without history": lambda x: x.detach() * 2,
}  # fmt: skip
USES = {"as it is": lambda k: k, "computed with": lambda k: k * k + 1, "beside": lambda k: (k.sum(), k)}


@pytest.mark.parametrize("used", USES)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("taking", KEEPING)
@pytest.mark.parametrize("tracked", [False, True])
def test_what_was_kept_of_a_derivative_requires_grad_as_in_eager_execution(tracked, taking, kept, used):
    def f(x):
        found = [x * 3]

        def inner(x):
            if KEPT[kept] is not None:
                found[:] = [KEPT[kept](x)]
            return (x**3).sum()

        return KEEPING[taking](inner)(x), USES[used](found[0])

    def told(f):
        return [(z.tolist(), z.requires_grad) for z in tape.base.tree.leaves_of(f(x))]

    compiled, x = compile(f), tape.tensor([1.0, 2.0], requires_grad=tracked)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = told(compiled)
    assert seen == told(compiled) == told(f)
    assert bool(caught) is (kept not in ("nothing", "without history"))
