"""Views that a change of their memory has made anew: where gradients flow from then on, and which hooks they meet."""

from __future__ import annotations

import gc

import pytest

import tape


def made(*numbers):
    x = tape.tensor(numbers or (1.0, 2.0, 3.0), requires_grad=True)
    return x, x * 1


def noted(view, factor=2.0):
    """A list of the gradients that a hook of the tensor gets."""
    seen = []
    view.register_hook(lambda g: seen.append(g.tolist()) or g * factor)
    return seen


CHANGES = [
    lambda b, v: v.add_(1), lambda b, v: b.add_(1), lambda b, v: b.__setitem__(0, 5.0), lambda b, v: v.zero_(),
    lambda b, v: v[1:].mul_(2),
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_hooks_of_a_view_see_what_was_computed_from_it_before_a_change(change):
    _, b = made()
    v = b[:2]
    seen = noted(v)
    before = v * 5
    change(b, v)
    v.sum().backward(retain_graph=True)
    assert seen == []
    before.sum().backward()
    assert seen == [[5.0, 5.0]]


def test_the_gradient_of_a_change_does_not_come_by_the_view_that_was():
    x, b = made()
    v = b[:2]
    seen = noted(v)
    w = v * 2
    v.add_(1)
    later = noted(v, 3.0)
    (w.sum() + v.sum()).backward()
    assert seen == [[2.0, 2.0]]
    assert later == [[1.0, 1.0]]
    assert x.grad.tolist() == [2 * 2 + 3, 2 * 2 + 3, 0]


def test_a_view_that_changes_itself_is_read_as_it_was_on_the_other_side():
    x, b = made()
    v = b[:2]
    seen = noted(v)
    v.mul_(v)
    v.sum().backward()
    assert seen == [[1.0, 2.0]]
    assert x.grad.tolist() == [1 + 2, 2 + 2 * 2, 0]


def test_a_change_that_fails_leaves_the_hooks():
    _, b = made()
    v = b[:2]
    seen = noted(v)
    with pytest.raises(RuntimeError, match="shape"):
        v.add_(tape.ones(3))
    v.sum().backward()
    assert seen == [[1.0, 1.0]]


def test_views_of_views_come_from_the_base():
    x, b = made()
    v = b[:2]
    w = v[:1]
    b.add_(1)
    seen = noted(v)
    assert tape.autograd.grad(w.sum(), [v], retain_graph=True, allow_unused=True) == (None,)
    w.sum().backward()
    assert seen == []
    assert x.grad.tolist() == [1, 0, 0]


@pytest.mark.parametrize("leaf", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_under_no_grad_makes_views_anew_with_the_gradient_of_before(leaf, change):
    x, b = made()
    b = x if leaf else b
    v = b[:2]
    before = v * 5
    seen = noted(v)
    with tape.no_grad():
        change(b, v)
    assert tape.autograd.grad(before.sum(), [v], retain_graph=True, allow_unused=True) == (None,)
    (v * tape.tensor([1.0, 2.0])).sum().backward()
    assert seen == []
    assert x.grad.tolist() == [1, 2, 0]


def test_a_change_of_a_detached_twin_makes_views_anew_and_one_through_data_does_not():
    x, _ = made()
    v = x[:2]
    seen = noted(v, 1.0)
    x.data.add_(1)
    v.sum().backward()
    assert seen == [[1.0, 1.0]]
    x.detach().add_(1)
    v.sum().backward()
    assert seen == [[1.0, 1.0]]


def test_a_recorded_change_of_a_detached_twin_makes_views_anew():
    x, b = made()
    v = x[:2]
    before = v * 5
    x.data[1:].mul_(b[1:])
    assert tape.autograd.grad(before.sum(), [v], retain_graph=True)[0].tolist() == [5, 5]
    x.detach()[1:].mul_(b[1:])
    assert tape.autograd.grad(before.sum(), [v], allow_unused=True) == (None,)
    (v * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 0]


def test_views_without_elements_are_views():
    _, b = made()
    for v in (b.as_strided((2, 0), (1, 1)), b[:0], b.reshape(3, 1)[:, 1:]):
        assert v._base is b
        v.log_()
    assert b._version == 3


def test_a_number_without_axes_has_views_and_twins_too():
    x = tape.tensor(3.0, requires_grad=True)
    v = x.squeeze()
    seen = noted(v)
    x.detach().mul_(2)
    v.backward()
    assert seen == []
    assert (v.item(), x.grad.item()) == (6, 1)


def test_retain_grad_follows_a_view_under_no_grad_too():
    x, _ = made()
    v = x[:2]
    v.retain_grad()
    with tape.no_grad():
        x.add_(1)
    (v * 3).sum().backward()
    assert v.grad.tolist() == [3, 3]


def test_a_view_of_what_did_not_require_grad_yet_gets_a_history_at_the_next_change():
    x = tape.zeros(3)
    v = x[:2]
    x.requires_grad_()
    with tape.no_grad():
        x.add_(1)
    (v * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 0]


@pytest.mark.parametrize("hooked", [True, False])
def test_a_leaf_that_is_moved_into_the_graph_gets_no_gradient(hooked):
    x = tape.ones(2, requires_grad=True)
    seen = noted(x) if hooked else []
    y = x * 2
    x.requires_grad_(False)
    x.add_(y)
    with pytest.raises(RuntimeError, match="leaf variable has been moved into the graph interior"):
        y.sum().backward()
    assert seen == []


def test_the_gradient_of_the_angle_of_real_numbers_depends_on_nothing():
    x, b = made()
    (g,) = tape.autograd.grad(tape.angle(b), [x], b, create_graph=True)
    assert g.tolist() == [0, 0, 0]
    assert not g.requires_grad


def test_the_collector_is_asked_for_views_once(monkeypatch):
    _, b = made()
    v = b[:2]
    b.add_(1)
    monkeypatch.setattr(gc, "get_objects", lambda: pytest.fail("every object was looked at"))
    w = b[1:]
    with tape.no_grad():
        b.mul_(2)
    w[0].add_(1)
    assert (v.tolist(), w.tolist()) == ([4, 7], [7, 8])
