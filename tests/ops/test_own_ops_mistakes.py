"""Mistakes in declarations of one's own: each is found when it is made, and says what to do."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import explained
from own_ops import bump, bump_dx, library, softcap  # noqa: F401  (a fixture)

import ops
import tape

pytestmark = pytest.mark.usefixtures("library")


def square(x):
    return x * x


def branching(x):
    return x if x > 0 else 0.0 * x


MISTAKES = {
    "no identifier": (lambda: ops.elementwise("soft cap", square), ValueError, ["public identifier", "'soft cap'"]),
    "a private name": (lambda: ops.elementwise("_f", square), ValueError, ["public identifier"]),
    "a keyword": (lambda: ops.linear("lambda", square, square), ValueError, ["public identifier"]),
    "an op of the library": (
        lambda: ops.elementwise("exp", np.exp, ops.exp, replace=True), ValueError, ["others depend on"],
    ),
    "a name of the package": (lambda: ops.elementwise("linear", square), ValueError, ["ops.linear is something else"]),
    "no function": (lambda: ops.elementwise("f", 3.0), TypeError, ["must be a function", "float"]),
    "no operand": (lambda: ops.elementwise("f", lambda *, k=1: k), TypeError, ["takes no operand"]),
    "an operand with a default": (
        lambda: ops.elementwise("f", lambda x, k=2.0: x * k), TypeError, ["'k'", "default", "def f(x, *, k=2.0)"],
    ),
    "a reserved name": (lambda: ops.elementwise("f", lambda g: g), TypeError, ["'g'", "something else in rules"]),
    "any number of operands": (lambda: ops.elementwise("f", lambda *xs: xs[0]), TypeError, ["name its arguments"]),
    "variadic under another name": (lambda: ops.general("f", lambda *a: a[0], square), TypeError, ["*xs"]),
    "named arguments": (lambda: ops.elementwise("f", lambda x, **k: x), TypeError, ["name its arguments", "**k"]),
    "too few partials": (lambda: ops.elementwise("f", softcap, square), ValueError, ["(x, cap)", "got 1"]),
    "too many transposes": (lambda: ops.linear("f", square, square, square), ValueError, ["one transpose", "got 2"]),
    "only None": (lambda: ops.elementwise("f", square, None), ValueError, ["not only None"]),
    "an unknown argument of a partial": (
        lambda: ops.elementwise("f", square, lambda x, y: x), TypeError, ["partial of x in f", "'y'", "g, x, z"],
    ),
    "a transpose that reads its operand": (
        lambda: ops.linear("f", square, lambda g, x: g * x), TypeError, ["transpose of x", "'x'", "g, x_dtype"],
    ),
    "an unknown argument of a jvp": (
        lambda: ops.general("f", square, lambda g: g, jvp=lambda x, t: t), TypeError, ["the jvp in f", "'t'", "x_dot"],
    ),
    "vjps and a joint one": (
        lambda: ops.general("f", square, lambda g: g, joint=lambda g: [g]), ValueError, ["stands for all"],
    ),
    "a rule of any arguments": (lambda: ops.linear("f", square, lambda *a: a), TypeError, ["name what it needs", "*a"]),
    "a rule that is none": (lambda: ops.linear("f", square, 2.0), TypeError, ["transpose of x", "float"]),
    "an op that does not fit": (lambda: ops.elementwise("f", square, ops.add), TypeError, ["op add", "2 operands"]),
    "an unknown fact": (lambda: ops.linear("f", square, square, colour=1), TypeError, ["'colour'", "cases"]),
    "a domain for each": (lambda: ops.elementwise("f", softcap, domain=[(0, 1)]), ValueError, ["(x, cap)", "got 1"]),
    "branches": (lambda: ops.elementwise("f", branching), ValueError, ["ops.where", "@numba.njit", "ambiguous"]),
    "not elementwise": (
        lambda: ops.elementwise("f", lambda x: np.cumsum(x).reshape(np.shape(x)), square),
        ValueError, ["f is not elementwise"],
    ),
    "another shape": (lambda: ops.elementwise("f", lambda x: np.sum(x), square), ValueError, ["declared elementwise"]),
    "no floating-point numbers": (
        lambda: ops.elementwise("f", lambda x: np.greater(x, 0), square), ValueError, ["floating-point", "bool"],
    ),
    "no formula": (
        lambda: ops.elementwise("f", lambda x: np.interp(x, [0.0, 1.0], [0.0, 1.0])),
        ValueError, ["cannot be derived", "(x)"],
    ),
    "scalar code without partials": (lambda: ops.elementwise("f", bump), ValueError, ["cannot be derived"]),
    "scalar code that takes g": (
        lambda: ops.elementwise("f", square, __import__("numba").njit(lambda x, g: g)), TypeError, ["leave out", "g"],
    ),
    "a ufunc of many operands": (
        lambda: ops.elementwise("f", np.frompyfunc(softcap, 3, 1), square), TypeError, ["3 operands", "lambda x, y, w"],
    ),
    "a ufunc of objects": (
        lambda: ops.elementwise("f", np.frompyfunc(square, 1, 1), square), ValueError, ["floating-point", "object"],
    ),
    "removing what is not there": (lambda: ops.remove("nothing"), KeyError, ["no op named 'nothing'"]),
    "removing the library": (lambda: ops.remove("exp"), ValueError, ["op of the library"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_explain_themselves(name):
    explained(MISTAKES[name])
    assert not hasattr(ops, "f")


def test_a_name_is_given_once():
    ops.elementwise("softcap", softcap)
    with pytest.raises(ValueError, match=r"declared already.\nPass replace=True"):
        ops.elementwise("softcap", softcap)
    ops.elementwise("bump", bump, bump_dx)
    with pytest.raises(ValueError, match="'bump_dx' is an op that others depend on"):
        ops.elementwise("bump_dx", softcap)
    with pytest.raises(ValueError, match="made of a partial of bump; remove that"):
        ops.remove("bump_dx")


def test_a_failed_replacement_leaves_the_op_as_it_was():
    made = ops.elementwise("softcap", softcap)
    with pytest.raises(ValueError, match="needs one partial"):
        ops.elementwise("softcap", softcap, square, replace=True)
    assert ops.softcap is made


def test_a_forward_that_forgets_its_shape_later():
    ops.elementwise("f", lambda x: x[:4] if np.ndim(x) and len(x) > 10 else 2.0 * x, lambda x: 2.0 + 0.0 * x)
    assert ops.f(tape.ones(3)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"f is declared elementwise, so its result must have the shape \(20,\)"):
        ops.f(tape.ones(20))


def test_scalar_code_that_raises():
    numba = pytest.importorskip("numba")

    @numba.njit
    def root(x):
        if x < 0.0:
            raise ValueError("root of a negative number")
        return np.sqrt(x)

    @numba.njit
    def root_dx(x):
        if x < 1.0:
            raise ValueError("no slope here")
        return 0.5 / np.sqrt(x)

    ops.elementwise("root", root, root_dx)
    x = tape.tensor([4.0, 1.0], requires_grad=True)
    ops.root(x).sum().backward()
    assert x.grad.tolist() == [0.25, 0.5]
    y = tape.tensor([4.0, 0.25], requires_grad=True)
    z = ops.root(y).sum()
    with pytest.raises(ValueError, match="no slope here"):
        z.backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [8.25, 2.5]
