"""Histories of views: those that were made without one, are barred from one, or stand on what was taken out of one."""

from __future__ import annotations

import numpy as np
import pytest

import tape
from tape.autograd import grad


def made():
    x = tape.tensor(np.arange(1.0, 7.0).reshape(2, 3), requires_grad=True)
    return x, x * 1.5


def test_views_made_without_recording():
    _, y = made()
    with tape.no_grad():
        v = y[0]
    with pytest.raises(RuntimeError, match="view was created in no_grad mode and"):
        v.mul_(2)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="view was created in no_grad mode and"):
        v.sum().backward()
    with tape.no_grad():
        v.zero_()
    assert y[0].tolist() == [0.0, 0.0, 0.0]


def test_a_plain_base_gets_a_history_through_a_view():
    w = tape.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = tape.zeros(2, 3)
    early, row = y[:, 1], y[0]
    row.copy_(w * w)
    assert early.requires_grad
    assert grad(early.sum(), w, retain_graph=True)[0].tolist() == [0.0, 4.0, 0.0]
    assert grad(y.sum(), w)[0].tolist() == [2.0, 4.0, 6.0]


def test_the_message_says_which_result_of_which_operation_is_barred():
    _, y = made()
    with pytest.raises(RuntimeError, match=r"Output 1 of Unbind is a view .* function that returns multiple views"):
        y.unbind()[1].add_(1)
    with tape.no_grad():
        several = y.unbind()
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        several[0].add_(1)
    with tape.no_grad():
        z = y.detach().view(6)
    z.requires_grad_()
    with pytest.raises(RuntimeError, match="Output 0 of View is a view of a view which was created in no_grad mode"):
        z.view(2, 3).add_(1)


@pytest.mark.parametrize("take", [lambda y: y.view(6), lambda y: y[0], lambda y: y[0, 1:], lambda y: y.unbind()[1]])
def test_views_made_in_inference_mode(take):
    _, y = made()
    with tape.inference_mode():
        v = take(y)
    assert (v.requires_grad, v.is_leaf, v.is_inference()) == (True, True, False)
    with pytest.raises(RuntimeError, match="created in inference mode and is being modified inplace in normal mode"):
        v.add_(1)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="created in inference mode and its base"):
        v.sum().backward()


def test_a_view_without_history_says_what_its_base_says():
    x = tape.ones(3)
    v, w = x[:2], x.detach()[:2]
    assert not v.requires_grad
    x.requires_grad_()
    assert (v.requires_grad, w.requires_grad) == (True, False)
    with tape.no_grad():
        part = (x * 2)[1:]
        assert (x[0].requires_grad, part.requires_grad) == (True, False)


def returning(result):
    class Custom(tape.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return result(x)

        @staticmethod
        def backward(ctx, *gs):
            return gs[0].expand(2, 3).clone()

    return Custom.apply


@pytest.mark.parametrize("result", [lambda x: x.T, lambda x: x[0], lambda x: x[0, 1], lambda x: x])
def test_views_that_a_custom_function_returns(result):
    _, y = made()
    v = returning(result)(y)
    assert v._base is y
    with pytest.raises(RuntimeError, match=r"Output 0 of Custom is a view .* created inside a custom Function"):
        v.add_(1)
    with tape.no_grad():
        v.fill_(7.0)
    assert result(y.detach()).max() == 7.0
    y.mul_(2)
    assert v.max() == 14.0
    with pytest.raises(RuntimeError, match="no gradient can flow through this view any more"):
        v.sum().backward()


def test_views_of_what_a_custom_function_has_made_itself():
    _, y = made()
    v = returning(lambda x: (x * 2)[0])(y)
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        v.add_(1)
    several = returning(lambda x: (x[0], x[1] * 2))(y)
    with pytest.raises(RuntimeError, match=r"Output 0 of Custom is a view .* function that returns multiple views"):
        several[0].add_(1)
    several[1].add_(1)


def test_a_view_of_a_plain_tensor_that_a_custom_function_returns():
    w, x = tape.tensor(1.0, requires_grad=True), tape.ones(2, 3)
    v = returning(lambda x: x[0])(x)
    v.add_(1)
    assert x[0, 0] == 2.0
    with pytest.raises(RuntimeError, match="created inside a custom Function"):
        v.add_(w)


@pytest.mark.parametrize("mode", [tape.no_grad, tape.inference_mode])
def test_a_view_without_history_that_was_changed_can_only_be_read(mode):
    x = tape.ones(3, requires_grad=True)
    with mode():
        v, w, later = x[1:], x[0], x.view(3)
        v.mul_(2.0)
        new = x[1:]
    assert (v.tolist(), w.item(), x.tolist()) == ([2.0, 2.0], 1.0, [1.0, 2.0, 2.0])
    for changed in (v, w, later):
        assert changed.requires_grad
        assert repr(changed).endswith("grad_fn=<Invalid>)")
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
            _ = changed.grad_fn
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
            (changed * 2).sum().backward()
    assert (new.grad_fn, repr(new)) == (None, "tensor([2., 2.], requires_grad=True)")
    with tape.no_grad():
        assert (v * 2).tolist() == [4.0, 4.0]


CHANGES = {
    "written over": lambda y: y.copy_(tape.full((4,), 0.9)),
    "scaled": lambda y: y.mul_(2.0),
    "a part": lambda y: y[2:].fill_(5.0),
    "an element": lambda y: y.__setitem__(1, 5.0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "look", [lambda y: y[1:], lambda y: y.view(2, 2), lambda y: y[1:][1:], lambda y: y.split(2)[1]]
)
def test_a_view_of_what_was_detached_in_place_has_no_gradient_once_that_changes(change, look):
    """Its numbers are others than those that its history told of."""
    x = tape.ones(4, requires_grad=True)
    y = x * 3.0
    v = look(y)
    y.detach_()
    (before,) = tape.autograd.grad((v * v).sum(), x, retain_graph=True)
    assert before.sum().item() == 18.0 * v.numel()
    CHANGES[change](y)
    assert v.requires_grad
    assert v.tolist() == look(y).tolist()
    assert tape.autograd.grad((v * v).sum(), x, allow_unused=True) == (None,)


def test_a_view_of_what_was_detached_in_place_is_not_changed_with_a_history():
    y = tape.ones(4, requires_grad=True) * 3.0
    v = y[1:]
    y.detach_()
    with pytest.raises(RuntimeError, match="taken out of that by detach_"):
        v.mul_(2.0)
    assert y.tolist() == [3.0] * 4
    assert not y.requires_grad
    y.mul_(tape.ones(4, requires_grad=True))  # which has a history again, and so has its view
    v.mul_(2.0)
    assert y.tolist() == [3.0, 6.0, 6.0, 6.0]
