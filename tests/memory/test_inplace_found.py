"""What random programs found in changes in place."""

import numpy as np
import pytest

import tape

A = np.random.default_rng(0).random((2, 3)) + 0.5


CHANGES = {
    "whole": lambda z: z.mul_(2.0),
    "part": lambda z: z[..., :1].mul_(2.0),
    "item": lambda z: z.__setitem__(0, 1.5),
    "view": lambda z: z.view(-1)[1:].add_(1.0),
    "twin": lambda z: z.detach().zero_(),
}


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.softmax(0),
        lambda x: x.log_softmax(1),
        lambda x: x.cumprod(0),
        lambda x: x.logcumsumexp(1),
        lambda x: x.tanh(),
        lambda x: x.norm(dim=0),
        lambda x: x.logsumexp(1),
    ],
)
def test_a_result_that_its_own_rule_reads(f, how):
    """Also where the forward gives a view of an array that nobody else holds."""
    x = tape.tensor(A, requires_grad=True)
    z = f(x)
    CHANGES[how](z)
    tape.ones(3).mul_(2.0)  # and again, when what is released is forgotten
    with pytest.raises(RuntimeError, match="changed in place"):
        z.sum().backward()


def test_an_element_counts_with_the_memory_it_was_taken_from():
    x = tape.tensor(A, requires_grad=True) * 1
    x.mul_(2.0)
    element = x[0][2]
    assert x[1, 1]._version == element._version == x._version == 1
    element.add_(1.0)
    assert x[1, 1]._version == element._version == x._version == 2
    assert tape.tensor(2.0)._version == 0


def test_the_record_of_a_target_is_not_run_and_may_have_lost_its_values():
    x = tape.tensor(A, requires_grad=True)
    y = x * 1
    z = y.sin()
    y.zero_()
    (bar,) = tape.autograd.grad(z, [z], tape.ones(2, 3), retain_graph=True)
    np.testing.assert_array_equal(bar.numpy(), 1)
    with pytest.raises(RuntimeError, match="the gradient of sin needs was changed in place"):
        tape.autograd.grad(z, [z, x], tape.ones(2, 3))


@pytest.mark.parametrize(
    "change", [lambda w, s: w.__setitem__(0, s), lambda w, s: w.add_(s), lambda w, s: w.fill_(4.0)]
)
@pytest.mark.parametrize("part", [lambda w: w, lambda w: w[1:], lambda w: w.detach()])
def test_a_change_is_noticed_though_all_tensors_of_the_memory_are_gone(change, part):
    def product(x, s):
        local = tape.zeros(3)
        product = local * x
        change(part(local), s)
        return product.sum()

    x, s = tape.tensor(2.0, requires_grad=True), tape.tensor(3.0, requires_grad=True)
    z = product(x, s)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    fine = (tape.zeros(3) * x).sum()
    fine.backward()
    assert x.grad == 0
