"""gradcheck where adjoints or tangents are left out, and where several are taken at once."""

import numpy as np
import pytest

import tape
from tape.autograd import Function
from tape.autograd.gradcheck import GradcheckError, gradcheck

MODES = pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])


def numbers(*shape):
    return tape.tensor(np.random.default_rng(3).uniform(0.5, 1.5, shape), requires_grad=True)


def hooked(hook):
    def func(x):
        y = x.clone()
        y.register_hook(hook)
        return y

    return func


class Pair(Function):
    """2x and 3x, whose backward may treat None badly."""

    @staticmethod
    def forward(ctx, x, how):
        ctx.set_materialize_grads(how == "zeros")
        ctx.how = how
        return 2 * x, 3 * x

    @staticmethod
    def backward(ctx, g, h):
        if ctx.how == "raises" or ctx.how == "zeros":
            return 2 * g + 3 * h, None
        g, h = (tape.ones(2, dtype=tape.float64) if part is None and ctx.how == "ones" else part for part in (g, h))
        parts = [n * part for n, part in ((2, g), (3, h)) if part is not None]
        return (sum(parts) if parts else None), None


@MODES
@pytest.mark.parametrize("how", ["zeros", "none"])
def test_undefined_adjoints_that_are_treated_well(how, fast):
    assert gradcheck(lambda x: Pair.apply(x, how), numbers(2), fast_mode=fast)


@pytest.mark.parametrize("how", ["raises", "ones"])
def test_undefined_adjoints_that_are_treated_badly(how):
    def func(x):
        a, b = Pair.apply(x, how)
        return a + b

    assert gradcheck(func, numbers(2), check_undefined_grad=False)
    with (
        pytest.warns(UserWarning, match="Backwards compatibility: New undefined gradient support checking feature"),
        pytest.raises(GradcheckError, match="Expected backward function to handle undefined output grads") as caught,
    ):
        gradcheck(func, numbers(2))
    assert __file__ in str(caught.value)


@MODES
def test_a_hook_that_does_not_want_none(fast):
    def hook(g):
        if g is None:
            raise RuntimeError("g is undefined")

    func = hooked(hook)
    with (
        pytest.warns(UserWarning, match="undefined gradient support"),
        pytest.raises(GradcheckError, match="Expected backward function to handle undefined output grads"),
    ):
        gradcheck(func, numbers(1), fast_mode=fast)
    with pytest.warns(UserWarning, match="check_undefined_grad=False"):
        assert not gradcheck(func, numbers(1), fast_mode=fast, raise_exception=False)
    assert gradcheck(func, numbers(1), fast_mode=fast, check_undefined_grad=False)


class Biased(Function):
    """x + y, whose jvp does not expect, or expects wrongly, that a tangent is left out."""

    @staticmethod
    def forward(ctx, x, y, missing):
        ctx.set_materialize_grads(False)
        ctx.missing = missing
        return x + y

    @staticmethod
    def jvp(ctx, x_dot, y_dot, _):
        return (ctx.missing if x_dot is None else x_dot) + (0.0 if y_dot is None else y_dot)


def test_an_undefined_tangent_that_is_treated_badly():
    for missing, message in (
        (1.0, "without a tangent of input 0 differs from the one with a tangent of zeros"),
        (None, "a jvp raised TypeError: .*, without a tangent of input 0"),
    ):
        with pytest.raises(GradcheckError, match=message):
            gradcheck(Biased.apply, (numbers(2), numbers(2), missing), check_forward_ad=True, check_backward_ad=False)
    given = numbers(2), numbers(2), 0.0
    assert gradcheck(Biased.apply, given, check_forward_ad=True, check_backward_ad=False)


class Unbatched(Function):
    """2x, whose rules compute on arrays."""

    @staticmethod
    def forward(ctx, x):
        return tape.tensor(2 * x.detach().numpy())

    @staticmethod
    def backward(ctx, g):
        return tape.tensor(2 * g.detach().numpy() * (1 if g.ndim == 1 else 0))

    @staticmethod
    def jvp(ctx, x_dot):
        return tape.tensor(2 * x_dot.detach().numpy())


def test_batched_gradients_that_fail():
    x = numbers(2)
    assert gradcheck(Unbatched.apply, x)
    message = "gradcheck or gradgradcheck failed while testing batched gradient computation"
    with pytest.raises(GradcheckError, match=message):
        gradcheck(Unbatched.apply, x, check_batched_grad=True)
    with pytest.raises(GradcheckError, match="While computing batched gradients, got"):
        gradcheck(Unbatched.apply, x, check_forward_ad=True, check_batched_forward_grad=True)
