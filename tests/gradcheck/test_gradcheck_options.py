"""The options of gradcheck and gradgradcheck: each finds what it is for, with the words PyTorch's users look for."""

import re

import numpy as np
import pytest

import tape
from tape.autograd import Function, forward_ad
from tape.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

MODES = pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])


def leaf(x, dtype=np.float64):
    return tape.tensor(np.asarray(x, dtype=dtype), requires_grad=True)


def numbers(*shape):
    return leaf(np.random.default_rng(3).uniform(0.5, 1.5, shape))


def hooked(hook):
    def func(x):
        y = x.clone()
        y.register_hook(hook)
        return y

    return func


class Noisy(Function):
    """The identity, with a backward that is off by a random part."""

    rng = np.random.default_rng(0)

    @staticmethod
    def forward(ctx, x, size):
        ctx.size = size
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return Noisy.apply(g, ctx.size) * (1 + tape.tensor(Noisy.rng.random(g.shape)) * ctx.size), None


class Counting(Function):
    """The identity of two tensors, which counts the calls of its jvp."""

    calls = 0

    @staticmethod
    def forward(ctx, x, y):
        if forward_ad._levels:
            assert not x.requires_grad
            assert not y.requires_grad
        return x.clone(), y.clone()

    @staticmethod
    def vjp(ctx, g, h):
        return g, h

    @staticmethod
    def jvp(ctx, x_dot, y_dot):
        Counting.calls += 1
        return x_dot, y_dot


# What is wrong with the numbers.


@MODES
def test_a_mismatch(fast):
    func, x = hooked(lambda g: g + 1e-2), leaf(np.ones((2, 2)), np.float32)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(func, (x,), fast_mode=fast)
    assert gradcheck(func, (x,), fast_mode=fast, raise_exception=False) is False


@MODES
def test_fast_mode_says_which_element_is_wrong(fast):
    def func(x, y):
        z = x * y
        z.register_hook(lambda g: g * np.where(np.arange(6) == 4, 1.001, 1.0))
        return z.sum(), y * 2

    with pytest.raises(GradcheckError) as caught:
        gradcheck(func, (numbers(6), numbers(6)), fast_mode=fast)
    message = str(caught.value)
    assert ("along random u, v" in message) == fast
    assert "d output 0 / d input 0[4]: gradient" in message
    assert "d output 0 / d input 1[4]: gradient" in message
    assert "1 of 6 wrong" in message
    assert "output 1" not in message


def test_a_gradient_that_is_right_for_unit_vectors_alone_is_caught_in_fast_mode():
    func, x = hooked(lambda g: g * g), numbers(3)
    assert gradcheck(func, x, check_undefined_grad=False)
    with pytest.raises(GradcheckError, match="not linear in the adjoint: it is right for unit vectors"):
        gradcheck(func, x, check_undefined_grad=False, fast_mode=True)


def test_fast_mode_is_not_fooled_by_kinks():
    """Where several elements are at a kink, the gradient along a direction is none of the slopes' means."""
    x = leaf(np.zeros(6))
    assert gradcheck(lambda x: tape.relu(x) + tape.abs(x), x, fast_mode=True)


def test_fast_mode_takes_few_evaluations():
    calls = 0

    def func(x):
        nonlocal calls
        calls += 1
        return tape.exp(x) * 2

    assert gradcheck(func, numbers(500), fast_mode=True, check_forward_ad=True)
    assert calls < 20


@MODES
def test_a_gradient_that_is_not_multiplied_by_its_adjoint(fast):
    func = hooked(lambda g: g + 1e-2)
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(func, leaf([1.0]), atol=1e-1, fast_mode=fast)
    assert not gradcheck(func, leaf([1.0]), atol=1e-1, fast_mode=fast, raise_exception=False)


@MODES
def test_a_backward_that_is_not_deterministic(fast):
    x = numbers(3, 3)
    assert gradcheck(lambda x: Noisy.apply(x, 1e-6), x, nondet_tol=1e-5, fast_mode=fast)
    assert gradcheck(lambda x: Noisy.apply(x, 0.0), x, fast_mode=fast)
    assert gradgradcheck(lambda x: Noisy.apply(x, 1e-12), x, nondet_tol=1e-5, fast_mode=fast)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(lambda x: Noisy.apply(x, 1e-6), x, fast_mode=fast)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradgradcheck(lambda x: Noisy.apply(x, 1e-12), x, fast_mode=fast)


# Forward mode.


def shifting(x, y):
    """x + y and y, whose tangent is off in forward mode."""
    if forward_ad._levels:
        primal, tangent = forward_ad.unpack_dual(y)
        y = forward_ad.make_dual(primal, tangent * 1.1)
    return x + y, y


@MODES
def test_forward_mode_is_checked_when_it_is_asked_for(fast):
    x, y = numbers(2), numbers(2)
    assert gradcheck(shifting, (x, y), fast_mode=fast)
    message = "Jacobian computed with forward mode mismatch for output 0 with respect to input 1"
    for reverse in (True, False):
        with pytest.raises(GradcheckError, match=message):
            gradcheck(shifting, (x, y), check_forward_ad=True, check_backward_ad=reverse, fast_mode=fast)


class Faulty(Function):
    """Twice x, with rules that raise on demand."""

    @staticmethod
    def forward(ctx, x, forward_fails, backward_fails):
        ctx.fails = forward_fails, backward_fails
        return x * 2

    @staticmethod
    def vjp(ctx, g):
        if ctx.fails[1]:
            raise RuntimeError("backward failed")
        return 2 * g, None, None

    @staticmethod
    def jvp(ctx, x_dot, *_):
        if ctx.fails[0]:
            raise RuntimeError("forward failed")
        return 2 * x_dot


@MODES
@pytest.mark.parametrize("fails", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("checked", [(True, False), (False, True), (True, True)])
def test_only_the_modes_that_are_asked_for_run(fast, fails, checked):
    def run():
        return gradcheck(
            Faulty.apply, (numbers(2), *fails), check_forward_ad=checked[0], check_backward_ad=checked[1],
            check_undefined_grad=checked[1], check_batched_grad=checked[1], fast_mode=fast,
        )  # fmt: skip

    wrong = [a and b for a, b in zip(fails, checked)]
    if not any(wrong):
        assert run()
    else:
        with pytest.raises(RuntimeError, match="backward failed" if wrong[1] else "forward failed"):
            run()


@pytest.mark.parametrize(
    ("y_moves", "undefined", "batched", "calls"),
    [(True, False, False, 2), (True, True, False, 6), (True, True, True, 12), (False, True, True, 5)],
)
def test_how_often_a_jvp_is_called(y_moves, undefined, batched, calls):
    """As often as in PyTorch: once per input, twice for undefined tangents, three times for a batch of two."""
    y = numbers(1)
    Counting.calls = 0
    assert gradcheck(
        Counting.apply, (numbers(1), y if y_moves else y.detach()), check_forward_ad=True, check_backward_ad=False,
        check_undefined_grad=undefined, check_batched_forward_grad=batched,
    )  # fmt: skip
    assert Counting.calls == calls


# Misuse.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"check_backward_ad": False}, "Expected at least one of check_forward_ad or check_backward_ad"),
        ({"check_batched_forward_grad": True}, "check_batched_forward_grad=True requires check_forward_ad"),
        (
            {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
            "check_batched_grad=True requires check_backward_ad",
        ),
    ],
)
def test_options_that_exclude_each_other(options, message):
    with pytest.raises(AssertionError, match=re.escape(message)):
        gradcheck(tape.exp, numbers(2), **options)


def test_options_of_gradgradcheck_that_exclude_each_other():
    for options in ({}, {"check_fwd_over_rev": True}, {"check_fwd_over_rev": True, "check_batched_grad": True}):
        with pytest.raises(AssertionError, match="check_rev_over_rev"):
            gradgradcheck(tape.exp, numbers(2), check_rev_over_rev=False, **options)
    assert gradgradcheck(
        tape.exp, numbers(2), check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False
    )
