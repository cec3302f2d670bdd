"""gradcheck names the op whose rule is at fault, the user's line, and by how much: wherever the op is applied."""

import inspect
from typing import ClassVar

import numpy as np
import pytest

import tape
from ops import REGISTRY
from tape import func as transforms
from tape.autograd import Function
from tape.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tape.gradcheck import check
from tape.gradcheck.derivatives.second import second_order
from tape.gradcheck.suspects import trace


def numbers(*shape):
    return tape.tensor(np.random.default_rng(3).uniform(0.5, 1.5, shape), requires_grad=True)


def line_of(function, text):
    """The line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


class Cube(Function):
    """x³, with factors on its rules."""

    factors: ClassVar = {"reverse": 1.0, "forward": 1.0}
    keeps_history = True

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * Cube.factors["reverse"] * g * (x * x if Cube.keeps_history else (x * x).detach())

    @staticmethod
    def jvp(ctx, x_dot):
        (x,) = ctx.saved_tensors
        return 3 * Cube.factors["forward"] * x_dot * x * x


def through_cube(x):
    y = tape.exp(x)
    return tape.sin(Cube.apply(y)).sum()


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
def test_a_custom_function_is_named(monkeypatch, mode, fast):
    monkeypatch.setitem(Cube.factors, mode, 1.01)
    report = check(through_cube, (numbers(3),), forward=mode == "forward", reverse=mode == "reverse", fast=fast)
    (suspect,) = report.suspects
    assert (suspect.op, suspect.mode, suspect.order) == ("Cube", mode, 1)
    assert suspect.where.line == line_of(through_cube, "Cube.apply")
    assert suspect.off == pytest.approx(0.01, rel=0.05)


def test_a_custom_function_with_a_lost_second_derivative_is_named(monkeypatch):
    monkeypatch.setattr(Cube, "keeps_history", False)
    x = numbers(3)
    assert gradcheck(through_cube, x, check_forward_ad=True)
    with pytest.raises(GradcheckError, match=r"the gradient of the rule of Cube with respect to xs\[0\]") as caught:
        gradgradcheck(through_cube, x)
    assert "off by" in str(caught.value)
    assert f"{__file__}:{line_of(through_cube, 'Cube.apply')}" in str(caught.value)


def nested(x):
    inner = transforms.grad(lambda y: (tape.tanh(y) * y).sum())
    return inner(x) * x


def forward_inside(x):
    return transforms.jvp(lambda y: tape.tanh(y) * y, (x,), (x * x,))[1]


def mapped(x):
    return transforms.vmap(lambda y: tape.tanh(y).sum())(x)


@pytest.mark.parametrize("outer", [nested, forward_inside, mapped])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_ops_inside_of_transformations_are_named(outer, mode, damage):
    x = numbers(2, 3)
    assert check(outer, (x,), forward=True).ok
    damage[mode](REGISTRY["tanh"])
    report = check(outer, (x,), forward=mode == "forward", reverse=mode == "reverse")
    assert not report.ok
    named = [s for s in report.suspects if s.op == "tanh"]
    assert named, str(report)
    assert named[0].off == pytest.approx(1e-4, rel=1e-3)
    assert named[0].where.line == line_of(outer, "tanh")


def test_every_wrong_op_is_named_and_nothing_else(damage):
    damage["reverse"](REGISTRY["tanh"])
    damage["reverse"](REGISTRY["sin"])

    def func(x):
        y = tape.exp(tape.tanh(x))
        return tape.sin(y) * tape.cos(y)

    report = check(func, (numbers(3),))
    assert {(s.op, s.where.line) for s in report.suspects} == {
        ("tanh", line_of(func, "tanh")), ("sin", line_of(func, "sin")),
    }  # fmt: skip
    assert "off by 0.01 %" in str(report)


def smooth(x):
    return tape.exp(x) * tape.tanh(x)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_second_order_names_the_op_of_the_function(damage, mode):
    """Over reverse mode in either mode: the ops that compute the gradient are judged as well."""
    x = numbers(3)
    damage[mode](REGISTRY["exp"])
    second = second_order(smooth, [x], [0], ["x"])
    report = check(
        second.func, second.arguments, wrt=second.wrt, names=second.names, forward=mode == "forward",
        reverse=mode == "reverse",
    )  # fmt: skip
    assert not report.ok
    assert "exp" in {s.op for s in report.suspects}
    assert line_of(smooth, "exp") in {s.where.line for s in report.suspects}


def test_a_hook_is_no_op_and_the_lines_are_given():
    def func(x):
        y = tape.exp(x)
        y.register_hook(lambda g: g * 1.01)
        return tape.sin(y)

    report = check(func, (numbers(3),))
    assert not report.suspects
    assert {where.line for where in report.lines} == {line_of(func, "exp"), line_of(func, "sin")}


def test_complex_ops_are_judged_too(damage):
    damage["reverse"](REGISTRY["exp"])
    z = tape.tensor(np.array([0.3 + 0.2j, -1.0 + 0.5j]), requires_grad=True)
    report = check(lambda z: tape.sin(tape.exp(z)) * z.conj(), (z,), fast=True)
    assert {s.op for s in report.suspects} == {"exp"}


def test_ops_on_single_elements_are_named(damage):
    def func(x):
        return tape.tanh(x[0]) * x[1]

    damage["reverse"](REGISTRY["tanh"])
    assert {s.op for s in check(func, (numbers(2),)).suspects} == {"tanh"}


def test_who_asks_for_the_check_is_not_on_the_way():
    """Arrays become recorded where the check is asked for, which explains nothing."""

    def func(x):
        return (tape.stop_gradient(x) * x).sum()

    report = check(func, (np.array([1.0, 2.0]),), arrays=True)
    assert {where.function for where in report.lines} == {"func"}


def test_methods_under_any_name_are_noticed():
    """The notes themselves take no method's name: ``x.log()`` was one."""
    x = tape.tensor([1.0, 2.0], requires_grad=True)
    assert [applied.op.name for applied in trace(lambda x: x.log().sum(), [x])] == ["log", "sum"]
