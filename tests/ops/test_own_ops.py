"""Ops of one's own: what a declaration gives, in every mode of differentiation."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose
from own_ops import bump, bump_dx, library, softcap  # noqa: F401  (a fixture)

import ops
import tape
from ops import REGISTRY
from tape.autograd import grad, gradcheck, gradgradcheck
from tape.base.tree import leaves_of

pytestmark = pytest.mark.usefixtures("library")


def leaf(values, dtype=None):
    return tape.tensor(values, requires_grad=True, dtype=dtype)


def second(f, x):
    """f'(x) and f''(x)."""
    (g,) = grad(f(x).sum(), x, create_graph=True)
    return g, grad(g.sum(), x)[0]


def test_partials_are_derived_from_a_formula():
    ops.elementwise("softcap", softcap, domain=[(-3, 3), (1, 4)])
    x, cap = leaf([-1.0, 0.5, 2.0]), leaf([[2.0], [3.0]])
    assert_allclose(ops.softcap(x, cap).detach(), softcap(x.detach().numpy(), cap.detach().numpy()))
    assert gradcheck(ops.softcap, (x, cap), check_forward_ad=True)
    assert gradgradcheck(ops.softcap, (x, cap))
    assert_allclose(grad(ops.softcap(x, 2.0).sum(), x)[0], 1 - np.tanh(x.detach().numpy() / 2) ** 2)


def test_a_formula_may_be_written_with_numpys_functions_and_choose():
    ops.elementwise("huber", lambda x: ops.where(np.abs(x) < 1.0, 0.5 * x * x, np.abs(x) - 0.5))
    x = leaf([-2.0, -0.5, 0.25, 3.0])
    g, h = second(ops.huber, x)
    assert g.tolist() == [-1.0, -0.5, 0.25, 1.0]
    assert h.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_a_formula_that_uses_another_op_of_ones_own():
    ops.elementwise("softcap", softcap)
    ops.elementwise("softsquare", lambda x: ops.softcap(x, 2.0) ** 2)
    assert gradcheck(ops.softsquare, (leaf([-1.0, 0.3, 2.0]),))
    ops.elementwise("bump", bump, bump_dx)
    ops.elementwise("bumps", lambda x: ops.bump(x) + ops.bump(x - 1.0))
    x = leaf([-0.3, 0.2, 0.7])
    assert gradcheck(ops.bumps, (x,))


def test_parameters_of_a_formula():
    ops.elementwise("scaled_log", lambda x, *, by, shift=1.0: by * ops.log(x + shift))
    x = leaf([0.5, 2.0])
    assert_allclose(grad(ops.scaled_log(x, by=3.0).sum(), x)[0], 3.0 / np.array([1.5, 3.0]))
    assert gradgradcheck(lambda x: ops.scaled_log(x, by=2.0, shift=0.5), (x,))


def test_partials_given_as_formula_op_and_none():
    ops.elementwise("cubed", lambda x: x**3, lambda x: 3.0 * ops.square(x))
    ops.elementwise("sine", np.sin, ops.cos)
    ops.elementwise("held", lambda x, like: x * 1.0 + 0.0 * like, lambda x: x * 0.0 + 1.0, None)
    ops.elementwise("masked", lambda x: np.where(x > 0, x, 0.0), lambda x, g: ops.where(ops.gt(x, 0.0), g, 0.0))
    x = leaf([-1.0, 0.5])
    assert second(ops.cubed, x)[1].tolist() == [-6.0, 3.0]
    assert_allclose(second(ops.sine, x)[1], -np.sin([-1.0, 0.5]))
    assert grad(ops.held(x, x).sum(), x)[0].tolist() == [1.0, 1.0]
    assert grad(ops.masked(x).sum(), x)[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_scalar_code(dtype):
    ops.elementwise("bump", bump, bump_dx)
    x = leaf(np.linspace(-1.5, 1.5, 7).reshape(7, 1), dtype=tape.float64 if dtype == "float64" else tape.float32)
    z = ops.bump(x)
    assert z.dtype == x.dtype
    assert_allclose(z.detach(), [[bump.py_func(v)] for v in x.detach().numpy().ravel().tolist()], rtol=1e-5)
    (g,) = grad(z.sum(), x)
    expected = [[bump_dx.py_func(v, bump.py_func(v))] for v in x.detach().numpy().ravel().tolist()]
    assert_allclose(g, expected, rtol=1e-4, atol=1e-6)
    assert g.dtype == x.dtype


def test_scalar_code_in_every_first_order_mode():
    ops.elementwise("bump", bump, bump_dx)
    x = leaf([-0.5, 0.2, 0.9])
    assert gradcheck(ops.bump, (x,), check_forward_ad=True)
    assert ops.bump(leaf(0.5)).item() == bump(0.5)
    _, dots = tape.func.jvp(ops.bump, (x.detach(),), (tape.ones(3),))
    (g,) = grad(ops.bump(x).sum(), x)
    assert_allclose(dots, g)
    assert_allclose(tape.func.vmap(tape.func.grad(ops.bump))(x.detach()), g)


def test_scalar_code_as_a_partial_ends_at_the_first_order():
    ops.elementwise("bump", bump, bump_dx)
    x = leaf([0.5])
    (g,) = grad(ops.bump(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"partial of bump with respect to x is compiled scalar code"):
        grad(g.sum(), x)


def test_scalar_code_whose_partial_is_a_formula_has_every_order():
    ops.elementwise("bump", bump, lambda x, z: -2.0 * x / (1.0 - x * x) ** 2 * z)
    x = leaf([-0.5, 0.2, 0.6])
    assert gradcheck(ops.bump, (x,))
    assert gradgradcheck(ops.bump, (x,))


def test_linear():
    ops.linear("rolled", lambda x, *, by: np.roll(x, by), lambda g, by: ops.rolled(g, by=-by))
    x = leaf([1.0, 2.0, 3.0])
    assert gradcheck(lambda x: ops.rolled(x, by=1), (x,), check_forward_ad=True)
    assert gradgradcheck(lambda x: ops.rolled(x, by=1) ** 2, (x,))
    ops.linear("turned", lambda x: -1.0 * x, ops.neg)
    assert grad(ops.turned(x).sum(), x)[0].tolist() == [-1.0, -1.0, -1.0]


def test_general_with_several_results_and_a_joint_rule():
    def polar(x, y):
        return np.hypot(x, y), np.arctan2(y, x)

    def joint(g, x, y, wanted):
        r2 = x * x + y * y
        r, a = (0.0 if part is None else part for part in (g[0], g[1]))
        return r * x / ops.sqrt(r2) - a * y / r2, r * y / ops.sqrt(r2) + a * x / r2

    def jvp(x, y, x_dot, y_dot):
        r2 = x * x + y * y
        x_dot, y_dot = (0.0 if t is None else t for t in (x_dot, y_dot))
        return (x * x_dot + y * y_dot) / ops.sqrt(r2), (x * y_dot - y * x_dot) / r2

    ops.general("polar_of", polar, joint=joint, jvp=jvp, outputs=2)
    x, y = leaf([1.0, 2.0]), leaf([0.5, -1.0])
    assert gradcheck(ops.polar_of, (x, y), check_forward_ad=True)
    assert gradgradcheck(ops.polar_of, (x, y))


def test_general_of_any_number_of_operands():
    ops.general("product_of", lambda *xs: np.prod(xs, axis=0), lambda g, xs, i: g * ops.prod(ops.stack(
        *(x for k, x in enumerate(xs) if k != i), axis=0), axis=0))  # fmt: skip
    assert gradcheck(lambda *xs: ops.product_of(*xs), tuple(leaf([k + 0.5, 1.0]) for k in range(3)))


def test_numpys_function_finds_the_op():
    zeros = pytest.importorskip("scipy.special").zetac
    ops.elementwise("gap", zeros, lambda x: 0.0 * x, numpy=(zeros,))
    x = leaf([0.5, 2.0])
    assert zeros(x).grad_fn is not None
    ops.remove("gap")
    with pytest.raises(TypeError, match="has no rule for tensors"):
        zeros(x)


def test_what_was_recorded_outlives_its_op():
    x = leaf([1.0, 2.0])
    ops.elementwise("tripled", lambda x: 3.0 * x)
    old = ops.tripled(x)
    ops.elementwise("tripled", lambda x: 30.0 * x, replace=True)
    new = ops.tripled(x)
    ops.remove("tripled")
    assert "tripled" not in REGISTRY
    with pytest.raises(AttributeError, match="no op named 'tripled'"):
        ops.tripled  # noqa: B018
    (old.sum() + new.sum()).backward()
    assert x.grad.tolist() == [33.0, 33.0]
    assert old.grad_fn.name() == "TripledBackward0"


def test_results_are_never_the_memory_of_an_operand():
    ops.elementwise("same", lambda x: x)
    ops.elementwise("whole", lambda x: np.broadcast_to(x, np.shape(x)), lambda x: x * 0.0 + 1.0)
    x = tape.zeros(3)
    ops.same(x).add_(1.0)
    ops.whole(x).add_(1.0)
    assert x.tolist() == [0.0, 0.0, 0.0]
    assert isinstance(ops.same(np.float64(2.0)), np.float64)


def test_the_librarys_own_ops_pass_the_checks():
    from ops.core import declarations

    for op in REGISTRY.values():
        if op.kind in ("linear", "general") and op.name not in ("custom", "output") and op.rules and op.joint is None:
            rules = [rule and rule.call for rule in op.rules]
            if op.operands == ("xs",) or len(rules) == len(op.operands):
                declarations.check_rules(op.name, "general", (op.operands, tuple(op.params)), rules, op.jvp_rule)


@numba.njit
def safe_root(x):
    if x < 0.0:
        raise ValueError("the root of a negative number")
    return np.sqrt(x)


def rooted(x):
    return np.sqrt(x.copy())  # no formula


OF_EVERY_KIND = [
    ("softcap", lambda: ops.elementwise("softcap", softcap), lambda x: ops.softcap(x, 2.0)),
    ("bump", lambda: ops.elementwise("bump", bump, bump_dx), lambda x: ops.bump(x)),
    ("safe_root", lambda: ops.elementwise("safe_root", safe_root, lambda z: 0.5 / z), lambda x: ops.safe_root(x)),
    ("rooted", lambda: ops.elementwise("rooted", rooted, lambda z: 0.5 / z), lambda x: ops.rooted(x)),
    ("scaled", lambda: ops.elementwise("scaled", lambda x, *, by: by * x.copy(), lambda by: by), None),
    ("doubled", lambda: ops.linear("doubled", lambda x: x + x, lambda g: ops.doubled(g)), lambda x: ops.doubled(x)),
    (
        "total",
        lambda: ops.general("total", lambda x: np.cumsum(x), lambda g: ops.flip(ops.cumsum(ops.flip(g)))),
        lambda x: ops.total(x),
    ),
]


@pytest.mark.parametrize(("name", "declare", "apply"), OF_EVERY_KIND, ids=[kind[0] for kind in OF_EVERY_KIND])
def test_what_uses_an_op_compiles_and_so_does_everything_beside_it(name, declare, apply, recwarn):
    declare()
    apply = apply or (lambda x: ops.scaled(x, by=3.0))
    x = np.array([0.1, 0.4, 0.7])
    for f in (lambda x: (apply(x) * x).sum(), lambda x: (np.sin(x) * x).sum()):
        for transformed in (f, tape.func.grad(f), tape.func.grad_and_value(f)):
            compiled = tape.compile(transformed)
            for _ in range(3):
                for a, b in zip(leaves_of(compiled(x)), leaves_of(transformed(x)), strict=True):
                    assert_allclose(a, b, rtol=1e-13)
            told = compiled.statistics()
            assert (told.programs[0].replays, len(told.programs)) == (3, 1), name
    assert not recwarn.list


def test_what_a_function_raises_stays_what_it_is():
    ops.elementwise("safe_root", safe_root, lambda z: 0.5 / z)
    compiled = tape.compile(lambda x: ops.safe_root(x).sum())
    compiled(np.array([1.0, 2.0]))
    for f in (ops.safe_root, compiled):
        with pytest.raises(ValueError, match=r"^the root of a negative number$"):
            f(np.array([1.0, -2.0]))
    with pytest.raises(ValueError, match=r"operands could not be broadcast|cannot take shapes"):
        tape.add(tape.ones(2), tape.ones(3))


def test_a_linear_op_that_may_raise_is_called_compiled_too():
    def flipped(x):
        if np.any(x > 10.0):
            raise ValueError("out of range")
        return x[::-1]

    flip = ops.linear("flipped", flipped, lambda g: ops.flipped(g))
    x = np.array([1.0, 2.0, 3.0])

    def f(x):
        return (flip(x) * np.arange(3.0)).sum()

    for transformed in (f, tape.func.grad(f)):
        for kept in (tape.compile(transformed), tape.record(transformed, x)):
            np.testing.assert_allclose(kept(x), transformed(x))
            np.testing.assert_allclose(kept(x + 1.0), transformed(x + 1.0))
            with pytest.raises(ValueError, match="out of range"):
                kept(x * 10.0)


@pytest.mark.usefixtures("library")
def test_programs_know_ops_that_are_declared_replaced_and_removed_later():
    tape.record(tape.sin, tape.ones(2))(tape.ones(2))  # whatever is kept by number of an op is there

    def program_of(op):
        def f(x):
            for _ in range(4):
                x = op(x)
            return x.sum()

        return f

    def check(f, factor):
        for transformed in (f, tape.func.grad(f)):
            expected = transformed(tape.ones(3))
            assert tape.record(transformed, tape.ones(3))(tape.ones(3)).tolist() == expected.tolist()
        assert tape.func.grad(f)(tape.ones(3)).tolist() == [factor**4.0] * 3

    def declare(name, k, **how):
        return ops.general(name, lambda x: k * x, lambda g: k * g, **how)

    first = program_of(declare("times", 3.0))
    check(first, 3.0)
    second = program_of(declare("times", 2.0, replace=True))
    for _ in range(2):
        check(first, 3.0)
        check(second, 2.0)
    ops.remove("times")
    third = program_of(ops.elementwise("thrice", lambda x: 3.0 * x))
    fourth = program_of(declare("halved", 0.5))
    for f, factor in ((third, 3.0), (fourth, 0.5), (first, 3.0), (second, 2.0)):
        check(f, factor)
