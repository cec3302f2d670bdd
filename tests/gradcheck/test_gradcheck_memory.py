"""gradcheck of inputs and outputs that are laid out oddly, share memory, are empty, or have no gradient."""

import numpy as np
import pytest

import tape
from tape.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from tape.gradcheck.derivatives.subject import laid_out

EVERYTHING = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
MODES = pytest.mark.parametrize("fast", [True, False], ids=["fast", "slow"])


def numbers(*shape):
    return np.random.default_rng(5).uniform(0.5, 1.5, shape)


def leaf(x):
    return tape.from_numpy(np.asarray(x)).requires_grad_()


LAYOUTS = {
    "columns": lambda: numbers(3, 2).T,
    "gaps": lambda: numbers(2, 6)[:, ::2],
    "backwards": lambda: numbers(2, 3)[::-1],
    "permuted with gaps": lambda: numbers(2, 3, 8)[:, :, ::4].transpose(2, 0, 1),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_inputs_keep_their_layout(name):
    x = LAYOUTS[name]()
    copy = laid_out(x, x)
    assert np.array_equal(copy, x)
    assert not np.shares_memory(copy, x)
    assert np.argsort(np.abs(copy.strides)).tolist() == np.argsort(np.abs(x.strides)).tolist()
    assert copy.flags.forc == x.flags.forc
    assert [s < 0 for s in copy.strides] == [s < 0 for s in x.strides]


@MODES
@pytest.mark.parametrize("name", LAYOUTS)
def test_inputs_that_are_not_contiguous(name, fast):
    seen = set()

    def func(x):
        seen.add(x.is_contiguous())
        return (x * x).sum() * x

    x = leaf(LAYOUTS[name]())
    assert gradcheck(func, x, fast_mode=fast, **EVERYTHING)
    assert gradgradcheck(func, x, fast_mode=fast, gen_non_contig_grad_outputs=True)
    assert seen == {False}


@MODES
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1,), (1, 1)])
def test_inputs_of_no_axes_and_of_no_elements(shape, fast):
    x, y = leaf(numbers(*shape)), leaf(numbers(3))
    assert gradcheck(lambda x: tape.exp(x) * 2, x, fast_mode=fast, **EVERYTHING)
    assert gradcheck(lambda x, y: (tape.exp(x).sum() * y, x), (x, y), fast_mode=fast, **EVERYTHING)
    assert gradgradcheck(lambda x: tape.exp(x), x, fast_mode=fast, check_fwd_over_rev=True)


@MODES
@pytest.mark.parametrize(
    "func",
    [
        lambda x: x, lambda x: x[0], lambda x: x.T, lambda x: x.view(-1), lambda x: (x, x[1:], x),
        lambda x: x.expand(2, *x.shape), lambda x: tape.diagonal(x), lambda x: (x * 2).view(-1)[::2],
    ],
    ids=["itself", "a row", "transposed", "flat", "several", "expanded", "diagonal", "of a result"],
)  # fmt: skip
def test_outputs_that_are_views(func, fast):
    x = leaf(numbers(3, 3))
    assert gradcheck(func, x, fast_mode=fast, **EVERYTHING)
    assert gradgradcheck(func, x, fast_mode=fast)


def test_inputs_whose_memory_overlaps_itself():
    x = leaf([1.0]).expand(2, 2)
    for caller in (gradcheck, gradgradcheck):
        with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0") as caught:
            caller(lambda x: x, (x,), raise_exception=False)
        assert not isinstance(caught.value, GradcheckError)
    assert gradcheck(lambda x: x * 2, (x.contiguous(),))


def test_a_leaf_that_is_changed_in_place_is_refused_with_the_op_s_own_error():
    with pytest.raises(RuntimeError, match="leaf") as caught:
        gradcheck(lambda x: x.mul_(2), leaf(numbers(2)), raise_exception=False)
    assert not isinstance(caught.value, GradcheckError)


@MODES
def test_outputs_that_change_with_the_values(fast):
    one = leaf([1.0])
    with pytest.raises(AssertionError, match="return outputs with the same shape when inputs are perturbed"):
        gradcheck(lambda x: tape.cat([x, x]) if bool((x >= 1).all()) else x, one, fast_mode=fast)
    with pytest.raises(AssertionError, match="return outputs with the same dtype when inputs are perturbed"):
        gradcheck(lambda x: x.float() if bool((x >= 1).all()) else x, one, fast_mode=fast)


@MODES
def test_outputs_that_have_no_gradient(fast):
    x = leaf(numbers(3))
    assert gradcheck(lambda x: (), x, fast_mode=fast)
    assert gradcheck(lambda x: x.argmax(), x, fast_mode=fast)
    assert gradcheck(lambda x: (x * 2, x.argmax(), x.detach() * 3), x, fast_mode=fast)
    assert gradcheck(lambda x: tape.ones(3), x, fast_mode=fast)
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: tape.tensor(x.tolist(), dtype=x.dtype), x, fast_mode=fast)
    with pytest.raises(GradcheckError, match="no output of <lambda> requires grad"):
        gradgradcheck(lambda x: x.detach(), x, fast_mode=fast)


def test_inputs_that_do_not_require_grad_are_passed_on():
    x, y = leaf(numbers(2)), tape.from_numpy(numbers(2))
    seen = []

    def func(x, y, power, mode):
        seen.append(y)
        return x * y**power if mode == "up" else x

    assert gradcheck(func, (x, y, 2, "up"), check_forward_ad=True)
    assert all(given is y for given in seen)
    assert y.grad is None
    assert x.grad is None
