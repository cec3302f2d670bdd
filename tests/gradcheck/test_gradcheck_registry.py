"""Every op of the registry passes gradcheck in every mode; and with a rule damaged, it fails forward and in reverse."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from samples import DIFFERENTIABLE, ELEMENTWISE, active, in_the_plane, samples

import tape
from tape.autograd.gradcheck import gradcheck, gradgradcheck
from tape.gradcheck import check
from tape.gradcheck.derivatives.subject import Subject, reverse

every_op = pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
MANY = 80
"""Samples of more numbers than this are checked in fast mode only."""


def case(op, operands, params):
    """A function of the active operands, and those operands as leaves."""
    positions = active(op, operands)

    def func(*xs):
        values = list(operands)
        for i, x in zip(positions, xs):
            values[i] = (x + tape.conj(x.mT)) / 2 if op.symmetric else x
        return op(*values, **params)

    func.__name__ = op.name
    return func, [tape.tensor(np.array(operands[i]), requires_grad=True) for i in positions]


PHASES = {"eigh", "svd", "eig"}
"""Ops whose complex results are determined up to phases, so that a function must not depend on them."""


def values(xs):
    return [x.detach().numpy() for x in xs]


def cases(op):
    """Functions and inputs at which the op is smooth: real ones, and complex ones where the op takes them."""
    plane = in_the_plane(op) if op.complex and op.name not in PHASES else []
    return [case(op, *given) for given in (*samples(op), *(one for one in plane if takes(op, *one)))]


def takes(op, operands, params):
    try:
        op(*operands, **params)
    except (TypeError, RuntimeError, AttributeError, np.exceptions.ComplexWarning):
        return False
    return True


@every_op
@pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])
def test_right_rules_pass(op, fast):
    for func, xs in cases(op)[: None if fast else 2]:
        if fast or count(xs) <= MANY:
            assert gradcheck(
                func, xs, check_forward_ad=True, fast_mode=fast, check_batched_grad=fast,
                check_batched_forward_grad=fast, check_undefined_grad=fast,
            )  # fmt: skip


@every_op
def test_right_rules_pass_at_second_order(op):
    for func, xs in cases(op)[:3]:
        assert gradgradcheck(func, xs, check_fwd_over_rev=True, fast_mode=True)


# Damaged rules.


@cache
def steep_case(op):
    """The function of an op whose gradient is not zero, of the fewest numbers: each that differs is settled anew."""
    for func, xs in sorted(cases(op), key=lambda case: count(case[1])):
        jacobian = reverse(Subject(func, xs, range(len(xs)), "abcdefgh"), values(xs))
        if any(map(np.any, jacobian.blocks)) and count(xs) > 1:
            return func, xs
    return None


def count(xs):
    return sum(x.numel() for x in xs)


CONSTANT = ("sign", "floor", "ceil", "trunc", "round", "rint", "zero", "special_gammasgn", "numpy_spacing")
FLAT = {op.name for op in ELEMENTWISE if op.name in CONSTANT}
"""Ops whose derivative is zero everywhere, so that no damage shows."""


def in_turn(op, mode):
    """Every op in both modes, fast in the one and slow in the other: where fast mode differs, it looks slowly too."""
    return (op.code % 2 == 0) == (mode == "reverse")


@every_op
def test_damaged_rules_are_caught_and_named(op, damage):
    """In one of the modes, in turn, of which every other op's is fast."""
    mode = ("reverse", "forward")[op.code // 2 % 2]
    steep = steep_case(op)
    assert (steep is None) == (op.name in FLAT)
    if steep is None:
        return
    func, xs = steep
    damage[mode](op)
    modes = {"forward": mode == "forward", "reverse": mode == "reverse"}
    report = check(func, xs, fast=in_turn(op, mode), undefined=False, **modes)
    assert not report.ok
    assert op.name in {s.op for s in report.suspects}, str(report)
    assert {s.mode for s in report.suspects} == {mode}
